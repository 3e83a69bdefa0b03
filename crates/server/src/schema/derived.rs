//! The JSON Schemas of Rust types, as clients get them: of 2020-12, on one line, with nothing in
//! them that neither helps a model nor decides whether a value fits. Asked once for each tool, when
//! it is made; checks no value.

use super::{Prepared, ordered};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The schema of a tool's arguments. Keys that the type does not know are refused, unless the type
/// itself says otherwise; those that may be left out are never null.
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// #[expect(dead_code, reason = "only its schema is looked at")]
/// struct Add { a: u8, b: Option<String> }
/// assert_eq!(haft_server::schema::derived::of_arguments::<Add>(), concat!(r#"{"type":"object","#,
///     r#""properties":{"a":{"type":"integer","minimum":0,"maximum":255},"b":{"type":"string"}},"#,
///     r#""required":["a"],"additionalProperties":false}"#));
/// ```
#[must_use]
pub fn of_arguments<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = smaller(&settings, SchemaGenerator::into_root_schema_for::<T>);
    RecursiveTransform(without_null).transform(&mut schema);
    // The tool has a description of its own.
    forget(&mut schema, "description");
    close(&mut schema);
    written(&schema)
}

/// What was derived since a server was last built: many tools may take the same, nothing at all for
/// instance.
static KNOWN: Mutex<BTreeMap<TypeId, Prepared>> = Mutex::new(BTreeMap::new());

/// The schema of a tool's arguments, the same for all tools that take them.
pub(crate) fn known<T: JsonSchema + 'static>() -> Prepared {
    let all = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let id = TypeId::of::<T>();
    if let Some(known) = all().get(&id) {
        return known.clone();
    }
    // It is open meanwhile: what a type says of itself is its author's code.
    let made = Prepared::deferred(of_arguments::<T>());
    all().entry(id).or_insert(made).clone()
}

/// Keeps nothing of that any longer: the tools are made.
pub(crate) fn forget_known() {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The schema of a form for a person: a flat object of strings, numbers, booleans and choices
/// (Elicitation, "Requested Schema"). Whether the type is that simple is not checked here.
#[must_use]
pub fn of_form<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = made(&settings, true, SchemaGenerator::into_root_schema_for::<T>);
    RecursiveTransform(without_null).transform(&mut schema);
    forget(&mut schema, "description");
    // Forms have no such key.
    forget(&mut schema, "additionalProperties");
    written(&schema)
}

/// The schema of a tool's structured result; `None` if every value fits.
///
/// ```
/// use haft_server::schema::derived::of_output;
/// assert_eq!(of_output::<bool>().as_deref(), Some(r#"{"type":"boolean"}"#));
/// assert_eq!(of_output::<serde_json::Value>(), None);
/// ```
#[must_use]
pub fn of_output<T: JsonSchema>() -> Option<String> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = smaller(&settings, SchemaGenerator::into_root_schema_for::<T>);
    let says_something = schema.as_object().is_some_and(|members| !members.is_empty());
    says_something.then(|| written(&schema))
}

/// How much longer a schema may be that refers to nothing. Some hosts cannot follow references, but
/// a large type that is used often would cost a model too much.
const INLINED_TIMES_MAX: usize = 2;

/// The schema without references, or with them where that is much smaller. A type that contains
/// itself has references in any case.
fn smaller(settings: &SchemaSettings, make: fn(SchemaGenerator) -> Schema) -> Schema {
    let referring = made(settings, false, make);
    if !refers(referring.as_value()) {
        return referring;
    }
    let inlined = made(settings, true, make);
    let is_small = written(&inlined).len() <= INLINED_TIMES_MAX * written(&referring).len();
    if is_small { inlined } else { referring }
}

/// Whether it has a reference, or something that is spelled like one.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(members) => members.contains_key("$ref") || members.values().any(refers),
        _ => false,
    }
}

fn made(
    settings: &SchemaSettings,
    is_inlined: bool,
    make: fn(SchemaGenerator) -> Schema,
) -> Schema {
    let settings = settings.clone().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = is_inlined;
    });
    let mut schema = make(settings.into_generator());
    forget(&mut schema, "title");
    RecursiveTransform(without_noise).transform(&mut schema);
    schema
}

/// The order of the others is kept, so that a schema is the same each time and reads well.
fn forget(schema: &mut Schema, keyword: &str) {
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove(keyword);
    }
}

fn written(schema: &Schema) -> String {
    let mut out = Vec::new();
    ordered::write(&mut out, schema.as_value());
    String::from_utf8(out).expect("texts of JSON are texts")
}

/// The number of bits is no business of a model, and a line break in a comment means nothing.
fn without_noise(schema: &mut Schema) {
    let is_of_numbers = |format: &str| {
        ["int", "uint", "float", "double"].iter().any(|kind| format.starts_with(kind))
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_of_numbers) {
        forget(schema, "format");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = crate::prose::joined(text);
    }
}

/// Who leaves a key out sends no null for it, and hosts know a type better than a list of types.
fn without_null(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    let required = members.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.contains(&json!(name)));
    let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
    for (name, property) in properties {
        if let Some(property) = property.as_object_mut().filter(|_| !is_required(name)) {
            drop_null(property);
        }
    }
}

fn drop_null(schema: &mut Map<String, Value>) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = &**kinds {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if let [Value::Object(only)] = &mut **choices {
            let only = std::mem::take(only);
            schema.shift_remove("anyOf");
            for (keyword, value) in only {
                // What is said of the key is meant more than what is said of its type.
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

/// Refuses unknown keys and says that it is an object, where the type left that open.
fn close(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    let has = |keyword: &str| members.contains_key(keyword);
    let is_combined = ["$ref", "allOf", "anyOf", "oneOf", "if"].into_iter().any(has);
    if !is_combined && !has("additionalProperties") && !has("unevaluatedProperties") {
        members.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    let is_object = |choice: &Value| choice.get("type").is_some_and(|kind| kind == "object");
    let are_objects = ["anyOf", "oneOf"].into_iter().any(|keyword| {
        members.get(keyword).and_then(Value::as_array).is_some_and(|all| all.iter().all(is_object))
    });
    if are_objects && !members.contains_key("type") {
        members.insert("type".to_owned(), json!("object"));
    }
}
