//! YAML: read, and edited by whole lines where it is written in the plain way, one key a line.
//! Called by `format`, which proves each edit; everything that is written otherwise is left to its
//! owner.

use super::splice::Splice;
use super::{Slot, line_end};
use crate::limits::YAML_DEPTH_MAX;
use crate::mistake::Mistake;
use serde_json::Value;
use std::ops::Range;

/// What a text says. Aliases count as what they stand for, within the parser's budget.
pub(super) fn read(text: &str) -> Result<Value, Mistake> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: YAML_DEPTH_MAX, max_documents: 1 },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Mistake::unreadable("YAML", error))
}

/// The changes that put a server in: first under its key, so that the end of the others' lines,
/// where comments may belong to anybody, need not be found.
pub(super) fn with(text: &str, slot: Slot<'_>, server: &Value) -> Result<Vec<Splice>, Mistake> {
    let [key] = slot.keys else { return Err(slot.unsure()) };
    let newline = line_end(text);
    let Some(parent) = key_line(text, 0..text.len(), 0, key) else {
        if has_key(text, key) {
            return Err(slot.unsure());
        }
        let line = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        let entry = render(slot.name, server, 2, newline);
        return Ok(vec![Splice::insert(text.len(), format!("{line}{key}:{newline}{entry}"))]);
    };
    let indent = child_indent(text, parent.line.end);
    match text[parent.value.clone()].split('#').next().unwrap_or_default().trim() {
        "" => {}
        "{}" | "null" | "~" if indent == 0 => {
            let entry = render(slot.name, server, 2, newline);
            let ends_line = text[parent.line.clone()].ends_with('\n');
            let before = if ends_line { "" } else { newline };
            let nothing = parent.value.start..null_end(text, parent.value.start);
            return Ok(vec![
                Splice::delete(nothing),
                Splice::insert(parent.line.end, format!("{before}{entry}")),
            ]);
        }
        _ => return Err(slot.unsure()),
    }
    let indent = if indent == 0 { 2 } else { indent };
    let entry = render(slot.name, server, indent, newline);
    if let Some(old) = entry_lines(text, parent.line.end, indent, slot.name) {
        return Ok(vec![Splice { range: old, with: entry }]);
    }
    let before = if text[parent.line.clone()].ends_with('\n') { "" } else { newline };
    Ok(vec![Splice::insert(parent.line.end, format!("{before}{entry}"))])
}

/// The change that takes a server's lines out.
pub(super) fn without(text: &str, slot: Slot<'_>) -> Result<Vec<Splice>, Mistake> {
    let [key] = slot.keys else { return Err(slot.unsure()) };
    let parent = key_line(text, 0..text.len(), 0, key).ok_or_else(|| slot.unsure())?;
    let indent = child_indent(text, parent.line.end);
    let lines = entry_lines(text, parent.line.end, indent, slot.name);
    let lines = lines.ok_or_else(|| slot.unsure())?;
    let mut splices = vec![Splice::delete(lines.clone())];
    let rest = format!("{}{}", &text[parent.line.end..lines.start], &text[lines.end..]);
    if child_indent(&rest, 0) == 0 {
        splices.push(Splice::insert(parent.line.start + key.len() + 1, " {}"));
    }
    Ok(splices)
}

/// A line `key: value`.
struct KeyLine {
    /// The whole line, with its end.
    line: Range<usize>,
    /// What is behind the colon.
    value: Range<usize>,
}

/// The lines of a range, each with its end.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let rest = text.get(at..range.end).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').map_or(range.end, |end| at + end + 1);
        let line = at..end;
        at = end;
        Some(line)
    })
}

fn key_line(text: &str, range: Range<usize>, indent: usize, key: &str) -> Option<KeyLine> {
    lines(text, range).find_map(|line| {
        let content = text[line.clone()].trim_end();
        if indent_of(content) != indent {
            return None;
        }
        let rest = &content[indent..];
        let quoted = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")];
        let word = quoted.iter().find(|word| rest.starts_with(&***word))?;
        let behind = rest[word.len()..].strip_prefix(':')?;
        if !behind.is_empty() && !behind.starts_with([' ', '\t']) {
            return None;
        }
        let end = line.start + content.len();
        Some(KeyLine { value: end - behind.len()..end, line })
    })
}

/// The lines of an entry: its key, and what is indented deeper up to its last line with something
/// on it.
fn entry_lines(text: &str, start: usize, indent: usize, name: &str) -> Option<Range<usize>> {
    let block = start..end_of_block(text, start, indent);
    let head = key_line(text, block.clone(), indent, name)?;
    let mut end = head.line.end;
    for line in lines(text, head.line.end..block.end) {
        let content = text[line.clone()].trim_end();
        if content.is_empty() {
            continue;
        }
        // A list may stand as far left as the key that it belongs to, but not left of it.
        if indent_of(content) <= indent {
            break;
        }
        end = line.end;
    }
    Some(head.line.start..end)
}

/// Where the lines end that are indented by `indent` or more.
fn end_of_block(text: &str, start: usize, indent: usize) -> usize {
    let is_outside = |line: &Range<usize>| {
        let content = text[line.clone()].trim();
        !content.is_empty() && !content.starts_with('#') && indent_of(&text[line.clone()]) < indent
    };
    lines(text, start..text.len()).find(is_outside).map_or(text.len(), |line| line.start)
}

/// How far the first line with something on it is indented.
fn child_indent(text: &str, start: usize) -> usize {
    let mut lines = lines(text, start..text.len()).map(|line| text[line].trim_end());
    let first = lines.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    first.map_or(0, indent_of)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Where ` {}`, ` null` or ` ~` ends, which begins behind a colon at `start`.
fn null_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let space = rest.len() - rest.trim_start_matches(' ').len();
    let word = rest[space..].find(|c: char| c.is_whitespace()).unwrap_or(rest.len() - space);
    start + space + word
}

fn has_key(text: &str, key: &str) -> bool {
    read(text).is_ok_and(|value| value.get(key).is_some())
}

/// A server, as a key and lines below it; texts that are no plain words in quotes, which YAML reads
/// as JSON does.
fn render(name: &str, server: &Value, indent: usize, newline: &str) -> String {
    let outer = " ".repeat(indent);
    let inner = " ".repeat(indent * 2);
    let mut text = format!("{outer}{}:{newline}", scalar(name));
    for (key, value) in server.as_object().into_iter().flatten() {
        text.push_str(&format!("{inner}{}: {}{newline}", scalar(key), flow(value)));
    }
    text
}

/// A text, in quotes if YAML could read it as anything else: a number, a truth, nothing, a sign.
fn scalar(text: &str) -> String {
    let words = ["false", "n", "no", "null", "off", "on", "true", "y", "yes"];
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let is_plain = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(is_of_word)
        && !words.contains(&&*text.to_ascii_lowercase());
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", scalar(key), flow(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}
