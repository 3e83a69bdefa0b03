//! Times counted in steps that grow with them, by any number of threads at once and without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// The highest power of two, in nanoseconds, that is told apart: longer times, of more than 73
/// minutes, count as that long, but for the maximum, which is exact.
pub(crate) const NANOS_BITS_MAX: u32 = 42;

/// Into how many steps each power of two is divided, as a power of two: a time is known to a
/// thirty-second part.
pub(crate) const STEP_BITS: u32 = 5;

/// How many steps that makes for each stage.
pub(crate) const STEPS: usize = (NANOS_BITS_MAX as usize - STEP_BITS as usize + 1) << STEP_BITS;

/// How often each time came.
#[derive(Debug)]
pub(crate) struct Histogram {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = (0..STEPS).map(|_| AtomicU64::new(0)).collect();
        Self { counts, sum: AtomicU64::new(0), max: AtomicU64::new(0) }
    }
}

impl Histogram {
    pub(crate) fn record(&self, nanos: u64) {
        self.counts[step_of(nanos)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
        self.max.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        for count in self.counts.iter().chain([&self.sum, &self.max]) {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// The steps that are not empty.
    pub(crate) fn counts(&self) -> Vec<(usize, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0).collect()
    }

    pub(crate) fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    pub(crate) fn max(&self) -> u64 {
        self.max.load(Ordering::Relaxed)
    }
}

/// Which step a time is in. Short ones have a step each, then each power of two has as many.
pub(crate) fn step_of(nanos: u64) -> usize {
    let nanos = nanos.min((1 << NANOS_BITS_MAX) - 1);
    let Some(power) = nanos.checked_ilog2().filter(|power| *power >= STEP_BITS) else {
        return nanos as usize;
    };
    let octave = (power - STEP_BITS) as usize;
    ((octave << STEP_BITS) + (nanos >> octave) as usize).min(STEPS - 1)
}

/// The longest time of a step.
pub(crate) fn longest(step: usize) -> u64 {
    let step = step.min(STEPS - 1);
    let octave = (step >> STEP_BITS).saturating_sub(1);
    (((step - (octave << STEP_BITS) + 1) as u64) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_a_step_that_is_near_it() {
        let mut last = 0;
        for nanos in (0..100_000).chain((17..NANOS_BITS_MAX).flat_map(|power| {
            let from = 1u64 << power;
            [from - 1, from, from + from / 3, from + from / 2]
        })) {
            let step = step_of(nanos);
            assert!(step >= last && step < STEPS, "{nanos}: {step} after {last}");
            last = step;
            let longest = longest(step);
            assert!(longest >= nanos && longest - nanos <= nanos / 32, "{nanos}: {longest}");
        }
        assert_eq!((last, step_of(u64::MAX)), (STEPS - 16, STEPS - 1));
    }

    #[test]
    fn a_power_of_two_begins_a_step() {
        for power in 0..NANOS_BITS_MAX {
            assert!(step_of((1 << power) - 1) < step_of(1 << power), "2^{power}");
        }
    }
}
