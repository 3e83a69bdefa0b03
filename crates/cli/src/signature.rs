//! A tool's arguments in a line, as a person would write them: `text: string, lang?: string`. Made
//! from the input schema for `list` and for hints of `call`.

use serde_json::Value;
use std::collections::HashSet;

/// How many values of an enumeration, or kinds of a value, are named.
const OPTIONS_MAX: usize = 4;
/// How many branches of a schema are looked at.
const BRANCHES_MAX: usize = 8;
/// What stands for those that are not named.
const MORE: &str = "|…";
/// How deep types are named: `string[][]`.
const DEPTH_MAX: usize = 4;

/// The arguments that a schema describes.
pub(crate) fn signature(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    // A server may name any number of both.
    let required: HashSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    let arguments = properties.into_iter().flatten().map(|(name, property)| {
        let mark = if required.contains(&**name) { "" } else { "?" };
        format!("{name}{mark}: {}", type_name(schema, property, 0))
    });
    arguments.collect::<Vec<_>>().join(", ")
}

/// The type that a schema describes, in a word.
pub(crate) fn type_name(root: &Value, schema: &Value, depth: usize) -> String {
    if depth == DEPTH_MAX {
        return "any".to_owned();
    }
    if let Some(target) = reference(root, schema) {
        return type_name(root, target, depth + 1);
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let shown: Vec<_> = options.iter().take(OPTIONS_MAX).map(plain).collect();
        let more = if options.len() > OPTIONS_MAX { MORE } else { "" };
        return format!("{}{more}", shown.join("|"));
    }
    if let Some(only) = schema.get("const") {
        return plain(only);
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array());
    if let Some(branches) = branches {
        let names = branches.iter().map(|branch| type_name(root, branch, depth + 1));
        return joined(names, branches.len());
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items @ Value::Object(_)) => format!("{}[]", type_name(root, items, depth + 1)),
            _ => "any[]".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => joined(names.iter().map(plain), names.len()),
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

/// The schema that `$ref` points at within the same document.
pub(crate) fn reference<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

/// The different ones of `count` names. Of many only the first are looked at, as each may be as
/// much work as all of them.
fn joined(names: impl Iterator<Item = String>, count: usize) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut is_cut = count > BRANCHES_MAX;
    for name in names.take(BRANCHES_MAX).filter(|name| name != "null") {
        let whole = name.strip_suffix(MORE);
        is_cut |= whole.is_some();
        let name = whole.unwrap_or(&name);
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }
    is_cut |= all.len() > OPTIONS_MAX;
    all.truncate(OPTIONS_MAX);
    let more = if is_cut { MORE } else { "" };
    if all.is_empty() { "null".to_owned() } else { format!("{}{more}", all.join("|")) }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_read_like_a_declaration() {
        let schema = json!({
            "properties": {
                "text": {"type": "string"},
                "lang": {"type": ["string", "null"]},
                "unit": {"enum": ["c", "f"]},
                "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "point": {"$ref": "#/$defs/Point"},
                "x": {},
            },
            "required": ["text"],
            "$defs": {"Point": {"type": "object"}, "Loop": {"$ref": "#/$defs/Loop"}},
        });
        assert_eq!(
            signature(&schema),
            "text: string, lang?: string, unit?: c|f, n?: integer, tags?: string[], \
             point?: object, x?: any"
        );
    }

    #[test]
    fn a_schema_is_named_in_short_however_wide_it_is() {
        let loops = vec![json!({"$ref": "#/$defs/x"}); 100_000];
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"anyOf": loops}},
        });
        assert_eq!(signature(&schema), "a?: any|…");
        let each: Vec<_> = (0..100_000).map(|n| json!({ "const": n })).collect();
        let schema = json!({"properties": {"a": {"oneOf": each}}});
        assert_eq!(signature(&schema), "a?: 0|1|2|3|…");
        let names: Vec<_> = (0..50_000).map(|n| n.to_string()).collect();
        let properties: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({}))).collect();
        // Each name is looked up, and not searched for.
        let all = signature(&json!({"properties": properties, "required": names}));
        assert!(all.starts_with("0: any, 1: any") && !all.contains('?'));
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#/no"}}});
        assert_eq!(signature(&schema), "a?: any, b?: any");
        assert_eq!(signature(&json!(true)), "");
    }
}
