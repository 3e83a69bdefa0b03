//! What the connections of one thread have in common while a run goes on: its plan, its times, what
//! is asked next, and what was counted. Nothing here does I/O.

use crate::answer::Checker;
use crate::drive::LOOK;
use crate::limits::LEAVING_MAX;
use crate::plan::{Plan, spread};
use crate::stream::Door;
use crate::tally::Tally;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Shared by all connections of a thread.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) plan: Arc<Plan>,
    pub(crate) door: Door,
    pub(crate) checker: RefCell<Checker>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) times: Cell<Times>,
    pub(crate) signals: Arc<Signals>,
    /// Connections that others have taken the place of, and that say farewell.
    leaving: RefCell<JoinSet<()>>,
    order: Vec<u16>,
    /// How many requests have been made of it.
    asked: Cell<usize>,
}

/// When a stretch of a run begins and ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// From when on requests are sent.
    pub(crate) start: Instant,
    /// From when on answers count.
    pub(crate) from: Instant,
    /// From when on nothing is sent; far away, if answers are what ends the stretch.
    pub(crate) end: Instant,
    /// Whether a number of answers is what ends it.
    pub(crate) is_counted: bool,
    /// What was measured before it, in earlier stretches.
    pub(crate) measured: Duration,
}

/// What the threads of a run and whoever watches it tell each other.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Stop sending: somebody wants it, or a connection is lost.
    pub(crate) stop: AtomicBool,
    /// How many more requests may be sent, where that ends the run.
    pub(crate) left: AtomicU64,
    pub(crate) answers: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// Room for connections that say farewell.
    leaving: Arc<Semaphore>,
}

/// Nothing was sent yet, and nothing is to be.
impl Default for Signals {
    fn default() -> Self {
        Self {
            stop: AtomicBool::default(),
            left: AtomicU64::default(),
            answers: AtomicU64::default(),
            failures: AtomicU64::default(),
            leaving: Arc::new(Semaphore::new(LEAVING_MAX)),
        }
    }
}

/// Room to say farewell in, until it is dropped.
#[derive(Debug)]
pub(crate) struct Leave {
    _permit: OwnedSemaphorePermit,
}

impl Times {
    /// Nothing is sent.
    pub(crate) fn none(now: Instant) -> Self {
        Self { start: now, from: now, end: now, is_counted: false, measured: Duration::ZERO }
    }
}

impl Run {
    pub(crate) fn new(plan: Arc<Plan>, door: Door, signals: Arc<Signals>, now: Instant) -> Self {
        let weights: Vec<u32> = plan.asks.iter().map(|ask| ask.weight).collect();
        Self {
            checker: RefCell::new(Checker::new(&plan.asks)),
            tally: RefCell::new(Tally::new(plan.asks.len(), Times::none(now))),
            times: Cell::new(Times::none(now)),
            leaving: RefCell::default(),
            order: spread(&weights),
            asked: Cell::new(0),
            plan,
            door,
            signals,
        }
    }

    /// Begins another stretch; what was counted before is given back.
    pub(crate) fn begin(&self, times: Times) -> Tally {
        self.times.set(times);
        self.tally.replace(Tally::new(self.plan.asks.len(), times))
    }

    /// Waits for room to let a connection end in, before another is opened in its place; `None` if
    /// the stretch is over by then.
    pub(crate) async fn may_leave(&self) -> Option<Leave> {
        while !self.is_over(Instant::now()) {
            let room = Arc::clone(&self.signals.leaving).acquire_owned();
            if let Ok(Ok(permit)) = timeout(LOOK, room).await {
                return Some(Leave { _permit: permit });
            }
        }
        None
    }

    /// Lets a connection end while the load goes on.
    pub(crate) fn leave(&self, leave: Leave, close: impl Future<Output = ()> + 'static) {
        let mut leaving = self.leaving.borrow_mut();
        while leaving.try_join_next().is_some() {}
        leaving.spawn_local(async move {
            close.await;
            drop(leave);
        });
    }

    /// Those that have not left yet.
    pub(crate) fn leaving(&self) -> JoinSet<()> {
        self.leaving.take()
    }

    /// What is asked next, by whichever connection: a mix is one however short connections are.
    pub(crate) fn next(&self) -> usize {
        let asked = self.asked.get();
        self.asked.set((asked + 1) % self.order.len());
        usize::from(self.order[asked])
    }

    /// Whether one more request may be sent, which is due at that time.
    pub(crate) fn may_send(&self, now: Instant, due: Instant) -> bool {
        let times = self.times.get();
        if now >= times.end || self.is_stopped() {
            return false;
        }
        if !times.is_counted || due < times.from {
            return true;
        }
        let less = |left: u64| left.checked_sub(1);
        self.signals.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Whether nothing will be sent any more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let times = self.times.get();
        let is_used_up =
            times.is_counted && now >= times.from && self.signals.left.load(Ordering::Relaxed) == 0;
        self.is_stopped() || now >= times.end || is_used_up
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.signals.stop.load(Ordering::Relaxed)
    }
}
