//! Tools as lists have them, and what they answer.

use super::content::{contents, meta_of};
use super::fields::{end_result, icons};
use super::object::Object;
use super::raw;
use crate::spec::tool::{Annotations, Tool};
use crate::spec::tool_result::ToolResult;
use crate::version::Revision;

/// Appends a tool's definition, with the fields that the revision has.
pub fn tool(out: &mut Vec<u8>, revision: Revision, tool: &Tool) {
    let mut object = Object::open(out);
    object.text("name", &tool.name);
    let is_titled = revision.has_structured_output();
    object.some_text("title", tool.title.as_ref().filter(|_| is_titled));
    object.some_text("description", tool.description.as_ref());
    object.raw("inputSchema", tool.input_schema.get());
    if let Some(schema) = tool.output_schema.as_ref().filter(|schema| {
        revision.has_any_structured_value()
            || revision.has_structured_output() && describes_an_object(schema.get())
    }) {
        object.raw("outputSchema", schema.get());
    }
    if revision.has_annotations() {
        // Before tools had a title of their own, it was an annotation.
        let title = tool.title.as_ref().filter(|_| !is_titled);
        annotations(&mut object, tool.annotations, title);
    }
    icons(&mut object, revision, &tool.icons);
    meta_of(&mut object, revision, tool.meta.as_ref());
    object.close();
}

/// Appends a tool's answer. `fields` is what [`result_fields`](super::fields::result_fields) wrote
/// for this revision.
pub fn result(out: &mut Vec<u8>, revision: Revision, fields: &[u8], result: &ToolResult) {
    out.extend_from_slice(br#"{"content":"#);
    contents(out, revision, &result.content);
    if let Some(structured) = &result.structured {
        structured_content(out, revision, structured.get());
    }
    if result.is_error {
        out.extend_from_slice(br#","isError":true"#);
    }
    end_result(out, revision, fields, result.meta.as_ref());
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
    out.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
    text(out);
    out.extend_from_slice(b"}]");
    if let Some(structured) = structured {
        structured_content(out, revision, structured);
    }
    end_result(out, revision, fields, None);
}

fn structured_content(out: &mut Vec<u8>, revision: Revision, structured: &str) {
    let is_object = structured.starts_with('{');
    let fits = revision.has_any_structured_value() || revision.has_structured_output() && is_object;
    if fits {
        out.extend_from_slice(br#","structuredContent":"#);
        raw(out, structured);
    }
}

fn annotations(object: &mut Object<'_>, hints: Annotations, title: Option<&String>) {
    if hints.is_empty() && title.is_none() {
        return;
    }
    let mut inner = Object::open(object.key("annotations"));
    inner.some_text("title", title);
    let hints = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    for (key, hint) in hints {
        if let Some(hint) = hint {
            inner.flag(key, hint);
        }
    }
    inner.close();
}

/// Output schemas before 2026-07-28 describe objects; a client of that time may refuse the whole
/// list over another one.
fn describes_an_object(schema: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(schema)
        .is_ok_and(|schema| schema.get("type").and_then(|kind| kind.as_str()) == Some("object"))
}
