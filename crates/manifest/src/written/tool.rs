//! A tool as it is typed: every key, with the line that the published schema has for it. Filled by
//! `decode`; what the values mean is the business of `tool`, `kind` and the folders of the kinds.

use crate::place::Placed;
use crate::written::environ::Environ;
use crate::written::http::Http;
use crate::written::pipeline::{Anything, Step};
use crate::written::shown::{Icon, Meta};
use crate::written::state::Operation;
use crate::written::{Scalar, around};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A tool has exactly one of `command` (it runs a program), `http` (it asks a server), `text` (it
/// answers with a text), `pipeline` (it calls other tools) and `state` (it keeps something).
/// Templates write arguments as `{{ name }}`, and know the filters and statements of Jinja.
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
    /// The JSON Schema of the JSON that a program prints or a server answers.
    #[expect(dead_code, reason = "`meant` reads it from the tree")]
    pub(crate) output_schema: Option<SchemaText>,
    /// The program and its arguments, each a template that becomes exactly one argument: no shell
    /// sees it. An element that is just `{{ name }}` with a list becomes an argument for each item;
    /// one whose arguments are all absent is left out, and so is one that decides by itself, with
    /// `{% if all %}-a{% endif %}` or a filter, and makes nothing.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// A template for what the program reads; nothing without this key.
    pub(crate) stdin: Option<Placed<Scalar>>,
    /// Environment variables beside the few of haft that programs commonly need (PATH, HOME, LANG
    /// and such), as templates. One whose arguments are all absent is left out. Under `inherit`, a
    /// list of more variables of haft, or `all`.
    pub(crate) env: Option<Placed<Environ>>,
    /// The directory that the program runs in; without this key, that of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// What the program prints or the server answers, or these with a limit and a part to pick:
    /// `text`, `json`, `lines`, or a whole `report`; of a server `auto` and `binary`, too. Without
    /// this key: `text`, or `auto` for a server.
    pub(crate) output: Option<Placed<Output>>,
    /// The exit codes that are no failure; `[0]` without this key.
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    /// A request to a server.
    pub(crate) http: Option<Placed<Http>>,
    /// How long a call may take, its wait for a turn and all attempts included, like 500ms, 5s or
    /// 2m; then what it runs is ended, a program with all that it started. 1m without this key.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// How many calls may run at once; 64 more wait for their turn.
    pub(crate) concurrency: Option<Placed<u32>>,
    /// Calls that fail are made again. Only for tools that are `readOnly` or `idempotent`.
    pub(crate) retry: Option<Placed<around::Retry>>,
    /// A tool that fails again and again is not called for a while.
    pub(crate) breaker: Option<Placed<around::Breaker>>,
    /// Answers are kept, and given again for the same arguments of the same caller. Only for tools
    /// that are `readOnly`.
    pub(crate) cache: Option<Placed<around::Cache>>,
    /// The most bytes of an answer, like 256KiB; a larger one becomes an error.
    pub(crate) max_size: Option<Placed<Scalar>>,
    /// What is taken out of answers: texts like `${env:TOKEN}`, and patterns.
    #[serde(default)]
    pub(crate) redact: Vec<Placed<around::Redacted>>,
    /// What it does with the state of the file.
    pub(crate) state: Option<Placed<Operation>>,
    /// A template for the answer.
    pub(crate) text: Option<Placed<Scalar>>,
    /// Steps that call other tools, pass values on, and make one tool of them.
    pub(crate) pipeline: Option<Placed<Vec<Placed<Step>>>>,
    /// What a pipeline answers: a value with templates in any depth. Without this key, what its
    /// last step did.
    #[expect(dead_code, reason = "`pipeline` reads it from the tree")]
    pub(crate) result: Option<Anything>,
    /// What only the files of others ask for.
    #[serde(skip)]
    pub(crate) foreign: Foreign,
}

/// What tools from the files of others do that none of haft.yaml does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Foreign {
    /// Callers give names that no template could read.
    pub(crate) has_aliases: bool,
    /// The members of the argument `query` are further parameters of the query.
    pub(crate) open_query: bool,
    /// How many calls wait for their turn.
    pub(crate) waiting: Option<usize>,
    /// A pipeline answers with what each of its steps did, and sees whatever callers name.
    pub(crate) steps: Option<Variables>,
}

/// Where a pipeline finds what callers give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// Each is an argument.
    Arguments,
    /// They are the members of the argument `variables`.
    Members,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Parse {
    /// As the server says that it is: JSON, text, a picture, a sound or other data.
    Auto,
    /// As data of the kind that the server names, whatever it is.
    Binary,
    /// As one JSON value, which becomes the structured result.
    Json,
    /// As lines, which become a structured result: `{"lines": […]}`.
    Lines,
    /// With everything around it, as a structured result: what a program prints and its exit code,
    /// `{"stdout": …, "stderr": …, "exit_code": …}`, or what a server answers,
    /// `{"status": …, "body": …, "headers": …}`.
    Report,
    /// As text; what a program prints, without the line ends at its end.
    Text,
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
    /// How it is understood; without this key `text`, and `auto` for a server.
    pub(crate) parse: Option<Parse>,
    /// Only this part of the JSON, as a JSON Pointer like /items/0/name.
    pub(crate) pick: Option<Placed<String>>,
    /// The most bytes that it may have, like 64KiB or 1MiB (the limit without this key); a program
    /// that prints more is killed.
    pub(crate) limit: Option<Placed<Scalar>>,
}

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
        f.write_str("text, json, lines, report, auto or binary, or a mapping")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Output, E> {
        match word {
            "auto" => Ok(Output::Word(Parse::Auto)),
            "binary" => Ok(Output::Word(Parse::Binary)),
            "json" => Ok(Output::Word(Parse::Json)),
            "lines" => Ok(Output::Word(Parse::Lines)),
            "report" => Ok(Output::Word(Parse::Report)),
            "text" => Ok(Output::Word(Parse::Text)),
            _ => Err(E::unknown_variant(
                word,
                &["text", "json", "lines", "report", "auto", "binary"],
            )),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Output, A::Error> {
        OutputOptions::deserialize(MapAccessDeserializer::new(map)).map(Output::Detailed)
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
