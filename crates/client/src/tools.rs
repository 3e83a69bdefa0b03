//! What a server says of its tools and what they answer, kept as the JSON text that came beside the
//! members that a client reads. Made by `client`.

use crate::absent;
use crate::content::{Content, read_content};
use crate::error::ClientError;
use crate::pages::{Dropped, Listing, Page, malformed, read_page};
use crate::param_headers::ParamHeaders;
use haft_proto::method::Method;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// A tool as a server describes it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it says that a call may be made twice without harm: its annotations have
    /// `readOnlyHint` or `idempotentHint`.
    pub is_repeatable: bool,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
    pub(crate) param_headers: ParamHeaders,
}

impl Tool {
    /// The headers that repeat arguments of a call, where its schema asks for that (Streamable
    /// HTTP, 2026-07-28, "Custom Headers from Tool Parameters"). A [`Client`](crate::Client) sends
    /// them by itself.
    #[must_use]
    pub fn headers_for(&self, arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
        self.param_headers.write(arguments)
    }
}

/// All tools of a server.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// The tools, in the server's order.
    pub tools: Vec<Tool>,
    /// Those that are left out: they are not what MCP defines, or must not be offered over HTTP in
    /// the modern era, as their `x-mcp-header` is wrong.
    pub dropped: Vec<Dropped>,
    /// How long it stays as it is, if the server says so.
    pub ttl: Option<Duration>,
    /// `_meta` of the first page that has it.
    pub meta: Option<Box<RawValue>>,
    /// On how many pages they came.
    pub pages: usize,
    /// How many bytes of JSON all results were.
    pub bytes: usize,
}

impl From<Listing<Tool>> for ToolList {
    fn from(listing: Listing<Tool>) -> Self {
        let Listing { entries: tools, dropped, ttl, meta, pages, bytes } = listing;
        Self { tools, dropped, ttl, meta, pages, bytes }
    }
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// What the model reads.
    pub content: Vec<Content>,
    /// What programs read.
    pub structured: Option<Box<RawValue>>,
    /// Whether the tool failed; the content says why.
    pub is_error: bool,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// Reads a page of `tools/list`. Where the wire mirrors parameters, tools with wrong marks are left
/// out.
pub(crate) fn read_tools(raw: &RawValue, is_mirrored: bool) -> Result<Page<Tool>, ClientError> {
    read_page(raw, Method::ToolsList, "tools", |raw| {
        let mut tool = read_tool(raw).map_err(|error| error.to_string())?;
        match ParamHeaders::find(&tool.input_schema) {
            Ok(headers) => tool.param_headers = headers,
            Err(reason) if is_mirrored => return Err(reason),
            Err(_) => {}
        }
        Ok(tool)
    })
}

/// Reads the result of `tools/call`.
pub(crate) fn read_call(raw: Box<RawValue>) -> Result<CallResult, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        #[serde(default, deserialize_with = "absent::or_null")]
        content: Vec<Value>,
        structured_content: Option<Box<RawValue>>,
        #[serde(default, deserialize_with = "absent::or_empty")]
        is_error: bool,
    }
    let written: Written = serde_json::from_str(raw.get())
        .map_err(|error| malformed(Method::ToolsCall, &error.to_string()))?;
    Ok(CallResult {
        content: written.content.iter().map(read_content).collect(),
        structured: written.structured_content,
        is_error: written.is_error,
        raw,
    })
}

fn read_tool(raw: Box<RawValue>) -> Result<Tool, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        name: String,
        title: Option<String>,
        description: Option<String>,
        #[serde(default)]
        input_schema: Value,
        annotations: Option<Annotations>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Annotations {
        title: Option<String>,
        // What is no truth value is no promise, and no reason to leave the tool out.
        #[serde(default)]
        read_only_hint: Value,
        #[serde(default)]
        idempotent_hint: Value,
    }
    let tool: Written = serde_json::from_str(raw.get())?;
    let hints = tool.annotations.unwrap_or_default();
    Ok(Tool {
        name: tool.name,
        // Before tools had a title of their own, it was an annotation.
        title: tool.title.or(hints.title),
        is_repeatable: [hints.read_only_hint, hints.idempotent_hint].contains(&Value::Bool(true)),
        description: tool.description,
        input_schema: tool.input_schema,
        raw,
        param_headers: ParamHeaders::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn a_tool_with_a_wrong_mark_is_dropped_only_where_marks_count() {
        let list = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b",
            "inputSchema":{"properties":{"x":{"type":"number","x-mcp-header":"X"}}}}]}"#;
        let names = |is_mirrored| -> Vec<String> {
            let page = read_tools(&raw(list), is_mirrored).expect("a list");
            page.entries.into_iter().map(|tool| tool.name).collect()
        };
        assert_eq!(names(true), ["a"]);
        assert_eq!(names(false), ["a", "b"]);
    }

    #[test]
    fn a_tool_keeps_the_text_that_came() {
        let text = r#"{"name":"a",  "x":1.50, "annotations":{"title":"T"}}"#;
        let page = read_tools(&raw(&format!(r#"{{"tools":[{text}]}}"#)), true).expect("a list");
        let tool = &page.entries[0];
        assert_eq!((tool.raw.get(), tool.title.as_deref()), (text, Some("T")));
    }

    #[test]
    fn a_result_is_an_object() {
        assert!(read_call(raw(r#"{"content":[{"type":"text","text":"x"}]}"#)).is_ok());
        assert!(read_call(raw("[]")).is_err());
    }
}
