//! Which values a schema allows, and examples of them, each of a type that the schema has:
//! documents write `1` for the text "1", and the text for the number. Called by `convert`.

use crate::openapi::limits::{ENUM_BYTES_MAX, EXAMPLE_BYTES_MAX};
use crate::openapi::schema::Gathered;
use crate::openapi::schema::members::Members;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

/// Writes `enum`, `const`, `default` and examples. A value that fits no type of the schema is left
/// out; if that is all of them, any value of its type may be sent.
pub(super) fn write(gathered: &Gathered<'_>, types: &[&str], out: &mut Members<'_>) {
    if let Some(Value::Array(values)) = gathered.get("enum") {
        let null = Value::Null;
        let is_nullable = types.contains(&"null") && !values.is_empty();
        let null = is_nullable.then_some(&null);
        let brought = values.iter().chain(null).filter_map(|value| brought(value, types));
        let mut known = HashSet::new();
        let texts: Vec<String> = brought
            .map(|value| value.to_string())
            .filter(|text| known.insert(text.clone()))
            .collect();
        let text = format!("[{}]", texts.join(","));
        // Null alone is what a schema adds, not what it allows.
        let is_some = texts.iter().any(|text| text != "null") || values.iter().all(Value::is_null);
        if !texts.is_empty() && is_some && text.len() <= ENUM_BYTES_MAX {
            out.json("enum", &text);
        }
    }
    let fitting = |keyword| gathered.get(keyword).and_then(|value| brought(value, types));
    let small = |value: &Value| {
        let text = value.to_string();
        (text.len() <= EXAMPLE_BYTES_MAX).then_some(text)
    };
    if let Some(value) = fitting("const") {
        out.json("const", &value.to_string());
    }
    if let Some(text) = fitting("default").as_deref().and_then(small) {
        out.json("default", &text);
    }
    let example = fitting("example").filter(|example| !example.is_null() && !example.is_object());
    if let Some(text) = example.as_deref().and_then(small) {
        out.json("examples", &format!("[{text}]"));
    }
    if gathered.says("deprecated", true) {
        out.json("deprecated", "true");
    }
}

/// A value as one of these types has it; nothing if none of them can.
fn brought<'v>(value: &'v Value, types: &[&str]) -> Option<Cow<'v, Value>> {
    let has = |kind| types.contains(&kind);
    let fits = match value {
        Value::Array(_) => has("array"),
        Value::Bool(_) => has("boolean"),
        Value::Null => has("null"),
        Value::Number(number) => {
            let is_whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            has("number") || has("integer") && is_whole
        }
        Value::Object(_) => has("object"),
        Value::String(_) => has("string"),
    };
    if fits || types.is_empty() {
        return Some(Cow::Borrowed(value));
    }
    match value {
        Value::Bool(_) | Value::Number(_) if has("string") => {
            Some(Cow::Owned(Value::String(value.to_string())))
        }
        Value::String(text) => {
            let read: Value = serde_json::from_str(text.trim()).ok()?;
            let is_plain = read.is_number() || read.is_boolean();
            if is_plain {
                brought(&read, types).map(|value| Cow::Owned(value.into_owned()))
            } else {
                None
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_brought_to_a_type_of_its_schema() {
        for (value, types, expected) in [
            (json!(1), &["string"][..], Some(json!("1"))),
            (json!(true), &["string"], Some(json!("true"))),
            (json!(1.5), &["string", "null"], Some(json!("1.5"))),
            (json!("1"), &["integer"], Some(json!(1))),
            (json!(" 2 "), &["integer"], Some(json!(2))),
            (json!("1.5"), &["number"], Some(json!(1.5))),
            (json!("1.5"), &["integer"], None),
            (json!("true"), &["boolean"], Some(json!(true))),
            (json!("yes"), &["boolean"], None),
            (json!("a"), &["integer"], None),
            (json!(1.0), &["integer"], Some(json!(1.0))),
            (json!(null), &["string"], None),
            (json!(null), &["string", "null"], Some(json!(null))),
            (json!("a"), &[], Some(json!("a"))),
            (json!("a"), &["array"], None),
            (json!(["a"]), &["array"], Some(json!(["a"]))),
            (json!({}), &["string"], None),
            (json!("[1]"), &["array"], None),
        ] {
            assert_eq!(brought(&value, types).as_deref(), expected.as_ref(), "{value} {types:?}");
        }
    }
}
