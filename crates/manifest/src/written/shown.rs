//! What clients are shown beside a name, as it is typed: pictures, `_meta`, how long to keep it.

use crate::place::Placed;
use crate::written::Scalar;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use std::borrow::Cow;

/// A picture that clients may show.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "an icon")]
#[schemars(rename = "Icon")]
pub(crate) struct Icon {
    /// Where it is: an `https:` or `data:` address.
    pub(crate) src: Placed<String>,
    /// What kind of picture, like image/png.
    pub(crate) mime_type: Option<Placed<String>>,
    /// Its sizes, like 48x48, or `any`.
    #[serde(default)]
    pub(crate) sizes: Vec<Placed<String>>,
    /// The background that it is drawn for.
    pub(crate) theme: Option<Theme>,
}

/// A background.
#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Theme {
    /// A dark one.
    Dark,
    /// A light one.
    Light,
}

/// How long clients of 2026-07-28 may keep an answer, and for whom.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`caching`")]
#[schemars(rename = "Caching")]
pub(crate) struct Caching {
    /// For how long, like 30s, 5m or 0s; 1m without this key.
    pub(crate) ttl: Option<Placed<Scalar>>,
    /// Whether one user's copy may serve another; `public` without this key.
    pub(crate) scope: Option<Scope>,
}

/// For whom a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// For the user who asked.
    Private,
    /// For everybody.
    Public,
}

/// `_meta`; `shown` reads it from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta;

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Meta {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Meta".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
