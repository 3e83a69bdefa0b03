//! Other endpoints of a server, each with a part of what it has, as they are typed. Read by `view`.

use crate::place::Placed;
use crate::written::by_name::by_name;
use crate::written::rules::{Texts, ToolRules};
use crate::written::search::Search;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Views by their names, in order.
#[derive(Debug, Default)]
pub(crate) struct Views(pub(crate) Vec<(Placed<String>, Placed<View>)>);

/// An endpoint of its own, for some clients: with its name, its instructions, and a part of what
/// the server has. What a view has not cannot be listed, called or read there.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a view")]
#[schemars(rename = "View")]
pub(crate) struct View {
    /// The path of its endpoint, at every address of `listen`; /NAME/mcp without this key.
    pub(crate) path: Option<Placed<String>>,
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// One line about it.
    pub(crate) description: Option<Placed<String>>,
    /// How a model should use its tools together.
    pub(crate) instructions: Option<Placed<String>>,
    /// List `find_tools` and `call_tool` in place of its tools, as in `server`: `true`, or from how
    /// many tools on.
    pub(crate) search: Option<Placed<Search>>,
    /// The upstreams that it has something of, by name; all without this key. What the file has
    /// itself is there in any case, unless the next two keys say otherwise.
    pub(crate) upstreams: Option<Texts>,
    /// Have only what fits the key of its kind, if this has one.
    pub(crate) include: Option<Choice>,
    /// Do not have what fits the key of its kind.
    pub(crate) exclude: Option<Choice>,
    /// What is other of tools of upstreams here, by the names that they have without a view, or by
    /// patterns of these: `name` is the whole name that one has in this view.
    #[serde(default)]
    pub(crate) tools: ToolRules,
}

/// Some of what a server has, by names as clients see them; `*` is any text.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a choice")]
#[schemars(rename = "Choice")]
pub(crate) struct Choice {
    /// Tools whose name fits one of these, like `docs_*`.
    pub(crate) tools: Option<Texts>,
    /// Resources whose address fits one of these, like `docs://*`, and families of resources whose
    /// template does.
    pub(crate) resources: Option<Texts>,
    /// Prompts whose name fits one of these.
    pub(crate) prompts: Option<Texts>,
}

by_name!(Views, ViewsVisitor, View);
