//! What a report must not be: `p99>5ms`, `failures>0`, `per_second<10000`; and not much worse than
//! an earlier report. Read from a command line, held against a report once a run is over.

use crate::report::Report;
use crate::shown::shown_time;
use std::fmt;
use std::str::FromStr;

/// A figure of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Latency at this many thousandths.
    Quantile(u16),
    /// The greatest latency.
    Max,
    /// The average latency.
    Average,
    /// Good answers a second.
    PerSecond,
    /// Wrong or missing answers.
    Failures,
    /// Requests of an open loop that were due and not sent by the end.
    Unsent,
    /// The server's processor time for each answer.
    Cpu,
    /// The server's memory at the end.
    Memory,
}

/// How a figure is written, and in what it is measured.
const FIGURES: [(&str, Figure, Unit); 11] = [
    ("p50", Figure::Quantile(500), Unit::Time),
    ("p90", Figure::Quantile(900), Unit::Time),
    ("p99", Figure::Quantile(990), Unit::Time),
    ("p99.9", Figure::Quantile(999), Unit::Time),
    ("max", Figure::Max, Unit::Time),
    ("average", Figure::Average, Unit::Time),
    ("per_second", Figure::PerSecond, Unit::Count),
    ("failures", Figure::Failures, Unit::Count),
    ("unsent", Figure::Unsent, Unit::Count),
    ("cpu", Figure::Cpu, Unit::Time),
    ("memory", Figure::Memory, Unit::Bytes),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Count,
    Time,
}

impl Unit {
    /// What can stand behind a number, and what it is multiplied by.
    fn words(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Bytes => &[
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
                ("GiB", 1_073_741_824.0),
                ("kB", 1e3),
                ("MB", 1e6),
                ("GB", 1e9),
                ("B", 1.0),
            ],
            Self::Count => &[("", 1.0)],
            Self::Time => &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        }
    }
}

/// A figure that fails a run when it is beyond a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    typed: String,
    figure: Figure,
    comparison: Comparison,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    AtMost,
    Below,
}

/// A condition that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadThreshold {
    /// There is no `>` or `<`.
    #[error("write a figure, a comparison and a bound, like 'p99>5ms'")]
    Incomplete,
    /// There is no such figure.
    #[error("there is no figure `{0}`; there are {names}", names = names())]
    UnknownFigure(String),
    /// The bound is no number of what is measured.
    #[error("`{bound}` is no bound for `{figure}`; write it like {example}")]
    BadBound {
        /// What was typed.
        bound: String,
        /// For which figure.
        figure: &'static str,
        /// How it is written.
        example: &'static str,
    },
}

fn names() -> String {
    FIGURES.map(|(name, ..)| name).join(", ")
}

impl FromStr for Threshold {
    type Err = BadThreshold;

    fn from_str(typed: &str) -> Result<Self, BadThreshold> {
        let at = typed.find(['<', '>']).ok_or(BadThreshold::Incomplete)?;
        let (name, rest) = typed.split_at(at);
        let comparisons = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        let found =
            comparisons.into_iter().find_map(|(sign, it)| Some((rest.strip_prefix(sign)?, it)));
        let (bound, comparison) = found.ok_or(BadThreshold::Incomplete)?;
        let name = name.trim();
        let known = FIGURES.into_iter().find(|(known, ..)| *known == name);
        let (name, figure, unit) =
            known.ok_or_else(|| BadThreshold::UnknownFigure(name.to_owned()))?;
        let example = match unit {
            Unit::Bytes => "100MB",
            Unit::Count => "1000",
            Unit::Time => "5ms",
        };
        let no_bound =
            || BadThreshold::BadBound { bound: bound.trim().to_owned(), figure: name, example };
        let bound = read_bound(bound.trim(), unit).ok_or_else(no_bound)?;
        Ok(Self { typed: typed.to_owned(), figure, comparison, bound })
    }
}

fn read_bound(text: &str, unit: Unit) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let word = text[digits.len()..].trim();
    let (_, factor) = unit.words().iter().find(|(known, _)| *known == word)?;
    let number: f64 = digits.replace('_', "").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

impl Figure {
    /// Its value in a report; `None` if the report has none.
    #[must_use]
    pub fn of(self, report: &Report) -> Option<f64> {
        let latency = &report.latency;
        #[expect(clippy::cast_precision_loss, reason = "three digits of these count")]
        let time = |nanos: u64| (report.answers > 0).then_some(nanos as f64);
        match self {
            Self::Quantile(500) => time(latency.p50_ns),
            Self::Quantile(900) => time(latency.p90_ns),
            Self::Quantile(990) => time(latency.p99_ns),
            Self::Quantile(_) => time(latency.p99_9_ns),
            Self::Max => time(latency.max_ns),
            Self::Average => (report.answers > 0).then_some(latency.average_ns),
            Self::PerSecond => Some(report.per_second),
            #[expect(clippy::cast_precision_loss, reason = "nobody counts so many")]
            Self::Failures => Some(report.failures as f64),
            #[expect(clippy::cast_precision_loss, reason = "nobody counts so many")]
            Self::Unsent => Some(report.unsent as f64),
            Self::Cpu if report.answers == 0 => None,
            Self::Cpu => report.server.map(|server| server.cpu_ns_per_answer),
            #[expect(clippy::cast_precision_loss, reason = "memory is smaller")]
            Self::Memory => report.server.map(|server| server.memory_after_bytes as f64),
        }
    }
}

/// A threshold that a report is beyond, in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossed(String);

impl fmt::Display for Crossed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Figure {
    /// Whether more requests were due and not sent than it tells of: they waited, and nobody knows
    /// for how much longer than until the end.
    fn is_blind(self, report: &Report) -> bool {
        let untold = match self {
            Self::Quantile(of_1000) => 1000 - u64::from(of_1000),
            Self::Average | Self::Max => 1,
            _ => return false,
        };
        report.unsent * 1000 > (report.answers + report.unsent) * untold
    }
}

impl Threshold {
    /// Whether it is about wrong answers, which then are no failure otherwise.
    #[must_use]
    pub fn is_of_failures(&self) -> bool {
        self.figure == Figure::Failures
    }

    /// What is wrong with a report, if it is. A figure that nobody could measure is wrong too:
    /// a gate that cannot see must not say that all is well.
    #[must_use]
    pub fn crossed(&self, report: &Report) -> Option<Crossed> {
        let Some(value) = self.figure.of(report) else {
            return Some(Crossed(format!("{}: it could not be measured", self.typed)));
        };
        let is_crossed = match self.comparison {
            Comparison::Above => value > self.bound,
            Comparison::AtLeast => value >= self.bound,
            Comparison::AtMost => value <= self.bound,
            Comparison::Below => value < self.bound,
        };
        if is_crossed {
            let value = shown(self.figure, value);
            return Some(Crossed(format!("{}: it is {value}", self.typed)));
        }
        self.figure.is_blind(report).then(|| {
            let (typed, unsent) = (&self.typed, report.unsent);
            let why = "requests were due and not sent by the end, and what they would have waited \
                       after it is not in it";
            Crossed(format!("{typed}: {unsent} {why}"))
        })
    }
}

/// A figure for people.
fn shown(figure: Figure, value: f64) -> String {
    let unit = FIGURES.into_iter().find(|(_, known, _)| *known == figure).map(|(.., unit)| unit);
    match unit {
        Some(Unit::Time) => shown_time(value),
        Some(Unit::Bytes) => format!("{:.1} MB", value / 1e6),
        Some(Unit::Count) | None => format!("{value:.0}"),
    }
}

/// The figures that an earlier report is held against, and whether more of it is worse.
const COMPARED: [(&str, Figure, bool); 4] = [
    ("p50", Figure::Quantile(500), true),
    ("p99", Figure::Quantile(990), true),
    ("cpu", Figure::Cpu, true),
    ("per_second", Figure::PerSecond, false),
];

/// Where a report is worse than an earlier one by more than a share: 0.1 is a tenth.
#[must_use]
pub fn regressions(report: &Report, earlier: &Report, tolerance: f64) -> Vec<Crossed> {
    let worse = |(name, figure, is_worse_up): (&str, Figure, bool)| {
        let then = figure.of(earlier)?;
        let Some(now) = figure.of(report).filter(|_| !figure.is_blind(report)) else {
            return Some(Crossed(format!("{name} could not be measured, and was before")));
        };
        let ratio = if is_worse_up { now / then } else { then / now };
        // Of a rate that was asked for, the number of answers says nothing of the server.
        let counts = is_worse_up || report.rate.is_none();
        (counts && then > 0.0 && ratio > 1.0 + tolerance).then(|| {
            let (now, then) = (shown(figure, now), shown(figure, then));
            let share = (ratio - 1.0) * 100.0;
            Crossed(format!("{name} is {now}, {share:.0}% worse than {then}"))
        })
    };
    COMPARED.into_iter().filter_map(worse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report { answers: 100, per_second: 5000.0, ..Report::default() };
        report.latency.p50_ns = 80_000;
        report.latency.p99_ns = 6_000_000;
        report
    }

    #[test]
    fn a_bound_is_crossed_from_its_side_only() {
        let is_crossed = |typed: &str| {
            typed.parse::<Threshold>().expect("a threshold").crossed(&report()).is_some()
        };
        assert!(is_crossed("p99>5ms") && !is_crossed("p99>6ms") && is_crossed("p99>=6ms"));
        assert!(is_crossed("per_second<10_000") && !is_crossed("per_second < 5000"));
        assert!(is_crossed("per_second<=5000") && !is_crossed("failures>0"));
        assert!(is_crossed("p50>79.9us") && !is_crossed("p50 > 80 µs"));
    }

    #[test]
    fn what_could_not_be_measured_is_no_success() {
        let memory: Threshold = "memory>100MB".parse().expect("a threshold");
        let crossed = memory.crossed(&report()).expect("nobody knows");
        assert_eq!(crossed.to_string(), "memory>100MB: it could not be measured");
        let silent = Report::default();
        let p99: Threshold = "p99>5ms".parse().expect("a threshold");
        assert!(p99.crossed(&silent).is_some());
    }

    #[test]
    fn a_bound_that_cannot_be_read_says_how_it_is_written() {
        let said = |typed: &str| typed.parse::<Threshold>().expect_err("it is wrong").to_string();
        assert_eq!(said("p99"), "write a figure, a comparison and a bound, like 'p99>5ms'");
        assert_eq!(said("p99>5"), "`5` is no bound for `p99`; write it like 5ms");
        assert_eq!(said("failures>1ms"), "`1ms` is no bound for `failures`; write it like 1000");
        assert!(said("p98>5ms").starts_with("there is no figure `p98`; there are p50, p90,"));
        assert!(said("p99>-5ms").contains("no bound"));
    }

    #[test]
    fn a_regression_is_told_by_how_much() {
        let earlier = report();
        let mut now = report();
        assert_eq!(regressions(&now, &earlier, 0.1), []);
        now.latency.p50_ns = 100_000;
        now.per_second = 4900.0;
        let found = regressions(&now, &earlier, 0.1);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["p50 is 100.0 µs, 25% worse than 80.0 µs"]);
        assert_eq!(regressions(&now, &earlier, 0.3), []);
    }
}
