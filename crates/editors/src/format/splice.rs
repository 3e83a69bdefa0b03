//! Changes to a text: so many bytes give way to other ones. Everything outside of them stays as it
//! is; that is why edits are made of nothing else.

use std::ops::Range;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

impl Splice {
    pub(super) fn insert(at: usize, with: impl Into<String>) -> Self {
        Self { range: at..at, with: with.into() }
    }

    pub(super) fn delete(range: Range<usize>) -> Self {
        Self { range, with: String::new() }
    }
}

/// The text with all changes, which do not overlap; those at one place stay in their order.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for Splice { range, with } in splices {
        changed.push_str(&text[done..range.start]);
        changed.push_str(&with);
        done = range.end;
    }
    changed.push_str(&text[done..]);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_their_order_and_all_else() {
        let splices = vec![Splice::insert(3, "x"), Splice::delete(0..1), Splice::insert(3, "y")];
        assert_eq!(apply("abcd", splices), "bcxyd");
    }
}
