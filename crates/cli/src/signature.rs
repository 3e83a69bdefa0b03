//! A tool's arguments in a line, as a person would write them: `text: string, lang?: string`. Made
//! from the input schema for `list` and for hints of `call`.

use serde_json::Value;

/// How many values of an enumeration are named.
const OPTIONS_MAX: usize = 4;
/// How deep types are named: `string[][]`.
const DEPTH_MAX: usize = 4;

/// The arguments that a schema describes.
pub(crate) fn signature(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let arguments = properties.into_iter().flatten().map(|(name, property)| {
        let mark = if is_required(schema, name) { "" } else { "?" };
        format!("{name}{mark}: {}", type_name(schema, property, 0))
    });
    arguments.collect::<Vec<_>>().join(", ")
}

/// Whether an argument must be given.
pub(crate) fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
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
        let more = if options.len() > OPTIONS_MAX { "|…" } else { "" };
        return format!("{}{more}", shown.join("|"));
    }
    if let Some(only) = schema.get("const") {
        return plain(only);
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array());
    if let Some(branches) = branches {
        let names = branches.iter().map(|branch| type_name(root, branch, depth + 1));
        return joined(names);
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items @ Value::Object(_)) => format!("{}[]", type_name(root, items, depth + 1)),
            _ => "any[]".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => joined(names.iter().map(plain)),
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

/// The schema that `$ref` points at within the same document.
pub(crate) fn reference<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

fn joined(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in names.filter(|name| name != "null") {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    if all.is_empty() { "null".to_owned() } else { all.join("|") }
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
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#/no"}}});
        assert_eq!(signature(&schema), "a?: any, b?: any");
        assert_eq!(signature(&json!(true)), "");
    }
}
