//! Strings inside JSON text: where they end, and what they mean once somebody asks.

use std::borrow::Cow;

/// A string as it stands in JSON text, without its quotes and with its escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonStr<'a> {
    inner: &'a str,
    is_escaped: bool,
}

impl<'a> JsonStr<'a> {
    pub(super) const fn new(inner: &'a str, is_escaped: bool) -> Self {
        Self { inner, is_escaped }
    }

    /// The string that `raw` is the JSON text of, or `None` if `raw` is another kind of value.
    /// `raw` must have come from a [`Cursor`](super::Cursor), which has checked it.
    #[must_use]
    pub fn from_raw(raw: &'a str) -> Option<Self> {
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self { inner, is_escaped: inner.contains('\\') })
    }

    /// What stands between the quotes, escapes and all.
    #[must_use]
    pub const fn raw(self) -> &'a str {
        self.inner
    }

    /// The characters that are meant; borrowed unless there are escapes.
    #[must_use]
    pub fn decode(self) -> Cow<'a, str> {
        if !self.is_escaped {
            return Cow::Borrowed(self.inner);
        }
        let quoted = format!("\"{}\"", self.inner);
        Cow::Owned(serde_json::from_str(&quoted).expect("the cursor checked every escape"))
    }
}

/// How many bytes at the front need no attention inside a string: no quote, no backslash, no
/// control character. Eight at a time; a byte's high bit is set in the mask where one is found.
pub(super) fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let found = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        if found & HIGH != 0 {
            return index * 8 + (found & HIGH).trailing_zeros() as usize / 8;
        }
    }
    let plain = tail.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
    words.len() * 8 + plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_decoded_only_when_asked() {
        let mut cursor = Cursor::new(r#""a\u00e9\ud83d\ude00\n""#, 1);
        assert_eq!(cursor.string().expect("valid").decode(), "aé😀\n");
        let plain = JsonStr::from_raw("\"plain\"").expect("a string");
        assert!(matches!(plain.decode(), Cow::Borrowed("plain")));
        assert_eq!(JsonStr::from_raw("12"), None);
    }

    proptest! {
        #[test]
        fn plain_bytes_stop_where_a_plain_loop_stops(
            bytes in proptest::collection::vec(any::<u8>(), 0..64)
        ) {
            let slow = bytes.iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            prop_assert_eq!(plain_bytes(&bytes), slow);
        }
    }
}
