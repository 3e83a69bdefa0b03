//! Lengths of time and numbers of bytes as they are typed, `500ms` and `64KiB`, within the bounds
//! of their keys. Called wherever a key takes one.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::place::Placed;
use crate::problem::Problem;
use crate::tool::{out_of_range, typed};
use crate::written::Scalar;
use std::time::Duration;

/// What to write instead of a bad length of time.
pub(crate) const DURATION_EXAMPLES: &str = "write a number and a unit, like 500ms, 5s, 2m or 1h";
/// What to write instead of a bad number of bytes.
pub(crate) const SIZE_EXAMPLES: &str = "write a number of bytes, or one with a unit: 64KiB, 1MiB";

const TIME_UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const SIZE_UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("KiB", 1024),
    ("MiB", 1024 * 1024),
    ("GiB", 1024 * 1024 * 1024),
];

/// A length of time, longer than nothing, up to a maximum.
pub(crate) fn time(
    key: &'static str,
    text: &Placed<Scalar>,
    max: Duration,
    surroundings: &Surroundings<'_>,
) -> Result<Duration, Wrong> {
    let filled = surroundings.fill(&typed(text))?;
    let Some(time) = duration(&filled.value) else {
        return Err(Wrong::new(text.place, Problem::BadDuration { key, shown: filled.shown }));
    };
    if time.is_zero() || time > max {
        let most = hours_or_less(max);
        let allowed = format!("longer than nothing and at most {most}");
        return Err(out_of_range(key, &allowed, text.place));
    }
    Ok(time)
}

/// A number of bytes, from one to a maximum.
pub(crate) fn bytes(
    key: &'static str,
    text: &Placed<Scalar>,
    max: usize,
    surroundings: &Surroundings<'_>,
) -> Result<usize, Wrong> {
    let filled = surroundings.fill(&typed(text))?;
    let Some(size) = size(&filled.value) else {
        return Err(Wrong::new(text.place, Problem::BadSize { key, shown: filled.shown }));
    };
    if size == 0 || size > max {
        let allowed = format!("more than nothing and at most {max} bytes");
        return Err(out_of_range(key, &allowed, text.place));
    }
    Ok(size)
}

/// A number within bounds.
pub(crate) fn number(
    key: &'static str,
    written: &Placed<u32>,
    min: usize,
    max: usize,
) -> Result<usize, Wrong> {
    let number = written.value as usize;
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    Err(out_of_range(key, &format!("from {min} to {max}"), written.place))
}

/// A length of time, if the text is one; a number alone is not, for nobody knows its unit.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let (_, seconds) = TIME_UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * seconds).ok()
}

/// A length of time as one would type it, in whole hours or seconds.
pub(crate) fn hours_or_less(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds.is_multiple_of(3600) {
        format!("{}h", seconds / 3600)
    } else {
        format!("{seconds}s")
    }
}

/// A number of bytes, if the text is one.
fn size(text: &str) -> Option<usize> {
    let (number, unit) = split(text)?;
    let unit = if unit.is_empty() { "B" } else { unit };
    let (_, bytes) = SIZE_UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let number: u64 = number.parse().ok()?;
    usize::try_from(number.checked_mul(bytes)?).ok()
}

/// The digits before, and the letters after; a space may stand between.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let is_digit = |character: char| character.is_ascii_digit() || character == '.';
    let end = text.find(|character| !is_digit(character)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        for (text, ms) in
            [("500ms", 500), ("5s", 5000), ("1.5 s", 1500), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "5 seconds", "-5s", "s", "1.2.3s", "5S", "99999999999999999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_of_bytes_may_have_a_unit() {
        for (text, bytes) in
            [("1000000", 1_000_000), ("64KiB", 65_536), ("1 MiB", 1_048_576), ("2kB", 2000)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "1.5MiB", "1mib", "-1", "99999999999999999999", "99999999999GiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
