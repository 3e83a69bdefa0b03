//! What comes of one call, at the agent, until the gateway has it: kept in order, sent within what
//! was granted, and sent again from where a new link takes it up.

use crate::credit::{Miscounted, Share, Sums};
use bytes::Bytes;
use haft_link::Kind;
use std::collections::VecDeque;

/// See above.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// What may be asked for again.
    kept: VecDeque<Response>,
    /// The sequence of the last that was made.
    made: u64,
    /// How many bytes all that was made has.
    bytes: u64,
    /// What was sent over the link that is there, or has arrived before.
    sent: Sums,
    /// Up to where may be sent.
    granted: Sums,
    /// How much may be under way.
    window: Sums,
    /// In what may be sent over the link that is there.
    share: Option<Share>,
    /// On how many other streams it was sent before.
    stream: u64,
}

/// One frame of what comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) sequence: u64,
    pub(super) kind: Kind,
    pub(super) detail: &'static str,
    pub(super) payload: Bytes,
    /// How many bytes the answer has of which this is the first part, if that is known; or 0.
    pub(super) total: u64,
    /// Where it ends, counted from the first.
    end: u64,
}

/// What was asked for is not kept any more, or was never made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing;

impl Response {
    /// How many bytes there are before it.
    fn begins(&self) -> u64 {
        self.end - self.payload.len() as u64
    }
}

impl Delivery {
    /// With so much under way at first; what is nothing lets one response through.
    pub(super) fn new(window: Sums) -> Self {
        let window = Sums { messages: window.messages.max(1), bytes: window.bytes.max(1) };
        Self { granted: window, window, ..Self::default() }
    }

    /// Adds what comes next; of an answer of so many bytes, if this is its first part.
    pub(super) fn push(
        &mut self,
        (kind, detail): (Kind, &'static str),
        payload: Bytes,
        total: u64,
    ) {
        debug_assert!(!self.is_over(), "nothing comes after the last");
        self.made += 1;
        self.bytes += payload.len() as u64;
        let (sequence, end) = (self.made, self.bytes);
        self.kept.push_back(Response { sequence, kind, detail, payload, total, end });
    }

    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        let consumed = self.consumed();
        self.bytes - consumed.bytes < self.window.bytes
            && self.made - consumed.messages < self.window.messages
    }

    /// Whether the last was made.
    pub(super) fn is_over(&self) -> bool {
        self.kept.back().is_some_and(|last| last.kind.is_last())
    }

    /// Whether the last was sent.
    pub(super) fn is_sent(&self) -> bool {
        self.is_over() && self.sent.messages == self.made
    }

    /// What may be sent next.
    pub(super) fn next(&mut self) -> Option<Response> {
        let (consumed, sent) = (self.consumed(), self.sent.messages);
        let at = self.kept.iter().position(|response| response.sequence > sent)?;
        let response = &self.kept[at];
        let upto = Sums { messages: response.sequence, bytes: response.end };
        // One that is longer than the window goes alone.
        let is_alone = response.begins() <= consumed.bytes && sent <= consumed.messages;
        let may = upto.is_within(self.granted) || is_alone;
        let mut takes = || self.share.as_mut()?.take(response.payload.len() as u64).then_some(());
        if !may || takes().is_none() {
            return None;
        }
        self.sent = upto;
        Some(response.clone())
    }

    /// More may be sent, as so much was read of what was.
    pub(super) fn grant(&mut self, granted: Sums) -> Result<(), Miscounted> {
        if !granted.is_within(self.sent.plus(self.window)) {
            return Err(Miscounted);
        }
        let before = self.consumed();
        self.granted = self.granted.largest(granted);
        let consumed = self.consumed();
        if let Some(share) = &mut self.share {
            share.give_back(consumed.minus(before));
        }
        // The last is kept until it is acknowledged.
        while self.kept.len() > 1
            && self.kept.front().is_some_and(|first| {
                Sums { messages: first.sequence, bytes: first.end }.is_within(consumed)
            })
        {
            self.kept.pop_front();
        }
        Ok(())
    }

    /// It is sent over a link, in what may be sent over which it has that share; or over none.
    pub(super) fn shares(&mut self, share: Option<Share>) {
        self.share = share;
    }

    /// Which stream it is sent on: the latest, and no other.
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// A new link goes on behind what has arrived, on that stream.
    pub(super) fn resume(
        &mut self,
        received: u64,
        granted: Sums,
        share: Share,
    ) -> Result<u64, Missing> {
        let first = self.kept.front().map_or(self.made + 1, |first| first.sequence);
        if received > self.made || received + 1 < first {
            return Err(Missing);
        }
        let next = self.kept.iter().find(|response| response.sequence > received);
        let bytes = next.map_or(self.bytes, Response::begins);
        let arrived = Sums { messages: received, bytes };
        if !granted.is_within(arrived.plus(self.window)) {
            return Err(Missing);
        }
        (self.sent, self.share) = (arrived, Some(share));
        self.stream += 1;
        // It was looked at whether it may be.
        _ = self.grant(granted);
        Ok(self.stream)
    }

    /// What the gateway has read, as far as it has said so.
    fn consumed(&self) -> Sums {
        let messages = self.granted.messages.saturating_sub(self.window.messages);
        let bytes = self.granted.bytes.saturating_sub(self.window.bytes);
        Sums { messages: messages.min(self.made), bytes: bytes.min(self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::Allowance;

    fn text(bytes: usize) -> Bytes {
        Bytes::from(vec![b'x'; bytes])
    }

    fn sums(messages: u64, bytes: u64) -> Sums {
        Sums { messages, bytes }
    }

    fn sent(delivery: &mut Delivery) -> Vec<u64> {
        std::iter::from_fn(|| delivery.next()).map(|response| response.sequence).collect()
    }

    /// Over a link with room for much.
    fn delivery(window: Sums) -> Delivery {
        let mut delivery = Delivery::new(window);
        let much = Allowance::new(sums(1 << 30, 1 << 30));
        delivery.shares(Some(Share::of(&much)));
        delivery
    }

    /// Over another like it.
    fn resume(delivery: &mut Delivery, received: u64, granted: Sums) -> Result<(), Missing> {
        let share = Share::of(&Allowance::new(sums(1 << 30, 1 << 30)));
        delivery.resume(received, granted, share).map(drop)
    }

    #[test]
    fn no_more_is_sent_than_was_granted() {
        let mut delivery = delivery(sums(100, 10));
        for _ in 0..4 {
            delivery.push((Kind::Part, ""), text(4), 0);
        }
        assert!(!delivery.has_room());
        assert_eq!(sent(&mut delivery), [1, 2]);
        assert_eq!(delivery.grant(sums(101, 14)), Ok(()));
        assert_eq!(sent(&mut delivery), [3]);
        // A grant never shrinks.
        assert_eq!(delivery.grant(sums(0, 2)), Ok(()));
        assert_eq!(delivery.grant(sums(103, 22)), Ok(()));
        assert_eq!(sent(&mut delivery), [4]);
        assert!(delivery.has_room());
    }

    #[test]
    fn so_many_are_under_way_however_short_they_are() {
        let mut delivery = delivery(sums(3, 1000));
        for number in 0..6 {
            assert_eq!(delivery.has_room(), number < 3);
            delivery.push((Kind::Notice, ""), text(0), 0);
        }
        assert_eq!(sent(&mut delivery), [1, 2, 3]);
        assert_eq!(delivery.grant(sums(5, 1000)), Ok(()));
        assert_eq!(sent(&mut delivery), [4, 5]);
    }

    #[test]
    fn a_grant_for_what_was_not_sent_is_a_mistake() {
        let mut delivery = delivery(sums(4, 10));
        delivery.push((Kind::Part, ""), text(4), 0);
        assert_eq!(delivery.grant(sums(4, 11)), Err(Miscounted));
        assert_eq!(sent(&mut delivery), [1]);
        assert_eq!(delivery.grant(sums(6, 14)), Err(Miscounted));
        assert_eq!(delivery.grant(sums(5, 15)), Err(Miscounted));
        assert_eq!(delivery.grant(sums(u64::MAX, u64::MAX)), Err(Miscounted));
        assert_eq!(delivery.grant(sums(5, 14)), Ok(()));
    }

    #[test]
    fn what_the_link_has_no_room_for_waits() {
        let link = Allowance::new(sums(2, 10));
        let (mut one, mut other) = (Delivery::new(sums(9, 10)), Delivery::new(sums(9, 10)));
        for delivery in [&mut one, &mut other] {
            (0..3).for_each(|_| delivery.push((Kind::Part, ""), text(4), 0));
            delivery.shares(Some(Share::of(&link)));
        }
        // One that has something under way leaves room for those that have not.
        assert_eq!((sent(&mut one), sent(&mut other)), (vec![1], vec![1]));
        assert_eq!(one.grant(sums(10, 14)), Ok(()));
        assert_eq!((sent(&mut other), sent(&mut one)), (vec![], vec![2]));
        // One that is not wanted any more makes room for the rest.
        one.shares(None);
        assert_eq!(other.grant(sums(10, 14)), Ok(()));
        assert_eq!(sent(&mut other), [2]);
    }

    #[test]
    fn what_is_longer_than_the_window_goes_alone() {
        let mut delivery = delivery(sums(9, 10));
        delivery.push((Kind::Notice, ""), text(4), 0);
        delivery.push((Kind::End, ""), text(100), 0);
        assert_eq!(sent(&mut delivery), [1]);
        assert_eq!(delivery.grant(sums(10, 14)), Ok(()));
        assert_eq!(sent(&mut delivery), [2]);
        assert!(delivery.is_sent());
    }

    #[test]
    fn a_new_link_gets_what_has_not_arrived_and_nothing_else() {
        let mut delivery = delivery(sums(50, 100));
        for _ in 0..3 {
            delivery.push((Kind::Part, ""), text(10), 0);
        }
        assert_eq!(sent(&mut delivery), [1, 2, 3]);
        assert_eq!(delivery.grant(sums(51, 115)), Ok(()));
        delivery.push((Kind::End, ""), text(1), 0);
        assert_eq!(resume(&mut delivery, 2, sums(51, 115)), Ok(()));
        assert_eq!(sent(&mut delivery), [3, 4]);
        // All was lost on the way but the first, which is not kept.
        assert_eq!(resume(&mut delivery, 1, sums(51, 110)), Ok(()));
        assert_eq!(sent(&mut delivery), [2, 3, 4]);
        assert_eq!(resume(&mut delivery, 5, sums(51, 110)), Err(Missing));
        assert_eq!(delivery.grant(sums(52, 125)), Ok(()));
        assert_eq!(resume(&mut delivery, 0, sums(52, 125)), Err(Missing));
        assert_eq!(resume(&mut delivery, 4, sums(54, 131)), Ok(()));
        assert_eq!(sent(&mut delivery), [] as [u64; 0]);
    }
}
