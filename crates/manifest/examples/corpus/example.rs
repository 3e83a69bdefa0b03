//! An example of what a schema takes, made from the schema alone. It never asks whether it fits.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

/// How deep an example goes; below, the shortest value of the type.
const DEPTH_MAX: usize = 12;
/// Texts are made no longer than this, unless they must be.
const LENGTH: usize = 8;

/// Makes examples.
pub(crate) struct Maker<'s> {
    root: &'s Value,
    /// Optional members as well.
    pub(crate) is_full: bool,
    runner: TestRunner,
}

impl<'s> Maker<'s> {
    pub(crate) fn new(root: &'s Value, is_full: bool) -> Self {
        Self { root, is_full, runner: TestRunner::deterministic() }
    }

    pub(crate) fn make(&mut self) -> Value {
        self.value(self.root, 0)
    }

    fn value(&mut self, schema: &'s Value, depth: usize) -> Value {
        let Value::Object(members) = schema else { return json!("a") };
        if let Some(to) = members.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(to.trim_start_matches('#')).unwrap_or(&Value::Null);
            return self.value(target, depth + 1);
        }
        if let Some(value) = members.get("const") {
            return value.clone();
        }
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            return values.iter().find(|value| !value.is_null()).cloned().unwrap_or_default();
        }
        let mut made = self.plain(members, depth);
        for choice in choices(members) {
            let other = self.value(choice, depth + 1);
            match (&mut made, other) {
                (Value::Object(made), Value::Object(other)) => {
                    for (name, value) in other {
                        made.entry(name).or_insert(value);
                    }
                }
                (made, other) if kind(members).is_none() => *made = other,
                _ => {}
            }
        }
        made
    }

    fn plain(&mut self, members: &'s Map<String, Value>, depth: usize) -> Value {
        match kind(members) {
            Some("object") => self.object(members, depth),
            Some("array") => {
                // A list of nothing is sent as nothing, which is no list that somebody must give.
                let given = usize::from(depth <= 1);
                let least = count(members, "minItems").unwrap_or(0).max(given);
                let wanted =
                    if depth < DEPTH_MAX { least.max(usize::from(self.is_full)) } else { least };
                let wanted = wanted.min(count(members, "maxItems").unwrap_or(usize::MAX));
                let items = members.get("items").unwrap_or(&Value::Null);
                let mut list = Vec::new();
                for at in 0..wanted.min(64) {
                    let mut item = self.value(items, depth + 1);
                    if at > 0 && members.contains_key("uniqueItems") {
                        item = other(items, item, at);
                    }
                    list.push(item);
                }
                Value::Array(list)
            }
            Some("integer" | "number") => number(members),
            Some("boolean") => Value::Bool(true),
            Some("null") => Value::Null,
            Some(_) => Value::String(self.text(members)),
            None if members.contains_key("properties") => self.object(members, depth),
            None if members.contains_key("pattern") => Value::String(self.text(members)),
            None => json!("a"),
        }
    }

    fn object(&mut self, members: &'s Map<String, Value>, depth: usize) -> Value {
        let required: Vec<&str> = members
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = members.get("properties").and_then(Value::as_object);
        let mut object = Map::new();
        let is_full = self.is_full && depth < DEPTH_MAX / 4;
        let most = count(members, "maxProperties").unwrap_or(usize::MAX);
        for (name, schema) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if is_required || is_full && object.len() + required.len() < most {
                object.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        let others = members.get("additionalProperties").filter(|schema| schema.is_object());
        for name in required {
            if !object.contains_key(name) {
                let value = self.value(others.unwrap_or(&Value::Null), depth + 1);
                object.insert(name.to_owned(), value);
            }
        }
        let least = count(members, "minProperties").unwrap_or(0);
        for (name, schema) in properties.into_iter().flatten() {
            if object.len() < least && !object.contains_key(name) {
                object.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        for at in object.len()..least.min(64) {
            object
                .insert(format!("more{at}"), self.value(others.unwrap_or(&Value::Null), depth + 1));
        }
        Value::Object(object)
    }

    fn text(&mut self, members: &Map<String, Value>) -> String {
        if members.get("contentEncoding").is_some() {
            return "YQ==".to_owned();
        }
        let least = count(members, "minLength").unwrap_or(0);
        let most = count(members, "maxLength").unwrap_or(usize::MAX);
        let fits = |text: &str| (least.max(1)..=most.max(1)).contains(&text.chars().count());
        if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
            let inner = pattern.trim_start_matches('^').trim_end_matches('$');
            if let Ok(strategy) = proptest::string::string_regex(inner) {
                for _ in 0..200 {
                    let Ok(tree) = strategy.new_tree(&mut self.runner) else { break };
                    let text = tree.current();
                    if fits(&text) {
                        return text;
                    }
                }
            }
        }
        for key in ["default", "examples"] {
            let said = members.get(key);
            let said = said.and_then(|said| said.as_str().or_else(|| said.get(0)?.as_str()));
            if let Some(said) = said.filter(|said| fits(said)) {
                return said.to_owned();
            }
        }
        "a".repeat(LENGTH.min(most).max(least).max(1))
    }
}

/// The schemas of which one must fit, the first of each list, and those of which all must.
fn choices(members: &Map<String, Value>) -> Vec<&Value> {
    let first = |key: &str| members.get(key).and_then(Value::as_array).and_then(|all| all.first());
    let mut found: Vec<&Value> = ["anyOf", "oneOf"].into_iter().filter_map(first).collect();
    found.extend(members.get("allOf").and_then(Value::as_array).into_iter().flatten());
    found
}

fn kind(members: &Map<String, Value>) -> Option<&str> {
    match members.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")
        }
        _ => None,
    }
}

fn count(members: &Map<String, Value>, key: &str) -> Option<usize> {
    members.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
}

/// Another item of a list without equal ones.
fn other(schema: &Value, item: Value, at: usize) -> Value {
    let values = schema.get("enum").and_then(Value::as_array);
    match (values.and_then(|values| values.get(at)), item) {
        (Some(value), _) => value.clone(),
        (None, Value::String(text)) => Value::String(format!("{text}{at}")),
        (None, Value::Number(number)) => json!(number.as_f64().unwrap_or_default() + at as f64),
        (None, other) => other,
    }
}

fn number(members: &Map<String, Value>) -> Value {
    let said = |key: &str| members.get(key).and_then(Value::as_f64);
    let is_whole = kind(members) == Some("integer");
    let step = said("multipleOf").unwrap_or(if is_whole { 1.0 } else { 0.5 });
    let least = said("minimum").or_else(|| said("exclusiveMinimum").map(|bound| bound + step));
    let most = said("maximum").or_else(|| said("exclusiveMaximum").map(|bound| bound - step));
    let wanted = least.unwrap_or_else(|| most.map_or(1.0, |most| most.min(1.0)));
    let wanted = (wanted / step).ceil() * step;
    if is_whole || wanted.fract() == 0.0 { json!(wanted as i64) } else { json!(wanted) }
}
