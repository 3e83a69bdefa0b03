//! What a server says of its tools and what they answer, kept as the JSON text that came beside the
//! members that a client reads. Made by `client`.

use crate::error::ClientError;
use crate::param_headers::ParamHeaders;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// All of it, as it came.
    pub raw: Box<RawValue>,
    pub(crate) param_headers: ParamHeaders,
}

/// All tools of a server.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// The tools, in the server's order.
    pub tools: Vec<Tool>,
    /// Those that must not be offered over HTTP in the modern era: their `x-mcp-header` is wrong.
    pub dropped: Vec<DroppedTool>,
    /// On how many pages they came.
    pub pages: usize,
    /// How many bytes of JSON all results were.
    pub bytes: usize,
}

/// A tool that is left out of a list.
#[derive(Clone, Debug)]
pub struct DroppedTool {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
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

/// One piece of an answer.
#[derive(Clone, Debug)]
pub enum Content {
    /// Bytes for people's eyes or ears.
    Media {
        /// "image" or "audio".
        kind: String,
        /// What kind of image or audio.
        mime_type: String,
        /// How long its Base64 text is.
        base64_bytes: usize,
    },
    /// Something of a kind that this client does not know.
    Other {
        /// Its `type`.
        kind: String,
    },
    /// A resource, by its address; with its text if that was sent along.
    Resource {
        /// Its address.
        uri: String,
        /// Its text.
        text: Option<String>,
    },
    /// Plain text.
    Text(String),
}

/// One page of a list.
pub(crate) struct Page {
    pub(crate) tools: Vec<Tool>,
    pub(crate) dropped: Vec<DroppedTool>,
    pub(crate) next_cursor: Option<String>,
}

/// Reads a page of `tools/list`. Where the wire mirrors parameters, tools with wrong marks are left
/// out.
pub(crate) fn read_page(raw: &RawValue, is_mirrored: bool) -> Result<Page, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        tools: Vec<Box<RawValue>>,
        next_cursor: Option<String>,
    }
    let written: Written =
        serde_json::from_str(raw.get()).map_err(|e| malformed("tools/list", &e))?;
    let mut page = Page { tools: vec![], dropped: vec![], next_cursor: written.next_cursor };
    for raw in written.tools {
        let mut tool = read_tool(raw)?;
        match ParamHeaders::find(&tool.input_schema) {
            Ok(headers) => tool.param_headers = headers,
            Err(reason) if is_mirrored => {
                page.dropped.push(DroppedTool { name: tool.name, reason });
                continue;
            }
            Err(_) => {}
        }
        page.tools.push(tool);
    }
    Ok(page)
}

/// Reads the result of `tools/call`.
pub(crate) fn read_call(raw: Box<RawValue>) -> Result<CallResult, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        #[serde(default)]
        content: Vec<Value>,
        structured_content: Option<Box<RawValue>>,
        #[serde(default)]
        is_error: bool,
        result_type: Option<String>,
        #[serde(default)]
        input_requests: serde_json::Map<String, Value>,
    }
    let method = "tools/call";
    let written: Written = serde_json::from_str(raw.get()).map_err(|e| malformed(method, &e))?;
    match written.result_type.as_deref() {
        None | Some("complete") => {}
        Some("input_required") => {
            let kind = |ask: &Value| ask.get("method").and_then(Value::as_str).map(str::to_owned);
            let kinds: Vec<_> = written.input_requests.values().filter_map(kind).collect();
            return Err(ClientError::InputNeeded { kinds: kinds.join(", ") });
        }
        Some(other) => {
            let reason = format!("unknown `resultType` {other:?}");
            return Err(ClientError::MalformedResult { method, reason });
        }
    }
    Ok(CallResult {
        content: written.content.iter().map(read_content).collect(),
        structured: written.structured_content,
        is_error: written.is_error,
        raw,
    })
}

fn read_tool(raw: Box<RawValue>) -> Result<Tool, ClientError> {
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
    #[derive(Deserialize)]
    struct Annotations {
        title: Option<String>,
    }
    let tool: Written = serde_json::from_str(raw.get()).map_err(|e| malformed("tools/list", &e))?;
    Ok(Tool {
        name: tool.name,
        // Before tools had a title of their own, it was an annotation.
        title: tool.title.or_else(|| tool.annotations.and_then(|annotations| annotations.title)),
        description: tool.description,
        input_schema: tool.input_schema,
        raw,
        param_headers: ParamHeaders::default(),
    })
}

fn read_content(content: &Value) -> Content {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text(content, "type").unwrap_or_default();
    match &*kind {
        "text" => Content::Text(text(content, "text").unwrap_or_default()),
        "image" | "audio" => Content::Media {
            mime_type: text(content, "mimeType").unwrap_or_default(),
            base64_bytes: content.get("data").and_then(Value::as_str).map_or(0, str::len),
            kind,
        },
        "resource_link" => {
            Content::Resource { uri: text(content, "uri").unwrap_or_default(), text: None }
        }
        "resource" => {
            let resource = content.get("resource").unwrap_or(&Value::Null);
            Content::Resource {
                uri: text(resource, "uri").unwrap_or_default(),
                text: text(resource, "text"),
            }
        }
        _ => Content::Other { kind },
    }
}

fn malformed(method: &'static str, error: &serde_json::Error) -> ClientError {
    ClientError::MalformedResult { method, reason: error.to_string() }
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
            let page = read_page(&raw(list), is_mirrored).expect("a list");
            page.tools.into_iter().map(|tool| tool.name).collect()
        };
        assert_eq!(names(true), ["a"]);
        assert_eq!(names(false), ["a", "b"]);
    }

    #[test]
    fn a_tool_keeps_the_text_that_came() {
        let text = r#"{"name":"a",  "x":1.50, "annotations":{"title":"T"}}"#;
        let page = read_page(&raw(&format!(r#"{{"tools":[{text}]}}"#)), true).expect("a list");
        assert_eq!(page.tools[0].raw.get(), text);
        assert_eq!(page.tools[0].title.as_deref(), Some("T"));
    }

    #[test]
    fn a_result_is_complete_unless_it_says_otherwise() {
        assert!(read_call(raw(r#"{"content":[{"type":"text","text":"x"}]}"#)).is_ok());
        let asks =
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#;
        let Err(ClientError::InputNeeded { kinds }) = read_call(raw(asks)) else { panic!() };
        assert_eq!(kinds, "roots/list");
        let other = read_call(raw(r#"{"resultType":"task"}"#));
        assert!(matches!(other, Err(ClientError::MalformedResult { .. })));
        assert!(read_call(raw("[]")).is_err());
    }

    #[test]
    fn content_of_any_kind_is_read() {
        let kinds = [
            (r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#, "Media"),
            (r#"{"type":"resource","resource":{"uri":"file:///x","text":"y"}}"#, "Resource"),
            (r#"{"type":"resource_link","uri":"file:///x","name":"x"}"#, "Resource"),
            (r#"{"type":"hologram"}"#, "Other"),
            ("7", "Other"),
        ];
        for (text, expected) in kinds {
            let content = read_content(&serde_json::from_str(text).expect("JSON"));
            assert!(format!("{content:?}").starts_with(expected), "{text}: {content:?}");
        }
    }
}
