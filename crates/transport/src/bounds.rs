//! Counts that all requests of a listener or of a connection share: how many are unanswered, how
//! many bytes of bodies and of answers are held. Each is one atomic number with a bound; nobody
//! waits here.

use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number that may not go over its bound.
#[derive(Debug)]
pub(crate) struct Bound {
    taken: AtomicUsize,
    limit: usize,
}

/// A part of a [`Bound`]; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bound: Arc<Bound>,
    taken: usize,
}

impl Bound {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), limit })
    }

    /// A share that holds nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { bound: Arc::clone(self), taken: 0 }
    }

    /// A share of that much, whatever the bound says.
    pub(crate) fn share_of(self: &Arc<Self>, taken: usize) -> Share {
        self.taken.fetch_add(taken, Ordering::Relaxed);
        Share { bound: Arc::clone(self), taken }
    }

    /// How much is taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether nothing more may be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.taken() >= self.limit
    }
}

impl Share {
    /// Takes more; false if the bound does not allow it.
    #[must_use]
    pub(crate) fn take(&mut self, more: usize) -> bool {
        let before = self.bound.taken.fetch_add(more, Ordering::Relaxed);
        self.taken += more;
        before.saturating_add(more) <= self.bound.limit
    }

    /// Takes more, or nothing if the bound does not allow it.
    #[must_use]
    pub(crate) fn take_whole(&mut self, more: usize) -> bool {
        let limit = self.bound.limit;
        let fits = |taken: usize| taken.checked_add(more).filter(|taken| *taken <= limit);
        let is_taken =
            self.bound.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if is_taken {
            self.taken += more;
        }
        is_taken
    }

    /// How much of the bound this is.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// How much more the bound allows.
    pub(crate) fn room(&self) -> usize {
        self.bound.limit.saturating_sub(self.bound.taken())
    }

    /// Gives some back.
    pub(crate) fn give(&mut self, some: usize) {
        self.taken -= some;
        self.bound.taken.fetch_sub(some, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bound.taken.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// What a client is told when the listener is full.
pub(crate) fn overloaded(limits: &Limits) -> Refusal {
    let limit = limits.requests_in_flight;
    Refusal::new(
        Mistake::Overloaded,
        format!("Overloaded: {limit} requests are in flight; try again in a second"),
    )
}

/// What a client is told when there are subscriptions enough.
pub(crate) fn oversubscribed(limits: &Limits) -> Refusal {
    let limit = limits.subscriptions;
    Refusal::new(
        Mistake::Overloaded,
        format!("Overloaded: {limit} subscriptions are open; try again in a second"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_given_back_whole() {
        let bound = Bound::new(3);
        let (mut first, mut second) = (bound.share(), bound.share());
        assert!(first.take(1) && first.take(2));
        assert!(!second.take(1));
        drop(second);
        assert!(!bound.share().take(1));
        drop(first);
        let mut third = bound.share();
        assert!(!third.take_whole(4) && third.take_whole(3) && !third.take_whole(1));
        third.give(1);
        assert!(!bound.is_full() && bound.share().take(1));
        let fourth = bound.share_of(100);
        assert!(bound.is_full());
        drop(fourth);
        assert!(!bound.is_full());
    }
}
