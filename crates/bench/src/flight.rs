//! The requests of one connection that have no answer yet: which id is of which, and since when.
//! Ids come back in any order; each is answered once. It does no I/O and reads no clock.

use crate::request::FIRST_ID;
use std::time::Instant;

/// A request without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// What kind of request it is.
    pub(crate) ask: usize,
    /// When it was to be sent: from then on it counts.
    pub(crate) due: Instant,
    /// When it was sent.
    pub(crate) at: Instant,
}

/// As many of them as there may be at once.
#[derive(Debug)]
pub(crate) struct Flight {
    /// An id's place here is its remainder.
    slots: Vec<Option<(u64, Sent)>>,
    free: Vec<usize>,
    /// How many ids each place has had.
    rounds: Vec<u64>,
    /// After so many a place begins again: long runs must not run out of digits.
    rounds_max: u64,
    first: u64,
}

impl Flight {
    pub(crate) fn new(in_flight_max: usize) -> Self {
        let width = in_flight_max as u64;
        let first = FIRST_ID.next_multiple_of(width);
        Self {
            slots: vec![None; in_flight_max],
            free: (0..in_flight_max).rev().collect(),
            rounds: vec![0; in_flight_max],
            rounds_max: (10 * FIRST_ID - first) / width,
            first,
        }
    }

    /// Whether another request may go.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Takes a place; the id is the request's.
    ///
    /// # Panics
    /// Where there is no room.
    pub(crate) fn take_off(&mut self, sent: Sent) -> u64 {
        let slot = self.free.pop().expect("the caller asked whether there is room");
        let id = self.first + self.rounds[slot] * self.slots.len() as u64 + slot as u64;
        self.rounds[slot] = (self.rounds[slot] + 1) % self.rounds_max;
        self.slots[slot] = Some((id, sent));
        id
    }

    /// The request that this id is of, which is no longer in flight.
    pub(crate) fn land(&mut self, id: u64) -> Option<Sent> {
        let slot = usize::try_from(id % self.slots.len() as u64).ok()?;
        match self.slots[slot] {
            Some((of, sent)) if of == id => {
                self.slots[slot] = None;
                self.free.push(slot);
                Some(sent)
            }
            _ => None,
        }
    }

    /// All that have no answer; they are forgotten.
    pub(crate) fn lose_all(&mut self) -> Vec<Sent> {
        self.free = (0..self.slots.len()).rev().collect();
        self.slots.iter_mut().filter_map(Option::take).map(|(_, sent)| sent).collect()
    }

    /// The one that has waited longest.
    pub(crate) fn oldest(&self) -> Option<Sent> {
        self.slots.iter().flatten().map(|(_, sent)| *sent).min_by_key(|sent| sent.at)
    }

    /// What an answer most likely is of: of one in flight, that.
    pub(crate) fn guess(&self) -> usize {
        self.slots.first().copied().flatten().map_or(0, |(_, sent)| sent.ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ID_DIGITS;

    #[test]
    fn an_id_is_answered_once_and_in_any_order() {
        let mut flight = Flight::new(3);
        let now = Instant::now();
        let sent = |ask| Sent { ask, due: now, at: now };
        let ids: Vec<u64> = (0..3).map(|ask| flight.take_off(sent(ask))).collect();
        assert!(!flight.has_room());
        assert_eq!(flight.land(ids[1]), Some(sent(1)));
        assert_eq!(flight.land(ids[1]), None);
        let again = flight.take_off(sent(7));
        assert!(!ids.contains(&again));
        assert_eq!(flight.land(ids[0]), Some(sent(0)));
        assert_eq!(flight.land(again), Some(sent(7)));
        assert_eq!(flight.land(12), None);
        assert_eq!(flight.lose_all(), [sent(2)]);
        assert!(flight.is_empty());
    }

    #[test]
    fn ids_keep_their_length() {
        let now = Instant::now();
        let sent = Sent { ask: 0, due: now, at: now };
        for in_flight in [1, 7, 10_000] {
            let mut flight = Flight::new(in_flight);
            let first = flight.take_off(sent);
            assert!(flight.land(first).is_some());
            // As after hours.
            flight.rounds[0] = flight.rounds_max - 1;
            let last = flight.take_off(sent);
            assert!(flight.land(last).is_some());
            assert_eq!([first, last].map(|id| id.to_string().len()), [ID_DIGITS; 2]);
            assert_eq!(flight.take_off(sent), first);
        }
    }
}
