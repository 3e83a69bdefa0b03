//! Arguments are compared with a common schema while they become a handler's type, in one pass over
//! their text. A type sees no number, text, word or key that does not fit, and no item beyond
//! `maxItems`; but that items are too few, or that something is missing, is known only at the end
//! of an array or object, after what is in it was decoded. What comes out fits the schema, and is
//! what serde_json makes of the text. Whatever a type asks for that is not read here fails, as does
//! what does not fit: nobody is told why, and the caller checks and decodes in two steps, which
//! tell.

use super::direct::{Members, Node};
use super::fits::{Row, RowStep, Step, Walk};
use haft_proto::json::{Cursor, Kind};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::de::StrRead;
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

/// What reads a value a second time.
type Again<'de> = serde_json::Deserializer<StrRead<'de>>;

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
        otherwise: impl FnOnce(&mut Again<'de>, V) -> Result<V::Value, serde_json::Error>,
    ) -> Result<V::Value, Undecided> {
        let Some(b'-' | b'0'..=b'9') = self.cursor.peek_token() else { return Err(Undecided) };
        if let Some(integer) = self.node.integer(self.cursor) {
            return match u64::try_from(integer) {
                Ok(integer) => visitor.visit_u64(integer),
                Err(_) => visitor.visit_i64(integer),
            };
        }
        let raw = self.node.plain(self.cursor).ok_or(Undecided)?;
        read_again(raw, |value| otherwise(value, visitor))
    }

    #[inline]
    fn text<V: Visitor<'de>>(
        self,
        visitor: V,
        otherwise: impl FnOnce(&mut Again<'de>, V) -> Result<V::Value, serde_json::Error>,
    ) -> Result<V::Value, Undecided> {
        let Some(b'"') = self.cursor.peek_token() else { return Err(Undecided) };
        let start = self.cursor.position();
        let text = self.node.string(self.cursor).ok_or(Undecided)?;
        if text.is_escaped() {
            return read_again(self.cursor.since(start), |value| otherwise(value, visitor));
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
            Some(b'-' | b'0'..=b'9') => {
                self.number(visitor, |value, visitor| value.deserialize_any(visitor))
            }
            _ => read_again(self.raw()?, |value| value.deserialize_any(visitor)),
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
        let mut items = Items { cursor, row: Row::of(node), is_at_end: false };
        let made = visitor.visit_seq(&mut items)?;
        if items.is_at_end { Ok(made) } else { Err(Undecided) }
    }
}

/// What serde_json makes of the text of one value, if that is all that is read of it.
#[inline]
fn read_again<'de, T>(
    raw: &'de str,
    read: impl FnOnce(&mut Again<'de>) -> Result<T, serde_json::Error>,
) -> Result<T, Undecided> {
    let mut value = serde_json::Deserializer::from_str(raw);
    let made = read(&mut value).map_err(|_| Undecided)?;
    // A type may look at nothing.
    value.end().map_err(|_| Undecided).map(|()| made)
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
                read_again(raw, |value| value.$method($($given,)* visitor))
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
            let made = self.again().$way(visitor, |value, visitor| value.$method(visitor));
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
        let mut is_read = false;
        let made = seed.deserialize(Key { key, is_read: &mut is_read })?;
        if is_read { Ok(Some(made)) } else { Err(Undecided) }
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

/// A key without escapes.
struct Key<'k, 'de> {
    key: &'de str,
    is_read: &'k mut bool,
}

/// What is more than a text to serde_json: it reads numbers and words out of the quotes of a key.
macro_rules! undecided {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Undecided> {
            Err(Undecided)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = Undecided;

    undecided! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_bytes deserialize_byte_buf
    }

    serde::forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        *self.is_read = true;
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Undecided> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Undecided> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Undecided> {
        Err(Undecided)
    }
}

/// The items of an array from a place on.
struct Items<'c, 'n, 'de> {
    cursor: &'c mut Cursor<'de>,
    row: Row<'n>,
    is_at_end: bool,
}

impl<'de> Items<'_, '_, 'de> {
    fn item<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Undecided> {
        if self.is_at_end {
            return Ok(None);
        }
        match self.row.next(self.cursor) {
            RowStep::Item(node) => one(self.cursor, node, seed).map(Some),
            RowStep::End => {
                self.is_at_end = true;
                Ok(None)
            }
            RowStep::Misfit => Err(Undecided),
        }
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
    read_again(raw, |value| seed.deserialize(value))
}

#[cfg(test)]
mod tests;
