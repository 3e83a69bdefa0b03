//! What whoever runs a gateway is told of what upstreams have: what is served, what is left out and
//! why, and which words of the file do nothing. Upstreams say how long it would be; so much of it
//! is kept. Put together by `catalogue` and `tailor`, read by `gateway` and `admin`.

use crate::limits::{LEFT_OUT_MAX, ODD_MAX, TOLD_BYTES_MAX};
use std::sync::Arc;

/// See above.
#[derive(Clone, Default)]
pub(crate) struct Told {
    /// Tools, resources, templates and prompts.
    pub(crate) served: [Vec<Line>; 4],
    pub(crate) left_out: LeftOuts,
    pub(crate) odd: Odds,
    /// What upstreams say otherwise than before, a line each. It is said once.
    pub(crate) altered: Vec<String>,
}

pub(crate) type LeftOuts = First<LeftOut, LEFT_OUT_MAX>;
pub(crate) type Odds = First<Odd, ODD_MAX>;

/// The first of many.
#[derive(Clone, Debug)]
pub(crate) struct First<T, const MAX: usize> {
    pub(crate) kept: Vec<T>,
    /// How many more there are.
    pub(crate) more: usize,
}

/// Something that is served.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) upstream: Arc<str>,
    pub(crate) here: Box<str>,
    pub(crate) there: Box<str>,
}

/// Something that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// "tool", say.
    pub(crate) kind: &'static str,
    pub(crate) upstream: Arc<str>,
    /// Its name there.
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// A rule of the file that does nothing, or not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odd {
    pub(crate) whose: Whose,
    pub(crate) what: String,
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Upstream(Arc<str>),
    View(Arc<str>),
}

impl Told {
    /// A line for each thing that whoever runs it should know of, as far as they are kept.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let left_out = self.left_out.kept.iter();
        let left_out = left_out.map(|LeftOut { kind, upstream, name, reason }| {
            format!("the {kind} `{name}` of the upstream `{upstream}` is left out: {reason}")
        });
        let odd = self.odd.kept.iter().map(|Odd { whose, what }| match whose {
            Whose::Upstream(name) => format!("the upstream `{name}`: {what}"),
            Whose::View(name) => format!("the view `{name}`: {what}"),
        });
        left_out.chain(odd)
    }

    /// How many there are that are not kept.
    pub(crate) fn more(&self) -> usize {
        self.left_out.more + self.odd.more
    }
}

impl<T, const MAX: usize> Default for First<T, MAX> {
    fn default() -> Self {
        Self { kept: Vec::new(), more: 0 }
    }
}

impl<const MAX: usize> First<LeftOut, MAX> {
    pub(crate) fn push(&mut self, kind: &'static str, of: &Arc<str>, (name, why): (&str, &str)) {
        let (upstream, name, reason) = (Arc::clone(of), brief(name), brief(why));
        self.add(|| LeftOut { kind, upstream, name, reason });
    }
}

impl<const MAX: usize> First<Odd, MAX> {
    pub(crate) fn push(&mut self, whose: &Whose, what: &str) {
        self.add(|| Odd { whose: whose.clone(), what: brief(what) });
    }
}

impl<T, const MAX: usize> First<T, MAX> {
    fn add(&mut self, one: impl FnOnce() -> T) {
        if self.kept.len() < MAX {
            self.kept.push(one());
        } else {
            self.more += 1;
        }
    }
}

/// The beginning of a text that may be as long as an upstream likes.
fn brief(text: &str) -> String {
    if text.len() <= TOLD_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = TOLD_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_upstreams_say_so_much_is_kept_and_the_rest_is_counted() {
        let (mut told, name) = (Told::default(), "é".repeat(TOLD_BYTES_MAX));
        for _ in 0..LEFT_OUT_MAX + 3 {
            told.left_out.push("tool", &"up".into(), (&name, &name));
        }
        for _ in 0..ODD_MAX + 4 {
            told.odd.push(&Whose::View("v".into()), &name);
        }
        assert_eq!((told.lines().count(), told.more()), (LEFT_OUT_MAX + ODD_MAX, 7));
        assert!(told.lines().all(|line| line.len() < 3 * TOLD_BYTES_MAX && line.contains("é…")));
        assert_eq!(brief("x".repeat(TOLD_BYTES_MAX).as_str()).len(), TOLD_BYTES_MAX);
    }
}
