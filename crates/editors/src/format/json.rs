//! JSON with comments: read, and edited by places that its parser gives. Called by `format`, which
//! proves each edit.

use super::splice::Splice;
use super::trivia::{Trivia, comma, end_of_remarks, trivia};
use super::{Slot, line_end};
use crate::mistake::Mistake;
use jsonc_parser::ast::{self, Object, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};
use std::ops::Range;

/// What a text says. Of a key that is there twice the last counts, as everywhere.
pub(super) fn read(text: &str) -> Result<Value, Mistake> {
    value(&parse(text)?)
}

/// The changes that put a server in.
pub(super) fn with(text: &str, slot: Slot<'_>, server: &Value) -> Result<Vec<Splice>, Mistake> {
    if text.trim().is_empty() {
        let whole = wrapped(&[slot.keys, &[slot.name]].concat(), server);
        let style = Style { newline: line_end(text), unit: "  ".to_owned(), is_compact: false };
        return Ok(vec![Splice::insert(text.len(), format!("{}\n", style.render(&whole, "")))]);
    }
    let root = parse(text)?;
    let style = Style::of(text, &root);
    let path = [slot.keys, &[slot.name]].concat();
    let mut object = root.as_object().ok_or_else(|| slot.unsure())?;
    for (depth, key) in path.iter().enumerate() {
        let property = object.properties.iter().rfind(|property| property.name.as_str() == *key);
        let rest = &path[depth + 1..];
        match property {
            None => {
                return Ok(style.insert(text, object, key, &wrapped(rest, server)));
            }
            Some(property) => match &property.value {
                ast::Value::Object(inner) if !rest.is_empty() => object = inner,
                ast::Value::NullKeyword(_) => {
                    return Ok(style.replace(text, property, &wrapped(rest, server)));
                }
                _ if rest.is_empty() => return Ok(style.replace(text, property, server)),
                _ => return Err(slot.unsure()),
            },
        }
    }
    Err(slot.unsure())
}

/// The changes that take a server out: its text, a comma, and the white space before it.
pub(super) fn without(text: &str, slot: Slot<'_>) -> Result<Vec<Splice>, Mistake> {
    let root = parse(text)?;
    let mut object = root.as_object().ok_or_else(|| slot.unsure())?;
    for key in slot.keys {
        let found = object.properties.iter().rfind(|property| property.name.as_str() == *key);
        let inner = found.and_then(|property| property.value.as_object());
        object = inner.ok_or_else(|| slot.unsure())?;
    }
    let at = object.properties.iter().rposition(|property| property.name.as_str() == slot.name);
    let at = at.ok_or_else(|| slot.unsure())?;
    let property = object.properties[at].range;
    let before = match at.checked_sub(1) {
        Some(previous) => object.properties[previous].range.end,
        None => object.range.start + 1,
    };
    let mut splices = Vec::new();
    let own_comma = comma(text, property.end);
    let end = match own_comma {
        // With a remark between the two, each goes alone.
        Some(comma) if end_of_remarks(text, property.end) > property.end => {
            splices.push(Splice::delete(comma..comma + 1));
            property.end
        }
        Some(comma) => comma + 1,
        None => {
            let previous = comma(text, before).filter(|_| at > 0);
            splices.extend(previous.map(|comma| Splice::delete(comma..comma + 1)));
            property.end
        }
    };
    let is_alone = object.properties.len() == 1;
    let inside = end..object.range.end - 1;
    let end = if is_alone && text[inside.clone()].trim().is_empty() { inside.end } else { end };
    let start = start_of_space(text, before, property.start, end);
    splices.push(Splice::delete(start..end));
    Ok(splices)
}

/// Where the white space before a property begins. It stays where it ends the line of a comment
/// that would swallow what follows.
fn start_of_space(text: &str, before: usize, start: usize, end: usize) -> usize {
    let pieces: Vec<(Trivia, Range<usize>)> =
        trivia(text, before).take_while(|(_, range)| range.end <= start).collect();
    let is_space = |kind: Trivia| matches!(kind, Trivia::Space | Trivia::NewLine);
    let last = pieces.iter().rposition(|(kind, _)| !is_space(*kind));
    let Some(last) = last else { return before };
    let (kind, range) = &pieces[last];
    let goes_on = text[end..].lines().next().is_some_and(|line| !line.trim().is_empty());
    if *kind == Trivia::LineComment && goes_on { start } else { range.end }
}

fn parse(text: &str) -> Result<ast::Value<'_>, Mistake> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| Mistake::unreadable("JSON", error))?;
    parsed.value.ok_or_else(|| Mistake::unreadable("JSON", "it has only comments"))
}

fn value(parsed: &ast::Value<'_>) -> Result<Value, Mistake> {
    Ok(match parsed {
        ast::Value::StringLit(text) => Value::String(text.value.to_string()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value)
            .map_err(|error| Mistake::unreadable("JSON", error))?,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(value).collect::<Result<_, _>>()?,
        ast::Value::Object(object) => {
            let mut fields = Map::new();
            for property in &object.properties {
                fields.insert(property.name.as_str().to_owned(), value(&property.value)?);
            }
            Value::Object(fields)
        }
    })
}

/// A value under keys of its own.
fn wrapped(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object([((*key).to_owned(), inner)].into_iter().collect())
    })
}

/// How the text is laid out.
struct Style {
    newline: &'static str,
    /// What a level is indented by.
    unit: String,
    /// All on one line.
    is_compact: bool,
}

impl Style {
    fn of(text: &str, root: &ast::Value<'_>) -> Self {
        let newline = line_end(text);
        let first = root.as_object().and_then(|object| object.properties.first());
        let unit = first.and_then(|first| indent_of(text, first.range.start));
        let is_compact = first.is_some() && unit.is_none();
        let outer = indent_of_line(text, root.start());
        let unit = unit.map(|unit| unit.strip_prefix(outer).unwrap_or(unit));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        Self { newline, unit, is_compact }
    }

    fn insert(&self, text: &str, object: &Object<'_>, key: &str, value: &Value) -> Vec<Splice> {
        let Some(last) = object.properties.last() else {
            return self.insert_first(text, object, key, value);
        };
        let own_comma = comma(text, last.range.end);
        let mut splices = Vec::new();
        if own_comma.is_none() {
            splices.push(Splice::insert(last.range.end, ","));
        }
        let after = own_comma.map_or(last.range.end, |comma| comma + 1);
        let end = if own_comma.is_some() { "," } else { "" };
        let first = &object.properties[0];
        let member = match indent_of(text, first.range.start) {
            Some(indent) => {
                let at = end_of_remarks(text, after);
                let member = self.member(key, value, indent);
                splices.push(Splice::insert(at, format!("{}{indent}{member}{end}", self.newline)));
                return splices;
            }
            None => self.compact(text, key, value),
        };
        let space = if text.contains(", ") || text.contains("\": ") { " " } else { "" };
        // A remark that ends its line would swallow the member.
        let at = if ends_line(text, after) { end_of_remarks(text, after) } else { after };
        let space = if at == after { space } else { self.newline };
        splices.push(Splice::insert(at, format!("{space}{member}{end}")));
        splices
    }

    fn insert_first(
        &self,
        text: &str,
        object: &Object<'_>,
        key: &str,
        value: &Value,
    ) -> Vec<Splice> {
        let inside = object.range.start + 1..object.range.end - 1;
        if self.is_compact {
            return vec![Splice::insert(inside.start, self.compact(text, key, value))];
        }
        let outer = indent_of_line(text, object.range.start);
        let indent = format!("{outer}{}", self.unit);
        let member = self.member(key, value, &indent);
        let newline = self.newline;
        if text[inside.clone()].contains('\n') {
            let at = end_of_remarks(text, inside.start);
            return vec![Splice::insert(at, format!("{newline}{indent}{member}"))];
        }
        vec![Splice::insert(inside.end, format!("{newline}{indent}{member}{newline}{outer}"))]
    }

    fn replace(&self, text: &str, property: &ObjectProp<'_>, value: &Value) -> Vec<Splice> {
        let range = property.value.range();
        let with = match indent_of(text, property.range.start) {
            Some(indent) => self.render(value, indent),
            None => compact(text, value),
        };
        vec![Splice { range: range.start..range.end, with }]
    }

    fn member(&self, key: &str, value: &Value, indent: &str) -> String {
        format!("{}: {}", Value::from(key), self.render(value, indent))
    }

    fn compact(&self, text: &str, key: &str, value: &Value) -> String {
        let space = if text.contains("\": ") { " " } else { "" };
        format!("{}:{space}{}", Value::from(key), compact(text, value))
    }

    /// The value over several lines, of which all but the first begin with `indent`.
    fn render(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        value.serialize(&mut serializer).expect("a value with text keys can be written to memory");
        let pretty = String::from_utf8(bytes).expect("JSON is UTF-8");
        pretty.replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn compact(text: &str, value: &Value) -> String {
    if !text.contains("\": ") {
        return value.to_string();
    }
    let inner =
        |key: &String, value: &Value| format!("{}: {}", Value::from(&**key), compact(text, value));
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| inner(key, value)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| compact(text, item)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether a line comment begins on the line of `start`, after nothing but space.
fn ends_line(text: &str, start: usize) -> bool {
    trivia(text, start)
        .take_while(|(kind, _)| *kind != Trivia::NewLine)
        .any(|(kind, _)| kind == Trivia::LineComment)
}

/// The white space before `at`, if nothing else is before it on its line.
fn indent_of(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n')? + 1;
    Some(&text[line..at]).filter(|before| before.trim().is_empty())
}

/// The white space that the line of `at` begins with.
fn indent_of_line(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start().len()]
}
