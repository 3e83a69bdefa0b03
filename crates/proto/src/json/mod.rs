//! A cursor over JSON text that checks the grammar and hands out slices: one look at each byte, no
//! recursion, no allocation. The envelope and the schema checker read through it; it builds nothing
//! and knows no MCP.

mod block;
mod expected;
mod nested;
mod plain;
mod scalar;
mod text;

pub use text::JsonStr;

use crate::error::Malformed;
pub(crate) use plain::plain_end;
use plain::plain_key_end;

/// The deepest nesting that a [`Cursor`] can be asked to allow.
pub const DEPTH_MAX: usize = 128;

/// The raw value of a member of an object, which is well-formed JSON text; the first, if it is
/// there twice. `None` if `object` is no object.
///
/// ```
/// assert_eq!(haft_proto::json::member(r#"{"a":{"b":1},"c":[2]}"#, "c"), Some("[2]"));
/// ```
#[must_use]
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut cursor = Cursor::new(object, DEPTH_MAX);
    cursor.enter_object().ok()?;
    let mut is_first = true;
    while let Some(found) = cursor.next_key(&mut is_first).ok()? {
        let value = cursor.value().ok()?;
        if found.decode() == key {
            return Some(value);
        }
    }
    None
}

/// A place in JSON text. Every method that reads a value leaves the cursor just behind it.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    limit: usize,
}

/// What kind of value begins at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[`
    Array,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
    /// A digit or a minus.
    Number,
    /// `{`
    Object,
    /// `"`
    String,
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `text` that allows `depth_limit` open arrays and objects (at
    /// most [`DEPTH_MAX`]).
    #[must_use]
    pub fn new(text: &'a str, depth_limit: usize) -> Self {
        Self { text, at: 0, depth: 0, limit: depth_limit.min(DEPTH_MAX) }
    }

    /// The kind of the value that begins after any white space, which is skipped.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] if no value begins there.
    pub fn kind(&mut self) -> Result<Kind, Malformed> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => Ok(Kind::String),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            _ => Err(self.expected("a value")),
        }
    }

    /// Steps into an object.
    ///
    /// # Errors
    /// [`Malformed`] if none begins here or it would be too deep.
    pub fn enter_object(&mut self) -> Result<(), Malformed> {
        self.enter(b'{', "an object")
    }

    /// Steps into an array.
    ///
    /// # Errors
    /// [`Malformed`] if none begins here or it would be too deep.
    pub fn enter_array(&mut self) -> Result<(), Malformed> {
        self.enter(b'[', "an array")
    }

    /// The next key of the object that the cursor is in, or `None` at its end. `is_first` says
    /// whether a key has been read already and is kept by this method.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] if the text is not an object's.
    #[inline]
    pub fn next_key(&mut self, is_first: &mut bool) -> Result<Option<JsonStr<'a>>, Malformed> {
        if self.leave_object() {
            return Ok(None);
        }
        match self.plain_key(*is_first) {
            Some(key) => {
                *is_first = false;
                Ok(Some(key))
            }
            None => self.next_key_of_any_form(is_first),
        }
    }

    /// The same key as it is meant. Only one with escapes is written into `room`.
    ///
    /// # Errors
    /// As [`next_key`](Self::next_key).
    #[inline(always)]
    pub fn next_name<'k>(
        &mut self,
        is_first: &mut bool,
        room: &'k mut String,
    ) -> Result<Option<&'k str>, Malformed>
    where
        'a: 'k,
    {
        if self.leave_object() {
            return Ok(None);
        }
        match self.plain_key(*is_first) {
            Some(key) => {
                *is_first = false;
                Ok(Some(key.raw()))
            }
            None => self.next_name_of_any_form(is_first, room),
        }
    }

    #[inline(never)]
    fn next_name_of_any_form<'k>(
        &mut self,
        is_first: &mut bool,
        room: &'k mut String,
    ) -> Result<Option<&'k str>, Malformed>
    where
        'a: 'k,
    {
        let Some(key) = self.next_key_of_any_form(is_first)? else { return Ok(None) };
        if !key.is_escaped() {
            return Ok(Some(key.raw()));
        }
        *room = key.decode().into_owned();
        Ok(Some(room))
    }

    /// The next key as nearly all are written: without white space, without escapes. The cursor
    /// stays where it is if this one is not.
    #[inline(always)]
    fn plain_key(&mut self, is_first: bool) -> Option<JsonStr<'a>> {
        let at = self.at + usize::from(!is_first);
        if !is_first && self.peek() != Some(b',') {
            return None;
        }
        let end = plain_key_end(self.text.as_bytes(), at)?;
        self.at = end;
        self.text.get(at + 1..end - 2).map(|key| JsonStr::new(key, false))
    }

    #[inline(never)]
    fn next_key_of_any_form(
        &mut self,
        is_first: &mut bool,
    ) -> Result<Option<JsonStr<'a>>, Malformed> {
        if !self.next_member(b'}', is_first, "`,` or `}`")? {
            return Ok(None);
        }
        self.key().map(Some)
    }

    /// Whether the array that the cursor is in has one more item; the cursor then stands before it.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] if the text is not an array's.
    pub fn next_item(&mut self, is_first: &mut bool) -> Result<bool, Malformed> {
        self.next_member(b']', is_first, "`,` or `]`")
    }

    /// Reads a whole value and returns its text.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] or [`Malformed::TooDeep`].
    #[inline(always)]
    pub fn value(&mut self) -> Result<&'a str, Malformed> {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.rest_of_string()?;
            }
            Some(b'{' | b'[') => self.nested()?,
            _ => self.word_or_number()?,
        }
        Ok(&self.text[start..self.at])
    }

    /// Reads a string.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] if there is none or it is broken.
    pub fn string(&mut self) -> Result<JsonStr<'a>, Malformed> {
        self.expect_byte(b'"', "a string")?;
        let start = self.at;
        let is_escaped = self.rest_of_string()?;
        Ok(JsonStr::new(&self.text[start..self.at - 1], is_escaped))
    }

    /// Nothing but white space may follow.
    ///
    /// # Errors
    /// [`Malformed::NotJson`] if something does.
    pub fn end(&mut self) -> Result<(), Malformed> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected("the end")) }
    }

    /// Skips white space and returns the byte behind it, if there is one.
    pub fn peek_token(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    /// How many bytes lie behind the cursor.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from an earlier [`Cursor::position`] to here.
    #[must_use]
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn enter(&mut self, bracket: u8, expected: &'static str) -> Result<(), Malformed> {
        self.skip_space();
        self.expect_byte(bracket, expected)?;
        self.deeper()
    }

    fn deeper(&mut self) -> Result<(), Malformed> {
        if self.depth == self.limit {
            return Err(Malformed::TooDeep { limit: self.limit });
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn next_member(
        &mut self,
        closing: u8,
        is_first: &mut bool,
        expected: &'static str,
    ) -> Result<bool, Malformed> {
        self.skip_space();
        let was_first = std::mem::replace(is_first, false);
        match self.peek() {
            Some(byte) if byte == closing => {
                let Some(depth) = self.depth.checked_sub(1) else {
                    return Err(self.expected("an object or array that is open"));
                };
                self.at += 1;
                self.depth = depth;
                Ok(false)
            }
            Some(b',') if !was_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if was_first => Ok(true),
            _ => Err(self.expected(expected)),
        }
    }

    #[inline(never)]
    fn key(&mut self) -> Result<JsonStr<'a>, Malformed> {
        self.skip_space();
        self.expect_byte(b'"', "a key in quotes")?;
        let start = self.at;
        let is_escaped = self.rest_of_string()?;
        let key = JsonStr::new(&self.text[start..self.at - 1], is_escaped);
        self.skip_space();
        self.expect_byte(b':', "`:`")?;
        Ok(key)
    }

    #[inline]
    fn expect_byte(&mut self, byte: u8, expected: &'static str) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return Err(self.expected(expected));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    #[cold]
    fn expected(&self, expected: &'static str) -> Malformed {
        Malformed::NotJson { at: self.at, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accepts(text: &str) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(text, DEPTH_MAX);
        cursor.value()?;
        cursor.end()
    }

    /// serde_json also refuses numbers beyond an f64, which JSON itself allows, unless it ignores
    /// them; what is behind such a number may still be wrong.
    fn serde_accepts(text: &str) -> bool {
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => true,
            Err(error) => {
                let is_too_large = error.to_string().contains("number out of range");
                is_too_large && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            }
        }
    }

    #[test]
    fn broken_json_is_refused_where_it_breaks() {
        let cases = [
            ("", 0),
            ("{", 1),
            ("{\"a\"}", 4),
            ("{\"a\":1,}", 7),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("tru", 0),
            ("\"\\x\"", 2),
            ("\"\\ud800\"", 7),
            ("\"\\udc00\"", 7),
            ("\"a\nb\"", 2),
            ("\"abc", 4),
            ("1 1", 2),
        ];
        for (text, place) in cases {
            match accepts(text) {
                Err(Malformed::NotJson { at, .. }) => assert_eq!(at, place, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(accepts(&nested(128)), Ok(()));
        assert_eq!(accepts(&nested(129)), Err(Malformed::TooDeep { limit: 128 }));
        assert_eq!(accepts(&"[".repeat(100_000)), Err(Malformed::TooDeep { limit: 128 }));
    }

    #[test]
    fn nothing_ends_that_is_not_open() {
        let nothing = Malformed::NotJson { at: 0, expected: "an object or array that is open" };
        for was_first in [true, false] {
            let (mut cursor, mut is_first) = (Cursor::new("}", 1), was_first);
            assert_eq!(cursor.next_key(&mut is_first), Err(nothing));
            let (mut cursor, mut is_first) = (Cursor::new("]", 1), was_first);
            assert_eq!(cursor.next_item(&mut is_first), Err(nothing));
            assert_eq!(cursor.position(), 0);
        }
        let mut cursor = Cursor::new("{}}", 1);
        cursor.enter_object().expect("an object");
        assert_eq!(cursor.next_key(&mut true), Ok(None));
        assert!(cursor.next_key(&mut true).is_err(), "it is closed once");
    }

    #[test]
    fn objects_beside_each_other_are_no_deeper_than_one() {
        let all = ["{}", "{ }", "{\"a\":{}}", "{ \"a\" : {} }"].repeat(50);
        let text = format!("[{}]", all.join(","));
        let mut cursor = Cursor::new(&text, 3);
        let mut is_first_item = true;
        cursor.enter_array().expect("an array");
        for is_left in (0..all.len()).map(|at| at % 3 == 0) {
            assert_eq!(cursor.next_item(&mut is_first_item), Ok(true));
            cursor.enter_object().expect("there is room");
            let mut is_first = true;
            if is_left && cursor.leave_object() {
                continue;
            }
            while cursor.next_key(&mut is_first).expect("an object").is_some() {
                cursor.enter_object().expect("there is room");
                if !cursor.leave_object() {
                    panic!("it is empty");
                }
            }
        }
        assert_eq!((cursor.next_item(&mut is_first_item), cursor.end()), (Ok(false), Ok(())));
        let deep = "{\"a\":{\"a\":{}}}";
        let (mut cursor, mut is_first) = (Cursor::new(deep, 2), true);
        cursor.enter_object().expect("one");
        assert!(cursor.next_key(&mut is_first).is_ok_and(|key| key.is_some()));
        cursor.enter_object().expect("two");
        assert!(cursor.next_key(&mut true).is_ok_and(|key| key.is_some()));
        assert_eq!(cursor.enter_object(), Err(Malformed::TooDeep { limit: 2 }));
    }

    /// Any value, in pieces: written close together and with white space.
    fn value() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::{Map, Value, json};
        let text = r#"[a-z"\\/\n\u{e9}\u{1f600}]{0,40}"#;
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| json!(number)),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((text, inner), 0..6)
                    .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_a_value_and_on_one_with_a_mistake(
            value in value(),
            is_pretty in any::<bool>(),
            place in any::<proptest::sample::Index>(),
            typed in proptest::sample::select(r#"{}[]":,0 -.e\"#.chars().collect::<Vec<_>>()),
        ) {
            let mut text =
                if is_pretty { format!("{value:#}") } else { value.to_string() };
            prop_assert_eq!(accepts(&text), Ok(()));
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = *place.get(&places);
            let removed = text.remove(at);
            prop_assert_eq!(accepts(&text).is_ok(), serde_accepts(&text), "{} {}", at, removed);
            text.insert(at, typed);
            prop_assert_eq!(accepts(&text).is_ok(), serde_accepts(&text), "{}: {}", at, typed);
        }

        #[test]
        fn agrees_with_serde_json_on_any_text(text in r#"[\[\]{}",:0-9a-u\\ .+eE-]{0,40}"#) {
            prop_assert_eq!(accepts(&text).is_ok(), serde_accepts(&text));
        }
    }
}
