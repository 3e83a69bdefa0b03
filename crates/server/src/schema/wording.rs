//! How values and lists of them are put into one short line. Used by everything that says what is
//! wrong; decides nothing.

use serde_json::Value;
use std::fmt::{self, Write};

/// The most values of an `enum` and names of properties that one line lists.
const LISTED_MAX: usize = 24;

/// The longest value or key that is shown whole, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// At most 200 characters, without line breaks: as much as is told of what somebody else wrote, an
/// error that repeats it included.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(200)
        .collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line
}

/// A value as it came, cut to what fits in a sentence.
pub(crate) fn shorten(raw: &str) -> String {
    if raw.chars().take(SHOWN_CHARS_MAX + 1).count() <= SHOWN_CHARS_MAX {
        return one_line(raw);
    }
    let start: String = raw.chars().take(SHOWN_CHARS_MAX - 3).collect();
    format!("{}…", one_line(&start))
}

/// The same for a parsed value, of which no more is written than is shown.
pub(super) fn shown(value: &Value) -> String {
    let mut start = Start { text: String::new(), left: SHOWN_CHARS_MAX + 1 };
    // It ends early on purpose.
    let _ = write!(start, "{value}");
    shorten(&start.text)
}

/// `one of "a", "b"`, or the only value that there is.
pub(super) fn any_of(allowed: &[Value]) -> String {
    match allowed {
        [only] => shown(only),
        several => format!("one of {}", listed(several.iter().map(shown))),
    }
}

/// What to send instead of a value that is none of those listed; `text` is what the value says if
/// it is a text, `came` how it is shown.
pub(super) fn choose(allowed: &[Value], text: Option<&str>, came: &str) -> String {
    let expected = any_of(allowed);
    let words = allowed.iter().filter_map(Value::as_str);
    // Of one value only there is nothing to guess.
    let meant = text.filter(|_| allowed.len() > 1).and_then(|text| crate::nearest(text, words));
    match meant {
        Some(meant) => {
            format!("must be {expected}, not {came}; did you mean {}?", shown(&meant.into()))
        }
        None => format!("must be {expected}, not {came}"),
    }
}

/// What is wrong with a key that no property has. Names are the schema's, and may be anything.
pub(super) fn unknown<'n>(
    key: &str,
    known: impl ExactSizeIterator<Item = &'n str> + Clone,
) -> String {
    match crate::nearest(key, known.clone()) {
        Some(meant) => format!("is not known; did you mean `{}`?", shorten(meant)),
        None if known.len() == 0 => "is not known; send none".to_owned(),
        None => format!("is not known; known are {}", listed(known.map(shorten))),
    }
}

/// Words in a row, not too many.
pub(super) fn listed(words: impl ExactSizeIterator<Item = String>) -> String {
    let more = words.len().saturating_sub(LISTED_MAX);
    let mut list = words.take(LISTED_MAX).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

/// Takes the start of a text and refuses the rest.
struct Start {
    text: String,
    left: usize,
}

impl Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(character);
        }
        Ok(())
    }
}
