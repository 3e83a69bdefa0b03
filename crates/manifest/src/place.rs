//! Where something stands in a manifest, and values that remember it. Made by `tree`; turned into
//! lines and columns only when a fault is drawn.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A range of bytes of the file's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub(crate) place: Place,
    pub(crate) value: T,
}

/// The name under which `decode` recognises a [`Placed`]; it then gives start, end and value.
pub(crate) const PLACED: &str = "haft::Placed";

impl<T> Placed<T> {
    pub(crate) fn new(place: Place, value: T) -> Self {
        Self { place, value }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(PLACED, PlacedVisitor(PhantomData))
    }
}

struct PlacedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PlacedVisitor<T> {
    type Value = Placed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its place")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut number = || parts.next_element()?.ok_or_else(|| A::Error::missing_field("place"));
        let place = Place { start: number()?, end: number()? };
        let value = parts.next_element()?.ok_or_else(|| A::Error::missing_field("value"))?;
        Ok(Placed { place, value })
    }
}

/// In the published schema a placed value is the value.
impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
