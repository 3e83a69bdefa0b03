//! What refers to something within a schema, and to nothing that is there: no client can read such
//! a schema, and some refuse every tool then. Called by `schema`, once where anything refers.

use super::json::{Json, get};
use super::mends::{Mends, Place};
use std::borrow::Cow;
use std::collections::HashSet;

/// The keywords that refer and have to be followed before anything is checked.
const REFERENCE: &str = "$ref";

/// Leaves out references to what is not there. In a schema whose parts have addresses of their own
/// nothing is decided here.
pub(super) fn mend(schema: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) {
    let mut found = Found::default();
    found.look(schema, true);
    if found.has_addresses {
        return;
    }
    let lost: HashSet<String> = found
        .targets
        .iter()
        .filter(|target| !is_there(target, schema, &found))
        .map(|target| (**target).to_owned())
        .collect();
    if !lost.is_empty() {
        take_out(schema, &lost, place, mends);
    }
}

#[derive(Default)]
struct Found<'s> {
    targets: HashSet<&'s str>,
    anchors: HashSet<&'s str>,
    /// A part of it has an address, that what it says is relative to.
    has_addresses: bool,
    own_address: Option<&'s str>,
}

impl<'s> Found<'s> {
    fn look(&mut self, value: &'s Json<'_>, is_root: bool) {
        match value {
            Json::Plain(_) | Json::Text(_) => {}
            Json::Array(items) => items.iter().for_each(|item| self.look(item, false)),
            Json::Object(members) => {
                for (key, value) in members {
                    match (&**key, value) {
                        (REFERENCE, Json::Text(target)) => _ = self.targets.insert(target),
                        ("$anchor" | "$dynamicAnchor", Json::Text(name)) => {
                            self.anchors.insert(name);
                        }
                        ("$id", Json::Text(address)) if is_root => {
                            self.own_address = Some(address);
                        }
                        ("$id", Json::Text(_)) => self.has_addresses = true,
                        _ => self.look(value, false),
                    }
                }
            }
        }
    }
}

fn is_there(target: &str, schema: &Json<'_>, found: &Found<'_>) -> bool {
    let (address, fragment) = target.split_once('#').unwrap_or((target, ""));
    let own = found.own_address.map(|own| own.trim_end_matches('#'));
    if !address.is_empty() && own != Some(address) {
        return false;
    }
    if fragment.is_empty() {
        return true;
    }
    match fragment.strip_prefix('/') {
        None => found.anchors.contains(fragment),
        Some(path) => {
            let decoded = crate::uri_decoded(path).map(Cow::Owned);
            let path = decoded.unwrap_or(Cow::Borrowed(path));
            let mut at = Some(schema);
            for step in path.split('/') {
                let step = step.replace("~1", "/").replace("~0", "~");
                at = at.and_then(|at| match at {
                    Json::Object(members) => get(members, &step),
                    Json::Array(items) => items.get(step.parse::<usize>().ok()?),
                    Json::Plain(_) | Json::Text(_) => None,
                });
            }
            at.is_some_and(|at| matches!(at, Json::Object(_)) || at.is_flag())
        }
    }
}

fn take_out(value: &mut Json<'_>, lost: &HashSet<String>, place: &Place<'_>, mends: &mut Mends) {
    match value {
        Json::Plain(_) | Json::Text(_) => {}
        Json::Array(items) => {
            items.iter_mut().for_each(|item| take_out(item, lost, place, mends));
        }
        Json::Object(members) => members.retain_mut(|(key, value)| {
            let place = place.at(key);
            match value {
                Json::Text(target) if key == REFERENCE && lost.contains(&**target) => {
                    mends.say(&place, "refers to what is not there, and is left out");
                    false
                }
                _ => {
                    take_out(value, lost, &place, mends);
                    true
                }
            }
        }),
    }
}
