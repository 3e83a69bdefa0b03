//! What has been done and what came of it, in numbers, and what is wrong, in words. All threads
//! write here; `report` reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Findings beyond this many are counted and not told.
const TOLD: usize = 20;

/// See above.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    counts: [AtomicU64; COUNTS.len()],
    wrong: Mutex<Vec<String>>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// Calls that were answered rightly.
    Right,
    /// Of them, those whose upstream had just been killed or edited.
    RightAfter,
    /// Read-only calls that failed in the aftermath.
    ReadFailed,
    /// Other calls that failed in the aftermath.
    Failed,
    /// Calls of an upstream that ends by itself that failed.
    Mortal,
    Kills,
    Edits,
    SlowReads,
    Wrong,
}

/// And what it is called.
pub(super) const COUNTS: [(Count, &str); 9] = [
    (Count::Right, "right"),
    (Count::RightAfter, "right_in_aftermath"),
    (Count::ReadFailed, "read_only_failed_in_aftermath"),
    (Count::Failed, "others_failed_in_aftermath"),
    (Count::Mortal, "failed_with_a_dying_upstream"),
    (Count::Kills, "kills"),
    (Count::Edits, "edits"),
    (Count::SlowReads, "slow_reads"),
    (Count::Wrong, "wrong"),
];

impl Ledger {
    pub(super) fn add(&self, count: Count) {
        self.counts[count as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn of(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Ordering::Relaxed)
    }

    pub(super) fn wrong(&self, what: String) {
        self.add(Count::Wrong);
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() < TOLD {
            wrong.push(what);
        }
    }

    pub(super) fn findings(&self) -> Vec<String> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNTS, Count, Ledger, TOLD};

    #[test]
    fn each_count_has_its_place() {
        for (at, (count, _)) in COUNTS.into_iter().enumerate() {
            assert_eq!(count as usize, at);
        }
    }

    #[test]
    fn what_is_wrong_is_counted_even_where_it_is_not_told() {
        let ledger = Ledger::default();
        (0..=TOLD).for_each(|number| ledger.wrong(number.to_string()));
        assert_eq!(ledger.findings().len(), TOLD);
        assert_eq!(ledger.of(Count::Wrong), 21);
    }
}
