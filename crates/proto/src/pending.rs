//! The requests of one peer that are not answered yet, by id, with whatever the wire keeps for
//! each. Bounded, and an id stands for one request at a time. Ids are compared as they were
//! written.

use crate::envelope::Id;
use crate::error::{Mistake, Refusal};
use std::collections::HashMap;

/// Requests in flight.
#[derive(Debug)]
pub struct Pending<T> {
    by_id: HashMap<Box<str>, T>,
    limit: usize,
}

impl<T> Pending<T> {
    /// Room for `limit` requests.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { by_id: HashMap::new(), limit }
    }

    /// Whether one more request with this id may begin.
    ///
    /// # Errors
    /// A [`Refusal`] to answer with: the id is in use, or too many requests are in flight.
    pub fn check(&self, id: Id<'_>) -> Result<(), Refusal> {
        if self.by_id.contains_key(id.raw()) {
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
        self.by_id.insert(id.raw().into(), kept);
    }

    /// A request ends; `None` if it is not, or no longer, in flight. `id` is raw JSON.
    pub fn end(&mut self, id: &str) -> Option<T> {
        self.by_id.remove(id)
    }

    /// A request ends if it is the one that is meant.
    pub fn end_if(&mut self, id: &str, is_meant: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.by_id.get(id).is_some_and(is_meant) { self.by_id.remove(id) } else { None }
    }

    /// Every request ends.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.by_id.drain().map(|(_, kept)| kept)
    }

    /// The ids in flight, as raw JSON, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(|id| &**id)
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
