//! How each stretch of a run was: how many answers were wrong, and how long the good ones took, to
//! two digits. A tally has one; however long the run and however wide its latencies, it keeps
//! within its bounds. It reads no clock.

use crate::limits::{LATENCY_MAX, SERIES_BYTES_MAX, SERIES_MAX};
use crate::tally::nanos;
use std::mem;
use std::time::Duration;

/// One line for each second, or each pair of them, or each four …
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) stretch: Duration,
    pub(crate) points: Vec<Point>,
    /// Latencies of the last point while it is counted, made once.
    open: Vec<u32>,
}

/// How one stretch was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) wrong: u64,
    /// Which of its steps have answers, in order, and how many.
    counts: Vec<Count>,
}

/// How many answers a step has; the most that it can tell is more than
/// [`RATE_MAX`](crate::limits::RATE_MAX) gives in the stretches of the longest run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    step: u16,
    answers: u32,
}

/// Each doubling of a latency has so many steps, which keep it to 0.8%.
const STEPS: u64 = 128;
/// The last step is that of the longest latency.
const STEPS_MAX: usize = step(LATENCY_MAX.as_nanos() as u64) + 1;

/// The step of a latency in nanoseconds: below twice `STEPS` each has its own.
const fn step(nanos: u64) -> usize {
    let doublings = (nanos / STEPS).checked_ilog2();
    let doublings = match doublings {
        Some(doublings) => doublings as u64,
        None => 0,
    };
    (doublings * STEPS + (nanos >> doublings)) as usize
}

/// The longest latency of a step, in nanoseconds.
const fn longest(step: u16) -> u64 {
    let step = step as u64;
    let doublings = (step / STEPS).saturating_sub(1);
    ((step - doublings * STEPS + 1) << doublings) - 1
}

impl Default for Series {
    fn default() -> Self {
        let stretch = Duration::from_secs(1);
        Self { stretch, points: Vec::new(), open: vec![0; STEPS_MAX] }
    }
}

impl Series {
    /// A good answer so long after the beginning, and how many nanoseconds it took.
    pub(crate) fn good(&mut self, since: Duration, latency: u64) {
        let index = self.reach(since);
        let step = step(latency).min(STEPS_MAX - 1);
        if index + 1 == self.points.len() {
            self.open[step] = self.open[step].saturating_add(1);
        } else {
            // The clock of a thread never goes back.
            let counts = vec![Count { step: step as u16, answers: 1 }];
            self.points[index].add(&Point { wrong: 0, counts });
        }
    }

    /// A wrong answer.
    pub(crate) fn wrong(&mut self, since: Duration) {
        let index = self.reach(since);
        self.points[index].wrong += 1;
    }

    /// The points, with all that was counted.
    pub(crate) fn points(&self) -> Vec<Point> {
        let mut whole = self.clone();
        whole.close();
        whole.points
    }

    /// Adds what another counted from the same beginning.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.close();
        other.close();
        while self.stretch < other.stretch {
            self.halve();
        }
        while other.stretch < self.stretch {
            other.halve();
        }
        for (index, point) in other.points.into_iter().enumerate() {
            match self.points.get_mut(index) {
                Some(mine) => mine.add(&point),
                None => self.points.push(point),
            }
        }
    }

    /// The place of a time, which is there from now on.
    fn reach(&mut self, since: Duration) -> usize {
        let index = |stretch: Duration| (nanos(since) / nanos(stretch)) as usize;
        if index(self.stretch) < self.points.len() {
            return index(self.stretch);
        }
        self.close();
        // Ends: a single point is far below the bound.
        while index(self.stretch) >= SERIES_MAX || self.bytes() > SERIES_BYTES_MAX {
            self.halve();
        }
        let index = index(self.stretch);
        while self.points.len() <= index {
            self.points.push(Point::default());
        }
        index
    }

    /// Puts the latencies that are being counted into their point.
    fn close(&mut self) {
        let Some(last) = self.points.last_mut() else { return };
        let counted = self.open.iter().enumerate().filter(|(_, answers)| **answers > 0);
        let count = |(step, answers): (usize, &u32)| Count { step: step as u16, answers: *answers };
        let counts: Vec<Count> = counted.map(count).collect();
        last.add(&Point { wrong: 0, counts });
        self.open.fill(0);
    }

    /// Puts pairs together; nothing is being counted.
    fn halve(&mut self) {
        self.stretch *= 2;
        let mut points = mem::take(&mut self.points).into_iter();
        while let Some(mut first) = points.next() {
            if let Some(second) = points.next() {
                first.add(&second);
            }
            self.points.push(first);
        }
    }

    /// What the points hold, but for the one that is being counted.
    fn bytes(&self) -> usize {
        let held: usize = self.points.iter().map(|point| point.counts.capacity()).sum();
        held * size_of::<Count>() + self.points.len() * size_of::<Point>()
    }
}

impl Point {
    /// How many good answers came.
    pub(crate) fn answers(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(count.answers)).sum()
    }

    /// The latency in nanoseconds that this share of the answers did not exceed, 0 without any.
    pub(crate) fn at(&self, share: f64) -> u64 {
        let wanted = ((self.answers() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let within = self.counts.iter().find(|count| {
            seen += u64::from(count.answers);
            seen >= wanted
        });
        within.or_else(|| self.counts.last()).map_or(0, |count| longest(count.step))
    }

    fn add(&mut self, other: &Self) {
        self.wrong += other.wrong;
        let (mut mine, mut others) = (&*self.counts, &*other.counts);
        let mut counts = Vec::with_capacity(mine.len() + others.len());
        while let ([first, mine_after @ ..], [second, others_after @ ..]) = (mine, others) {
            let step = first.step.min(second.step);
            let mut answers: u32 = 0;
            for (from, after) in [(&mut mine, mine_after), (&mut others, others_after)] {
                if from[0].step == step {
                    answers = answers.saturating_add(from[0].answers);
                    *from = after;
                }
            }
            counts.push(Count { step, answers });
        }
        counts.extend_from_slice(mine);
        counts.extend_from_slice(others);
        counts.shrink_to_fit();
        self.counts = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    const SECOND: Duration = Duration::from_secs(1);

    /// A latency of each step, in no order.
    fn everything() -> impl Iterator<Item = u64> {
        (0..STEPS_MAX).map(|index| longest((index * 1_009 % STEPS_MAX) as u16))
    }

    /// A series whose every second has answers of every latency, and how many that are.
    fn full() -> (Series, u64) {
        let mut series = Series::default();
        for second in 0..SERIES_MAX as u32 {
            everything().for_each(|latency| series.good(SECOND * second, latency));
        }
        (series, (SERIES_MAX * STEPS_MAX) as u64)
    }

    fn answers(series: &Series) -> u64 {
        series.points().iter().map(Point::answers).sum()
    }

    #[test]
    fn the_widest_latencies_for_the_longest_time_keep_within_the_bound() {
        let (mut series, all) = full();
        assert_eq!(answers(&series), all);
        assert!(series.stretch > SECOND, "it reaches the bound");
        series.reach(SECOND * 100_000);
        assert!(series.bytes() <= SERIES_BYTES_MAX, "{}", series.bytes());
        assert!(series.points.len() > 10, "it is still a line: {}", series.points.len());
        assert_eq!((answers(&series), series.open.len()), (all, STEPS_MAX));
    }

    #[test]
    fn what_all_threads_counted_takes_no_more_than_each_step_of_each_point() {
        let (mut all, answered) = full();
        let ((other, _), point) = (full(), STEPS_MAX * size_of::<Count>() + size_of::<Point>());
        all.add(other);
        assert_eq!(answers(&all), 2 * answered);
        assert!(all.bytes() <= all.points.len() * point, "{}", all.bytes());
    }

    #[test]
    fn shares_are_those_of_a_histogram_of_two_digits() {
        let mut known = Histogram::<u64>::new(2).expect("two digits are fine");
        let mut series = Series::default();
        let mut latency = 1;
        while latency < nanos(LATENCY_MAX) {
            known.record(latency).expect("it grows");
            series.good(SECOND, latency);
            latency += latency / 7 + 1;
        }
        let point = &series.points()[1];
        assert_eq!(point.answers(), known.len());
        for share in [0.0, 0.01, 0.3, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(point.at(share), known.value_at_quantile(share), "{share}");
        }
        assert_eq!(Point::default().at(0.5), 0);
    }

    #[test]
    fn who_comes_late_is_counted_where_they_belong() {
        let mut series = Series::default();
        for second in [0, 2, 1, 0] {
            series.good(SECOND * second, 40);
        }
        let counts: Vec<u64> = series.points().iter().map(Point::answers).collect();
        assert_eq!(counts, [2, 1, 1]);
    }
}
