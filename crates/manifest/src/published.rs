//! The JSON Schema of haft.yaml, for editors: made from the structs of `written`, with their lines
//! of documentation. Printed by `haft schema`; the reader itself does not use it.

use crate::written::File;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value, json};

/// The JSON Schema (2020-12) of a manifest, as JSON text of many lines.
#[must_use]
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = settings.into_generator().into_root_schema_for::<File>();
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(on_one_line).transform(&mut schema);
    schema.insert("title".to_owned(), json!("haft.yaml"));
    // What it is comes first.
    let mut ordered = Map::new();
    for key in ["$schema", "title", "description"] {
        ordered.extend(schema.remove(key).map(|value| (key.to_owned(), value)));
    }
    ordered.extend(schema.as_object().cloned().unwrap_or_default());
    serde_json::to_string_pretty(&ordered).expect("a JSON value is written to memory") + "\n"
}

/// Optional keys are left out, never null.
fn without_null(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = &**kinds {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if choices.len() == 1
            && let Some(Value::Object(only)) = choices.pop()
        {
            members.remove("anyOf");
            members.extend(only);
        }
    }
    // A number of bits is no business of who writes a file.
    let is_of_bits = |word: &str| word.starts_with("uint") || word == "double";
    if members.get("format").and_then(Value::as_str).is_some_and(is_of_bits) {
        members.remove("format");
    }
}

fn on_one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}
