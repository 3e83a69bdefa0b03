//! A manifest as it is typed: every key, with the line that the published schema has for it. Filled
//! by `decode`, which calls a struct by its serde name when a key of it is wrong; what the values
//! mean is `meant`'s business.

pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod shown;

use crate::place::Placed;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{self};
use shown::{Caching, Icon, Meta};
use std::borrow::Cow;
use std::fmt;

/// A server for AI clients: who it is, where it listens, what its tools do, what there is to read
/// and to ask. In every text `${env:NAME}` and `${file:PATH}` are replaced when the file is read;
/// `$${` writes `${` itself.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a manifest")]
#[schemars(rename = "File")]
pub(crate) struct File {
    /// Who the server is.
    pub(crate) server: Server,
    /// Where it listens. Without this key: on 127.0.0.1:7300.
    pub(crate) listen: Option<Placed<Vec<Placed<Listen>>>>,
    /// What it can do, in the order in which clients see it.
    #[serde(default)]
    pub(crate) tools: Vec<Placed<Tool>>,
    /// What clients can read, in the order in which they see it.
    #[serde(default)]
    pub(crate) resources: Vec<Placed<resource::Resource>>,
    /// What a person can begin a conversation with, in the order in which clients show it.
    #[serde(default)]
    pub(crate) prompts: Vec<Placed<prompt::Prompt>>,
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
    /// How long clients may keep lists, and resources that do not say it themselves.
    pub(crate) caching: Option<Caching>,
    /// Secrets of 16 characters or more that replicas of this server share, like
    /// `${env:HAFT_STATE_KEY}`: what one of them gave a client to keep, the others understand. The
    /// first is used, all are understood. Without this key, each server makes up its own.
    pub(crate) state_keys: Option<Placed<Vec<Placed<String>>>>,
    /// Refuse arguments that do not fit as they are. Without this key, what models are known to get
    /// wrong is mended: a number, boolean, list or object in quotes, and null for what is left out.
    #[serde(default)]
    pub(crate) strict_arguments: bool,
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
    /// The host names that requests may be addressed to, without a port; `*` is any. Without this
    /// key an address of this machine answers to names of this machine only, and others to any.
    #[serde(default)]
    pub(crate) hosts: Vec<Placed<String>>,
    /// Serve clients of 2024-11-05 as well, whose transport was HTTP+SSE: they open a stream at
    /// /sse and send to /messages.
    #[serde(default)]
    pub(crate) sse: bool,
}

/// A tool: it runs a program (`command`) or answers with a text (`text`). Templates write arguments
/// as `{{ name }}`, and know the filters and statements of Jinja.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a tool")]
#[schemars(rename = "Tool")]
pub(crate) struct Tool {
    /// 1 to 128 letters, digits, `_`, `-` or `.`.
    pub(crate) name: Placed<String>,
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// What the tool does and when to use it, for the model.
    pub(crate) description: Option<Placed<String>>,
    /// How the tool behaves; clients assume the worst of what is not said.
    #[serde(default)]
    pub(crate) annotations: Annotations,
    /// Pictures that clients may show.
    #[serde(default)]
    pub(crate) icons: Vec<Icon>,
    /// `_meta` of its definition, passed on to clients.
    #[expect(dead_code, reason = "`shown` reads it from the tree")]
    pub(crate) meta: Option<Meta>,
    /// The arguments in short form, like `{ text: string, "lang?": string }`. Others are refused.
    #[expect(dead_code, reason = "`meant` reads it from the tree")]
    pub(crate) input: Option<Input>,
    /// The arguments as a JSON Schema (2020-12), passed on to clients as it is.
    #[expect(dead_code, reason = "`meant` reads it from the tree")]
    pub(crate) input_schema: Option<SchemaText>,
    /// The JSON Schema of what a program with `output: json` prints.
    #[expect(dead_code, reason = "`meant` reads it from the tree")]
    pub(crate) output_schema: Option<SchemaText>,
    /// The program and its arguments, each a template that becomes exactly one argument: no shell
    /// sees it. An element that is just `{{ name }}` with a list becomes an argument for each item;
    /// one whose arguments are all absent is left out, and so is one that decides by itself, with
    /// `{% if all %}-a{% endif %}` or a filter, and makes nothing.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// A template for what the program reads; without this key it reads nothing.
    pub(crate) stdin: Option<Placed<Scalar>>,
    /// Environment variables beside those that haft has, as templates.
    pub(crate) env: Option<Placed<Env>>,
    /// The directory that the program runs in; without this key, the one of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// What the program prints: `text`, `json` or `lines`, or these with a limit.
    pub(crate) output: Option<Placed<Output>>,
    /// The exit codes that are no failure; `[0]` without this key.
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    /// How long a call may take, its wait for a turn included, like 500ms, 5s or 2m; then the
    /// program and all that it started are killed. A minute without this key.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// How many calls may run at once; 64 more wait for their turn.
    pub(crate) concurrency: Option<Placed<u32>>,
    /// A template for the answer.
    pub(crate) text: Option<Placed<Scalar>>,
}

/// How a tool behaves.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`annotations`", rename_all = "camelCase")]
#[schemars(rename = "Annotations")]
pub(crate) struct Annotations {
    /// It changes nothing.
    pub(crate) read_only: Option<bool>,
    /// It may destroy something.
    pub(crate) destructive: Option<bool>,
    /// Doing it twice is like doing it once.
    pub(crate) idempotent: Option<bool>,
    /// It reaches beyond its own machine or data.
    pub(crate) open_world: Option<bool>,
}

/// How output is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Parse {
    /// As text, without the line end at its end.
    #[default]
    Text,
    /// As one JSON value, which becomes the structured result.
    Json,
    /// As lines, which become a structured result: `{"lines": […]}`.
    Lines,
}

/// What a program prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Output {
    /// How it is understood.
    Word(Parse),
    /// How it is understood, and how much of it there may be.
    Detailed(OutputOptions),
}

/// What a program prints, in detail.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputOptions {
    /// How it is understood; as text without this key.
    #[serde(default)]
    pub(crate) parse: Parse,
    /// The most bytes that it may print, like 64KiB or 1MiB (the limit without this key); a program
    /// that prints more is killed.
    pub(crate) limit: Option<Placed<Scalar>>,
}

/// Text that may be typed as a number or truth value: what is typed is what a program gets.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) String);

/// The name under which `decode` recognises a [`Scalar`].
pub(crate) const SCALAR: &str = "haft::Scalar";

/// Names and templates, in order.
#[derive(Debug)]
pub(crate) struct Env(pub(crate) Vec<(Placed<String>, Placed<Scalar>)>);

/// Arguments in short form; `meant` reads them from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input;

/// A JSON Schema; `meant` reads it from the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaText;

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutputVisitor)
    }
}

struct OutputVisitor;

impl<'de> Visitor<'de> for OutputVisitor {
    type Value = Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, json or lines, or a mapping")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Output, E> {
        match word {
            "text" => Ok(Output::Word(Parse::Text)),
            "json" => Ok(Output::Word(Parse::Json)),
            "lines" => Ok(Output::Word(Parse::Lines)),
            _ => Err(E::unknown_variant(word, &["text", "json", "lines"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Output, A::Error> {
        OutputOptions::deserialize(MapAccessDeserializer::new(map)).map(Output::Detailed)
    }
}

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

impl<'de> Deserialize<'de> for Env {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvVisitor)
    }
}

struct EnvVisitor;

impl<'de> Visitor<'de> for EnvVisitor {
    type Value = Env;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Env, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Env(pairs))
    }
}

impl JsonSchema for Env {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Env".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Scalar>();
        json_schema!({ "type": "object", "additionalProperties": value })
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The types of the short form, as a regular expression.
const TYPE_PATTERN: &str = r"^(string|integer|number|boolean|array|object)(\[\])*$";

impl JsonSchema for Input {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {
                        "description": "A type; a `?` behind the name makes the argument optional.",
                        "type": "string",
                        "pattern": TYPE_PATTERN
                    },
                    {
                        "description": "A JSON Schema whose `type` may be a type of the short \
                            form. An argument with a `default` is optional, and has that value \
                            if it is absent.",
                        "type": "object"
                    }
                ]
            }
        })
    }
}

impl<'de> Deserialize<'de> for SchemaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for SchemaText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SchemaText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
