//! JSON text as a tree that can be mended and written again: numbers keep their letters, members
//! their order. Read by `normal` alone; anything that arrives on a wire is read by `haft_proto`.

use haft_proto::encode;
use haft_proto::error::Malformed;
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, Kind};
use std::borrow::Cow;
use std::collections::HashMap;

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json<'a> {
    /// `null`, `true`, `false` or a number, as it stands.
    Plain(Cow<'a, str>),
    /// A string as it is meant.
    Text(Cow<'a, str>),
    Array(Vec<Self>),
    Object(Members<'a>),
}

/// The members of an object. Of two with one key the later counts, as in JavaScript.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

impl<'a> Json<'a> {
    /// Reads a text that is one value; whether a key was there twice is said beside it.
    ///
    /// # Errors
    /// It is not JSON, or nested too deep.
    pub(super) fn read(text: &'a str) -> Result<(Self, bool), Malformed> {
        let mut reading = Reading { cursor: Cursor::new(text, DEPTH_MAX), is_repeated: false };
        let json = reading.value()?;
        reading.cursor.end()?;
        Ok((json, reading.is_repeated))
    }

    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn object() -> Self {
        Self::Object(Vec::new())
    }

    pub(super) fn is_null(&self) -> bool {
        self.is_plain("null")
    }

    pub(super) fn is_plain(&self, word: &str) -> bool {
        matches!(self, Self::Plain(plain) if plain == word)
    }

    pub(super) fn is_flag(&self) -> bool {
        self.is_plain("true") || self.is_plain("false")
    }

    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Plain(plain) => plain.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Plain(plain) => match &**plain {
                "null" => "null",
                "true" | "false" => "a boolean",
                _ => "a number",
            },
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain(plain) => out.extend_from_slice(plain.as_bytes()),
            Self::Text(text) => encode::string(out, text),
            Self::Array(items) => {
                out.push(b'[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (place, (key, value)) in members.iter().enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    encode::string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// The same text for values that are the same to JSON Schema, like `1` and `1.0`.
    pub(super) fn canonical(&self) -> String {
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        match self.number() {
            Some(number) if number.fract() == 0.0 && number.abs() < EXACT_MAX => {
                format!("{number:.0}")
            }
            _ => self.written(),
        }
    }

    pub(super) fn written(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8(out).expect("encoders write UTF-8")
    }
}

/// The member of that key.
pub(super) fn get<'m, 'a>(members: &'m Members<'a>, key: &str) -> Option<&'m Json<'a>> {
    members.iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

/// Takes the member of that key out.
pub(super) fn remove<'a>(members: &mut Members<'a>, key: &str) -> Option<Json<'a>> {
    let place = members.iter().position(|(known, _)| known == key)?;
    Some(members.remove(place).1)
}

struct Reading<'a> {
    cursor: Cursor<'a>,
    is_repeated: bool,
}

impl<'a> Reading<'a> {
    fn value(&mut self) -> Result<Json<'a>, Malformed> {
        match self.cursor.kind()? {
            Kind::Object => self.object().map(Json::Object),
            Kind::Array => {
                self.cursor.enter_array()?;
                let (mut items, mut is_first) = (Vec::new(), true);
                while self.cursor.next_item(&mut is_first)? {
                    items.push(self.value()?);
                }
                Ok(Json::Array(items))
            }
            Kind::String => Ok(Json::Text(JsonStr::decode(self.cursor.string()?))),
            Kind::Bool | Kind::Null | Kind::Number => {
                Ok(Json::Plain(self.cursor.value()?.trim().into()))
            }
        }
    }

    fn object(&mut self) -> Result<Members<'a>, Malformed> {
        self.cursor.enter_object()?;
        let (mut members, mut is_first): (Members<'a>, _) = (Vec::new(), true);
        // Made where there are too many to compare each with each.
        let mut places: Option<HashMap<Cow<'a, str>, usize>> = None;
        while let Some(key) = self.cursor.next_key(&mut is_first)? {
            let (key, value) = (key.decode(), self.value()?);
            let place = match &places {
                Some(places) => places.get(&key).copied(),
                None => members.iter().position(|(known, _)| *known == key),
            };
            if let Some(place) = place {
                self.is_repeated = true;
                members[place].1 = value;
                continue;
            }
            if members.len() == COMPARED_MAX {
                let known = members.iter().enumerate();
                places = Some(known.map(|(place, (key, _))| (key.clone(), place)).collect());
            }
            if let Some(places) = &mut places {
                places.insert(key.clone(), members.len());
            }
            members.push((key, value));
        }
        Ok(members)
    }
}

/// So many keys of an object are compared with each other without a table.
const COMPARED_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_with_the_letters_of_its_numbers() {
        for (text, expected) in [
            (
                r#" { "b" : 1.50 , "a" : [ 1e400 , true , null ] } "#,
                r#"{"b":1.50,"a":[1e400,true,null]}"#,
            ),
            (r#""\u0041\n""#, r#""A\n""#),
            (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"a":3,"b":2}"#),
        ] {
            let (json, _) = Json::read(text).expect("JSON");
            assert_eq!(json.written(), expected);
        }
    }

    #[test]
    fn of_many_keys_the_later_of_two_counts() {
        let members: Vec<String> = (0..40).map(|key| format!("\"k{key}\":{key}")).collect();
        let text = format!("{{{},\"k3\":true,\"k30\":true}}", members.join(","));
        let (json, is_repeated) = Json::read(&text).expect("JSON");
        let Json::Object(members) = json else { panic!("{json:?}") };
        let is_later = |key| get(&members, key).is_some_and(Json::is_flag);
        assert!(is_repeated && is_later("k3") && is_later("k30"));
        assert_eq!(members.len(), 40);
    }

    #[test]
    fn what_is_nested_too_deep_is_no_tree() {
        let deep = "[".repeat(DEPTH_MAX + 1) + &"]".repeat(DEPTH_MAX + 1);
        assert!(Json::read(&deep).is_err() && Json::read("[1] 2").is_err());
    }
}
