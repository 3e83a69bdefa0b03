//! The examples on the page of keys: a file of `examples/` for each part of the schema, which the
//! tests of the book check and serve as it stands on the page. Which keys a file has is found here,
//! by walking the schema beside it; a key that no file has fails the test.

use super::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A key of the schema: the name of its part, and its own.
type Key = (String, String);

/// The part that has no name in the schema.
pub(super) const FILE: &str = "File";

fn directory() -> PathBuf {
    root().join("crates/cli/src/reference/examples")
}

/// An example.
pub(super) struct Example {
    /// The part of the schema that it is for.
    pub(super) part: String,
    /// The keys that it has.
    keys: BTreeSet<Key>,
    /// It, as YAML.
    pub(super) text: String,
}

impl Example {
    /// Whether it has a key of a part.
    pub(super) fn shows(&self, part: &str) -> bool {
        self.keys.iter().any(|(owner, _)| owner == part)
    }
}

/// The examples, in the order of their parts' names.
pub(super) fn all(schema: &Value) -> Vec<Example> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory()).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let Some(stem) = path.file_stem().filter(|_| path.is_file()) else { continue };
        let text = std::fs::read_to_string(&path).expect("it is text");
        let part = stem.to_string_lossy().into_owned();
        found.push(Example { part, keys: keys(schema, &text), text });
    }
    found.sort_by(|one, other| one.part.cmp(&other.part));
    found
}

/// The keys that an example has.
fn keys(schema: &Value, example: &str) -> BTreeSet<Key> {
    let whole = match example.trim_start().starts_with("- name:") {
        true => format!("tools:\n{example}"),
        false => example.to_owned(),
    };
    let value: Value = serde_saphyr::from_str(&whole).expect("an example is YAML");
    let mut found = BTreeSet::new();
    walk(schema, (FILE, schema), &value, &mut found);
    found
}

fn walk(root: &Value, (owner, schema): (&str, &Value), value: &Value, found: &mut BTreeSet<Key>) {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.trim_start_matches("#/$defs/");
        return walk(root, (name, &root["$defs"][name]), value, found);
    }
    for choices in ["anyOf", "oneOf"] {
        for choice in schema.get(choices).and_then(Value::as_array).into_iter().flatten() {
            walk(root, (owner, choice), value, found);
        }
    }
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if let Some(property) = schema.get("properties").and_then(|known| known.get(key)) {
                    found.insert((owner.to_owned(), key.clone()));
                    walk(root, (owner, property), value, found);
                } else if let Some(values) = schema.get("additionalProperties") {
                    walk(root, (owner, values), value, found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            items.iter().for_each(|item| walk(root, (owner, schema), item, found));
        }
        _ => {}
    }
}

#[test]
fn every_key_has_an_example() {
    let schema: Value =
        serde_json::from_str(&haft_manifest::json_schema()).expect("the schema is JSON");
    let parts = schema["$defs"].as_object().expect("the schema has parts");
    let mut shown = BTreeSet::new();
    for Example { part, keys, .. } in all(&schema) {
        let is_part = part == FILE || parts.contains_key(&part);
        assert!(is_part, "examples/{part}.yaml is named for no part of the schema");
        shown.extend(keys);
    }
    let file = FILE.to_owned();
    for (part, definition) in parts.iter().chain([(&file, &schema)]) {
        for key in definition["properties"].as_object().into_iter().flat_map(|keys| keys.keys()) {
            assert!(
                shown.contains(&(part.clone(), key.clone())),
                "`{key}` of `{part}` has no example: write one in {}",
                directory().join(format!("{part}.yaml")).display()
            );
        }
    }
}
