//! From a tree to typed values, through serde: the only place where a value of the wrong type, an
//! unknown key or a missing one is noticed. Called by `load` with the structs of `written`; what
//! the values mean is not looked at.

use crate::fault::Wrong;
use crate::place::{PLACED, Place};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Tree};
use crate::written::SCALAR;
use crate::written::shape::SHAPE;
use haft_server::nearest;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use std::fmt::{self, Display};

/// Reads a typed value.
pub(crate) fn decode<T: DeserializeOwned>(tree: &Tree) -> Result<T, Wrong> {
    T::deserialize(Value(tree)).map_err(|rejected| rejected.at(tree.place).into())
}

/// What serde calls an error, before its place and key are known: those are filled in on the way
/// out, by the innermost mapping and value that the error passes.
#[derive(Debug)]
struct Rejected {
    place: Option<Place>,
    key: Option<String>,
    /// What the mapping is, for keys that are unknown or missing.
    owner: Option<String>,
    is_item: bool,
    why: Box<Why>,
}

#[derive(Debug)]
enum Why {
    Missing(&'static str),
    NoValue,
    Other(String),
    UnknownKey { key: String, known: &'static [&'static str] },
    UnknownWord { word: String, known: &'static [&'static str] },
    WrongType { expected: String, found: String, example: Option<String> },
}

impl Rejected {
    fn new(why: Why) -> Self {
        Self { place: None, key: None, owner: None, is_item: false, why: Box::new(why) }
    }

    fn at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    fn under(mut self, key: &str) -> Self {
        self.key.get_or_insert_with(|| key.to_owned());
        self
    }

    fn of(mut self, owner: &str) -> Self {
        self.owner.get_or_insert_with(|| owner.to_owned());
        self
    }

    fn item(mut self) -> Self {
        self.is_item |= self.key.is_none();
        self
    }
}

impl From<Rejected> for Wrong {
    fn from(rejected: Rejected) -> Self {
        let Rejected { place, key, owner, is_item, why } = rejected;
        let (key, owner) = (key.unwrap_or_default(), owner.unwrap_or_default());
        let owned = |known: &[&str]| known.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let nearest = |word: &str, known: &[&'static str]| {
            nearest(word, known.iter().copied()).map(str::to_owned)
        };
        let problem = match *why {
            Why::Missing(key) => Problem::MissingKey { owner, key: key.to_owned() },
            Why::NoValue => Problem::NoValue { key },
            Why::Other(reason) => Problem::NotYaml { reason },
            Why::UnknownKey { key, known } => {
                let nearest = nearest(&key, known);
                Problem::UnknownKey { key, owner, nearest, known: owned(known) }
            }
            Why::UnknownWord { word, known } => {
                let nearest = nearest(&word, known);
                Problem::UnknownWord { key, word, nearest, known: owned(known) }
            }
            Why::WrongType { expected, found, example } => {
                Problem::WrongType { key, is_item, expected, found, example }
            }
        };
        Self::new(place.unwrap_or_default(), problem)
    }
}

impl Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.why)
    }
}

impl std::error::Error for Rejected {}

impl Error for Rejected {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Why::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(true) => "true",
            Unexpected::Bool(false) => "false",
            Unexpected::Signed(_) | Unexpected::Unsigned(_) | Unexpected::Float(_) => "a number",
            Unexpected::Str(_) => "text",
            Unexpected::Seq => "a list",
            Unexpected::Map => "a mapping",
            _ => "nothing",
        };
        let (expected, found) = (expected.to_string(), found.to_owned());
        Self::new(Why::WrongType { expected, found, example: None })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Why::Missing(key))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(Why::UnknownKey { key: key.to_owned(), known })
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new(Why::UnknownWord { word: word.to_owned(), known })
    }
}

/// A value that is being decoded.
#[derive(Clone, Copy)]
struct Value<'de>(&'de Tree);

impl<'de> Value<'de> {
    fn refuse(self, expected: &str) -> Rejected {
        let found = self.0.describe().to_owned();
        Rejected::new(match &self.0.node {
            Node::Null => Why::NoValue,
            _ => Why::WrongType { expected: expected.to_owned(), found, example: None },
        })
    }

    /// A refusal that shows how it should have been typed.
    fn refuse_with(self, expected: &str, example: String) -> Rejected {
        let mut rejected = self.refuse(expected);
        if let Why::WrongType { example: shown, .. } = &mut *rejected.why {
            *shown = Some(example);
        }
        rejected
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::Bool(_, typed) | Node::Number(_, typed) => {
                Err(self.refuse_with("text", format!("put it in quotes: \"{typed}\"")))
            }
            _ => Err(self.refuse("text")),
        }
    }

    /// Text, or a number or truth value as it was typed: where a program gets it, all are text.
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::Bool(_, typed) | Node::Number(_, typed) => visitor.visit_borrowed_str(typed),
            _ => Err(self.refuse("text")),
        }
    }

    fn whole_number<V: Visitor<'de>>(
        self,
        visitor: V,
        max: u64,
        expected: &str,
    ) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Number(number, typed) => match number.as_u64().filter(|&number| number <= max) {
                Some(number) => visitor.visit_u64(number),
                None => Err(Rejected::new(Why::WrongType {
                    expected: expected.to_owned(),
                    found: typed.clone(),
                    example: None,
                })),
            },
            _ => Err(self.refuse(expected)),
        }
    }

    fn list<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::List(items) => visitor.visit_seq(Items(items.iter())),
            Node::Text(text) => {
                let words: Vec<_> = text.split_whitespace().take(8).collect();
                let example = format!("write it as a list: [{}]", words.join(", "));
                Err(self.refuse_with("a list", example))
            }
            Node::Map(_) => {
                let example = "write it as an item of a list: put `- ` before its first key";
                Err(self.refuse_with("a list", example.to_owned()))
            }
            Node::Bool(_, typed) | Node::Number(_, typed) => {
                Err(self.refuse_with("a list", format!("write it as a list: [{typed}]")))
            }
            Node::Null => Err(self.refuse("a list")),
        }
    }

    fn mapping<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Map(entries) => visitor.visit_map(Entries { rest: entries.iter(), value: None }),
            _ => Err(self.refuse("a mapping")),
        }
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Rejected;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Bool(value, _) => visitor.visit_bool(*value),
            Node::List(_) => self.list(visitor),
            Node::Map(_) => self.mapping(visitor),
            Node::Null => Err(Rejected::new(Why::NoValue)),
            Node::Number(number, _) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Node::Text(text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Bool(value, _) => visitor.visit_bool(*value),
            Node::Text(word) if ["yes", "on", "y"].contains(&word.to_lowercase().as_str()) => {
                Err(self.refuse_with("true or false", "write true".to_owned()))
            }
            Node::Text(word) if ["no", "off", "n"].contains(&word.to_lowercase().as_str()) => {
                Err(self.refuse_with("true or false", "write false".to_owned()))
            }
            _ => Err(self.refuse("true or false")),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.whole_number(visitor, u8::MAX.into(), "a whole number from 0 to 255")
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.whole_number(visitor, u32::MAX.into(), "a whole number")
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Number(number, _) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            _ => Err(self.refuse("a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.text(visitor)
    }

    /// A key without a value is a line that somebody forgot to finish, not an absent key.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Null => Err(Rejected::new(Why::NoValue)),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        match name {
            PLACED => visitor.visit_seq(PlacedParts { tree: self.0, given: 0 }),
            SCALAR => self.scalar(visitor),
            SHAPE if matches!(self.0.node, Node::Null) => visitor.visit_unit(),
            SHAPE => self.deserialize_any(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.mapping(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        self.mapping(visitor).map_err(|rejected| rejected.of(name))
    }

    /// A word out of a few.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        match &self.0.node {
            Node::Text(word) => {
                let word: StrDeserializer<'_, Rejected> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(self.refuse(&known.join(", "))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u16 u64 u128 f32 char bytes byte_buf unit unit_struct tuple
        tuple_struct identifier
    }
}

struct Items<'de>(std::slice::Iter<'de, Tree>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Rejected;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Rejected> {
        let Some(item) = self.0.next() else { return Ok(None) };
        let decoded = seed.deserialize(Value(item));
        decoded.map(Some).map_err(|rejected| rejected.at(item.place).item())
    }
}

struct Entries<'de> {
    rest: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Rejected;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Rejected> {
        let Some(entry) = self.rest.next() else { return Ok(None) };
        self.value = Some(entry);
        let key = Key(entry);
        seed.deserialize(key).map(Some).map_err(|rejected| rejected.at(entry.key_place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Rejected> {
        let entry = self.value.take().ok_or_else(|| Rejected::custom("a value without a key"))?;
        let decoded = seed.deserialize(Value(&entry.value));
        decoded.map_err(|rejected| {
            // What is not there has no place.
            let is_absent = matches!(*rejected.why, Why::NoValue);
            let place = if is_absent { entry.key_place } else { entry.value.place };
            rejected.at(place).under(&entry.key).of(&format!("`{}`", entry.key))
        })
    }
}

/// A key: text, with its place where that is asked for.
struct Key<'de>(&'de Entry);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Rejected;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        visitor.visit_borrowed_str(&self.0.key)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        match name {
            PLACED => visitor.visit_seq(PlacedKey { entry: self.0, given: 0 }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The three parts of a `Placed` value: start, end, value.
struct PlacedParts<'de> {
    tree: &'de Tree,
    given: usize,
}

impl<'de> SeqAccess<'de> for PlacedParts<'de> {
    type Error = Rejected;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Rejected> {
        self.given += 1;
        match self.given {
            1 => seed.deserialize(self.tree.place.start.into_deserializer()).map(Some),
            2 => seed.deserialize(self.tree.place.end.into_deserializer()).map(Some),
            3 => seed.deserialize(Value(self.tree)).map(Some),
            _ => Ok(None),
        }
    }
}

struct PlacedKey<'de> {
    entry: &'de Entry,
    given: usize,
}

impl<'de> SeqAccess<'de> for PlacedKey<'de> {
    type Error = Rejected;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Rejected> {
        self.given += 1;
        match self.given {
            1 => seed.deserialize(self.entry.key_place.start.into_deserializer()).map(Some),
            2 => seed.deserialize(self.entry.key_place.end.into_deserializer()).map(Some),
            3 => seed.deserialize(BorrowedStrDeserializer::new(&self.entry.key)).map(Some),
            _ => Ok(None),
        }
    }
}
