//! Tools as lists have them, and what they answer.

use super::content::{contents, meta_of};
use super::fields::{end_result, icons};
use super::object::Object;
use super::raw;
use crate::json::{Cursor, DEPTH_MAX, JsonStr, member};
use crate::spec::Meta;
use crate::spec::icon::Icon;
use crate::spec::tool::{Annotations, Tool};
use crate::spec::tool_result::ToolResult;
use crate::version::Revision;
use serde_json::value::RawValue;

/// What a tool says of itself, borrowed from wherever it stands. See [`Tool`].
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they are those of a `Tool`")]
pub struct Definition<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    pub input_schema: &'a str,
    pub output_schema: Option<&'a str>,
    pub annotations: Annotations,
    pub icons: &'a [Icon],
    pub meta: Option<&'a Meta>,
}

impl<'a> Definition<'a> {
    /// Appends it, with the fields that the revision has.
    pub fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        let mut object = Object::open(out);
        object.text("name", self.name);
        let is_titled = revision.has_structured_output();
        if let Some(title) = self.title.filter(|_| is_titled) {
            object.text("title", title);
        }
        if let Some(description) = self.description {
            object.text("description", description);
        }
        object.raw("inputSchema", self.input_schema);
        if let Some(schema) = self.output_schema.filter(|schema| lists_output(revision, schema)) {
            object.raw("outputSchema", schema);
        }
        if revision.has_annotations() {
            // Before tools had a title of their own, it was an annotation.
            let title = self.title.filter(|_| !is_titled);
            annotations(&mut object, self.annotations, title);
        }
        icons(&mut object, revision, self.icons);
        meta_of(&mut object, revision, self.meta);
        object.close();
    }
}

impl<'a> From<&'a Tool> for Definition<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: tool.input_schema.get(),
            output_schema: tool.output_schema.as_deref().map(RawValue::get),
            annotations: tool.annotations,
            icons: &tool.icons,
            meta: tool.meta.as_ref(),
        }
    }
}

/// Appends a tool's definition, with the fields that the revision has.
pub fn tool(out: &mut Vec<u8>, revision: Revision, tool: &Tool) {
    Definition::from(tool).write(out, revision);
}

/// Appends a definition that [`Definition::write`] wrote for the latest revision as an older one
/// has it. A `_meta` that nests deeper than can be read is left out.
pub fn older(out: &mut Vec<u8>, revision: Revision, latest: &str) {
    let mut object = Object::open(out);
    let is_titled = revision.has_structured_output();
    let mut cursor = Cursor::new(latest, DEPTH_MAX);
    let (mut title, mut hints) = (None, None);
    let (mut is_first, is_open) = (true, cursor.enter_object().is_ok());
    while let Some(key) = cursor.next_key(&mut is_first).ok().flatten().filter(|_| is_open) {
        let Ok(value) = cursor.value() else { break };
        match key.raw() {
            "title" if !is_titled => title = Some(value),
            "annotations" if !is_titled => hints = Some(value),
            "outputSchema" if !lists_output(revision, value) => {}
            "icons" if !revision.has_icons() => {}
            "_meta" if !revision.has_structured_output() => {}
            key => object.raw(key, value),
        }
    }
    // What is written behind annotations came with titles.
    if revision.has_annotations() && title.or(hints).is_some() {
        let mut inner = Object::open(object.key("annotations"));
        if let Some(title) = title {
            inner.raw("title", title);
        }
        if let Some(hints) = hints.and_then(|hints| hints.strip_prefix('{')?.strip_suffix('}')) {
            inner.members(hints);
        }
        inner.close();
    }
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

fn annotations(object: &mut Object<'_>, hints: Annotations, title: Option<&str>) {
    if hints.is_empty() && title.is_none() {
        return;
    }
    let mut inner = Object::open(object.key("annotations"));
    if let Some(title) = title {
        inner.text("title", title);
    }
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
fn lists_output(revision: Revision, schema: &str) -> bool {
    let kind = || member(schema, "type").and_then(JsonStr::from_raw);
    let describes_an_object = || kind().is_some_and(|kind| kind.decode() == "object");
    revision.has_any_structured_value() || revision.has_structured_output() && describes_an_object()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_definition_is_made_of_the_latest() {
        let hints = [
            Annotations::default(),
            Annotations { read_only: Some(true), ..Annotations::default() },
        ];
        let icons = [Vec::new(), vec![Icon { src: "a:b".to_owned(), ..Icon::default() }]];
        let outputs = [None, Some(r#"{"type":"object"}"#), Some(r#"{"type" : ["object"],"a":{}}"#)];
        let metas = [None, Some(RawValue::from_string(r#"{"a":[1]}"#.to_owned()).expect("JSON"))];
        for case in 0..96 {
            let definition = Definition {
                name: "a",
                title: [None, Some("A \"word\"")][case % 2],
                description: [None, Some("d\n\u{1}")][case / 2 % 2],
                input_schema: "{\"type\":\n\"object\"}",
                output_schema: outputs[case / 4 % 3],
                annotations: hints[case / 12 % 2],
                icons: &icons[case / 24 % 2],
                meta: metas[case / 48].as_ref(),
            };
            let mut latest = Vec::new();
            definition.write(&mut latest, Revision::LATEST);
            let latest = String::from_utf8(latest).expect("text");
            for revision in Revision::ALL {
                let (mut written, mut made) = (Vec::new(), Vec::new());
                definition.write(&mut written, revision);
                older(&mut made, revision, &latest);
                assert_eq!(String::from_utf8(made), String::from_utf8(written), "{revision:?}");
            }
        }
    }
}
