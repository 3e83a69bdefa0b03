//! Messages become bytes. The only file that knows which fields an era adds. Everything is appended
//! to the caller's buffer; nothing is built in between.

use crate::envelope::{Id, SERVER_INFO};
use crate::error::Refusal;
use crate::method::Method;
use crate::spec::implementation::{Capabilities, Implementation};
use crate::spec::tool::{Annotations, Tool};
use crate::spec::tool_result::{Content, ToolResult};
use crate::version::Revision;

/// Appends the answer to a request: `result` is JSON text, or whatever the closure appends.
///
/// ```
/// use haft_proto::{encode, envelope::Id};
/// let mut out = Vec::new();
/// let id = Id::from_raw("\"a\"", 16)?;
/// encode::result(&mut out, id, |out| out.extend_from_slice(b"{}"));
/// assert_eq!(out, br#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
/// # Ok::<(), haft_proto::error::Malformed>(())
/// ```
pub fn result(out: &mut Vec<u8>, id: Id<'_>, result: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.raw().as_bytes());
    out.extend_from_slice(br#","result":"#);
    result(out);
    out.push(b'}');
}

/// Appends an error. An id that could not be read is left out: `null` is not an id of MCP.
pub fn error(out: &mut Vec<u8>, id: Option<Id<'_>>, refusal: &Refusal) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        out.extend_from_slice(id.raw().as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""error":{"code":"#);
    integer(out, i64::from(refusal.mistake.code()));
    out.extend_from_slice(br#","message":"#);
    string(out, &refusal.message);
    if let Some(data) = &refusal.data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}}");
}

/// Appends a request or, without an id, a notification. `params` is JSON text.
pub fn call(out: &mut Vec<u8>, id: Option<&str>, method: &str, params: Option<&str>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        out.extend_from_slice(id.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""method":"#);
    string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

/// How far a call has come (Progress).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Rises with each notification.
    pub progress: f64,
    /// What it rises to, if that is known.
    pub total: Option<f64>,
    /// One line for a person (from 2025-03-26 on).
    pub message: Option<&'a str>,
}

/// Appends a progress notification for the request that gave `token`, which is raw JSON.
pub fn progress(out: &mut Vec<u8>, revision: Revision, token: &str, now: Progress<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    string(out, Method::Progress.name());
    out.extend_from_slice(br#","params":{"progressToken":"#);
    out.extend_from_slice(token.as_bytes());
    out.extend_from_slice(br#","progress":"#);
    number(out, now.progress);
    if let Some(total) = now.total {
        out.extend_from_slice(br#","total":"#);
        number(out, total);
    }
    if let Some(message) = now.message.filter(|_| revision.has_progress_message()) {
        out.extend_from_slice(br#","message":"#);
        string(out, message);
    }
    out.extend_from_slice(b"}}");
}

/// Appends the result of `initialize`.
pub fn initialize(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    offers: Capabilities,
    instructions: Option<&str>,
) {
    out.extend_from_slice(br#"{"protocolVersion":"#);
    string(out, revision.as_str());
    out.extend_from_slice(br#","capabilities":"#);
    capabilities(out, offers);
    out.extend_from_slice(br#","serverInfo":"#);
    implementation(out, revision, server);
    if let Some(instructions) = instructions {
        out.extend_from_slice(br#","instructions":"#);
        string(out, instructions);
    }
    out.push(b'}');
}

/// How long and by whom a modern list may be kept (2026-07-28, "Caching").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// For how many milliseconds it is fresh.
    pub ttl_ms: u64,
    /// Whether one user's copy may serve another.
    pub is_public: bool,
}

impl Default for Caching {
    fn default() -> Self {
        Self { ttl_ms: 60_000, is_public: true }
    }
}

/// Appends the result of `server/discover`.
pub fn discover(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    offers: Capabilities,
    instructions: Option<&str>,
    caching: Caching,
) {
    out.extend_from_slice(br#"{"supportedVersions":"#);
    modern_versions(out);
    out.extend_from_slice(br#","capabilities":"#);
    capabilities(out, offers);
    if let Some(instructions) = instructions {
        out.extend_from_slice(br#","instructions":"#);
        string(out, instructions);
    }
    cache_fields(out, revision, caching);
    result_fields(out, revision, server);
    out.push(b'}');
}

/// Appends one page of `tools/list`.
pub fn tools_page<'a>(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    tools: impl Iterator<Item = &'a Tool>,
    next_cursor: Option<&str>,
    caching: Caching,
) {
    out.extend_from_slice(br#"{"tools":["#);
    for (index, entry) in tools.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        tool(out, revision, entry);
    }
    out.push(b']');
    if let Some(cursor) = next_cursor {
        out.extend_from_slice(br#","nextCursor":"#);
        string(out, cursor);
    }
    cache_fields(out, revision, caching);
    result_fields(out, revision, server);
    out.push(b'}');
}

/// Appends a tool's definition, with the fields that the revision has.
pub fn tool(out: &mut Vec<u8>, revision: Revision, tool: &Tool) {
    out.extend_from_slice(br#"{"name":"#);
    string(out, &tool.name);
    let is_titled = revision.has_structured_output();
    if let Some(title) = tool.title.as_ref().filter(|_| is_titled) {
        out.extend_from_slice(br#","title":"#);
        string(out, title);
    }
    if let Some(description) = &tool.description {
        out.extend_from_slice(br#","description":"#);
        string(out, description);
    }
    out.extend_from_slice(br#","inputSchema":"#);
    raw(out, tool.input_schema.get());
    if let Some(schema) = tool.output_schema.as_ref().filter(|schema| {
        revision.has_any_structured_value()
            || revision.has_structured_output() && describes_an_object(schema.get())
    }) {
        out.extend_from_slice(br#","outputSchema":"#);
        raw(out, schema.get());
    }
    if revision.has_annotations() {
        // Before tools had a title of their own, it was an annotation.
        annotations(out, tool.annotations, tool.title.as_deref().filter(|_| !is_titled));
    }
    out.push(b'}');
}

/// The members that every result of a revision ends with, to be kept and appended after the others:
/// `,"resultType":…` or nothing.
pub fn result_fields(out: &mut Vec<u8>, revision: Revision, server: &Implementation) {
    if !revision.has_result_type() {
        return;
    }
    out.extend_from_slice(br#","resultType":"complete","_meta":{"#);
    string(out, SERVER_INFO);
    out.push(b':');
    implementation(out, revision, server);
    out.push(b'}');
}

/// Appends a tool's answer. `fields` is what [`result_fields`] wrote for this revision.
pub fn tool_result(out: &mut Vec<u8>, revision: Revision, fields: &[u8], result: &ToolResult) {
    out.extend_from_slice(br#"{"content":["#);
    for (index, Content::Text(content)) in result.content.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        text_content(out, |out| string(out, content));
    }
    out.push(b']');
    if let Some(structured) = &result.structured {
        structured_content(out, revision, structured.get());
    }
    if result.is_error {
        out.extend_from_slice(br#","isError":true"#);
    }
    out.extend_from_slice(fields);
    out.push(b'}');
}

/// Appends the answer of a tool as one text, written by `text` as a JSON string, and the same as
/// structured content where `structured` is given and the revision has it.
pub fn text_result(
    out: &mut Vec<u8>,
    revision: Revision,
    fields: &[u8],
    structured: Option<&str>,
    text: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(br#"{"content":["#);
    text_content(out, text);
    out.push(b']');
    if let Some(structured) = structured {
        structured_content(out, revision, structured);
    }
    out.extend_from_slice(fields);
    out.push(b'}');
}

/// `["2026-07-28"]`: what `server/discover` and the refusal of another version name.
pub fn modern_versions(out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, revision) in Revision::MODERN.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, revision.as_str());
    }
    out.push(b']');
}

/// Appends a JSON string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a string is written to memory");
}

/// Appends JSON text on one line, as both wires frame by lines. A line break in JSON text stands
/// between tokens and means nothing; inside a string it would be escaped.
fn raw(out: &mut Vec<u8>, json: &str) {
    if json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend(json.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    } else {
        out.extend_from_slice(json.as_bytes());
    }
}

fn text_content(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    text(out);
    out.push(b'}');
}

fn structured_content(out: &mut Vec<u8>, revision: Revision, structured: &str) {
    let is_object = structured.starts_with('{');
    let fits = revision.has_any_structured_value() || revision.has_structured_output() && is_object;
    if fits {
        out.extend_from_slice(br#","structuredContent":"#);
        raw(out, structured);
    }
}

fn capabilities(out: &mut Vec<u8>, offers: Capabilities) {
    out.push(b'{');
    if offers.tools {
        let changes = if offers.tools_list_changed { r#"{"listChanged":true}"# } else { "{}" };
        out.extend_from_slice(br#""tools":"#);
        out.extend_from_slice(changes.as_bytes());
    }
    out.push(b'}');
}

fn implementation(out: &mut Vec<u8>, revision: Revision, server: &Implementation) {
    out.extend_from_slice(br#"{"name":"#);
    string(out, &server.name);
    out.extend_from_slice(br#","version":"#);
    string(out, &server.version);
    let optional = [
        ("title", &server.title, revision.has_structured_output()),
        ("description", &server.description, revision.has_icons()),
        ("websiteUrl", &server.website_url, revision.has_icons()),
    ];
    for (key, value, is_known) in optional {
        if let Some(value) = value.as_ref().filter(|_| is_known) {
            out.push(b',');
            string(out, key);
            out.push(b':');
            string(out, value);
        }
    }
    out.push(b'}');
}

fn annotations(out: &mut Vec<u8>, hints: Annotations, title: Option<&str>) {
    if hints.is_empty() && title.is_none() {
        return;
    }
    out.extend_from_slice(br#","annotations":{"#);
    let start = out.len();
    if let Some(title) = title {
        out.extend_from_slice(br#""title":"#);
        string(out, title);
    }
    let hints = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    for (key, hint) in hints {
        let Some(hint) = hint else { continue };
        if out.len() > start {
            out.push(b',');
        }
        string(out, key);
        out.extend_from_slice(if hint { b":true" } else { b":false" });
    }
    out.push(b'}');
}

fn cache_fields(out: &mut Vec<u8>, revision: Revision, caching: Caching) {
    if !revision.has_result_type() {
        return;
    }
    out.extend_from_slice(br#","ttlMs":"#);
    integer(out, i64::try_from(caching.ttl_ms).unwrap_or(i64::MAX));
    let scope: &[u8] = if caching.is_public {
        br#","cacheScope":"public""#
    } else {
        br#","cacheScope":"private""#
    };
    out.extend_from_slice(scope);
}

/// Output schemas before 2026-07-28 describe objects; a client of that time may refuse the whole
/// list over another one.
fn describes_an_object(schema: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(schema)
        .is_ok_and(|schema| schema.get("type").and_then(|kind| kind.as_str()) == Some("object"))
}

fn integer(out: &mut Vec<u8>, value: i64) {
    serde_json::to_writer(out, &value).expect("an integer is written to memory");
}

fn number(out: &mut Vec<u8>, value: f64) {
    serde_json::to_writer(out, &value).expect("a number is written to memory");
}
