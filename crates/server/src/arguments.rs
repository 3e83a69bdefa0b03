//! Arguments become a handler's type, by serde_json; but the long strings among them are found by
//! the cursor, which is faster there. Checks no schema.

use crate::schema::wording::one_line;
use haft_proto::json::{Cursor, DEPTH_MAX};
use haft_proto::spec::tool_result::ToolResult;
use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Error;

/// From this many bytes on a text is long: serde_json looks for the end of a string eight bytes at
/// a time, which then costs more than a second deserializer does.
const LONG: usize = 1024;

/// Decodes them. Where their schema has been checked this fails only if the type is narrower; the
/// result says so to the model.
pub(crate) fn decode<A: DeserializeOwned>(arguments: &str) -> Result<A, ToolResult> {
    decoded(arguments).map_err(|error| {
        // Where it is depends on how it was read, and tells a model nothing.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let said = error.to_string();
        let said = said.strip_suffix(&*place).unwrap_or(&said);
        ToolResult::error(format!("Invalid arguments: {}", one_line(said)))
    })
}

fn decoded<A: DeserializeOwned>(arguments: &str) -> Result<A, Error> {
    match arguments.len() {
        0..LONG => serde_json::from_str(arguments),
        _ => {
            let mut is_read = false;
            let made = A::deserialize(Whole { raw: arguments, is_read: &mut is_read })?;
            or_unread(made, is_read)
        }
    }
}

/// A type that does not read to the end of what it is given gets an error from serde_json as well.
fn or_unread<T>(made: T, is_read: bool) -> Result<T, Error> {
    if is_read { Ok(made) } else { Err(Error::custom("trailing characters")) }
}

/// All arguments.
struct Whole<'a, 'r> {
    raw: &'a str,
    is_read: &'r mut bool,
}

/// A long string: its JSON text, and what it means, which is the same without the quotes.
struct Text<'a, 'r> {
    raw: &'a str,
    meant: &'a str,
    is_read: &'r mut bool,
}

/// The members of the arguments from a place on.
struct Members<'a> {
    cursor: Cursor<'a>,
    is_first: bool,
    is_at_end: bool,
}

impl<'de> MapAccess<'de> for &mut Members<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        match self.cursor.next_key(&mut self.is_first).map_err(Error::custom)? {
            Some(key) => seed.deserialize(CowStrDeserializer::new(key.decode())).map(Some),
            None => {
                self.cursor.end().map_err(Error::custom)?;
                self.is_at_end = true;
                Ok(None)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let cursor = &mut self.cursor;
        let is_text = cursor.peek_token() == Some(b'"');
        let start = cursor.position();
        if is_text {
            let text = cursor.string().map_err(Error::custom)?;
            if text.raw().len() >= LONG && !text.is_escaped() {
                let (raw, meant, mut is_read) = (cursor.since(start), text.raw(), false);
                let made = seed.deserialize(Text { raw, meant, is_read: &mut is_read })?;
                return or_unread(made, is_read);
            }
        } else {
            cursor.value().map_err(Error::custom)?;
        }
        let mut value = serde_json::Deserializer::from_str(cursor.since(start));
        let made = seed.deserialize(&mut value)?;
        value.end().map(|()| made)
    }
}

/// A deserializer that is serde_json's but for what is written here.
macro_rules! mostly_serde_json {
    ($($method:ident($($given:ident: $kind:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($given: $kind,)*
            visitor: V,
        ) -> Result<V::Value, Error> {
            let mut value = serde_json::Deserializer::from_str(self.raw);
            let made = value.$method($($given,)* visitor)?;
            value.end()?;
            *self.is_read = true;
            Ok(made)
        }
    )*};
    (but $($more:tt)*) => {
        type Error = Error;

        mostly_serde_json! {
            $($more)*
            deserialize_bool()
            deserialize_i8()
            deserialize_i16()
            deserialize_i32()
            deserialize_i64()
            deserialize_i128()
            deserialize_u8()
            deserialize_u16()
            deserialize_u32()
            deserialize_u64()
            deserialize_u128()
            deserialize_f32()
            deserialize_f64()
            deserialize_char()
            deserialize_bytes()
            deserialize_byte_buf()
            deserialize_unit()
            deserialize_seq()
            deserialize_identifier()
            deserialize_ignored_any()
            deserialize_enum(name: &'static str, variants: &'static [&'static str])
            deserialize_newtype_struct(name: &'static str)
            deserialize_tuple(length: usize)
            deserialize_tuple_struct(name: &'static str, length: usize)
            deserialize_unit_struct(name: &'static str)
        }
    };
}

impl<'de> Deserializer<'de> for Whole<'de, '_> {
    mostly_serde_json! {
        but deserialize_any() deserialize_map() deserialize_option() deserialize_str()
        deserialize_string()
    }

    // A map is serde_json's: its keys need not be texts.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut cursor = Cursor::new(self.raw, DEPTH_MAX);
        cursor.enter_object().map_err(Error::custom)?;
        let mut members = Members { cursor, is_first: true, is_at_end: false };
        let made = visitor.visit_map(&mut members)?;
        *self.is_read = members.is_at_end;
        Ok(made)
    }
}

impl<'de> Deserializer<'de> for Text<'de, '_> {
    mostly_serde_json! {
        but deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.is_read = true;
        visitor.visit_borrowed_str(self.meant)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.is_read = true;
        visitor.visit_borrowed_str(self.meant)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.is_read = true;
        visitor.visit_borrowed_str(self.meant)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONG, decoded};
    use serde::Deserialize;
    use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;
    use std::fmt::{self, Debug};

    #[derive(Debug, Deserialize, PartialEq)]
    struct Note {
        text: String,
        maybe: Option<String>,
        #[serde(default)]
        count: i64,
        #[serde(flatten)]
        others: BTreeMap<String, serde_json::Value>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Plain {
        text: String,
        maybe: Option<String>,
        inner: Vec<String>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Either {
        Left(String),
        Right { text: String },
    }

    #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    struct City(String);

    fn agrees<T>(json: &str)
    where
        T: for<'de> Deserialize<'de> + PartialEq + Debug,
    {
        assert!(json.len() > LONG, "else it is serde_json's own");
        let expected = serde_json::from_str::<T>(json);
        match (decoded::<T>(json), expected) {
            (Ok(decoded), Ok(expected)) => assert_eq!(decoded, expected),
            (Err(_), Err(_)) => {}
            (decoded, expected) => panic!("{decoded:?} and not {expected:?}"),
        }
    }

    #[test]
    fn long_arguments_are_what_serde_json_makes_of_them() {
        let long = "a long text. ".repeat(LONG);
        for text in [long.clone(), format!("{long}\\u00e9\\n{long}"), "short".to_owned()] {
            let others = format!(r#""maybe": "{long}", "inner":["{text}"], "x":{{}}"#);
            let json = format!(r#" {{"count": 7, "text":"{text}", {others}}} "#);
            agrees::<Note>(&json);
            agrees::<Plain>(&json);
            agrees::<serde_json::Value>(&json);
            agrees::<BTreeMap<String, serde_json::Value>>(&json);
            agrees::<BTreeMap<u32, String>>(&format!(r#"{{"1":"{long}"}}"#));
            agrees::<BTreeMap<City, String>>(&format!(r#"{{"Bern":"{long}"}}"#));
            agrees::<Either>(&format!(r#"{{"left":"{long}"}}"#));
            agrees::<Either>(&format!(r#"{{"right":{{"text":"{long}"}}}}"#));
        }
    }

    #[test]
    fn what_does_not_fit_is_no_less_refused() {
        let long = "x".repeat(LONG);
        agrees::<Plain>(&format!(r#"{{"text":"{long}"}}"#));
        agrees::<Plain>(&format!(r#"{{"text":7,"inner":["{long}"]}}"#));
        agrees::<Plain>(&format!(r#"{{"text":"{long}","text":"","inner":[]}}"#));
        agrees::<Plain>(&format!(r#"{{"text":"{long}","inner":[]}} 1"#));
        agrees::<Plain>(&format!(r#"{{"text":"{long}","inner":[]"#));
        agrees::<Plain>(&format!(r#"["{long}"]"#));
        agrees::<BTreeMap<String, i64>>(&format!(r#"{{"text":"{long}"}}"#));
    }

    /// Looks at nothing, as nothing at all, or behind a name, an option or a brace.
    #[derive(Debug, PartialEq)]
    struct Blind<const WAY: u8>;

    impl<'de, const WAY: u8> Deserialize<'de> for Blind<WAY> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            match WAY {
                0 => Ok(Self),
                1 => deserializer.deserialize_newtype_struct("Blind", Self),
                2 => deserializer.deserialize_option(Self),
                _ => deserializer.deserialize_struct("Blind", &[], Self),
            }
        }
    }

    impl<'de, const WAY: u8> Visitor<'de> for Blind<WAY> {
        type Value = Self;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, _: D) -> Result<Self, D::Error> {
            Ok(self)
        }

        fn visit_some<D: Deserializer<'de>>(self, _: D) -> Result<Self, D::Error> {
            Ok(self)
        }

        fn visit_map<M: MapAccess<'de>>(self, _: M) -> Result<Self, M::Error> {
            Ok(self)
        }
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Member<T> {
        x: T,
    }

    fn is_refused<T: DeserializeOwned + Debug>(json: &str) {
        assert!(json.len() > LONG, "else it is serde_json's own");
        assert!(serde_json::from_str::<T>(json).is_err());
        assert!(decoded::<T>(json).is_err(), "{}", std::any::type_name::<T>());
    }

    #[test]
    fn what_reads_nothing_makes_nothing() {
        let long = "x".repeat(LONG);
        for x in [format!("\"{long}\""), format!("{{\"{long}\":1}}")] {
            let member = format!("{{\"x\":{x}}}");
            is_refused::<Member<Blind<0>>>(&member);
            is_refused::<Member<Blind<1>>>(&member);
            is_refused::<Member<Blind<2>>>(&member);
            is_refused::<Member<Blind<3>>>(&member);
            is_refused::<Blind<0>>(&member);
            is_refused::<Blind<1>>(&member);
            is_refused::<Blind<2>>(&member);
            is_refused::<Blind<3>>(&member);
        }
        is_refused::<Member<Blind<0>>>(&format!("{{\"x\":1,\"y\":\"{long}\"}}"));
    }

    #[derive(Deserialize)]
    struct Raw {
        text: Box<RawValue>,
    }

    #[test]
    fn raw_text_stays_raw() {
        let raw = format!("\"{}\"", "x".repeat(LONG));
        let json = format!(r#"{{"text":{raw}}}"#);
        let decoded: Raw = decoded(&json).expect("it is JSON");
        assert_eq!(decoded.text.get(), raw);
    }
}
