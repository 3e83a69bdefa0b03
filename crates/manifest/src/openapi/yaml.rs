//! A document of YAML as one value. What stands for a text and was typed like a number, a truth
//! value or null is the text that was typed: `enum: [1.10, Off, Null]` of strings. Called by
//! `document`, on a thread with room for the deepest one.

use crate::openapi::document::shown;
use crate::openapi::limits::{DOCUMENT_DEPTH_MAX, YAML_NODES_PER_BYTE};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Location, Spanned};
use std::fmt;

/// Keys of a schema whose values are of its type.
const VALUES: [&str; 4] = ["const", "default", "enum", "example"];
/// The one key of a mapping that stands for a scalar until its text is looked up.
const TYPED: &str = "\0typed";

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let nodes = text.len().saturating_mul(YAML_NODES_PER_BYTE).max(10_000);
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DOCUMENT_DEPTH_MAX,
            max_documents: 1,
            max_nodes: nodes,
            max_events: nodes.saturating_mul(2),
            max_total_scalar_bytes: text.len().saturating_mul(4).max(100_000),
            max_reader_input_bytes: None,
        },
        strict_booleans: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Scanned>(text, options) {
        Ok(Scanned(mut root)) => {
            settle(&mut root, text, false);
            Ok(root)
        }
        Err(error) => Err(reason(&error)),
    }
}

fn reason(error: &Error) -> String {
    match error.without_snippet() {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("it is nested deeper than {DOCUMENT_DEPTH_MAX} levels")
        }
        Error::AliasError { error, .. } => reason(error),
        Error::Budget { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "its aliases stand for more than it says".to_owned()
        }
        error => {
            let said = error.render();
            let line = said.lines().next().unwrap_or_default();
            shown(line.strip_prefix("error: ").unwrap_or(line))
        }
    }
}

/// Puts what was meant in the place of each scalar that is still to be looked up.
fn settle(value: &mut Value, text: &str, is_text: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, text, is_text)),
        Value::Object(members) => {
            if let (1, Some(typed)) = (members.len(), members.get_mut(TYPED)) {
                let parsed = typed.get_mut(2).map(Value::take).unwrap_or_default();
                let at = |index| usize::try_from(typed.get(index)?.as_u64()?).ok();
                let typed = at(0).zip(at(1)).and_then(|(start, end)| text.get(start..end));
                *value = match typed {
                    Some(typed) if is_text => Value::String(typed.to_owned()),
                    _ => parsed,
                };
                return;
            }
            let is_of_text = is_of_text(members);
            for (key, value) in members {
                let is_text = match &**key {
                    // A default of null is none, and an example of it says nothing.
                    "default" | "example" if is_null(value) => false,
                    key => is_of_text && VALUES.contains(&key),
                };
                settle(value, text, is_text);
            }
        }
        _ => {}
    }
}

fn is_null(value: &Value) -> bool {
    value.get(TYPED).and_then(|typed| typed.get(2)).is_some_and(Value::is_null)
}

/// Whether a schema says that its values are texts, and nothing else.
fn is_of_text(members: &Map<String, Value>) -> bool {
    let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
    !is_nullable && members.get("type").and_then(Value::as_str) == Some("string")
}

/// A value on its way.
struct Scanned(Value);

impl<'de> Deserialize<'de> for Scanned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScannedVisitor { has_values: false }).map(Scanned)
    }
}

/// The value of a key that has values of a schema: one, or a list of them.
struct Values(Value);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScannedVisitor { has_values: true }).map(Values)
    }
}

/// A scalar that could have been meant as a text, with its place.
fn typed(spanned: Spanned<Scanned>) -> Value {
    let Spanned { value: Scanned(value), defined, .. } = spanned;
    match (&value, place(&defined)) {
        (Value::Bool(_) | Value::Null | Value::Number(_), Some((start, end))) => {
            Value::Object(Map::from_iter([(
                TYPED.to_owned(),
                Value::Array(vec![start.into(), end.into(), value]),
            )]))
        }
        _ => value,
    }
}

fn place(location: &Location) -> Option<(u64, u64)> {
    let span = location.span();
    let start = span.byte_offset()?;
    Some((start, start.saturating_add(span.byte_len()?)))
}

struct ScannedVisitor {
    has_values: bool,
}

impl<'de> Visitor<'de> for ScannedVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        if self.has_values {
            while let Some(item) = items.next_element::<Spanned<Scanned>>()? {
                list.push(typed(item));
            }
        } else {
            while let Some(Scanned(item)) = items.next_element()? {
                list.push(item);
            }
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = match &*key {
                "enum" => entries.next_value::<Values>()?.0,
                key if VALUES.contains(&key) => typed(entries.next_value()?),
                _ => entries.next_value::<Scanned>()?.0,
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_stands_for_a_text_is_what_was_typed() {
        for (schema, expected) in [
            ("type: string, enum: [1, 1.10, 0x10]", json!(["1", "1.10", "0x10"])),
            ("type: string, enum: [Off, Pty, Null, true]", json!(["Off", "Pty", "Null", "true"])),
            ("type: string, enum: [2024-01-01, 007, 1_0]", json!(["2024-01-01", "007", "1_0"])),
            ("enum: [1.10, null], type: string, nullable: true", json!([1.1, null])),
            ("type: [string, 'null'], enum: [a, null]", json!(["a", null])),
            ("type: integer, enum: [1, 0x10]", json!([1, 16])),
            ("type: string, enum: ['1', \"2\"]", json!(["1", "2"])),
            ("type: string, enum: &a [1.0], x: *a", json!(["1.0"])),
            ("enum: [1.0, a]", json!([1.0, "a"])),
        ] {
            let read = read(&format!("{{ {schema} }}")).expect("it is YAML");
            assert_eq!(read["enum"], expected, "{schema}");
        }
        let read = |text| read(text).expect("it is YAML");
        assert_eq!(read("{ type: string, default: 1.0 }")["default"], "1.0");
        assert_eq!(read("{ type: string, default: null }")["default"], json!(null));
        assert_eq!(read("{ type: number, default: 1.0 }")["default"], json!(1.0));
        assert_eq!(
            read("{ properties: { enum: { type: string } } }")["properties"]["enum"]["type"],
            "string"
        );
        // Who writes what stands for a scalar gets the scalar, or nothing.
        assert_eq!(
            read("{ type: string, enum: [{ \"\\0typed\": [0, 999, 5] }] }")["enum"],
            json!([5])
        );
        assert_eq!(read("{ enum: [{ \"\\0typed\": x }] }")["enum"], json!([null]));
    }
}
