//! What stands around the calls of a tool, as it is typed.

use crate::place::Placed;
use crate::written::Scalar;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

/// What stands around the calls of all tools, those of upstreams too.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`defaults`")]
#[schemars(rename = "Defaults")]
pub(crate) struct Defaults {
    /// How long a call may take.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// How many calls of each tool may run at once.
    pub(crate) concurrency: Option<Placed<u32>>,
    /// Calls that fail are made again, of tools that are `readOnly` or `idempotent`.
    pub(crate) retry: Option<Placed<Retry>>,
    /// A tool that fails again and again is not called for a while.
    pub(crate) breaker: Option<Placed<Breaker>>,
    /// Answers are kept, of tools that are `readOnly` and have no `state`.
    pub(crate) cache: Option<Placed<Cache>>,
    /// The most bytes of an answer.
    pub(crate) max_size: Option<Placed<Scalar>>,
    /// What is taken out of answers.
    #[serde(default)]
    pub(crate) redact: Vec<Placed<Redacted>>,
}

/// How calls that fail are made again.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`retry`")]
#[schemars(rename = "Retry")]
pub(crate) struct Retry {
    /// How often in all, from 2 to 10.
    pub(crate) attempts: Placed<u32>,
    /// The longest pause before the second attempt; 100ms without this key. Each next one may be
    /// twice as long, and how long it is, is left to chance.
    pub(crate) delay: Option<Placed<Scalar>>,
    /// The longest pause of all; 10s without this key.
    pub(crate) max_delay: Option<Placed<Scalar>>,
    /// How long one attempt may take.
    pub(crate) each: Option<Placed<Scalar>>,
    /// What is tried again. Without this key: everything but a request that a server found wrong.
    pub(crate) on: Option<Placed<Vec<FailureKind>>>,
}

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub(crate) enum FailureKind {
    /// A server has too much to do (HTTP 429).
    #[serde(rename = "busy")]
    Busy,
    /// A server failed (HTTP 500 and above).
    #[serde(rename = "5xx")]
    Server,
    /// Nobody was there to ask.
    #[serde(rename = "connect")]
    Connect,
    /// A program ended with an exit code that is a failure.
    #[serde(rename = "exit")]
    Exit,
    /// It took too long.
    #[serde(rename = "timeout")]
    Timeout,
}

/// When a tool that fails is not called for a while.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`breaker`")]
#[schemars(rename = "Breaker")]
pub(crate) struct Breaker {
    /// After how many failures in a row; 5 without this key.
    pub(crate) failures: Option<Placed<u32>>,
    /// For how long; 30s without this key. Then one call tries whether it works again.
    pub(crate) rest: Option<Placed<Scalar>>,
}

/// Which answers are kept.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`cache`")]
#[schemars(rename = "Cache")]
pub(crate) struct Cache {
    /// For how long, like 30s or 5m.
    pub(crate) ttl: Placed<Scalar>,
    /// How many at most; 1024 without this key.
    pub(crate) entries: Option<Placed<u32>>,
    /// How many bytes at most; 16MiB without this key.
    pub(crate) size: Option<Placed<Scalar>>,
}

/// What is taken out of answers.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Redacted {
    /// A text of four characters or more.
    Text(Scalar),
    /// Whatever a pattern matches.
    Pattern(Pattern),
}

/// Whatever matches a pattern.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "an item of `redact`")]
#[schemars(rename = "RedactPattern")]
pub(crate) struct Pattern {
    /// A regular expression, in the syntax of the `regex` crate.
    pub(crate) pattern: Placed<String>,
}

impl<'de> Deserialize<'de> for Redacted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RedactedVisitor)
    }
}

struct RedactedVisitor;

impl<'de> Visitor<'de> for RedactedVisitor {
    type Value = Redacted;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or a mapping")
    }

    fn visit_str<E>(self, text: &str) -> Result<Redacted, E> {
        Ok(Redacted::Text(Scalar(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Redacted, A::Error> {
        Pattern::deserialize(MapAccessDeserializer::new(map)).map(Redacted::Pattern)
    }
}
