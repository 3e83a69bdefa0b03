//! What a tool answers (Server Features, "Tools", "Tool Result"). Written by `encode`.

use super::Meta;
use super::content::Content;
use serde_json::value::RawValue;

/// The answer of one call.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    /// What the model reads.
    pub content: Vec<Content>,
    /// What programs read: JSON text that fits the tool's output schema, if it has one.
    pub structured: Option<Box<RawValue>>,
    /// The tool could not do it; the content says why, for the model to act on.
    pub is_error: bool,
    /// `_meta`. Who answers is said by the server: a member for that is left out where it says so.
    pub meta: Option<Meta>,
    /// What a failure comes from, for who stands around the tool: it is never sent.
    pub cause: Option<Cause>,
}

/// What a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was not begun: as many calls as may run and wait did so already.
    Busy,
    /// A program ended with this exit code.
    Exit(i32),
    /// A server answered with this HTTP status.
    Status(u16),
    /// It took too long.
    Timeout,
    /// Nobody was there to ask.
    Unreachable,
}

impl ToolResult {
    /// An answer of one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], ..Self::default() }
    }

    /// A value that programs read, and the same JSON for the model. `json` is JSON text.
    #[must_use]
    pub fn json(json: &str) -> Self {
        let structured = RawValue::from_string(json.to_owned()).ok();
        Self { structured, ..Self::text(json) }
    }

    /// A failure of the tool that the model should read: what went wrong and what to do.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
