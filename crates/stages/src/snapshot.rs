//! What requests have spent in each stage until now, as values: to be shown, sent, and put together
//! with those of other processes.

use crate::histogram::{Histogram, NANOS_BITS_MAX, longest, step_of};
use crate::stage::Stage;
use crate::trip::histograms;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of all stages.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    read: Spent,
    decode: Spent,
    validate: Spent,
    queue: Spent,
    handler: Spent,
    encode: Spent,
    write: Spent,
    all: Spent,
}

/// What requests have spent in one stage: one time for each request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Spent {
    sum_ns: u64,
    max_ns: u64,
    /// How many requests were in each step.
    steps: BTreeMap<usize, u64>,
}

impl Snapshot {
    /// Of this process, since it was turned on last.
    #[must_use]
    pub fn now() -> Self {
        let mut now = Self::default();
        let Some(histograms) = histograms() else { return now };
        for stage in Stage::ALL {
            *now.stage(stage) = Spent::of(&histograms.stages[stage as usize]);
        }
        now.all = Spent::of(&histograms.all);
        now
    }

    /// What was spent in a stage.
    #[must_use]
    pub fn of(&self, stage: Stage) -> &Spent {
        match stage {
            Stage::Read => &self.read,
            Stage::Decode => &self.decode,
            Stage::Validate => &self.validate,
            Stage::Queue => &self.queue,
            Stage::Handler => &self.handler,
            Stage::Encode => &self.encode,
            Stage::Write => &self.write,
        }
    }

    /// What requests have spent in the server.
    #[must_use]
    pub fn all(&self) -> &Spent {
        &self.all
    }

    /// Counts the requests of another process as well.
    pub fn add(&mut self, other: &Self) {
        for stage in Stage::ALL {
            self.stage(stage).add(other.of(stage));
        }
        self.all.add(&other.all);
    }

    fn stage(&mut self, stage: Stage) -> &mut Spent {
        match stage {
            Stage::Read => &mut self.read,
            Stage::Decode => &mut self.decode,
            Stage::Validate => &mut self.validate,
            Stage::Queue => &mut self.queue,
            Stage::Handler => &mut self.handler,
            Stage::Encode => &mut self.encode,
            Stage::Write => &mut self.write,
        }
    }
}

impl Spent {
    fn of(histogram: &Histogram) -> Self {
        let (sum_ns, max_ns) = (histogram.sum(), histogram.max());
        Self { sum_ns, max_ns, steps: histogram.counts().into_iter().collect() }
    }

    fn add(&mut self, other: &Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (step, count) in &other.steps {
            let known = self.steps.entry(*step).or_default();
            *known = known.saturating_add(*count);
        }
    }

    /// How many requests there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// What all requests spent together, in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The longest time, in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The time that a share of the requests did not exceed, in nanoseconds, a thirty-second part
    /// too long at most; 0 without requests.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share of so many is not exact")]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = self.count() as f64 * share.clamp(0.0, 1.0);
        let mut seen = 0u64;
        for (step, count) in &self.steps {
            seen = seen.saturating_add(*count);
            if seen as f64 >= wanted {
                return longest(*step).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// How many requests took less than 2 to that power of nanoseconds.
    #[must_use]
    pub fn below_power(&self, power: u32) -> u64 {
        let end = match power {
            NANOS_BITS_MAX.. => usize::MAX,
            power => step_of(1 << power),
        };
        self.steps.range(..end).fold(0, |all, (_, count)| all.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(times: impl IntoIterator<Item = u64>) -> Spent {
        let histogram = Histogram::default();
        times.into_iter().for_each(|nanos| histogram.record(nanos));
        Spent::of(&histogram)
    }

    #[test]
    fn a_share_is_known_to_a_thirty_second_part() {
        let spent = spent((1..=10_000).map(|number| number * 100));
        for (share, exact) in [(0.5, 500_000), (0.9, 900_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let found = spent.quantile_ns(share);
            assert!((exact..=exact + exact / 32).contains(&found), "{share}: {found}");
        }
        assert_eq!(
            (spent.count(), spent.max_ns(), spent.sum_ns()),
            (10_000, 1_000_000, 5_000_500_000)
        );
        assert_eq!(Spent::default().quantile_ns(0.5), 0);
    }

    #[test]
    fn what_is_below_a_power_of_two_is_counted_exactly() {
        let spent = spent([0, 1, 1023, 1024, 1025, u64::MAX]);
        let counts = [0, 1, 10, 11, 41, 42, 64].map(|power| spent.below_power(power));
        assert_eq!(counts, [1, 2, 3, 5, 5, 6, 6]);
    }

    #[test]
    fn two_processes_are_put_together_as_if_they_were_one() {
        let mut both = Snapshot { write: spent([5, 700]), ..Snapshot::default() };
        let other = Snapshot { write: spent([5, 1_000_000]), ..Snapshot::default() };
        let sent = serde_json::to_string(&other).expect("it is JSON");
        both.add(&serde_json::from_str(&sent).expect("it is a snapshot"));
        assert_eq!(both.of(Stage::Write), &spent([5, 700, 5, 1_000_000]));
    }

    #[test]
    fn steps_that_no_histogram_has_are_no_trouble() {
        let sent = r#"{"sum_ns":1,"max_ns":99,"steps":{"18446744073709551615":18446744073709551615,
            "3":5}}"#;
        let mut spent: Spent = serde_json::from_str(sent).expect("it is a stage");
        spent.add(&spent.clone());
        assert_eq!((spent.count(), spent.quantile_ns(1.0)), (u64::MAX, 99));
    }
}
