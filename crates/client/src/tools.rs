//! What a server says of its tools and what they answer, kept as the JSON text that came beside the
//! members that a client reads. Made by `client`.

use crate::absent;
use crate::content::{Content, read_content};
use crate::error::ClientError;
use crate::members::Members;
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
    /// One that a list does not have, and that a server may know all the same: nothing is known of
    /// it but its name.
    #[must_use]
    pub fn unlisted(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: None,
            description: None,
            input_schema: Value::Bool(true),
            is_repeatable: false,
            raw: RawValue::NULL.to_owned(),
            param_headers: ParamHeaders::default(),
        }
    }

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
        let mut tool = read_tool(raw)?;
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

fn read_tool(raw: Box<RawValue>) -> Result<Tool, String> {
    let members = Members::of(&raw)?;
    let name = members.need("name")?;
    let hints: Option<&RawValue> = members.get("annotations");
    let hints = hints.and_then(|hints| Members::of(hints).ok());
    let says = |hint| hints.as_ref().and_then(|hints| hints.get(hint)) == Some(true);
    let is_repeatable = says("readOnlyHint") || says("idempotentHint");
    // Before tools had a title of their own, it was an annotation.
    let title = members.get("title").or_else(|| hints.as_ref()?.get("title"));
    let description = members.get("description");
    let input_schema = members.get("inputSchema").unwrap_or_default();
    let param_headers = ParamHeaders::default();
    Ok(Tool { name, title, description, input_schema, is_repeatable, raw, param_headers })
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
