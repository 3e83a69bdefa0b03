//! A server behind this one, as it is typed: one that speaks MCP, or a document that describes an
//! API. Read by `upstream`, and by `openapi` for what has a document.

use crate::limits::{INSTANCES_MAX, SESSIONS_MAX, TOOLS_MAX};
use crate::place::{Place, Placed};
use crate::written::by_name::by_name;
use crate::written::environ::{Environ, Inherit};
use crate::written::http::{AllowPrivate, Auth, Send};
use crate::written::rules::{Filter, ToolRules};
use crate::written::tool::Env;
use crate::written::{Naming, Scalar};
use haft_proto::version;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Upstreams by their names, in order.
#[derive(Debug, Default)]
pub(crate) struct Upstreams(pub(crate) Vec<(Placed<String>, Placed<Upstream>)>);

/// A server behind this one: a `command` that speaks MCP, the `url` of a server that does, or a
/// document of an API, `openapi`, whose operations become tools; or an `agent` that dials this
/// server. It has exactly one of these.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "an upstream")]
#[schemars(rename = "Upstream")]
pub(crate) struct Upstream {
    /// A program that speaks MCP over its stdin and stdout, and its arguments: no shell sees them.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// Environment variables of an upstream's program. Beside these it has those of haft that
    /// programs commonly need, like PATH, HOME, LANG and proxies, and no others.
    pub(crate) env: Option<Placed<Environ>>,
    /// More variables of haft for the program: a list of their names, or `true` for all.
    pub(crate) inherit_env: Option<Placed<InheritEnv>>,
    /// How many processes of the program share its calls, from 1 to 64; 1 without this key. Each
    /// call goes to the one with the fewest running.
    #[schemars(range(min = 1, max = INSTANCES_MAX))]
    pub(crate) instances: Option<Placed<u32>>,
    /// Whether clients share a process of the program (`shared`), or each session of a client that
    /// begins with a handshake has one of its own (`own`), as where it remembers what was called
    /// before; `shared` without this key.
    #[serde(default)]
    pub(crate) sessions: Sessions,
    /// How many sessions have a process of their own at most, from 1 to 1024; 64 without this key.
    /// Who comes then is told so.
    #[schemars(range(min = 1, max = SESSIONS_MAX))]
    pub(crate) sessions_max: Option<Placed<u32>>,
    /// How long a session may ask nothing of its process before that is ended, like 30s; 10m
    /// without this key.
    pub(crate) sessions_idle: Option<Placed<Scalar>>,
    /// The directory that the program runs in; without this key, that of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// The address of a server that speaks MCP, like `https://docs.example.com/mcp`: over
    /// Streamable HTTP, or HTTP+SSE as in 2024-11-05.
    pub(crate) url: Option<Placed<String>>,
    /// The name of an agent, which has joined this server and dials it from where nobody can dial
    /// it, like plant-7; or a list of such names, whose agents have the same: each call goes to the
    /// one with the fewest running.
    pub(crate) agent: Option<Placed<AgentNames>>,
    /// How one speaks MCP with it: as until 2025-11-25, with a handshake (`legacy`), or without one
    /// (`modern`). Without this key, what the server turns out to speak.
    pub(crate) era: Option<Era>,
    /// When it is started or connected to: at once (`eager`), or when it is first needed (`lazy`);
    /// `eager` without this key.
    #[serde(default)]
    pub(crate) start: Start,
    /// A document of OpenAPI 3.0 or 3.1, or of Swagger 2.0, in JSON or YAML, that describes the
    /// server: a file, or an address that is asked once, when this file is read.
    pub(crate) openapi: Option<Placed<String>>,
    /// What of other files that the document refers to is read: those in its directory and below
    /// (`below`), those on the web too, as far as `allow_private` reaches (`web`), or any
    /// (`anywhere`); `below` without this key.
    #[serde(default)]
    pub(crate) references: References,
    /// The address that all paths of the document are below, like `https://api.example.com/v1`;
    /// without this key, the servers of the document.
    pub(crate) base_url: Option<Placed<String>>,
    /// What the names of its tools begin with, which may be nothing, `""`; without this key, the
    /// name of the upstream and `_`.
    pub(crate) prefix: Option<Placed<String>>,
    /// How clients are told the names of its tools: as all clients take them (`portable`), or as
    /// they are (`keep`); without this key, as `server` says.
    pub(crate) names: Option<Naming>,
    /// Make tools only of operations that fit every key in this; of a server that speaks MCP, serve
    /// only what fits the key of its kind, if this has one.
    pub(crate) include: Option<Filter>,
    /// Make no tools of operations that fit any key in this; of a server that speaks MCP, do not
    /// serve what fits the key of its kind.
    pub(crate) exclude: Option<Filter>,
    /// What is other of the tools of a server that speaks MCP, by their names there, or by patterns
    /// in which `*` is any text.
    #[serde(default)]
    pub(crate) tools: ToolRules,
    /// Who asks, for all operations, whatever the document says.
    pub(crate) auth: Option<Placed<Auth>>,
    /// Who asks, by the names of the document's security schemes: each operation gets what it asks
    /// for. A text is the key or token; other schemes take `user` and `password`, or `client_id`
    /// and `client_secret`.
    #[serde(default)]
    pub(crate) security: Credentials,
    /// Headers for every request, like a version of the API, or `authorization` for a server that
    /// speaks MCP.
    pub(crate) headers: Option<Placed<Env>>,
    /// How long a call may take, like 5s; 1m without this key.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// How many bytes of an answer are read, like 1MB; of a server that speaks MCP, how long a
    /// message may be, and 4MiB without this key.
    pub(crate) limit: Option<Placed<Scalar>>,
    /// How many bytes a list of a server that speaks MCP may have, all pages together; 32MiB
    /// without this key.
    pub(crate) list_limit: Option<Placed<Scalar>>,
    /// How many tools of a server that speaks MCP are served at most, from 1 to 100000; 4096
    /// without this key. Those that it lists after these are left out.
    #[schemars(range(min = 1, max = TOOLS_MAX))]
    pub(crate) tools_max: Option<Placed<u32>>,
    /// How many redirects are followed, from 0 to 20; 5 without this key.
    pub(crate) redirects: Option<Placed<u32>>,
    /// Reach this machine and private networks too, for the document and for calls: `true`, or a
    /// list of hosts, addresses and networks.
    pub(crate) allow_private: Option<Placed<AllowPrivate>>,
    /// What becomes of arguments that its tools do not have: they are refused (`refuse`), or left
    /// out (`leave_out`); without this key, as the server says.
    pub(crate) extra_arguments: Option<ExtraArguments>,
    /// Tell clients what answers look like, where the document is exact enough to be believed.
    /// Clients may refuse answers that differ, and models pay for every word.
    #[serde(default)]
    pub(crate) output_schemas: bool,
}

/// Whose the processes of an upstream are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sessions {
    /// All clients'.
    #[default]
    Shared,
    /// Each of one session.
    Own,
}

/// Which variables of haft a program has beside the usual ones.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum InheritEnv {
    /// All or none.
    All(bool),
    /// Those of these names.
    Named(Vec<Placed<String>>),
}

impl InheritEnv {
    /// The same as `env` says it.
    pub(crate) fn meant(self, place: Place) -> Option<Placed<Inherit>> {
        match self {
            Self::All(false) => None,
            Self::All(true) => Some(Placed::new(place, Inherit::All)),
            Self::Named(names) => Some(Placed::new(place, Inherit::Named(names))),
        }
    }
}

impl<'de> Deserialize<'de> for InheritEnv {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InheritVisitor)
    }
}

struct InheritVisitor;

impl<'de> Visitor<'de> for InheritVisitor {
    type Value = InheritEnv;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a list of names")
    }

    fn visit_bool<E>(self, all: bool) -> Result<InheritEnv, E> {
        Ok(InheritEnv::All(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<InheritEnv, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(InheritEnv::Named)
    }
}

/// Which agents have what an upstream has.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum AgentNames {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<Placed<String>>),
}

impl<'de> Deserialize<'de> for AgentNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AgentNamesVisitor)
    }
}

struct AgentNamesVisitor;

impl<'de> Visitor<'de> for AgentNamesVisitor {
    type Value = AgentNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an agent or a list of names")
    }

    fn visit_str<E>(self, name: &str) -> Result<AgentNames, E> {
        Ok(AgentNames::One(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<AgentNames, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(AgentNames::Any)
    }
}

/// The two ways to speak MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Era {
    /// With a handshake, as until 2025-11-25.
    Legacy,
    /// Without one, from 2026-07-28 on.
    Modern,
}

impl From<Era> for version::Era {
    fn from(written: Era) -> Self {
        match written {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

/// When an upstream is started or connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// When it is first needed.
    Lazy,
    /// At once.
    #[default]
    Eager,
}

/// What becomes of arguments that a tool does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExtraArguments {
    /// A call that has one is refused, as far as the schema of the tool does not take it.
    #[default]
    Refuse,
    /// They are left out.
    LeaveOut,
}

/// Which files a document may refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum References {
    /// Those in the directory of the document and below it.
    #[default]
    Below,
    /// Those on the web, too.
    Web,
    /// Any.
    Anywhere,
}

/// A method of HTTP that operations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    /// Reads.
    Get,
    /// Reads headers.
    Head,
    /// Asks what can be done.
    Options,
    /// Does something.
    Post,
    /// Replaces something.
    Put,
    /// Changes something.
    Patch,
    /// Deletes something.
    Delete,
    /// Sends a request back; no tool asks for it.
    Trace,
}

/// Who asks, for each security scheme.
#[derive(Debug, Default)]
pub(crate) struct Credentials(pub(crate) Vec<(Placed<String>, Placed<Credential>)>);

/// Who asks.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Credential {
    /// A key or token.
    Key(Scalar),
    /// A name and a secret.
    Somebody(Box<Somebody>),
}

/// Who asks, with a name and a secret.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a credential")]
#[schemars(rename = "Somebody")]
pub(crate) struct Somebody {
    /// The name of the user, for HTTP's own `basic`.
    pub(crate) user: Option<Placed<Scalar>>,
    /// Its password, like `${env:API_PASSWORD}`.
    pub(crate) password: Option<Placed<Scalar>>,
    /// The name of the client, for OAuth client credentials.
    pub(crate) client_id: Option<Placed<Scalar>>,
    /// Its secret, like `${env:CLIENT_SECRET}`.
    pub(crate) client_secret: Option<Placed<Scalar>>,
    /// Where tokens are granted; without this key, what the document says.
    pub(crate) token_url: Option<Placed<Scalar>>,
    /// What the token is to allow, as words; without this key, whatever the server grants.
    pub(crate) scope: Option<Placed<Scalar>>,
    /// Where name and secret are sent: in the header (`basic`) or in the `body`; `basic` without
    /// this key.
    #[serde(default)]
    pub(crate) send: Send,
}

by_name!(Upstreams, UpstreamsVisitor, Upstream);
by_name!(Credentials, CredentialsVisitor, Credential);

impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CredentialVisitor)
    }
}

struct CredentialVisitor;

impl<'de> Visitor<'de> for CredentialVisitor {
    type Value = Credential;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a mapping")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Credential, E> {
        Ok(Credential::Key(Scalar(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Credential, E> {
        Ok(Credential::Key(Scalar(number.to_string())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Credential, A::Error> {
        Somebody::deserialize(MapAccessDeserializer::new(map))
            .map(|somebody| Credential::Somebody(Box::new(somebody)))
    }
}
