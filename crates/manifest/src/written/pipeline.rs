//! The steps of a pipeline as they are typed. What they call and pass on is the business of the
//! folder `pipeline`.

use crate::place::Placed;
use crate::written::Scalar;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use std::borrow::Cow;

/// A step: it calls a tool (`call`), does steps one after the other (`do`) or at the same time
/// (`parallel`), once or for `each` item of a list.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a step")]
#[schemars(rename = "Step")]
pub(crate) struct Step {
    /// The name of a tool of this server.
    pub(crate) call: Option<Placed<String>>,
    /// The arguments of the call: values, and templates in any depth. What is just
    /// `{{ expression }}` keeps its type, and is left out if its argument was not given.
    #[expect(dead_code, reason = "`pipeline` reads it from the tree")]
    pub(crate) with: Option<Arguments>,
    /// Steps to do one after the other; the result is that of the last.
    pub(crate) r#do: Option<Placed<Vec<Placed<Self>>>>,
    /// Steps to do at the same time, 16 at most; the result is the list of theirs.
    pub(crate) parallel: Option<Placed<Vec<Placed<Self>>>>,
    /// A list, or `{{ expression }}` that is one: the step is done for each of its items, and the
    /// result is the list of what came of them.
    #[expect(dead_code, reason = "`pipeline` reads it from the tree")]
    pub(crate) each: Option<Each>,
    /// What an item of `each` is called; `item` without this key.
    pub(crate) item: Option<Placed<String>>,
    /// The most items that `each` may have, up to 10000; 100 without this key. A longer list is a
    /// failure.
    pub(crate) max: Option<Placed<u32>>,
    /// How many items of `each` are worked on at the same time, up to 64; 1 without this
    /// key.
    pub(crate) concurrency: Option<Placed<u32>>,
    /// `{{ expression }}`: the step is skipped, and its result is null, unless this is true. Beside
    /// `each` it is asked once, before the first item.
    #[expect(dead_code, reason = "`pipeline` reads it from the tree")]
    pub(crate) when: Option<Condition>,
    /// How long the step may take, like 500ms, 5s or 2m; beside `each`, for each item. Then it
    /// fails, and what it called is ended. Without this key, as long as the tools that it calls.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// What follows if the step fails: `stop` (without this key) ends the pipeline; `continue` goes
    /// on with null as its result, and with the reason in `errors`, under the name of `as`.
    pub(crate) on_error: Option<OnError>,
    /// The name of the result, for the steps that come later.
    pub(crate) r#as: Option<Placed<String>>,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnError {
    /// The next step is done.
    Continue,
    /// The pipeline fails.
    #[default]
    Stop,
}

/// Names and values; read from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments;

/// A list or an expression; read from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each;

/// An expression; read from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition;

/// Any value; read from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anything;

macro_rules! read_from_the_tree {
    ($kind:ident, $schema:tt) => {
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                IgnoredAny::deserialize(deserializer).map(|_| Self)
            }
        }

        impl JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

read_from_the_tree!(Arguments, { "type": "object" });
read_from_the_tree!(Each, { "type": ["string", "array"] });
read_from_the_tree!(Condition, { "type": "string", "pattern": r"^\{\{.*\}\}$" });
read_from_the_tree!(Anything, {});
