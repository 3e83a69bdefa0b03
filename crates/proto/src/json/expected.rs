//! What somebody expects next at a cursor, in the form that nearly all write: a key that is known,
//! a string, an integer, the end of an object. Comparing is less work than finding out. What is not
//! there, or has another form, leaves the cursor where it is; the other methods read it.

use super::plain::plain_end;
use super::{Cursor, JsonStr};

/// With so many digits every integer has room in an `i64`.
const DIGITS_MAX: usize = 18;

impl<'a> Cursor<'a> {
    /// The next key of the object that the cursor is in, if it stands there as in `token`: in
    /// quotes, with the colon and nothing between. White space before it is skipped. `is_first` is
    /// as in [`next_key`](Self::next_key).
    #[inline]
    pub fn next_key_if(&mut self, is_first: &mut bool, token: &str) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        if !*is_first {
            if bytes.get(start) != Some(&b',') {
                return None;
            }
            start += 1;
        }
        while matches!(bytes.get(start), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            start += 1;
        }
        if !bytes.get(start..)?.starts_with(token.as_bytes()) {
            return None;
        }
        let end = start + token.len();
        let key = self.text.get(start + 1..end.checked_sub(2)?)?;
        *is_first = false;
        self.at = end;
        Some(key)
    }

    /// Steps out of the object that the cursor is in, if it ends here.
    #[inline]
    pub fn leave_object(&mut self) -> bool {
        let is_end = self.peek() == Some(b'}') && self.depth > 0;
        if is_end {
            self.at += 1;
            self.depth -= 1;
        }
        is_end
    }

    /// Reads a string without escapes.
    #[inline]
    pub fn plain_string(&mut self) -> Option<JsonStr<'a>> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let (start, end) = (self.at + 1, plain_end(bytes, self.at + 1));
        if bytes.get(end) != Some(&b'"') {
            return None;
        }
        let inner = self.text.get(start..end)?;
        self.at = end + 1;
        Some(JsonStr::new(inner, false))
    }

    /// Reads an integer of few digits inside an array or object. `None` also for `-0`, which is no
    /// integer to many.
    #[inline]
    pub fn short_integer(&mut self) -> Option<i64> {
        let bytes = self.text.as_bytes();
        let is_negative = bytes.get(self.at) == Some(&b'-');
        let start = self.at + usize::from(is_negative);
        let (mut at, mut value) = (start, 0);
        let behind = loop {
            let byte = *bytes.get(at)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break byte;
            }
            // What has too many digits is not used.
            value = i64::wrapping_add(i64::wrapping_mul(value, 10), i64::from(digit));
            at += 1;
        };
        let count = at - start;
        let has_leading_zero = bytes.get(start) == Some(&b'0') && (count > 1 || is_negative);
        if !(1..=DIGITS_MAX).contains(&count)
            || has_leading_zero
            || !matches!(behind, b',' | b'}' | b']')
        {
            return None;
        }
        self.at = at;
        Some(if is_negative { -value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cursor;
    use proptest::prelude::*;

    fn inside(text: &str) -> Cursor<'_> {
        let mut cursor = Cursor::new(text, 1);
        cursor.enter_array().expect("an array");
        cursor
    }

    #[test]
    fn integers_of_another_form_are_left_where_they_are() {
        for text in ["-0", "01", "-01", "-", "1.0", "1e3", "+1", "1 ", "1234567890123456789", ""] {
            let text = format!("[{text}]");
            let mut cursor = inside(&text);
            assert_eq!(cursor.short_integer(), None, "{text}");
            assert_eq!(cursor.position(), 1, "{text}");
        }
        assert_eq!(Cursor::new("17", 1).short_integer(), None, "more digits may come");
    }

    #[test]
    fn an_expected_key_is_read_and_another_is_not() {
        let mut cursor = Cursor::new(r#"{"a":1,"bc":2, "d":3,"e" : 4 }"#, 1);
        let mut is_first = true;
        cursor.enter_object().expect("an object");
        assert_eq!(cursor.next_key_if(&mut is_first, "\"b\":"), None);
        assert_eq!(cursor.next_key_if(&mut is_first, "\"a\":"), Some("a"));
        assert_eq!(cursor.next_key_if(&mut is_first, "\"bc\":"), None, "first its value");
        assert_eq!((cursor.short_integer(), cursor.leave_object()), (Some(1), false));
        assert_eq!(cursor.next_key_if(&mut is_first, "\"b\":"), None);
        assert_eq!(cursor.next_key_if(&mut is_first, "\"bc\":"), Some("bc"));
        assert_eq!(cursor.short_integer(), Some(2));
        assert_eq!(cursor.next_key_if(&mut is_first, "\"d\":"), Some("d"));
        assert_eq!(cursor.short_integer(), Some(3));
        assert_eq!(cursor.next_key_if(&mut is_first, "\"e\":"), None, "white space");
        let key = cursor.next_key(&mut is_first).expect("a key").expect("one more");
        assert_eq!((key.raw(), cursor.short_integer()), ("e", None));
        assert_eq!((cursor.value(), cursor.leave_object()), (Ok("4"), false));
        let mut cursor = Cursor::new("{}", 1);
        assert!(
            cursor.enter_object() == Ok(())
                && cursor.leave_object()
                && cursor.end() == Ok(())
                && !cursor.leave_object()
        );
        let (mut cursor, mut is_first) = (inside(r#"[1,"a":2]"#), true);
        assert_eq!((cursor.next_key_if(&mut is_first, ""), cursor.position()), (None, 1));
        assert_eq!((cursor.next_key_if(&mut is_first, "1"), cursor.position()), (None, 1));
        assert!(is_first);
    }

    proptest! {
        #[test]
        fn a_plain_string_is_one_without_escapes(text in "[a-c\"\\\\né]{0,20}") {
            let quoted = format!("\"{text}\"");
            let (mut plain, mut any) = (Cursor::new(&quoted, 1), Cursor::new(&quoted, 1));
            let found = plain.plain_string();
            prop_assert_eq!(found, any.string().ok().filter(|string| !string.is_escaped()));
            let end = if found.is_some() { any.position() } else { 0 };
            prop_assert_eq!(plain.position(), end);
        }

        #[test]
        fn a_short_integer_is_what_serde_json_reads(text in "-?[0-9]{0,20}[.e]?[0-9]{0,2}") {
            let array = format!("[{text}]");
            let mut cursor = inside(&array);
            if let Some(value) = cursor.short_integer() {
                prop_assert_eq!(serde_json::from_str(&text).ok(), Some(value));
                prop_assert_eq!(cursor.position(), text.len() + 1);
            } else if let Ok(value) = serde_json::from_str::<i64>(&text) {
                prop_assert!(value.unsigned_abs() >= 1_000_000_000_000_000_000, "{}", text);
            }
        }
    }
}
