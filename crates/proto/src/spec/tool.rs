//! A tool as clients see it (Server Features, "Tools"). Schemas are JSON text that is passed on
//! verbatim; nothing here checks them.

use super::Meta;
use super::icon::Icon;
use serde_json::value::RawValue;

/// What a client is told of a tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// 1 to 128 characters of `A-Za-z0-9_.-`, unique in its server.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, whose type is an object.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Box<RawValue>>,
    /// How it behaves.
    pub annotations: Annotations,
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
    /// `_meta` (from 2025-06-18 on).
    pub meta: Option<Meta>,
}

/// Hints about a tool's behaviour; `None` is not said, and clients then assume the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Doing it twice is like doing it once.
    pub idempotent: Option<bool>,
    /// It reaches beyond its own machine or data.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Whether a tool may have this name (Tools, "Tool Names").
///
/// ```
/// assert!(haft_proto::spec::tool::is_valid_name("word_count"));
/// assert!(!haft_proto::spec::tool::is_valid_name("word count"));
/// ```
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}
