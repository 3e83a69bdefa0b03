//! What is suggested for an argument or a variable, as it is typed in a file: values, or where they
//! come from.

use crate::place::Placed;
use crate::written::Scalar;
use crate::written::environ::Environ;
use crate::written::http::Http;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What is suggested.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Complete {
    /// These values; others may be given too.
    Values(Vec<Placed<Scalar>>),
    /// What is found when somebody types.
    Found(Box<Found>),
}

/// Where suggestions come from: the names in a directory, the lines that a program prints, or what
/// a server answers, as a list of JSON or lines. Templates write what is typed so far by its own
/// name, and what else is known by the names of the others; without its own name in them, those
/// are suggested that begin with what is typed.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`complete`")]
#[schemars(rename = "Suggestions")]
pub(crate) struct Found {
    /// A directory; the paths of the files below it are suggested, and none outside.
    pub(crate) directory: Option<Placed<String>>,
    /// The program and its arguments, as templates; each line that it prints is a value.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// A template for what the program reads; nothing without this key.
    pub(crate) stdin: Option<Placed<Scalar>>,
    /// Environment variables beside the few of haft that programs commonly need, as templates.
    /// Under `inherit`, a list of more variables of haft, or `all`.
    pub(crate) env: Option<Placed<Environ>>,
    /// The directory that the program runs in; without this key, that of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// The exit codes that are no failure; `[0]` without this key.
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    /// A request to a server with `get` or `post`.
    pub(crate) http: Option<Placed<Http>>,
    /// Where in the JSON the list is, as a JSON Pointer like /items.
    pub(crate) pick: Option<Placed<String>>,
    /// The most bytes that are printed or answered, like 64KiB; 2MiB without this key.
    pub(crate) limit: Option<Placed<Scalar>>,
    /// How long it may take, like 500ms; 5s without this key, 1m at most.
    pub(crate) timeout: Option<Placed<Scalar>>,
}

/// Suggestions by name, in order.
#[derive(Debug, Default)]
pub(crate) struct Completes(pub(crate) Vec<(Placed<String>, Placed<Complete>)>);

impl<'de> Deserialize<'de> for Complete {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CompleteVisitor)
    }
}

struct CompleteVisitor;

impl<'de> Visitor<'de> for CompleteVisitor {
    type Value = Complete;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a mapping")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Complete, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Complete::Values)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Complete, A::Error> {
        let found = Found::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Complete::Found(Box::new(found)))
    }
}

impl<'de> Deserialize<'de> for Completes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CompletesVisitor)
    }
}

struct CompletesVisitor;

impl<'de> Visitor<'de> for CompletesVisitor {
    type Value = Completes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Completes, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Completes(pairs))
    }
}

impl JsonSchema for Completes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Completes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Complete>();
        json_schema!({ "type": "object", "additionalProperties": value })
    }
}
