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
        Some(Self { inner, is_escaped: memchr::memchr(b'\\', inner.as_bytes()).is_some() })
    }

    /// What stands between the quotes, escapes and all.
    #[must_use]
    pub const fn raw(self) -> &'a str {
        self.inner
    }

    /// Whether something else is meant than what stands there.
    #[must_use]
    pub const fn is_escaped(self) -> bool {
        self.is_escaped
    }

    /// The characters that are meant; borrowed unless there are escapes.
    #[must_use]
    #[inline]
    pub fn decode(self) -> Cow<'a, str> {
        if self.is_escaped { Cow::Owned(self.unescaped()) } else { Cow::Borrowed(self.inner) }
    }

    #[cold]
    fn unescaped(self) -> String {
        let quoted = format!("\"{}\"", self.inner);
        serde_json::from_str(&quoted).expect("the cursor checked every escape")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;

    #[test]
    fn escapes_are_decoded_only_when_asked() {
        let mut cursor = Cursor::new(r#""a\u00e9\ud83d\ude00\n""#, 1);
        assert_eq!(cursor.string().expect("valid").decode(), "aé😀\n");
        let plain = JsonStr::from_raw("\"plain\"").expect("a string");
        assert!(matches!(plain.decode(), Cow::Borrowed("plain")));
        assert_eq!(JsonStr::from_raw("12"), None);
    }
}
