//! One request on its way through a server, and the clock that is looked at where a stage ends.
//! Turned on and off for a whole process; off, there are no trips and the clock is not read.

use crate::histogram::Histogram;
use crate::stage::Stage;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Whether requests are timed.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// When that began, by our own clock: what begins before is not counted.
static SINCE: AtomicU64 = AtomicU64::new(0);
static HISTOGRAMS: OnceLock<Histograms> = OnceLock::new();

/// What was spent, by stage and in all.
#[derive(Debug, Default)]
pub(crate) struct Histograms {
    pub(crate) stages: [Histogram; Stage::ALL.len()],
    pub(crate) all: Histogram,
}

thread_local! {
    /// The request that this thread works on.
    static CURRENT: RefCell<Option<Arc<Laps>>> = const { RefCell::new(None) };
}

/// From now on requests are timed, and what was counted before is forgotten. Those that are on
/// their way are not timed.
pub fn turn_on() {
    let histograms = HISTOGRAMS.get_or_init(Histograms::default);
    histograms.stages.iter().chain([&histograms.all]).for_each(Histogram::clear);
    SINCE.store(now(), Ordering::Relaxed);
    IS_ON.store(true, Ordering::Relaxed);
}

/// No request is timed any more; what was counted stays.
pub fn turn_off() {
    IS_ON.store(false, Ordering::Relaxed);
}

/// Whether requests are timed.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Ends a stage of the request that this thread works on, if it does: the time since the mark
/// before was spent in that.
#[inline]
pub fn mark(stage: Stage) {
    if is_on() {
        mark_current(stage);
    }
}

#[cold]
#[inline(never)]
fn mark_current(stage: Stage) {
    CURRENT.with_borrow(|current| {
        if let Some(laps) = current {
            laps.mark(stage, now());
        }
    });
}

/// When a connection was last read. Cheap to clone; all clones are of one connection.
#[derive(Clone, Debug, Default)]
pub struct Reads(Arc<LastRead>);

#[derive(Debug, Default)]
struct LastRead {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Reads {
    /// Reads from the connection. If something came, its next trips begin with it.
    #[inline]
    pub fn reading<T>(&self, read: impl FnOnce() -> T, has_come: impl FnOnce(&T) -> bool) -> T {
        if !is_on() {
            return read();
        }
        let began = now();
        let done = read();
        if has_come(&done) {
            self.0.began.store(began, Ordering::Relaxed);
            self.0.ended.store(now(), Ordering::Relaxed);
        }
        done
    }
}

pub(crate) fn histograms() -> Option<&'static Histograms> {
    HISTOGRAMS.get()
}

/// Nanoseconds since somebody first asked; never 0.
fn now() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let passed = BEGAN.get_or_init(Instant::now).elapsed().as_nanos();
    u64::try_from(passed).unwrap_or(u64::MAX).max(1)
}

/// A request that is timed, or not. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Trip(Option<Arc<Laps>>);

/// How long a request was in each stage until now, in nanoseconds.
#[derive(Debug, Default)]
struct Laps {
    began: u64,
    marked: AtomicU64,
    spent: [AtomicU64; Stage::ALL.len()],
    /// Whether it got as far as being asked: what is no request has no answer to be timed.
    is_asked: AtomicBool,
}

impl Trip {
    /// A request that is taken up now, whose bytes are what its connection has read last: since
    /// then it was in the queue.
    #[inline]
    #[must_use]
    pub fn begin(reads: &Reads) -> Self {
        if is_on() { Self::timed(&reads.0) } else { Self(None) }
    }

    #[cold]
    #[inline(never)]
    fn timed(read: &LastRead) -> Self {
        let now = now();
        let mut began = read.began.load(Ordering::Relaxed);
        let mut ended = read.ended.load(Ordering::Relaxed);
        if began < SINCE.load(Ordering::Relaxed) {
            (began, ended) = (now, now);
        }
        let laps = Laps { began, marked: began.into(), ..Laps::default() };
        laps.mark(Stage::Read, ended);
        laps.mark(Stage::Queue, now);
        Self(Some(Arc::new(laps)))
    }

    /// Ends a stage.
    #[inline]
    pub fn mark(&self, stage: Stage) {
        if let Some(laps) = &self.0 {
            laps.mark(stage, now());
        }
    }

    /// Works for it on this thread: each [`mark`] in there is about this request.
    #[inline]
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(laps) = &self.0 else { return work() };
        let _before = Before(CURRENT.replace(Some(Arc::clone(laps))));
        work()
    }

    /// The request that this thread works on.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        if is_on() { Self(CURRENT.with_borrow(Clone::clone)) } else { Self(None) }
    }

    /// Ends it: its answer is written. It counts if it was a request.
    #[inline]
    pub fn end(&self) {
        if let (Some(laps), Some(histograms)) = (&self.0, HISTOGRAMS.get()) {
            laps.mark(Stage::Write, now());
            laps.count(histograms, SINCE.load(Ordering::Relaxed));
        }
    }

    /// Its answer is a stream without an end, which is no time to be counted.
    #[inline]
    pub fn forget(&self) {
        if let Some(laps) = &self.0 {
            laps.is_asked.store(false, Ordering::Relaxed);
        }
    }

    /// Whether it is timed.
    #[inline]
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.0.is_some()
    }
}

/// What a thread worked on before; it goes on with that when this is dropped.
struct Before(Option<Arc<Laps>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Laps {
    fn mark(&self, stage: Stage, now: u64) {
        let before = self.marked.swap(now, Ordering::Relaxed);
        self.spent[stage as usize].fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        if stage == Stage::Decode {
            self.is_asked.store(true, Ordering::Relaxed);
        }
    }

    /// Counts it once, however often it ends, if it began since what is counted was forgotten.
    fn count(&self, histograms: &Histograms, since: u64) {
        if !self.is_asked.swap(false, Ordering::Relaxed) || self.began < since {
            return;
        }
        let mut all = 0;
        for (spent, histogram) in self.spent.iter().zip(&histograms.stages) {
            let spent = spent.load(Ordering::Relaxed);
            histogram.record(spent);
            all += spent;
        }
        histograms.all.record(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(histograms: &Histograms) -> [u64; 7] {
        Stage::ALL.map(|stage| histograms.stages[stage as usize].sum())
    }

    #[test]
    fn time_belongs_to_the_stage_that_ends_next_and_none_is_lost() {
        let (laps, histograms) = (Laps::default(), Histograms::default());
        laps.mark(Stage::Read, 5);
        laps.mark(Stage::Decode, 7);
        laps.mark(Stage::Handler, 10);
        laps.mark(Stage::Queue, 30);
        laps.mark(Stage::Handler, 100);
        laps.mark(Stage::Write, 101);
        laps.count(&histograms, 0);
        assert_eq!(sums(&histograms), [5, 2, 0, 20, 73, 0, 1]);
        assert_eq!(histograms.all.max(), 101);
        // An answer in two writes is one request.
        laps.count(&histograms, 0);
        assert_eq!(histograms.all.counts().len(), 1);
    }

    #[test]
    fn what_was_never_asked_does_not_count() {
        let (laps, histograms) = (Laps::default(), Histograms::default());
        laps.mark(Stage::Read, 5);
        laps.mark(Stage::Write, 9);
        laps.count(&histograms, 0);
        assert_eq!(sums(&histograms), [0; 7]);
    }

    #[test]
    fn what_began_before_the_count_did_is_not_in_it() {
        let (laps, histograms) = (Laps { began: 5, ..Laps::default() }, Histograms::default());
        laps.mark(Stage::Decode, 7);
        laps.count(&histograms, 6);
        assert_eq!(histograms.all.counts().len(), 0);
    }

    #[test]
    fn a_connection_is_not_read_by_what_reads_another() {
        let read = LastRead { began: 5.into(), ended: 7.into() };
        let other = Reads::default();
        other.reading(|| (), |()| true);
        let trip = Trip::timed(&read);
        let laps = trip.0.as_ref().expect("it is timed");
        assert_eq!(laps.spent[Stage::Read as usize].load(Ordering::Relaxed), 2);
        assert!(laps.spent[Stage::Queue as usize].load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn a_thread_works_on_one_request_at_a_time_and_goes_back_to_the_one_before() {
        let [outer, inner] = [(); 2].map(|()| Trip(Some(Arc::default())));
        let spent = |trip: &Trip, stage: Stage| {
            let laps = trip.0.as_ref().expect("it is timed");
            laps.spent[stage as usize].load(Ordering::Relaxed)
        };
        outer.run(|| {
            inner.run(|| mark_current(Stage::Handler));
            let panics = std::panic::catch_unwind(|| inner.run(|| std::panic::panic_any(())));
            assert!(panics.is_err());
            mark_current(Stage::Encode);
        });
        mark_current(Stage::Validate);
        assert!(spent(&inner, Stage::Handler) > 0 && spent(&outer, Stage::Encode) > 0);
        assert_eq!(spent(&inner, Stage::Encode) + spent(&outer, Stage::Handler), 0);
        assert_eq!(spent(&inner, Stage::Validate) + spent(&outer, Stage::Validate), 0);
    }
}
