//! How much of what comes of calls may be under way: messages and bytes, counted together. Of one
//! call, whoever reads grants sums that only grow; of all calls of a link, each has a share in what
//! may be sent, and gives back what was read of it.

use crate::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};
use tokio::sync::Notify;

/// Messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// The other end has counted what there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miscounted;

impl Sums {
    /// With one more message, of so many bytes.
    pub(crate) fn and(self, bytes: u64) -> Self {
        self.plus(Self { messages: 1, bytes })
    }

    pub(crate) fn plus(self, more: Self) -> Self {
        self.each(more, u64::saturating_add)
    }

    pub(crate) fn minus(self, less: Self) -> Self {
        self.each(less, u64::saturating_sub)
    }

    /// The larger of each.
    pub(crate) fn largest(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// The smaller of each.
    pub(crate) fn smallest(self, other: Self) -> Self {
        self.each(other, u64::min)
    }

    /// Whether neither is more.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.messages <= other.messages && self.bytes <= other.bytes
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let messages = of(self.messages, other.messages);
        Self { messages, bytes: of(self.bytes, other.bytes) }
    }
}

/// What all calls of a link may have under way together.
#[derive(Debug)]
pub(crate) struct Allowance {
    window: Sums,
    /// What those may use of it that have something under way: the rest is for those that have not,
    /// so that nobody who reads slowly holds up all.
    half: Sums,
    under_way: Mutex<Sums>,
    more: Notify,
}

/// What one call has under way of that, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<Allowance>,
    taken: Sums,
}

impl Allowance {
    /// So much; what is nothing lets one message through at a time.
    pub(crate) fn new(window: Sums) -> Arc<Self> {
        let window = window.largest(Sums { messages: 1, bytes: 1 });
        let half = Sums { messages: window.messages / 2, bytes: window.bytes / 2 };
        Arc::new(Self { window, half, under_way: Mutex::default(), more: Notify::new() })
    }

    /// Told when there is more, from when this is called on.
    pub(crate) fn more(&self) -> impl Future<Output = ()> {
        self.more.notified()
    }

    fn under_way(&self) -> MutexGuard<'_, Sums> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    pub(crate) fn of(allowance: &Arc<Allowance>) -> Self {
        Self { of: Arc::clone(allowance), taken: Sums::default() }
    }

    /// Takes one message of so many bytes, if there is room for it.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let mut under_way = self.of.under_way();
        let after = under_way.and(bytes);
        let most = if self.taken.messages == 0 { self.of.window } else { self.of.half };
        // One that is longer than all goes alone.
        let may = after.is_within(most) || under_way.messages == 0;
        if may {
            *under_way = after;
            self.taken = self.taken.and(bytes);
        }
        may
    }

    /// So much of it has been read.
    pub(crate) fn give_back(&mut self, read: Sums) {
        let read = read.smallest(self.taken);
        if read == Sums::default() {
            return;
        }
        self.taken = self.taken.minus(read);
        let mut under_way = self.of.under_way();
        *under_way = under_way.minus(read);
        drop(under_way);
        self.of.more.notify_waiters();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Sums = Sums { messages: 4, bytes: 100 };

    #[test]
    fn no_more_of_either_is_under_way_than_may_be_whoever_sends_it() {
        let allowance = Allowance::new(WINDOW);
        let [mut one, mut two, mut three] = [(); 3].map(|()| Share::of(&allowance));
        assert!(one.take(60) && !two.take(41) && two.take(40) && !three.take(1) && three.take(0));
        let mut four = Share::of(&allowance);
        assert!(four.take(0) && !Share::of(&allowance).take(0));
        one.give_back(Sums { messages: 1, bytes: 60 });
        assert!(one.take(60) && !Share::of(&allowance).take(0));
    }

    #[test]
    fn half_is_for_those_that_have_nothing_under_way() {
        let allowance = Allowance::new(WINDOW);
        let (mut one, mut other) = (Share::of(&allowance), Share::of(&allowance));
        assert!(one.take(10) && !one.take(41) && one.take(40) && !one.take(0));
        assert!(other.take(50) && !other.take(0));
        one.give_back(Sums { messages: 2, bytes: 50 });
        assert!(one.take(50) && !one.take(0));
    }

    #[test]
    fn whoever_ends_gives_back_all_and_nobody_more_than_was_taken() {
        let allowance = Allowance::new(WINDOW);
        let (mut one, mut other) = (Share::of(&allowance), Share::of(&allowance));
        assert!(one.take(50) && other.take(50));
        one.give_back(Sums { messages: u64::MAX, bytes: u64::MAX });
        assert_eq!(*allowance.under_way(), Sums { messages: 1, bytes: 50 });
        drop(other);
        assert_eq!(*allowance.under_way(), Sums::default());
    }

    #[test]
    fn what_is_longer_than_all_goes_alone() {
        let allowance = Allowance::new(Sums::default());
        let (mut one, mut other) = (Share::of(&allowance), Share::of(&allowance));
        assert!(one.take(1000) && !other.take(0));
        drop(one);
        assert!(other.take(1000));
    }

    #[tokio::test]
    async fn whoever_waits_is_told_when_something_is_given_back() {
        let allowance = Allowance::new(WINDOW);
        let (mut one, mut other) = (Share::of(&allowance), Share::of(&allowance));
        assert!(one.take(100));
        let more = allowance.more();
        assert!(!other.take(1));
        drop(one);
        more.await;
        assert!(other.take(1));
    }
}
