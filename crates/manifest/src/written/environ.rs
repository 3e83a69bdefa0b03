//! The `env` of a program, as it is typed: variables, and under `inherit` which of haft's own it
//! has. Read by `command` and `upstream`.

use crate::place::Placed;
use crate::written::Scalar;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The key beside the names of variables.
const INHERIT: &str = "inherit";

/// Names and templates, in order, and what is inherited.
#[derive(Debug)]
pub(crate) struct Environ {
    pub(crate) variables: Vec<(Placed<String>, Placed<Scalar>)>,
    pub(crate) inherit: Option<Placed<Inherit>>,
}

/// Which variables of haft a program has beside the usual ones.
#[derive(Debug)]
pub(crate) enum Inherit {
    /// Every one.
    All,
    /// Those of these names.
    Named(Vec<Placed<String>>),
}

impl<'de> Deserialize<'de> for Environ {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvironVisitor)
    }
}

struct EnvironVisitor;

impl<'de> Visitor<'de> for EnvironVisitor {
    type Value = Environ;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environ, A::Error> {
        let (mut variables, mut inherit) = (Vec::new(), None);
        while let Some(name) = map.next_key::<Placed<String>>()? {
            if name.value == INHERIT {
                inherit = Some(map.next_value()?);
            } else {
                variables.push((name, map.next_value()?));
            }
        }
        Ok(Environ { variables, inherit })
    }
}

impl JsonSchema for Environ {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Environ".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Scalar>();
        let inherit = generator.subschema_for::<Inherit>();
        let properties = json_schema!({ "inherit": inherit });
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": value
        })
    }
}

impl<'de> Deserialize<'de> for Inherit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InheritVisitor)
    }
}

struct InheritVisitor;

impl<'de> Visitor<'de> for InheritVisitor {
    type Value = Inherit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all or a list of names")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Inherit, E> {
        if word == "all" { Ok(Inherit::All) } else { Err(E::unknown_variant(word, &["all"])) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Inherit, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Inherit::Named)
    }
}

impl JsonSchema for Inherit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Inherit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Variables of haft that the program has beside the usual ones: a list \
                of their names, or `all`.",
            "anyOf": [
                { "const": "all" },
                { "type": "array", "items": { "type": "string" } }
            ]
        })
    }
}
