//! The events that a session keeps for a client that lost its stream and comes back for the rest
//! (2025-11-25, "Resumability and Redelivery"). Bounded in number and bytes, for the session and
//! for the listener: what matters least goes first. A result that its client was not there to read
//! has a bound of its own, and goes for nothing else. What a client has been sent, it may still
//! have missed, so that is kept too, for a while.

use crate::bounds::Share;
use bytes::Bytes;
use haft_proto::limits::Limits;
use std::collections::VecDeque;

/// Takes no memory while it is empty.
pub(super) struct Replay {
    /// All but the results that wait.
    events: VecDeque<Kept>,
    /// The results that nobody has read. Each is the last event of its stream.
    waiting: VecDeque<Waiting>,
    /// As many bytes as are kept.
    held: Share,
    /// As many bytes as wait, or are about to.
    promised: Share,
    /// How many of `waiting` are errors.
    errors: usize,
    /// The bytes of `events`.
    bytes: usize,
    events_max: usize,
    bytes_max: usize,
    promised_max: usize,
}

/// A result for a client that is away.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) at: Place,
    pub(super) event: Bytes,
    /// By its session's clock, as when an event was sent.
    pub(super) since: u64,
    /// Whether it is an error in the place of a result that there was no room for.
    pub(super) is_error: bool,
}

struct Kept {
    at: Place,
    event: Bytes,
    kind: Kind,
    /// When it was sent, in the milliseconds of its session's clock.
    sent: Option<u64>,
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Notification,
    Question,
    Result,
}

/// How much is lost with an event; the least goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loss {
    /// More than a session may keep, and sent: kept until there is something else to keep.
    Huge,
    SentBefore,
    Unsent,
    SentResult,
    /// A question, sent or not: whoever asks waits for its answer.
    Unasked,
}

impl Loss {
    /// Whether this may go for that. What is sent takes no place of a notification that waits.
    fn may_go_for(self, newcomer: Self) -> bool {
        match newcomer {
            Self::SentBefore => matches!(self, Self::Huge | Self::SentBefore | Self::SentResult),
            Self::Unasked => true,
            Self::Huge | Self::Unsent | Self::SentResult => self != Self::Unasked,
        }
    }
}

/// Where in which stream of a session an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    /// The first is 1.
    pub(super) number: u64,
}

impl Replay {
    /// `held` is a share of what the listener holds for all sessions, `promised` one of what waits
    /// there.
    pub(super) fn new(limits: &Limits, held: Share, promised: Share) -> Self {
        Self {
            events: VecDeque::new(),
            waiting: VecDeque::new(),
            held,
            promised,
            errors: 0,
            bytes: 0,
            events_max: limits.replay_events,
            bytes_max: limits.replay_bytes,
            promised_max: limits.replays_bytes / 8,
        }
    }

    /// Keeps an event; if there is no room, in place of such as may go for it, those that matter
    /// least first; not if there are none. A result that was not sent has a way of its own.
    pub(super) fn keep(&mut self, at: Place, event: &Bytes, kind: Kind, sent: Option<u64>) {
        let kept = Kept { at, event: event.clone(), kind, sent };
        let (length, loss) = (event.len(), kept.loss(self.bytes_max));
        let is_huge = loss == Loss::Huge;
        let may_go = |other: Loss| other.may_go_for(loss);
        if self.events_max == 0 || (length > self.bytes_max && !is_huge) {
            return;
        }
        while self.bytes > self.bytes_max && self.forget_one(|other| other == Loss::Huge) {}
        let bytes_free = |of: &Self| of.bytes_max.saturating_sub(of.bytes);
        while self.events.len() >= self.events_max || (length > bytes_free(self) && !is_huge) {
            if !self.forget_one(may_go) {
                return;
            }
        }
        // What other sessions hold is theirs.
        while !self.held.take_whole(length) {
            if !self.forget_one(may_go) {
                return;
            }
        }
        self.bytes += length;
        self.events.push_back(kept);
    }

    /// Promises a result that it may wait, if what is sent makes room for it; false if its session
    /// has others and they are enough, or if there is no room beside all that wait.
    pub(super) fn promise(&mut self, result: &Waiting) -> bool {
        let length = result.event.len();
        let (promised, most) = (self.promised.taken(), self.promised_max);
        let is_within = match result.is_error {
            true => self.errors < self.events_max,
            false => promised == 0 || promised.saturating_add(length) <= most,
        };
        is_within && self.promised.take_whole(length)
    }

    /// Takes the promise back.
    pub(super) fn break_promise(&mut self, result: &Waiting) {
        self.promised.give(result.event.len());
    }

    /// Keeps a result that was promised it, in place of what this session has sent already; false
    /// if the listener has no room.
    pub(super) fn keep_waiting(&mut self, result: &Waiting) -> bool {
        self.wait_in_place_of(result, |loss| matches!(loss, Loss::Huge | Loss::SentBefore))
    }

    /// The same, in place of whatever else this session keeps but for questions.
    pub(super) fn keep_at_all_costs(&mut self, result: &Waiting) -> bool {
        self.wait_in_place_of(result, |loss| loss != Loss::Unasked)
    }

    fn wait_in_place_of(&mut self, result: &Waiting, may_go: impl Fn(Loss) -> bool + Copy) -> bool {
        let length = result.event.len();
        if length > self.held.room().saturating_add(self.bytes_of(may_go)) {
            return false;
        }
        while !self.held.take_whole(length) {
            if !self.forget_one(may_go) {
                return false;
            }
        }
        self.errors += usize::from(result.is_error);
        self.waiting.push_back(result.clone());
        true
    }

    /// The later events of a stream, which count as sent now.
    pub(super) fn after(&mut self, last: Place, now: u64) -> Vec<Bytes> {
        let is_later = |at: Place| at.stream == last.stream && at.number > last.number;
        if let Some(place) = self.waiting.iter().position(|result| is_later(result.at))
            && let Some(Waiting { at, event, is_error, .. }) = self.waiting.remove(place)
        {
            self.promised.give(event.len());
            self.errors -= usize::from(is_error);
            // From now on it counts with the rest; what is too much goes with the next event.
            self.bytes += event.len();
            self.events.push_back(Kept { at, event, kind: Kind::Result, sent: Some(now) });
        }
        let later = self.events.iter_mut().filter(|kept| is_later(kept.at));
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
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    /// Forgets the results that have waited since before that time.
    pub(super) fn forget_waiting_before(&mut self, time: u64) {
        // They are in the order in which they came.
        let is_old = |result: &Waiting| result.since < time;
        while self.waiting.front().is_some_and(is_old)
            && let Some(result) = self.waiting.pop_front()
        {
            self.promised.give(result.event.len());
            self.held.give(result.event.len());
            self.errors -= usize::from(result.is_error);
        }
    }

    fn bytes_of(&self, may_go: impl Fn(Loss) -> bool) -> usize {
        let those = self.events.iter().filter(|kept| may_go(kept.loss(self.bytes_max)));
        those.map(|kept| kept.event.len()).sum()
    }

    /// Forgets the oldest of the events that matter least of those that may go, if there are any.
    fn forget_one(&mut self, may_go: impl Fn(Loss) -> bool) -> bool {
        let bytes_max = self.bytes_max;
        let losses = self.events.iter().map(|kept| kept.loss(bytes_max)).enumerate();
        let least = losses.filter(|&(_, loss)| may_go(loss)).min_by_key(|&(_, loss)| loss);
        let Some(kept) = least.and_then(|(at, _)| self.events.remove(at)) else { return false };
        self.bytes -= kept.event.len();
        self.held.give(kept.event.len());
        true
    }
}

impl Kept {
    fn loss(&self, bytes_max: usize) -> Loss {
        match (self.kind, self.sent) {
            (Kind::Result, Some(_)) if self.event.len() > bytes_max => Loss::Huge,
            (Kind::Result, _) => Loss::SentResult,
            (Kind::Question, _) => Loss::Unasked,
            (Kind::Notification, Some(_)) => Loss::SentBefore,
            (Kind::Notification, None) => Loss::Unsent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bound;
    use std::sync::Arc;

    fn at(stream: u64, number: u64) -> Place {
        Place { stream, number }
    }

    fn event(length: usize) -> Bytes {
        Bytes::from(vec![0; length])
    }

    fn new(limits: &Limits, bound: &Arc<Bound>) -> Replay {
        Replay::new(limits, bound.share(), Bound::new(usize::MAX).share())
    }

    fn waiting(stream: u64, length: usize) -> Waiting {
        Waiting { at: at(stream, 1), event: event(length), since: 0, is_error: false }
    }

    fn wait(replay: &mut Replay, stream: u64, length: usize) -> bool {
        let result = waiting(stream, length);
        replay.promise(&result) && replay.keep_waiting(&result)
    }

    fn note(replay: &mut Replay, at: Place, length: usize, sent: Option<u64>) {
        replay.keep(at, &event(length), Kind::Notification, sent);
    }

    fn kept(replay: &mut Replay, stream: u64) -> Vec<usize> {
        replay.after(at(stream, 0), 0).iter().map(Bytes::len).collect()
    }

    #[test]
    fn the_oldest_events_make_room_in_number_and_in_bytes() {
        let limits = Limits { replay_events: 3, replay_bytes: 100, ..Limits::default() };
        let mut replay = new(&limits, &Bound::new(1000));
        for number in 1..=4 {
            note(&mut replay, at(1, number), number as usize, None);
        }
        assert_eq!(kept(&mut replay, 1), [2, 3, 4]);
        note(&mut replay, at(2, 1), 95, None);
        assert_eq!((kept(&mut replay, 1), kept(&mut replay, 2)), (vec![4], vec![95]));
        note(&mut replay, at(2, 2), 101, None);
        assert_eq!(kept(&mut replay, 2), [95], "too large to be kept, and nothing goes for it");
        assert_eq!(replay.after(at(2, 1), 0), Vec::<Bytes>::new());
    }

    #[test]
    fn what_matters_least_goes_first_and_a_result_that_waits_never() {
        let limits = Limits { replay_events: 4, replay_bytes: 100, ..Limits::default() };
        let mut replay = new(&limits, &Bound::new(1000));
        replay.keep(at(1, 1), &event(11), Kind::Result, Some(0));
        replay.keep(at(2, 1), &event(12), Kind::Question, None);
        note(&mut replay, at(3, 1), 13, None);
        note(&mut replay, at(4, 1), 14, Some(0));
        assert!(wait(&mut replay, 5, 500), "more than the session may keep");
        let streams = |replay: &Replay| -> Vec<_> {
            replay.events.iter().map(|kept| kept.at.stream).collect()
        };
        note(&mut replay, at(6, 1), 1, None);
        assert_eq!(streams(&replay), [1, 2, 3, 6], "a notification that was sent is gone");
        note(&mut replay, at(7, 1), 1, Some(0));
        assert_eq!(streams(&replay), [2, 3, 6, 7], "such takes the place of a result that was");
        note(&mut replay, at(8, 1), 1, Some(0));
        assert_eq!(streams(&replay), [2, 3, 6, 8], "then that of the oldest like it");
        replay.keep(at(9, 1), &event(1), Kind::Question, None);
        note(&mut replay, at(10, 1), 1, Some(0));
        assert_eq!(streams(&replay), [2, 3, 6, 9], "but not that of what waits");
        replay.keep(at(11, 1), &event(1), Kind::Question, Some(0));
        replay.keep(at(12, 1), &event(1), Kind::Result, Some(0));
        assert_eq!(streams(&replay), [2, 9, 11, 12], "that goes for more, the oldest first");
        replay.keep(at(13, 1), &event(1), Kind::Question, None);
        assert_eq!(streams(&replay), [2, 9, 11, 13], "a result that was sent, for a question");
        note(&mut replay, at(14, 1), 1, None);
        replay.keep(at(14, 2), &event(1), Kind::Result, Some(0));
        assert_eq!(streams(&replay), [2, 9, 11, 13], "a question is asked, sent or not");
        assert_eq!(kept(&mut replay, 5), [500]);
    }

    #[test]
    fn a_question_that_was_sent_is_there_for_a_client_whose_session_is_full_of_results() {
        let limits = Limits { replay_events: 4, replay_bytes: 100, ..Limits::default() };
        let mut replay = new(&limits, &Bound::new(1000));
        let send_results = |replay: &mut Replay, streams: std::ops::Range<u64>| {
            for stream in streams {
                replay.keep(at(stream, 1), &event(10), Kind::Result, Some(0));
            }
        };
        send_results(&mut replay, 1..5);
        replay.keep(at(5, 1), &event(11), Kind::Question, Some(0));
        send_results(&mut replay, 6..16);
        assert_eq!(kept(&mut replay, 5), [11]);
        note(&mut replay, at(16, 1), 12, Some(0));
        assert_eq!(kept(&mut replay, 16), [12], "what was sent last is there as well");
    }

    #[test]
    fn a_huge_result_that_was_sent_is_kept_until_there_is_something_else_to_keep() {
        let limits = Limits { replay_events: 4, replay_bytes: 100, ..Limits::default() };
        let bound = Bound::new(1000);
        let mut replay = new(&limits, &bound);
        note(&mut replay, at(1, 1), 90, None);
        replay.keep(at(1, 2), &event(101), Kind::Result, Some(0));
        assert!(wait(&mut replay, 2, 102));
        assert_eq!((kept(&mut replay, 1), kept(&mut replay, 2)), (vec![90, 101], vec![102]));
        note(&mut replay, at(3, 1), 10, None);
        assert_eq!((kept(&mut replay, 1), kept(&mut replay, 2)), (vec![90], vec![]));
        assert_eq!(kept(&mut replay, 3), [10]);
        assert!(bound.share().take(900));
    }

    #[test]
    fn sessions_together_keep_no_more_than_the_listener_may() {
        let limits = Limits::default();
        let bound = Bound::new(100);
        let (mut first, mut second) = (new(&limits, &bound), new(&limits, &bound));
        note(&mut first, at(1, 1), 40, Some(5));
        note(&mut second, at(1, 1), 40, None);
        note(&mut second, at(1, 2), 40, None);
        assert_eq!(second.after(at(1, 0), 10).len(), 1, "the second's own oldest went");
        first.forget_sent_before(6);
        assert_eq!(first.events.capacity(), 0);
        note(&mut second, at(1, 3), 40, None);
        second.forget_sent_before(10);
        assert_eq!(second.after(at(1, 0), 11).len(), 2);
        assert!(!wait(&mut first, 2, 40));
        assert!(wait(&mut second, 2, 40), "in place of what was sent");
        assert!(!wait(&mut second, 3, 61));
        note(&mut second, at(4, 1), 60, None);
        assert!(second.keep_at_all_costs(&waiting(3, 60)), "in place of what waits");
        assert!(!second.keep_at_all_costs(&waiting(5, 1)), "and no more");
        drop((first, second));
        assert!(bound.share().take(100), "all is given back");
    }
    #[test]
    fn nothing_goes_for_a_result_that_there_would_still_be_no_room_for() {
        let bound = Bound::new(100);
        let (mut first, mut second) =
            (new(&Limits::default(), &bound), new(&Limits::default(), &bound));
        assert!(wait(&mut first, 1, 40));
        note(&mut second, at(1, 1), 30, Some(0));
        note(&mut second, at(2, 1), 20, None);
        let result = waiting(3, 61);
        assert!(!second.keep_waiting(&result) && !second.keep_at_all_costs(&result));
        assert_eq!((kept(&mut second, 1), kept(&mut second, 2)), (vec![30], vec![20]));
    }

    #[test]
    fn the_results_that_wait_for_a_session_have_an_eighth_of_the_room_or_are_one() {
        let limits = Limits { replays_bytes: 800, replay_events: 2, ..Limits::default() };
        let (held, promised) = (Bound::new(800), Bound::new(800));
        let make = || Replay::new(&limits, held.share(), promised.share());
        let (mut first, mut second) = (make(), make());
        assert!(wait(&mut first, 1, 60) && wait(&mut first, 2, 40));
        assert!(!wait(&mut first, 3, 1));
        for is_kept in [true, true, false] {
            let error = Waiting { is_error: true, ..waiting(3, 10) };
            assert_eq!(first.promise(&error) && first.keep_waiting(&error), is_kept);
        }
        assert!(wait(&mut second, 1, 600) && !wait(&mut second, 2, 1));
        assert!(!make().promise(&waiting(1, 81)), "no room beside all that wait");
        assert_eq!(kept(&mut first, 1), [60]);
        assert!(wait(&mut first, 4, 20), "what was sent waits no more");
    }

    #[test]
    fn a_result_waits_for_so_long_and_gives_its_room_back() {
        let limits = Limits { replays_bytes: 800, ..Limits::default() };
        let (held, promised) = (Bound::new(800), Bound::new(800));
        let mut replay = Replay::new(&limits, held.share(), promised.share());
        for (stream, since) in [(1, 5), (2, 6)] {
            let result = Waiting { since, ..waiting(stream, 50) };
            assert!(replay.promise(&result) && replay.keep_waiting(&result));
        }
        replay.forget_waiting_before(6);
        assert_eq!((held.share().room(), promised.share().room()), (750, 750));
        assert_eq!((kept(&mut replay, 1), kept(&mut replay, 2)), (vec![], vec![50]));
    }
}
