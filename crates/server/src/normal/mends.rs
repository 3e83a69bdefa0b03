//! What was changed in a definition, and where, for whoever runs a gateway. Filled by `entry` and
//! `schema`; decides nothing.

use super::text::visible;
use crate::schema::wording::shorten;
use std::fmt;

/// How many mends of one definition are told one by one.
pub(super) const MENDS_MAX: usize = 8;

/// See above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mends {
    /// A clause each, of the first.
    pub told: Vec<String>,
    /// How many more there were.
    pub more: usize,
    /// Something is other than it came, if only a `null` that says nothing.
    pub(super) is_changed: bool,
}

impl Mends {
    /// That something was not said, which is no flaw.
    pub(super) fn quietly(&mut self) {
        self.is_changed = true;
    }

    pub(super) fn say(&mut self, place: &Place<'_>, what: &str) {
        self.is_changed = true;
        if self.told.len() < MENDS_MAX {
            self.told.push(format!("`{place}` {what}"));
        } else {
            self.more += 1;
        }
    }
}

/// Where something stands in a definition.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    up: Option<&'p Self>,
    key: &'p str,
}

impl<'p> Place<'p> {
    pub(super) fn new(key: &'p str) -> Self {
        Self { up: None, key }
    }

    pub(super) fn key(&self) -> &str {
        self.key
    }

    pub(super) fn at<'q>(&'q self, key: &'q str) -> Place<'q> {
        Place { up: Some(self), key }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            write!(f, "{up}.")?;
        }
        f.write_str(&visible(&shorten(self.key)))
    }
}
