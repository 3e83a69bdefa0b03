//! What a soak found, as a table for people and as JSON for programs. Decides whether what is taken
//! has grown; prints nothing itself.

use serde_json::{Value, json};

use super::gate::Taken;
use super::ledger::{COUNTS, Count, Ledger};
use super::limits;

/// All of it.
pub(super) struct Report<'a> {
    pub(super) seed: u64,
    pub(super) seconds: u64,
    pub(super) ledger: &'a Ledger,
    pub(super) looks: &'a [Taken],
}

/// What is looked at, and how much more of it there may be.
type Bound = (&'static str, fn(&Taken) -> u64, u64);
const BOUNDS: [Bound; 4] = [
    ("processes", |taken| taken.processes, 0),
    ("descriptors", |taken| taken.descriptors, limits::DESCRIPTORS),
    ("threads", |taken| taken.threads, limits::THREADS),
    ("resident bytes", |taken| taken.resident_bytes, limits::RESIDENT_BYTES),
];

/// A line for each thing that has grown beyond its bound.
pub(super) fn grown(first: &Taken, last: &Taken) -> Vec<String> {
    let grown = BOUNDS.into_iter().filter_map(|(what, of, more)| {
        let (first, last) = (of(first), of(last));
        let line = format!("{what}: {last}, {first} before, {more} more are allowed");
        (last > first + more).then_some(line)
    });
    grown.collect()
}

/// A line if more read-only calls failed than may.
pub(super) fn failed_reads(ledger: &Ledger) -> Option<String> {
    let (failed, right) = (ledger.of(Count::ReadFailed), ledger.of(Count::RightAfter));
    let most = limits::READ_ONLY_PER_CENT;
    let line = || format!("{failed} read-only calls failed, beside {right} calls in the aftermath");
    // About half of all calls are read-only.
    (failed * 100 > (failed + right / 2) * most).then(line)
}

impl Report<'_> {
    pub(super) fn table(&self) -> String {
        let mut lines = vec![format!("seed {}, {} s", self.seed, self.seconds)];
        for (count, name) in COUNTS {
            lines.push(format!("{:<30}  {:>12}", name.replace('_', " "), self.ledger.of(count)));
        }
        if let [first, .., last] = self.looks {
            lines.push(format!("{:<30}  {:>12}  {:>12}", "", "warm", "at last"));
            for (what, of, _) in BOUNDS {
                lines.push(format!("{what:<30}  {:>12}  {:>12}", of(first), of(last)));
            }
        }
        lines.join("\n")
    }

    pub(super) fn json(&self) -> Value {
        let counts = COUNTS.map(|(count, name)| (name.to_owned(), json!(self.ledger.of(count))));
        let looks = self.looks.iter().map(|taken| {
            let of = |(what, of, _): &Bound| (what.replace(' ', "_"), json!(of(taken)));
            BOUNDS.iter().map(of).collect::<serde_json::Map<_, _>>()
        });
        json!({
            "seed": self.seed,
            "seconds": self.seconds,
            "counts": serde_json::Map::from_iter(counts),
            "looks": looks.collect::<Vec<_>>(),
            "findings": self.ledger.findings(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Ledger, Report, Taken, failed_reads, grown, limits};

    const WARM: Taken =
        Taken { processes: 15, descriptors: 80, threads: 5, resident_bytes: 40_000_000 };

    #[test]
    fn growth_within_the_bounds_is_none_and_one_more_is_told() {
        let most = Taken {
            processes: 15,
            descriptors: 80 + limits::DESCRIPTORS,
            threads: 5 + limits::THREADS,
            resident_bytes: 40_000_000 + limits::RESIDENT_BYTES,
        };
        assert_eq!(grown(&WARM, &most), [""; 0]);
        assert_eq!(grown(&most, &WARM), [""; 0]);
        let more = Taken {
            processes: 16,
            descriptors: most.descriptors + 1,
            threads: most.threads + 1,
            resident_bytes: most.resident_bytes + 1,
        };
        assert_eq!(grown(&WARM, &more).len(), 4);
    }

    #[test]
    fn few_failed_reads_are_none() {
        let ledger = Ledger::default();
        (0..198).for_each(|_| ledger.add(Count::RightAfter));
        (0..1).for_each(|_| ledger.add(Count::ReadFailed));
        assert_eq!(failed_reads(&ledger), None);
        ledger.add(Count::ReadFailed);
        assert!(failed_reads(&ledger).is_some());
    }

    #[test]
    fn people_and_programs_are_told_the_same() {
        let ledger = Ledger::default();
        ledger.add(Count::Kills);
        let looks = [WARM, WARM];
        let report = Report { seed: 7, seconds: 60, ledger: &ledger, looks: &looks };
        assert!(report.table().contains("seed 7, 60 s") && report.table().contains("40000000"));
        let json = report.json();
        assert_eq!((&json["seed"], &json["counts"]["kills"]), (&7.into(), &1.into()));
        assert_eq!(json["looks"][1]["descriptors"], 80);
    }
}
