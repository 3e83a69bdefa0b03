//! Whether tools are found or listed, as it is typed. Read by `meant` and `view`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Always or never, or from so many tools on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Search {
    Always(bool),
    From(u64),
}

impl<'de> Deserialize<'de> for Search {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SearchVisitor)
    }
}

struct SearchVisitor;

impl Visitor<'_> for SearchVisitor {
    type Value = Search;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a number")
    }

    fn visit_bool<E>(self, always: bool) -> Result<Search, E> {
        Ok(Search::Always(always))
    }

    fn visit_u64<E>(self, least: u64) -> Result<Search, E> {
        Ok(Search::From(least))
    }
}

impl JsonSchema for Search {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Search".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "integer"], "minimum": 1 })
    }
}
