//! Whether an aim is reached, by an interval and never by its middle alone. The tables ask; nothing
//! is measured here.

use serde_json::{Value, json};

/// An interval that is wider than this, from its low end to its high one, is marked.
const WIDE: f64 = 1.25;
/// How sure an interval is of having the median in it.
const CONFIDENCE: f64 = 0.95;

/// An end of an interval beyond which it says nothing.
const END_MAX: f64 = 1e9;

/// A ratio, and between which it is with 95% confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How far haft means to get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

/// What an interval says of an aim, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Met,
    /// The aim is within the interval.
    NotDecided,
    NotMet,
}

impl Interval {
    /// The median of some ratios and the two of them between which it is: by their order alone, so
    /// that one round that something disturbed moves nothing. Fewer than six say nothing of that.
    pub(super) fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let ratio = median(&ratios)?;
        let (low, high) = match rank(ratios.len()) {
            Some(rank) => (ratios[rank], ratios[ratios.len() - 1 - rank]),
            None => (0.0, f64::MAX),
        };
        Some(Self { ratio, low, high })
    }

    /// As it is kept; an end that is nowhere is null.
    pub(super) fn to_json(self) -> Value {
        let high = if self.high > END_MAX { Value::Null } else { round(self.high) };
        json!([round(self.ratio), round(self.low), high])
    }

    pub(super) fn read(value: &Value) -> Option<Self> {
        let at = |index: usize| value.get(index)?.as_f64();
        let is_open = value.get(2)?.is_null();
        let high = if is_open { f64::MAX } else { at(2)? };
        Some(Self { ratio: at(0)?, low: at(1)?, high })
    }

    /// Whether it is so wide that its middle says little.
    pub(super) fn is_wide(self) -> bool {
        self.high > self.low * WIDE
    }
}

impl Aim {
    pub(super) fn judge(self, interval: Interval) -> Verdict {
        let (is_met, is_missed) = match self {
            Self::AtLeast(aim) => (interval.low >= aim, interval.high < aim),
            Self::AtMost(aim) => (interval.high <= aim, interval.low > aim),
        };
        match (is_met, is_missed) {
            (true, _) => Verdict::Met,
            (_, true) => Verdict::NotMet,
            _ => Verdict::NotDecided,
        }
    }
}

impl Verdict {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotDecided => "not decided",
            Self::NotMet => "not met",
        }
    }
}

/// How many of the smallest of so many numbers, and of the largest, can be left out.
fn rank(count: usize) -> Option<usize> {
    // The chance that so many of `count` are below the median, from the few to the many.
    let mut chance = 0.5_f64.powi(i32::try_from(count).ok()?);
    let (mut below, mut found) = (0.0, None);
    for rank in 0..count / 2 {
        below += chance;
        if below > (1.0 - CONFIDENCE) / 2.0 {
            break;
        }
        found = Some(rank);
        chance *= (count - rank) as f64 / (rank + 1) as f64;
    }
    found
}

/// The middle of sorted numbers.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return sorted.get(middle).copied();
    }
    Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0)
}

/// A number to four digits: more is noise, and a file that is kept should be short.
pub(super) fn round(number: f64) -> Value {
    if !number.is_finite() || number == 0.0 {
        return json!(0);
    }
    let scale = 10_f64.powi(3 - number.abs().log10().floor() as i32);
    let rounded = (number * scale).round() / scale;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return json!(rounded as i64);
    }
    json!(rounded)
}

#[cfg(test)]
mod tests {
    use super::{Aim, Interval, Verdict, rank, round};

    fn between(low: f64, high: f64) -> Interval {
        Interval { ratio: (low + high) / 2.0, low, high }
    }

    #[test]
    fn an_aim_is_met_by_the_far_end_of_the_interval_alone() {
        let judged = |low, high| Aim::AtLeast(2.0).judge(between(low, high));
        assert_eq!(judged(2.0, 2.4), Verdict::Met);
        assert_eq!(judged(1.9, 2.9), Verdict::NotDecided, "though its middle is above");
        assert_eq!(judged(1.0, 1.99), Verdict::NotMet);
        let judged = |low, high| Aim::AtMost(3.0).judge(between(low, high));
        assert_eq!(judged(1.0, 3.0), Verdict::Met);
        assert_eq!(judged(1.0, 3.1), Verdict::NotDecided);
        assert_eq!(judged(3.1, 4.0), Verdict::NotMet);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_textbook() {
        // Of 20 the 6th and the 15th, of 10 the 2nd and the 9th, of 6 the ends.
        assert_eq!([20, 10, 6, 5].map(rank), [Some(5), Some(1), Some(0), None]);
        let ten = Interval::of((1..=10).rev().map(f64::from).collect()).expect("ratios");
        assert_eq!((ten.ratio, ten.low, ten.high), (5.5, 2.0, 9.0));
        let mut disturbed: Vec<f64> = vec![2.0; 9];
        disturbed.push(900.0);
        let steady = Interval::of(disturbed).expect("ratios");
        assert_eq!((steady.low, steady.high), (2.0, 2.0), "one bad round moves nothing");
    }

    #[test]
    fn few_rounds_decide_nothing() {
        let few = Interval::of(vec![9.0, 9.0]).expect("ratios");
        assert_eq!(Aim::AtLeast(2.0).judge(few), Verdict::NotDecided);
        assert!(few.is_wide() && Interval::of(Vec::new()).is_none());
    }

    #[test]
    fn what_is_kept_has_four_digits() {
        let kept = [23_000.4, 1_051_234.0, 0.001_234_56, 2.0, 0.0].map(|it| round(it).to_string());
        assert_eq!(kept, ["23000", "1051000", "0.001235", "2", "0"]);
        let interval = between(1.5, 2.5);
        assert_eq!(Interval::read(&interval.to_json()), Some(interval));
        let open = Interval::of(vec![2.0]).expect("a ratio");
        assert_eq!(open.to_json().to_string(), "[2,0,null]");
        assert_eq!(Interval::read(&open.to_json()), Some(open));
    }
}
