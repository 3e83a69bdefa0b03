//! Bounds on counts and on numbers, and what to say when one is broken. Read by every check of
//! schemas; knows nothing of the rest of a schema.

use serde_json::Value;

/// Bounds of a length or a count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

/// Bounds of a number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
}

/// How many bytes a character of a text takes at most.
const CHARACTER_BYTES_MAX: u64 = 4;

impl Bounds {
    pub(super) fn at_least(value: &Value) -> Option<Self> {
        Some(Self { min: Some(whole(value)?), max: None })
    }

    pub(super) fn at_most(value: &Value) -> Option<Self> {
        Some(Self { min: None, max: Some(whole(value)?) })
    }

    #[inline]
    pub(super) fn has(self, count: u64) -> bool {
        self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max)
    }

    /// Whether a text has a fitting number of characters; they are counted only if its length in
    /// bytes leaves a doubt.
    #[inline]
    pub(super) fn has_characters_of(self, text: &str) -> bool {
        let bytes = text.len() as u64;
        let at_least = bytes.div_ceil(CHARACTER_BYTES_MAX);
        let is_within =
            self.min.is_none_or(|min| at_least >= min) && self.max.is_none_or(|max| bytes <= max);
        is_within || self.has(text.chars().count() as u64)
    }

    /// What was expected, if `count` is not within.
    pub(super) fn broken_by(self, count: u64) -> Option<String> {
        match self {
            Self { min: Some(min), .. } if count < min => Some(format!("at least {min}")),
            Self { max: Some(max), .. } if count > max => Some(format!("at most {max}")),
            _ => None,
        }
    }
}

impl Range {
    /// Whether any number is within.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self { min: None, max: None, above: None, below: None })
    }

    #[inline]
    pub(super) fn has(self, number: f64) -> bool {
        self.min.is_none_or(|min| number >= min)
            && self.max.is_none_or(|max| number <= max)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }

    /// What was expected, if `number` is not within.
    pub(super) fn broken_by(self, number: f64) -> Option<String> {
        match self {
            Self { min: Some(min), .. } if number < min => Some(format!("at least {min}")),
            Self { max: Some(max), .. } if number > max => Some(format!("at most {max}")),
            Self { above: Some(above), .. } if number <= above => Some(format!("above {above}")),
            Self { below: Some(below), .. } if number >= below => Some(format!("below {below}")),
            _ => None,
        }
    }
}

/// `3` and also `3.0`, which JSON Schema takes as well.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is checked to be whole and not negative, and a float saturates"
)]
fn whole(value: &Value) -> Option<u64> {
    let float = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    value.as_u64().or_else(|| float.map(|number| number as u64))
}
