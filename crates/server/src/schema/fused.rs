//! Arguments are compared with a common schema while they become a handler's type: one pass over
//! their text, and the type sees no value that does not fit. Whatever a type asks for that is not
//! read here fails, as does what does not fit: nobody is told why, and the caller checks and
//! decodes in two steps, which tell. A value that comes out fits the schema, and is the one that
//! serde_json makes of the text.

use super::direct::{Members, Node};
use super::fits::{Step, Walk};
use haft_proto::json::{Cursor, Kind};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor,
};
use std::fmt;

/// Decodes what fits; `None` says nothing about whether it fits.
pub(super) fn decode<A: DeserializeOwned>(node: &Node, text: &str) -> Option<A> {
    let mut cursor = Cursor::new(text, usize::MAX);
    let decoded = A::deserialize(Slot { node, cursor: &mut cursor }).ok()?;
    cursor.end().ok()?;
    Some(decoded)
}

/// It does not fit, or it cannot be said in one pass whether it does.
#[derive(Debug)]
pub(super) struct Undecided;

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("undecided")
    }
}

impl std::error::Error for Undecided {}

impl de::Error for Undecided {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The value at a cursor, and what it has to be.
struct Slot<'c, 'n, 'de> {
    node: &'n Node,
    cursor: &'c mut Cursor<'de>,
}

/// What no cursor gets past.
const SPOILT: &str = "!";

/// A failure is one though a type makes do without the value: nothing more is read then.
#[inline]
fn or_spoil<T>(cursor: &mut Cursor<'_>, made: Result<T, Undecided>) -> Result<T, Undecided> {
    if made.is_err() {
        *cursor = Cursor::new(SPOILT, 0);
    }
    made
}

impl<'de> Slot<'_, '_, 'de> {
    #[inline]
    fn again(&mut self) -> Slot<'_, '_, 'de> {
        Slot { node: self.node, cursor: self.cursor }
    }

    /// The text of the value, which fits.
    fn raw(self) -> Result<&'de str, Undecided> {
        self.cursor.peek_token();
        let start = self.cursor.position();
        if self.node.fits(self.cursor) { Ok(self.cursor.since(start)) } else { Err(Undecided) }
    }

    #[inline]
    fn number<V: Visitor<'de>>(
        self,
        visitor: V,
        otherwise: impl FnOnce(&'de str, V) -> Result<V::Value, serde_json::Error>,
    ) -> Result<V::Value, Undecided> {
        let Some(b'-' | b'0'..=b'9') = self.cursor.peek_token() else { return Err(Undecided) };
        if let Some(integer) = self.node.integer(self.cursor) {
            return match u64::try_from(integer) {
                Ok(integer) => visitor.visit_u64(integer),
                Err(_) => visitor.visit_i64(integer),
            };
        }
        let raw = self.node.plain(self.cursor).ok_or(Undecided)?;
        decided(otherwise(raw, visitor))
    }

    #[inline]
    fn text<V: Visitor<'de>>(
        self,
        visitor: V,
        otherwise: impl FnOnce(&'de str, V) -> Result<V::Value, serde_json::Error>,
    ) -> Result<V::Value, Undecided> {
        let Some(b'"') = self.cursor.peek_token() else { return Err(Undecided) };
        let start = self.cursor.position();
        let text = self.node.string(self.cursor).ok_or(Undecided)?;
        if text.is_escaped() {
            return decided(otherwise(self.cursor.since(start), visitor));
        }
        visitor.visit_borrowed_str(text.raw())
    }

    fn bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        match self.raw()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(Undecided),
        }
    }

    fn option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        if self.cursor.peek_token() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.raw()?;
        visitor.visit_none()
    }

    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        match self.cursor.peek_token() {
            Some(b'{') => self.object(visitor),
            Some(b'[') => self.array(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'-' | b'0'..=b'9') => self.number(visitor, |raw, visitor| {
                serde_json::Deserializer::from_str(raw).deserialize_any(visitor)
            }),
            _ => {
                let raw = self.raw()?;
                decided(serde_json::Deserializer::from_str(raw).deserialize_any(visitor))
            }
        }
    }

    fn object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        let Self { node, cursor } = self;
        // An array may be a struct to serde_json.
        if !node.is_open_to(Kind::Object) || cursor.enter_object().is_err() {
            return Err(Undecided);
        }
        let (walk, members) = (Walk::default(), node.members());
        let mut fields = Fields { cursor, members, walk, node: None, is_at_end: false };
        let made = visitor.visit_map(&mut fields)?;
        // A type may stop early; then the rest has not been looked at.
        if fields.is_at_end { Ok(made) } else { Err(Undecided) }
    }

    fn array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        let Self { node, cursor } = self;
        if !node.is_open_to(Kind::Array) || cursor.enter_array().is_err() {
            return Err(Undecided);
        }
        let mut items = Items { cursor, node, is_first: true, count: 0, is_at_end: false };
        let made = visitor.visit_seq(&mut items)?;
        if items.is_at_end { Ok(made) } else { Err(Undecided) }
    }
}

#[inline]
fn decided<T>(made: Result<T, serde_json::Error>) -> Result<T, Undecided> {
    made.map_err(|_| Undecided)
}

/// What one pass does not read is read again by serde_json, after it was found to fit.
macro_rules! by_serde_json {
    ($($method:ident($($given:ident: $kind:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(
            mut self,
            $($given: $kind,)*
            visitor: V,
        ) -> Result<V::Value, Undecided> {
            let made = self.again().raw().and_then(|raw| {
                decided(serde_json::Deserializer::from_str(raw).$method($($given,)* visitor))
            });
            or_spoil(self.cursor, made)
        }
    )*};
}

/// The same of numbers and texts, where only unusual forms are.
macro_rules! mostly {
    ($way:ident: $($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Undecided> {
            let made = self.again().$way(visitor, |raw, visitor| {
                serde_json::Deserializer::from_str(raw).$method(visitor)
            });
            or_spoil(self.cursor, made)
        }
    )*};
}

/// The same of what is never read by serde_json.
macro_rules! only {
    ($($method:ident by $way:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Undecided> {
            let made = self.again().$way(visitor);
            or_spoil(self.cursor, made)
        }
    )*};
}

impl<'de> Deserializer<'de> for Slot<'_, '_, 'de> {
    type Error = Undecided;

    by_serde_json! {
        deserialize_i128()
        deserialize_u128()
        deserialize_char()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_unit()
        deserialize_ignored_any()
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
    }

    mostly! {
        number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    mostly! {
        text: deserialize_str deserialize_string deserialize_identifier
    }

    // A map's keys are texts here, as those of nearly all types are.
    only! {
        deserialize_any by any
        deserialize_bool by bool
        deserialize_map by object
        deserialize_option by option
        deserialize_seq by array
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Undecided> {
        let made = self.again().object(visitor);
        or_spoil(self.cursor, made)
    }
}

/// The members of an object from a place on.
struct Fields<'c, 'n, 'de> {
    cursor: &'c mut Cursor<'de>,
    members: &'n Members,
    walk: Walk,
    /// What the value has to be whose key was read last, if that is said.
    node: Option<&'n Node>,
    is_at_end: bool,
}

impl<'de> Fields<'_, '_, 'de> {
    #[inline]
    fn key<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Undecided> {
        if self.is_at_end {
            return Ok(None);
        }
        let key = match self.walk.next(self.members, self.cursor) {
            Step::Known { key, node } => {
                self.node = Some(node);
                key
            }
            Step::Other { key, node } => {
                self.node = node;
                key.ok_or(Undecided)?
            }
            Step::End => {
                self.is_at_end = true;
                return Ok(None);
            }
            Step::Misfit => return Err(Undecided),
        };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Fields<'_, '_, 'de> {
    type Error = Undecided;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Undecided> {
        let key = self.key(seed);
        or_spoil(self.cursor, key)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Undecided> {
        let made = one(self.cursor, self.node, seed);
        or_spoil(self.cursor, made)
    }
}

/// The items of an array from a place on.
struct Items<'c, 'n, 'de> {
    cursor: &'c mut Cursor<'de>,
    /// The array's.
    node: &'n Node,
    is_first: bool,
    count: u64,
    is_at_end: bool,
}

impl<'de> Items<'_, '_, 'de> {
    fn item<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Undecided> {
        if self.is_at_end {
            return Ok(None);
        }
        if !self.cursor.next_item(&mut self.is_first).map_err(|_| Undecided)? {
            self.is_at_end = true;
            let details = self.node.own_details();
            let has_enough = details.is_none_or(|details| details.items_count.has(self.count));
            return has_enough.then_some(None).ok_or(Undecided);
        }
        self.count += 1;
        one(self.cursor, self.node.items.as_deref(), seed).map(Some)
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, '_, 'de> {
    type Error = Undecided;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Undecided> {
        let item = self.item(seed);
        or_spoil(self.cursor, item)
    }
}

/// Decodes one value; without a node its schema says nothing of it.
#[inline]
fn one<'de, S: DeserializeSeed<'de>>(
    cursor: &mut Cursor<'de>,
    node: Option<&Node>,
    seed: S,
) -> Result<S::Value, Undecided> {
    if let Some(node) = node {
        return seed.deserialize(Slot { node, cursor });
    }
    let raw = cursor.value().map_err(|_| Undecided)?;
    let mut value = serde_json::Deserializer::from_str(raw);
    let made = decided(seed.deserialize(&mut value))?;
    decided(value.end()).map(|()| made)
}

#[cfg(test)]
mod tests {
    use crate::schema::Schema;
    use crate::schema::derived::of_arguments;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Map, Value};
    use std::fmt::Debug;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Ticket {
        title: String,
        #[schemars(range(min = 1, max = 9))]
        pieces: i64,
        #[serde(default)]
        progress: f32,
        labels: Option<Vec<String>>,
        assignee: Option<Assignee>,
        notify: Option<bool>,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Assignee {
        id: u32,
        name: Option<String>,
    }

    const TICKET: &str = r#"{"title":"It is \u00e9mpty","pieces":2,"progress":0.25,"labels":["a"],
        "assignee" : {"name":"Ada","id":4711},"notify":true}"#;

    fn decoded<T: DeserializeOwned>(schema: &str, text: &str) -> Option<T> {
        Schema::compile(schema).expect("it is a schema").decode(text)
    }

    fn is_as_serde_json_reads_it<T: DeserializeOwned + Debug + PartialEq>(schema: &str) {
        for text in [TICKET, r#"{"pieces":1,"title":""}"#] {
            let expected = serde_json::from_str::<T>(text).ok();
            assert!(expected.is_some());
            assert_eq!(decoded::<T>(schema, text), expected);
        }
    }

    #[test]
    fn what_fits_takes_one_pass() {
        let schema = of_arguments::<Ticket>();
        is_as_serde_json_reads_it::<Ticket>(&schema);
        is_as_serde_json_reads_it::<Value>(&schema);
        is_as_serde_json_reads_it::<Map<String, Value>>(&schema);
    }

    #[test]
    fn what_does_not_fit_is_not_decoded_though_the_type_would_take_it() {
        let schema = of_arguments::<Ticket>();
        for text in [
            r#"{"title":"","pieces":10}"#,
            r#"{"title":"","pieces":0}"#,
            r#"{"title":"","pieces":1,"prize":2}"#,
            r#"{"title":"","pieces":1,"labels":null}"#,
            r#"{"title":"","pieces":1,"assignee":{"id":1,"name":null}}"#,
        ] {
            assert!(serde_json::from_str::<Ticket>(text).is_ok(), "{text}");
            assert_eq!(decoded::<Ticket>(&schema, text), None, "{text}");
        }
        let required = r#"{"properties":{"notify":true},"required":["notify"]}"#;
        assert_eq!(decoded::<Ticket>(required, r#"{"title":"","pieces":1}"#), None);
        assert!(decoded::<Ticket>(required, r#"{"title":"","pieces":1,"notify":true}"#).is_some());
    }
}
