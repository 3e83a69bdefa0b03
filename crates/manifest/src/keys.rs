//! Which keys of a mapping go together, where one key of a few decides what it is, as `command`
//! does for a tool. Called by those who have a table of kinds; what values mean is not looked at.

use crate::fault::Wrong;
use crate::problem::Problem;
use crate::tree::Tree;

/// What a mapping may be.
pub(crate) struct Kinds {
    /// Such mappings, as in `tools`.
    pub(crate) owners: &'static str,
    /// The key of each kind, and those that not every kind has.
    pub(crate) keys: &'static [(&'static str, &'static [&'static str])],
}

impl Kinds {
    /// The key that says what a mapping is, if there is one. Two of them are a mistake, and so is a
    /// key that only other kinds have.
    pub(crate) fn of(&self, tree: &Tree) -> Result<Option<&'static str>, Wrong> {
        let place_of = |key: &str| tree.entry(key).map(|entry| entry.key_place);
        let mut kinds = self.keys.iter().filter_map(|(key, own)| Some((*key, place_of(key)?, own)));
        let Some((kind, first, own)) = kinds.next() else { return Ok(None) };
        if let Some((key, place, _)) = kinds.next() {
            let (place, key, other) =
                if place.start < first.start { (place, key, kind) } else { (first, kind, key) };
            return Err(Wrong::new(place, Problem::TwoOfOne { key, other }));
        }
        let others = self.keys.iter().flat_map(|(_, keys)| *keys);
        for key in others.filter(|key| !own.contains(key)) {
            if let Some(place) = place_of(key) {
                let (owners, other) = (self.owners, self.having(key));
                return Err(Wrong::new(place, Problem::KeyBelongsTo { key, owners, other }));
            }
        }
        Ok(Some(kind))
    }

    /// The kinds that have a key, as a sentence between backticks has them: "a`, `b` or `c".
    fn having(&self, key: &str) -> String {
        let having = self.keys.iter().filter(|(_, keys)| keys.contains(&key));
        let having: Vec<_> = having.map(|(kind, _)| *kind).collect();
        match having.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{}` or `{last}", rest.join("`, `")),
            None => String::new(),
        }
    }
}
