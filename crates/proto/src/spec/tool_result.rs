//! What a tool answers (Server Features, "Tools", "Tool Result"). Written by `encode`.

use super::Meta;
use super::content::Content;
use serde::Deserialize;
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

    /// What another server wrote, as JSON text: for who looks into it on its way. Content that says
    /// more than a plain text is kept as it came; members that no tool has are left out.
    ///
    /// # Errors
    /// It is no result of a tool.
    ///
    /// ```
    /// use haft_proto::spec::tool_result::ToolResult;
    /// let text = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    /// assert!(ToolResult::read(text)?.is_error);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let written: Written = serde_json::from_str(text)?;
        let Written { content, structured, is_error, meta } = written;
        let content = content.into_iter().map(read_content).collect();
        Ok(Self { content, structured, is_error, meta, cause: None })
    }

    /// A failure of the tool that the model should read: what went wrong and what to do.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default)]
    content: Vec<Box<RawValue>>,
    #[serde(rename = "structuredContent")]
    structured: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

/// Whoever looks into texts need not know of JSON.
fn read_content(raw: Box<RawValue>) -> Content {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
    enum Plain {
        Text { text: String },
    }
    match serde_json::from_str(raw.get()) {
        Ok(Plain::Text { text }) => Content::Text(text),
        Err(_) => Content::Raw(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_a_text_or_what_came() {
        let read = ToolResult::read(
            r#"{"content":[{"text":"a","type":"text"},{"type":"text","text":"b","_meta":{}},
            {"type":"image","text":"c"}],"structuredContent":[1.50],"x":1,"_meta":{"y":1}}"#,
        );
        let read = read.expect("a result");
        let [Content::Text(text), Content::Raw(hinted), Content::Raw(other)] = &*read.content
        else {
            panic!("{read:?}")
        };
        assert_eq!((&**text, other.get()), ("a", r#"{"type":"image","text":"c"}"#));
        assert_eq!(hinted.get(), r#"{"type":"text","text":"b","_meta":{}}"#);
        assert_eq!(read.structured.expect("some").get(), "[1.50]");
        assert!(!read.is_error && read.meta.is_some());
        for wrong in ["[]", "7", r#"{"content":7}"#, r#"{"isError":"yes"}"#] {
            assert!(ToolResult::read(wrong).is_err(), "{wrong}");
        }
    }
}
