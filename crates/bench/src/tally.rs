//! What was counted: latencies, wrong answers, bytes, and how each second was. Every thread of a
//! run has one of its own; they are put together at the end. It reads no clock.

use crate::limits::LATENCY_MAX;
use crate::pace::Waited;
use crate::run::Times;
use crate::series::Series;
use crate::wrong::{Wrong, WrongKind};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What one thread counted, or all of them.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies of good answers in nanoseconds, for each kind of request.
    pub(crate) latencies: Vec<Histogram<u64>>,
    /// How many answers of each kind were wrong, and the first of them.
    pub(crate) wrong: BTreeMap<WrongKind, (u64, Wrong)>,
    /// Bytes that were sent and received.
    pub(crate) bytes: Traffic,
    /// How many connections were made, those that took the place of others included.
    pub(crate) connections: u64,
    /// How long requests waited that should have gone by the end, and found no room on their
    /// connection: they would have waited for longer.
    pub(crate) unsent: Histogram<u64>,
    /// How many messages came that answer nothing: notifications, questions.
    pub(crate) others: u64,
    /// One line for each second, or each pair of them.
    pub(crate) series: Series,
    /// From when on it is counted; what was due before is checked only.
    times: Times,
    /// How many good answers came between then and the end, whenever they were asked for.
    arrived: u64,
    /// When the last good answer came.
    last: Option<Instant>,
}

/// Bytes in both directions, with the frames of their wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// A histogram of latencies: nanoseconds, exact to three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(nanos(LATENCY_MAX), 3).expect("the bounds are in order")
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Tally {
    /// An empty tally of so many kinds of requests.
    pub(crate) fn new(kinds: usize, times: Times) -> Self {
        Self {
            latencies: vec![histogram(); kinds],
            wrong: BTreeMap::new(),
            bytes: Traffic::default(),
            connections: 0,
            unsent: histogram(),
            others: 0,
            series: Series::default(),
            times,
            arrived: 0,
            last: None,
        }
    }

    /// When the last good answer came.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.last
    }

    /// How many good answers came while it was counted, whenever they were asked for.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// A good answer. `sent` is when its request went, or should have gone.
    pub(crate) fn good(&mut self, ask: usize, sent: Instant, now: Instant) {
        self.arrived += u64::from(self.times.from <= now && now < self.times.end);
        if now < self.times.from || sent < self.times.from {
            return;
        }
        self.last = Some(now);
        let latency = nanos(now.saturating_duration_since(sent)).clamp(1, nanos(LATENCY_MAX));
        self.latencies[ask].saturating_record(latency);
        if let Some(since) = self.since(now) {
            self.series.good(since, latency);
        }
    }

    /// A wrong answer, or none. Those while warming up count as well: they are no better later.
    pub(crate) fn wrong(&mut self, wrong: Wrong, now: Instant) {
        if let Some(since) = self.since(now) {
            self.series.wrong(since);
        }
        self.wrong.entry(wrong.kind()).or_insert((0, wrong)).0 += 1;
    }

    /// Requests that were due and never sent.
    pub(crate) fn unsent(&mut self, waited: impl Iterator<Item = Waited>) {
        for (waited, count) in waited {
            let waited = nanos(waited).clamp(1, nanos(LATENCY_MAX));
            self.unsent.saturating_record_n(waited, count);
        }
    }

    /// Bytes that went and came.
    pub(crate) fn moved(&mut self, sent: usize, received: usize, now: Instant) {
        if now >= self.times.from {
            self.bytes.sent += sent as u64;
            self.bytes.received += received as u64;
        }
    }

    /// How many good answers there were.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    /// What half of the good answers took, at most; of the slowest kind.
    pub(crate) fn median(&self) -> Duration {
        let median = |latencies: &Histogram<u64>| latencies.value_at_quantile(0.5);
        Duration::from_nanos(self.latencies.iter().map(median).max().unwrap_or_default())
    }

    /// How many wrong ones, or missing ones.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.wrong.values().map(|(count, _)| count).sum()
    }

    /// Adds what another thread counted in the same time, or all of them in a later one.
    pub(crate) fn add(&mut self, other: Self) {
        for (mine, other) in self.latencies.iter_mut().zip(&other.latencies) {
            mine.add(other).expect("all have the same bounds");
        }
        for (kind, (count, wrong)) in other.wrong {
            self.wrong.entry(kind).or_insert((0, wrong)).0 += count;
        }
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
        self.connections += other.connections;
        self.unsent.add(other.unsent).expect("all have the same bounds");
        self.others += other.others;
        self.last = self.last.max(other.last);
        self.arrived += other.arrived;
        self.series.add(other.series);
    }

    /// How long it had been counted by then, earlier turns included.
    fn since(&self, now: Instant) -> Option<Duration> {
        let since = now.checked_duration_since(self.times.from)?;
        Some(self.times.measured + since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SERIES_MAX;
    use crate::series::Point;

    fn counted(from: Instant) -> Times {
        Times { end: from + Duration::from_secs(100_000), ..Times::none(from) }
    }

    #[test]
    fn what_was_sent_before_the_count_began_is_not_counted() {
        let start = Instant::now();
        let from = start + Duration::from_secs(1);
        let mut tally = Tally::new(1, counted(from));
        tally.good(0, start, from + Duration::from_millis(1));
        assert_eq!(tally.answers(), 0);
        tally.good(0, from, from + Duration::from_millis(1));
        assert_eq!((tally.answers(), tally.arrived()), (1, 2), "but it came while it was");
    }

    #[test]
    fn a_run_of_a_day_keeps_a_bounded_series() {
        let from = Instant::now();
        let mut tally = Tally::new(1, counted(from));
        for second in (0..86_400).step_by(60) {
            let now = from + Duration::from_secs(second);
            tally.good(0, now, now + Duration::from_micros(10));
        }
        let series = &tally.series;
        assert!(series.points.len() <= SERIES_MAX, "{}", series.points.len());
        let counted: u64 = series.points().iter().map(Point::answers).sum();
        assert_eq!(counted, tally.answers());
        assert_eq!(series.stretch, Duration::from_secs(128));
    }

    #[test]
    fn each_stretch_keeps_its_latencies_to_two_digits() {
        let from = Instant::now();
        let mut tally = Tally::new(1, counted(from));
        tally.series.stretch = LATENCY_MAX * 4;
        let latencies = [Duration::from_micros(40), Duration::from_millis(5), LATENCY_MAX * 2];
        for latency in latencies {
            tally.good(0, from, from + latency);
        }
        let point = &tally.series.points()[0];
        let kept = [0.3, 0.6, 1.0].map(|share| point.at(share) as f64);
        // What is longer counts as the longest.
        let sent = [latencies[0], latencies[1], LATENCY_MAX].map(|time| nanos(time) as f64);
        for (kept, sent) in kept.into_iter().zip(sent) {
            assert!((kept / sent - 1.0).abs() < 0.01, "{kept} for {sent}");
        }
    }

    #[test]
    fn turns_follow_each_other_without_the_time_between() {
        let from = Instant::now();
        let mut first = Tally::new(1, counted(from));
        let measured = Duration::from_millis(700);
        let mut second = Tally::new(1, Times { measured, ..counted(from) });
        first.good(0, from, from);
        second.good(0, from, from + Duration::from_millis(500));
        first.add(second);
        let counts = first.series.points();
        assert_eq!(counts.iter().map(Point::answers).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn threads_are_put_together_whatever_their_stretches_are() {
        let from = Instant::now();
        let (mut long, mut short) = (Tally::new(1, counted(from)), Tally::new(1, counted(from)));
        let late = from + Duration::from_secs(10_000);
        long.good(0, late, late);
        short.good(0, from, from);
        short.wrong(Wrong::TimedOut, from);
        short.add(long);
        assert_eq!((short.answers(), short.failures()), (2, 1));
        let counted: u64 = short.series.points().iter().map(Point::answers).sum();
        assert_eq!(counted, 2);
    }
}
