//! How many calls of a gateway are under way to one agent: those that find no room wait for it, one
//! after the other. How many have room is set by how long calls take; those whose answers wait for
//! their readers take up no more than what the agent works on at once.

use crate::limits::QUEUED_CALLS_MAX;
use crate::sync::{Mutex, MutexGuard};
use haft_link::{Outcome, Pace};
use std::sync::{Arc, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// See above.
#[derive(Debug)]
pub(super) struct Gate {
    inner: Mutex<Inner>,
    /// Told when there may be room.
    room: Notify,
}

#[derive(Debug)]
struct Inner {
    pace: Pace,
    /// How many calls the agent works on at once.
    slots: usize,
    /// How many answers are read as fast as somebody likes.
    unread: usize,
    /// How many wait.
    waiting: usize,
    is_open: bool,
}

/// Room for one call, until this is dropped.
#[derive(Debug)]
pub(super) struct Room {
    gate: Arc<Gate>,
    began: Instant,
    outcome: Outcome,
    is_unread: bool,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// As many wait as may.
    Full,
    /// Nobody is let through any more.
    Closed,
}

impl Gate {
    /// For an agent that works on so many calls at once.
    pub(super) fn new(slots: u32) -> Arc<Self> {
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let inner = Inner { pace: Pace::new(slots), slots, unread: 0, waiting: 0, is_open: true };
        Arc::new(Self { inner: Mutex::new(inner), room: Notify::new() })
    }

    /// Room, as soon as there is any.
    pub(super) async fn enter(self: &Arc<Self>) -> Result<Room, NoRoom> {
        let mut waits = None;
        loop {
            let room = self.room.notified();
            {
                let mut inner = self.lock();
                if !inner.is_open {
                    return Err(NoRoom::Closed);
                }
                // Who comes later waits behind those who wait.
                if (waits.is_some() || inner.waiting == 0) && inner.try_begin() {
                    let (gate, began) = (Arc::clone(self), Instant::now());
                    return Ok(Room { gate, began, outcome: Outcome::Untold, is_unread: false });
                }
                if waits.is_none() {
                    if inner.waiting >= QUEUED_CALLS_MAX {
                        return Err(NoRoom::Full);
                    }
                    inner.waiting += 1;
                    waits = Some(Waits(self));
                }
            }
            room.await;
        }
    }

    /// How many may be under way, are, and wait for that.
    pub(super) fn told(&self) -> (usize, usize, usize) {
        let inner = self.lock();
        (inner.pace.limit(), inner.under_way(), inner.waiting)
    }

    /// How many are under way or wait.
    pub(super) fn load(&self) -> u64 {
        let inner = self.lock();
        (inner.under_way() + inner.waiting) as u64
    }

    /// Lets nobody through any more.
    pub(super) fn close(&self) {
        self.lock().is_open = false;
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn under_way(&self) -> usize {
        self.pace.in_flight() + self.unread
    }

    fn try_begin(&mut self) -> bool {
        // An agent that says it works on none is believed by the pace alone.
        (self.unread == 0 || self.under_way() < self.slots) && self.pace.try_begin()
    }
}

impl Room {
    /// Its answer has begun, and how long the rest takes is for whoever reads it: others need not
    /// wait for that.
    pub(super) fn is_read_slowly(&mut self) {
        if !std::mem::replace(&mut self.is_unread, true) {
            self.leave();
            self.gate.lock().unread += 1;
        }
    }

    fn leave(&self) {
        let now = Instant::now();
        let took = now.duration_since(self.began);
        self.gate.lock().pace.ended(now.into_std(), took, self.outcome);
        self.gate.room.notify_one();
    }

    /// What came of the call.
    pub(super) fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.is_unread {
            return self.leave();
        }
        self.gate.lock().unread -= 1;
        self.gate.room.notify_one();
    }
}

/// One that waits, until this is dropped.
struct Waits<'a>(&'a Arc<Gate>);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
        // Whoever gave up may have been told that there is room; and there may be room for two.
        self.0.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_link::limits::{PACE_MIN, PACE_START};

    #[tokio::test]
    async fn those_that_find_no_room_wait_for_it_and_so_many_may() {
        let gate = Gate::new(PACE_MIN as u32);
        let mut inside = Vec::new();
        for _ in 0..PACE_MIN {
            inside.push(gate.enter().await.expect("there is room"));
        }
        let mut waiting: Vec<_> = (0..QUEUED_CALLS_MAX)
            .map(|_| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move { gate.enter().await.map(drop) })
            })
            .collect();
        while gate.load() < (PACE_MIN + QUEUED_CALLS_MAX) as u64 {
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.enter().await.expect_err("all wait"), NoRoom::Full);
        // One that gives up makes room for another to wait.
        waiting.pop().expect("there are some").abort();
        while gate.load() == (PACE_MIN + QUEUED_CALLS_MAX) as u64 {
            tokio::task::yield_now().await;
        }
        drop(inside);
        for one in waiting {
            assert_eq!(one.await.expect("no panic"), Ok(()));
        }
        assert_eq!(gate.load(), 0);
        gate.close();
        assert_eq!(gate.enter().await.expect_err("it is closed"), NoRoom::Closed);
    }

    #[tokio::test]
    async fn whoever_reads_slowly_takes_no_room_from_others_but_of_all_that_there_is() {
        let slots = 4 * PACE_START;
        let gate = Gate::new(slots as u32);
        let mut unread = Vec::new();
        for place in 0..slots {
            let mut room = gate.enter().await.expect("there is room");
            room.is_read_slowly();
            unread.push(room);
            assert_eq!(gate.load(), place as u64 + 1);
        }
        let next = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await.map(drop) }
        });
        while gate.load() == slots as u64 {
            tokio::task::yield_now().await;
        }
        assert!(!next.is_finished(), "the agent works on as many as it may");
        unread.pop();
        assert_eq!(next.await.expect("no panic"), Ok(()));
    }
}
