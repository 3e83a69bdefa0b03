//! What comes of one call, at the agent, until the gateway has it: kept in order, sent within what
//! was granted, and sent again from where a new link takes it up.

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
    /// The sequence of the last that was sent over the link that is there.
    sent: u64,
    /// Up to where bytes may be sent.
    granted: u64,
    /// How many of them may be under way.
    window: u64,
}

/// One frame of what comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) sequence: u64,
    pub(super) kind: Kind,
    pub(super) detail: &'static str,
    pub(super) payload: Bytes,
    /// Where it ends, counted from the first.
    end: u64,
}

/// What was asked for is not kept any more, or was never made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing;

impl Delivery {
    pub(super) fn new(window: u64) -> Self {
        Self { granted: window, window, ..Self::default() }
    }

    /// Adds what comes next.
    pub(super) fn push(&mut self, kind: Kind, detail: &'static str, payload: Bytes) {
        debug_assert!(!self.is_over(), "nothing comes after the last");
        self.made += 1;
        self.bytes += payload.len() as u64;
        let (sequence, end) = (self.made, self.bytes);
        self.kept.push_back(Response { sequence, kind, detail, payload, end });
    }

    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.bytes - self.consumed() < self.window
    }

    /// Whether the last was made.
    pub(super) fn is_over(&self) -> bool {
        self.kept.back().is_some_and(|last| last.kind.is_last())
    }

    /// Whether the last was sent.
    pub(super) fn is_sent(&self) -> bool {
        self.is_over() && self.sent == self.made
    }

    /// What may be sent next.
    pub(super) fn next(&mut self) -> Option<Response> {
        let consumed = self.consumed();
        let at = self.kept.iter().position(|response| response.sequence > self.sent)?;
        let response = &self.kept[at];
        // One that is longer than the window goes alone.
        let begins = response.end - response.payload.len() as u64;
        if response.end > self.granted && begins > consumed {
            return None;
        }
        self.sent = response.sequence;
        Some(response.clone())
    }

    /// More may be sent, as so much was read of what was.
    pub(super) fn grant(&mut self, bytes: u64) {
        self.granted = self.granted.max(bytes.min(self.bytes.saturating_add(self.window)));
        let (consumed, sent) = (self.consumed(), self.sent);
        // The last is kept until it is acknowledged.
        while self.kept.len() > 1
            && self.kept.front().is_some_and(|it| it.end <= consumed && it.sequence <= sent)
        {
            self.kept.pop_front();
        }
    }

    /// A new link goes on behind what has arrived.
    pub(super) fn resume(&mut self, received: u64, granted: u64) -> Result<(), Missing> {
        let first = self.kept.front().map_or(self.made + 1, |first| first.sequence);
        if received > self.made || received + 1 < first {
            return Err(Missing);
        }
        self.sent = received;
        self.grant(granted);
        Ok(())
    }

    /// How many bytes the gateway has read, as far as it has said so.
    fn consumed(&self) -> u64 {
        self.granted.saturating_sub(self.window).min(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Bytes {
        Bytes::from(vec![b'x'; bytes])
    }

    fn sent(delivery: &mut Delivery) -> Vec<u64> {
        std::iter::from_fn(|| delivery.next()).map(|response| response.sequence).collect()
    }

    #[test]
    fn no_more_is_sent_than_was_granted() {
        let mut delivery = Delivery::new(10);
        for _ in 0..4 {
            delivery.push(Kind::Part, "", text(4));
        }
        assert!(!delivery.has_room());
        assert_eq!(sent(&mut delivery), [1, 2]);
        delivery.grant(14);
        assert_eq!(sent(&mut delivery), [3]);
        // A grant never shrinks, and none is for what there is not.
        delivery.grant(2);
        delivery.grant(u64::MAX);
        assert_eq!(sent(&mut delivery), [4]);
        assert!(delivery.has_room());
    }

    #[test]
    fn what_is_longer_than_the_window_goes_alone() {
        let mut delivery = Delivery::new(10);
        delivery.push(Kind::Notice, "", text(4));
        delivery.push(Kind::End, "", text(100));
        assert_eq!(sent(&mut delivery), [1]);
        delivery.grant(14);
        assert_eq!(sent(&mut delivery), [2]);
        assert!(delivery.is_sent());
    }

    #[test]
    fn a_new_link_gets_what_has_not_arrived_and_nothing_else() {
        let mut delivery = Delivery::new(100);
        for _ in 0..3 {
            delivery.push(Kind::Part, "", text(10));
        }
        assert_eq!(sent(&mut delivery), [1, 2, 3]);
        delivery.grant(115);
        delivery.push(Kind::End, "", text(1));
        assert_eq!(delivery.resume(2, 115), Ok(()));
        assert_eq!(sent(&mut delivery), [3, 4]);
        // All was lost on the way but the first, which is not kept.
        assert_eq!(delivery.resume(1, 115), Ok(()));
        assert_eq!(sent(&mut delivery), [2, 3, 4]);
        assert_eq!(delivery.resume(5, 110), Err(Missing));
        delivery.grant(125);
        assert_eq!(delivery.resume(0, 125), Err(Missing));
        assert_eq!(delivery.resume(4, 131), Ok(()));
        assert_eq!(sent(&mut delivery), [] as [u64; 0]);
    }
}
