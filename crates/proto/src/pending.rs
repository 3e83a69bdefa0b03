//! The requests of one peer that are not answered yet, by id, with whatever the wire keeps for
//! each. Bounded, and an id stands for one request at a time. Ids are compared as they were
//! written; who cancels may write one with other escapes.

use crate::envelope::Id;
use crate::error::{Mistake, Refusal};
use crate::json::JsonStr;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use std::collections::HashMap;

/// An id as it was written. Those that clients make up are short, and cost no allocation.
type Raw = SmallVec<[u8; 24]>;

/// Requests in flight.
#[derive(Debug)]
pub struct Pending<T> {
    by_id: HashMap<Raw, T, RandomState>,
    limit: usize,
}

impl<T> Pending<T> {
    /// Room for `limit` requests.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { by_id: HashMap::default(), limit }
    }

    /// Whether one more request with this id may begin.
    ///
    /// # Errors
    /// A [`Refusal`] to answer with: the id is in use, or too many requests are in flight.
    pub fn check(&self, id: Id<'_>) -> Result<(), Refusal> {
        if self.by_id.contains_key(id.raw().as_bytes()) {
            return Err(Refusal::new(
                Mistake::InvalidRequest,
                "Invalid request: a request with this `id` is still in flight; use another id",
            ));
        }
        if self.by_id.len() >= self.limit {
            return Err(Refusal::new(
                Mistake::Overloaded,
                format!("Overloaded: {} requests are in flight; wait for one to end", self.limit),
            ));
        }
        Ok(())
    }

    /// A request begins; see [`Pending::check`].
    pub fn begin(&mut self, id: Id<'_>, kept: T) {
        self.by_id.insert(Raw::from_slice(id.raw().as_bytes()), kept);
    }

    /// A request is ended by its asker; `None` if it is not, or no longer, in flight. `id` is raw
    /// JSON from a message: `"é"` and `"\u00e9"` are one.
    pub fn end(&mut self, id: &str) -> Option<T> {
        if let Some(kept) = self.by_id.remove(id.as_bytes()) {
            return Some(kept);
        }
        let meant = JsonStr::from_raw(id)?.decode();
        let is_escaped = id.contains('\\');
        // Two that are written without escapes are the same or not at all.
        let may_be = |known: &str| is_escaped || known.contains('\\');
        let is_meant =
            |known: &str| JsonStr::from_raw(known).is_some_and(|known| known.decode() == meant);
        let known = self.ids().find(|known| may_be(known) && is_meant(known))?;
        let known = Raw::from_slice(known.as_bytes());
        self.by_id.remove(&known)
    }

    /// A request ends if it is the one that is meant.
    pub fn end_if(&mut self, id: &str, is_meant: impl FnOnce(&T) -> bool) -> Option<T> {
        let id = id.as_bytes();
        if self.by_id.get(id).is_some_and(is_meant) { self.by_id.remove(id) } else { None }
    }

    /// Every request ends.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.by_id.drain().map(|(_, kept)| kept)
    }

    /// The ids in flight, as raw JSON, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().filter_map(|id| std::str::from_utf8(id).ok())
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_what_it_says() {
        let mut pending = Pending::new(9);
        for (raw, kept) in [("\"é\"", 'a'), (r#""\u00e9-\n""#, 'b'), ("7", 'c'), ("\"7\"", 'd')] {
            pending.begin(Id::from_raw(raw, 99).expect("an id"), kept);
        }
        assert_eq!(pending.end(r#""\u00E9-\u000a""#), Some('b'));
        assert_eq!(pending.end(r#""\u00e9""#), Some('a'));
        assert_eq!(pending.end(r#""\u0037""#), Some('d'));
        assert_eq!(pending.end("\"é\""), None);
        assert_eq!(pending.end("7"), Some('c'));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn an_id_is_free_again_once_its_request_has_ended() {
        let mut pending = Pending::new(2);
        let [one, two, three] = ["1", "2", "3"].map(|raw| Id::from_raw(raw, 9).expect("an id"));
        pending.begin(one, 'a');
        assert_eq!(pending.check(one).map_err(|r| r.mistake), Err(Mistake::InvalidRequest));
        pending.begin(two, 'b');
        assert_eq!(pending.check(three).map_err(|r| r.mistake), Err(Mistake::Overloaded));
        assert_eq!(pending.end("1"), Some('a'));
        assert_eq!(pending.end("1"), None);
        assert_eq!(pending.check(one), Ok(()));
    }
}
