//! A manifest as it is typed: every key, with the line that the published schema has for it. Filled
//! by `decode`, which calls a struct by its serde name when a key of it is wrong; what the values
//! mean is `meant`'s business.

pub(crate) mod around;
pub(crate) mod by_name;
pub(crate) mod complete;
pub(crate) mod environ;
pub(crate) mod feed;
pub(crate) mod http;
pub(crate) mod pipeline;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod rules;
pub(crate) mod search;
pub(crate) mod shape;
pub(crate) mod shown;
pub(crate) mod state;
pub(crate) mod tool;
pub(crate) mod upstream;
pub(crate) mod view;

use crate::limits::PROCESSES_MAX;
use crate::place::Placed;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use shown::{Caching, Icon};
use std::borrow::Cow;
use std::fmt;
use upstream::ExtraArguments;

/// A server for AI clients: who it is, where it listens, what its tools do, what there is to read
/// and to ask. In texts `${env:NAME}` and `${file:PATH}` are replaced when the file is read; `$${`
/// writes `${` itself. In names of tools and in schemas they are mistakes.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a manifest")]
#[schemars(rename = "File")]
pub(crate) struct File {
    /// Who the server is.
    pub(crate) server: Server,
    /// Where it listens; 127.0.0.1:7300 without this key.
    pub(crate) listen: Option<Placed<Vec<Placed<Listen>>>>,
    /// What stands around the calls of every tool that does not say it itself; what is taken out
    /// of answers adds up.
    pub(crate) defaults: Option<around::Defaults>,
    /// Where tools with `state` keep what they are told; in memory without this key.
    pub(crate) state: Option<state::State>,
    /// What it can do, in the order in which clients see it.
    #[serde(default)]
    pub(crate) tools: Vec<Placed<tool::Tool>>,
    /// What clients can read, in the order in which they see it.
    #[serde(default)]
    pub(crate) resources: Vec<Placed<resource::Resource>>,
    /// What a person can begin a conversation with, in the order in which clients show it.
    #[serde(default)]
    pub(crate) prompts: Vec<Placed<prompt::Prompt>>,
    /// Servers behind this one, by names of your own: those that speak MCP, and those whose API a
    /// document describes. Their tools come after those of this file.
    #[serde(default)]
    pub(crate) upstreams: upstream::Upstreams,
    /// Further endpoints with a part of all this each, by names of your own. The endpoint of
    /// `listen` has everything.
    #[serde(default)]
    pub(crate) views: view::Views,
}

/// Who the server is.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a server")]
#[schemars(rename = "Server")]
pub(crate) struct Server {
    /// The name that programs use.
    pub(crate) name: Placed<String>,
    /// Its version; 0.0.0 without this key.
    pub(crate) version: Option<Placed<Scalar>>,
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// One line about the server.
    pub(crate) description: Option<Placed<String>>,
    /// Where to read more about it.
    pub(crate) website_url: Option<Placed<String>>,
    /// How a model should use the tools together.
    pub(crate) instructions: Option<Placed<String>>,
    /// Pictures that clients may show.
    #[serde(default)]
    pub(crate) icons: Vec<Icon>,
    /// How long clients may keep lists, and resources that do not say it themselves; 1m without
    /// this key.
    pub(crate) caching: Option<Caching>,
    /// Secrets of 16 characters or more that replicas of this server share, like
    /// `${env:HAFT_STATE_KEY}`: what one of them gave a client to keep, the others understand. The
    /// first is used, all are understood. Without this key, each server makes up its own.
    pub(crate) state_keys: Option<Placed<Vec<Placed<String>>>>,
    /// Where tools are many, list two in their place, `find_tools` and `call_tool`, by which models
    /// find and call the others: `true`, or from how many tools on. Each can still be called by its
    /// name.
    pub(crate) search: Option<Placed<search::Search>>,
    /// How many processes of `upstreams` there may be together, those of single sessions included,
    /// from 1 to 4096; 512 without this key. What would be one more is not started.
    #[schemars(range(min = 1, max = PROCESSES_MAX))]
    pub(crate) processes: Option<Placed<u32>>,
    /// Refuse arguments that do not fit as they are. Without this key, what models are known to get
    /// wrong is mended: a number, boolean, list or object in quotes, and null or an empty text for
    /// what is left out.
    #[serde(default)]
    pub(crate) strict_arguments: bool,
    /// How clients are told the names of tools: as all clients take them (`portable`), with `_` for
    /// dots, slashes, spaces and the like, or as they are (`keep`); `portable` without this key. A
    /// tool can be called by either name.
    #[serde(default)]
    pub(crate) names: Naming,
    /// What becomes of arguments that a tool does not have, as some clients send their own with
    /// every call: they are refused (`refuse`), or left out (`leave_out`); `refuse` without this
    /// key.
    #[serde(default)]
    pub(crate) extra_arguments: ExtraArguments,
}

/// How clients are told the names of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Naming {
    /// As all clients take them.
    #[default]
    Portable,
    /// As they are.
    Keep,
}

/// An address that the server listens on.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a listener")]
#[schemars(rename = "Listen")]
pub(crate) struct Listen {
    /// An address and port for HTTP, like 127.0.0.1:7300; port 0 is any free one.
    pub(crate) http: Placed<Scalar>,
    /// The path of the endpoint; /mcp without this key.
    pub(crate) path: Option<Placed<String>>,
    /// The web origins that may call and read the answers (CORS), like `https://app.example`; `*`
    /// is any. Pages of this machine may call an address of this machine in any case.
    #[serde(default)]
    pub(crate) origins: Vec<Placed<String>>,
    /// The host names that requests may be addressed to, without a port; `*` is any. Names of
    /// this machine always pass. Without this key an address of this machine answers to names of
    /// this machine only, and others to any.
    #[serde(default)]
    pub(crate) hosts: Vec<Placed<String>>,
    /// `none` keeps no sessions over HTTP: each request of a client that speaks 2025-11-25 or
    /// before is answered for itself, whoever has it, so that several servers can stand behind one
    /// address. Nothing is then told or asked of such clients beside a request.
    pub(crate) sessions: Option<ListenSessions>,
    /// Serve clients of 2024-11-05 as well, whose transport was HTTP+SSE: they open a stream at
    /// /sse and send to /messages.
    #[serde(default)]
    pub(crate) sse: bool,
}

/// Whether a listener keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListenSessions {
    /// For each client that begins with `initialize`, as without the key.
    Kept,
    /// For none.
    None,
}

/// Text that may be typed as a number or truth value: what is typed is what a program gets.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) String);

/// The name under which `decode` recognises a [`Scalar`].
pub(crate) const SCALAR: &str = "haft::Scalar";

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SCALAR, ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}
