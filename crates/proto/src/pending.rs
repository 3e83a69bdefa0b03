//! The requests of one peer that are not answered yet, by id, with whatever the wire keeps for
//! each. Bounded, and an id stands for one request at a time, unless each request has a way back of
//! its own, where several may have one id. Ids are compared as they were written; who cancels may
//! write one with other escapes.

use crate::envelope::Id;
use crate::error::{Mistake, Refusal};
use crate::json::JsonStr;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// An id as it was written. Those that clients make up are short, and cost no allocation.
type Raw = SmallVec<[u8; 24]>;

/// Requests in flight.
#[derive(Debug)]
pub struct Pending<T> {
    by_id: HashMap<Raw, T, RandomState>,
    /// Those whose id stands for an earlier one as well, the newest last.
    twins: Vec<(Raw, T)>,
    has_twins: bool,
    limit: usize,
}

impl<T> Pending<T> {
    /// Room for `limit` requests.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { by_id: HashMap::default(), twins: Vec::new(), has_twins: false, limit }
    }

    /// The same, where several requests may have one id at once: parts of a client that share a
    /// session count for themselves.
    #[must_use]
    pub fn with_twins(limit: usize) -> Self {
        Self { has_twins: true, ..Self::new(limit) }
    }

    /// Whether one more request with this id may begin.
    ///
    /// # Errors
    /// A [`Refusal`] to answer with: the id is in use, or too many requests are in flight.
    pub fn check(&self, id: Id<'_>) -> Result<(), Refusal> {
        if !self.has_twins && self.by_id.contains_key(id.raw().as_bytes()) {
            return Err(Refusal::new(
                Mistake::InvalidRequest,
                "Invalid request: a request with this `id` is still in flight; use another id",
            ));
        }
        if self.len() >= self.limit {
            return Err(Refusal::new(
                Mistake::Overloaded,
                format!("Overloaded: {} requests are in flight; wait for one to end", self.limit),
            ));
        }
        Ok(())
    }

    /// A request begins; see [`Pending::check`].
    pub fn begin(&mut self, id: Id<'_>, kept: T) {
        let id = Raw::from_slice(id.raw().as_bytes());
        match self.by_id.entry(id) {
            Entry::Occupied(first) if self.has_twins => {
                self.twins.push((first.key().clone(), kept));
            }
            entry => {
                entry.insert_entry(kept);
            }
        }
    }

    /// A request is ended by its asker; `None` if it is not, or no longer, in flight. `id` is raw
    /// JSON from a message: `"é"` and `"\u00e9"` are one. Of several the newest is meant.
    pub fn end(&mut self, id: &str) -> Option<T> {
        if let Some(at) = self.twins.iter().rposition(|(twin, _)| twin.as_slice() == id.as_bytes())
        {
            return Some(self.twins.remove(at).1);
        }
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
        let known = known.to_owned();
        self.end(&known)
    }

    /// A request ends if it is the one that is meant.
    pub fn end_if(&mut self, id: &str, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let id = id.as_bytes();
        if self.by_id.get(id).is_some_and(&is_meant) {
            return self.by_id.remove(id);
        }
        let is_this = |(twin, kept): &(Raw, T)| twin.as_slice() == id && is_meant(kept);
        let at = self.twins.iter().position(is_this)?;
        Some(self.twins.remove(at).1)
    }

    /// Every request ends.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.by_id.drain().chain(self.twins.drain(..)).map(|(_, kept)| kept)
    }

    /// The ids in flight, as raw JSON, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let twins = self.twins.iter().map(|(id, _)| id);
        self.by_id.keys().chain(twins).filter_map(|id| std::str::from_utf8(id).ok())
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len() + self.twins.len()
    }

    /// Whether none is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.twins.is_empty()
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

    #[test]
    fn several_may_have_one_id_where_each_has_its_own_way_back() {
        let mut pending = Pending::with_twins(3);
        let id = Id::from_raw("\"a\"", 9).expect("an id");
        for kept in [1, 2, 3] {
            assert_eq!(pending.check(id), Ok(()));
            pending.begin(id, kept);
        }
        assert_eq!(pending.check(id).map_err(|r| r.mistake), Err(Mistake::Overloaded));
        assert_eq!((pending.len(), pending.ids().count()), (3, 3));
        assert_eq!(pending.end_if("\"a\"", |kept| *kept == 1), Some(1));
        assert_eq!(pending.end_if("\"a\"", |kept| *kept == 1), None);
        assert_eq!(pending.end(r#""\u0061""#), Some(3), "the newest is meant");
        assert_eq!(pending.drain().collect::<Vec<_>>(), [2]);
        assert!(pending.is_empty());
    }
}
