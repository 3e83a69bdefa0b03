//! What of other servers is served, and what of their tools is other here, as it is typed. Read by
//! `rules`.

use crate::place::Placed;
use crate::written::by_name::by_name;
use crate::written::pipeline::Arguments;
use crate::written::upstream::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A list of patterns, or of names.
pub(crate) type Texts = Placed<Vec<Placed<String>>>;

/// Which operations of a document, or which things of a server that speaks MCP.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a filter")]
#[schemars(rename = "Filter")]
pub(crate) struct Filter {
    /// Operations with one of these tags.
    #[serde(default)]
    pub(crate) tags: Vec<Placed<String>>,
    /// Operations whose path fits one of these, like `/pets/**`: `*` is any part of a segment, `**`
    /// any segments.
    #[serde(default)]
    pub(crate) paths: Vec<Placed<String>>,
    /// Operations with one of these `operationId`s.
    #[serde(default)]
    pub(crate) operations: Vec<Placed<String>>,
    /// Operations of these methods.
    #[serde(default)]
    pub(crate) methods: Vec<Method>,
    /// Tools whose name there fits one of these, like `search_*`: `*` is any text. This and the
    /// next two keys are for servers that speak MCP, and each is about its own kind alone.
    pub(crate) tools: Option<Texts>,
    /// Resources whose address fits one of these, like `docs://*`, and families of resources whose
    /// template does.
    pub(crate) resources: Option<Texts>,
    /// Prompts whose name there fits one of these.
    pub(crate) prompts: Option<Texts>,
}

/// What is other of tools, by their names there or patterns of these.
#[derive(Debug, Default)]
pub(crate) struct ToolRules(pub(crate) Vec<(Placed<String>, Placed<ToolRule>)>);

/// What is other of a tool here than its server says, or of all tools whose names fit a pattern.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a tool of an upstream")]
#[schemars(rename = "UpstreamTool")]
pub(crate) struct ToolRule {
    /// What it is called here, all of it: no prefix comes before it.
    pub(crate) name: Option<Placed<String>>,
    /// What models are told that it does, in place of what its server says.
    pub(crate) description: Option<Placed<String>>,
    /// Arguments that every call has, and their values. Clients are not told of them, and a call
    /// that brings one is refused.
    #[expect(dead_code, reason = "`rules` reads it from the tree")]
    pub(crate) fixed: Option<Arguments>,
    /// Arguments that no call has: clients are not told of them, and a call that brings one is
    /// refused.
    pub(crate) hidden: Option<Texts>,
}

by_name!(ToolRules, ToolRulesVisitor, ToolRule);
