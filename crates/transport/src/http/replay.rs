//! The events that a session keeps for a client that lost its stream and comes back for the rest
//! (2025-11-25, "Resumability and Redelivery"). Bounded in number and bytes, for the session and
//! for the listener: the oldest go first, whether they are progress or a result. What a client has
//! been sent, it may still have missed, so that is kept too, for a while.

use crate::bounds::Share;
use bytes::Bytes;
use haft_proto::limits::Limits;
use std::collections::VecDeque;

/// Takes no memory while it is empty.
pub(super) struct Replay {
    events: VecDeque<Kept>,
    /// As many bytes as are kept.
    held: Share,
    bytes: usize,
    events_max: usize,
    bytes_max: usize,
}

struct Kept {
    at: Place,
    event: Bytes,
    /// When it was sent, in the milliseconds of its session's clock.
    sent: Option<u64>,
}

/// Where in which stream of a session an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    /// The first is 1.
    pub(super) number: u64,
}

impl Replay {
    /// `held` is a share of what the listener holds for all sessions.
    pub(super) fn new(limits: &Limits, held: Share) -> Self {
        Self {
            events: VecDeque::new(),
            held,
            bytes: 0,
            events_max: limits.replay_events,
            bytes_max: limits.replay_bytes,
        }
    }

    /// Keeps an event, in place of the oldest if there is no room.
    pub(super) fn keep(&mut self, at: Place, event: &Bytes, sent: Option<u64>) {
        if event.len() > self.bytes_max || self.events_max == 0 {
            return;
        }
        while self.events.len() >= self.events_max || self.bytes + event.len() > self.bytes_max {
            self.drop_oldest();
        }
        // What other sessions hold is theirs; of its own, a session gives up the oldest.
        while !self.held.take_whole(event.len()) {
            if self.events.is_empty() {
                return;
            }
            self.drop_oldest();
        }
        self.bytes += event.len();
        self.events.push_back(Kept { at, event: event.clone(), sent });
    }

    /// The later events of a stream, which count as sent now.
    pub(super) fn after(&mut self, last: Place, now: u64) -> Vec<Bytes> {
        let is_later =
            |kept: &&mut Kept| kept.at.stream == last.stream && kept.at.number > last.number;
        let later = self.events.iter_mut().filter(is_later);
        later
            .map(|kept| {
                kept.sent = Some(now);
                kept.event.clone()
            })
            .collect()
    }

    /// Forgets what was sent before that time.
    pub(super) fn forget_sent_before(&mut self, time: u64) {
        let is_old = |kept: &Kept| kept.sent.is_some_and(|sent| sent < time);
        let old: usize =
            self.events.iter().filter(|kept| is_old(kept)).map(|kept| kept.event.len()).sum();
        self.events.retain(|kept| !is_old(kept));
        self.bytes -= old;
        self.held.give(old);
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(kept) = self.events.pop_front() {
            self.bytes -= kept.event.len();
            self.held.give(kept.event.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bound;

    fn at(stream: u64, number: u64) -> Place {
        Place { stream, number }
    }

    fn kept(replay: &mut Replay, stream: u64) -> Vec<usize> {
        replay.after(at(stream, 0), 0).iter().map(Bytes::len).collect()
    }

    #[test]
    fn the_oldest_events_make_room_in_number_and_in_bytes() {
        let limits = Limits { replay_events: 3, replay_bytes: 100, ..Limits::default() };
        let mut replay = Replay::new(&limits, Bound::new(1000).share());
        let event = |length: usize| Bytes::from(vec![0; length]);
        for number in 1..=4 {
            replay.keep(at(1, number), &event(number as usize), None);
        }
        assert_eq!(kept(&mut replay, 1), [2, 3, 4]);
        replay.keep(at(2, 1), &event(95), None);
        assert_eq!((kept(&mut replay, 1), kept(&mut replay, 2)), (vec![4], vec![95]));
        replay.keep(at(2, 2), &event(101), None);
        assert_eq!(kept(&mut replay, 2), [95], "too large to be kept, and nothing goes for it");
        assert_eq!(replay.after(at(2, 1), 0), Vec::<Bytes>::new());
    }

    #[test]
    fn sessions_together_keep_no_more_than_the_listener_may() {
        let limits = Limits::default();
        let bound = Bound::new(100);
        let (mut first, mut second) =
            (Replay::new(&limits, bound.share()), Replay::new(&limits, bound.share()));
        let event = Bytes::from(vec![0; 40]);
        first.keep(at(1, 1), &event, Some(5));
        second.keep(at(1, 1), &event, None);
        second.keep(at(1, 2), &event, None);
        assert_eq!(second.after(at(1, 0), 10).len(), 1, "the second's own oldest went");
        first.forget_sent_before(6);
        assert_eq!(first.events.capacity(), 0);
        second.keep(at(1, 3), &event, None);
        second.forget_sent_before(10);
        assert_eq!(second.after(at(1, 0), 11).len(), 2);
        drop((first, second));
        assert!(bound.share().take(100), "all is given back");
    }
}
