//! Whether a request is one that a document describes, judged by the document alone: nothing of
//! what makes requests is asked.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};

/// How many schemas of a document a body is held against; a larger one is not judged.
const SCHEMAS_MAX: usize = 400;

/// A request as it came.
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What really stands where references lead.
pub(crate) fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let mut found = value;
    for _ in 0..64 {
        let Some(to) = found.get("$ref").and_then(Value::as_str) else { return found };
        let pointer = to.trim_start_matches('#').replace("%7B", "{").replace("%7D", "}");
        let Some(next) = document.pointer(&pointer.replace("%20", " ")) else { return found };
        found = next;
    }
    found
}

/// What is wrong with a request for an operation, in a few words.
pub(crate) fn judge(
    document: &Value,
    (method, path): (&str, &str),
    (item, operation): (&Value, &Value),
    seen: &Seen,
) -> Result<(), String> {
    if !seen.method.eq_ignore_ascii_case(method) {
        return Err("another method".to_owned());
    }
    let (target, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if !fits_path(path, target) {
        return Err("another path".to_owned());
    }
    let mut parameters: BTreeMap<(String, String), &Value> = BTreeMap::new();
    for list in [item.get("parameters"), operation.get("parameters")].into_iter().flatten() {
        for value in list.as_array().into_iter().flatten() {
            let value = resolved(document, value);
            let said = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
            parameters.insert((said("in").to_owned(), said("name").to_owned()), value);
        }
    }
    let pairs: Vec<String> =
        query.split('&').map(|pair| plain(pair.split('=').next().unwrap_or(""))).collect();
    for ((place, name), value) in &parameters {
        if value.get("required") != Some(&Value::Bool(true)) {
            continue;
        }
        let is_of_name = |pair: &String| pair == name || pair.starts_with(&format!("{name}["));
        let schema = resolved(document, value.get("schema").unwrap_or(&Value::Null));
        let is_spread =
            schema.get("type") == Some(&json!("object")) || schema.get("type").is_none();
        let is_there = match &**place {
            "query" => pairs.iter().any(is_of_name) || is_spread,
            "header" => {
                let name = name.to_ascii_lowercase();
                seen.headers.contains_key(&name) || OWN.contains(&&*name)
            }
            "cookie" => seen.headers.contains_key("cookie"),
            _ => true,
        };
        if !is_there {
            return Err(format!("a required parameter of the {place} is not there"));
        }
    }
    match operation.get("requestBody") {
        Some(body) if !["get", "head"].contains(&method) => {
            self::body(document, resolved(document, body), seen)
        }
        _ if seen.body.is_empty() => Ok(()),
        _ => Err("a body that nobody asked for".to_owned()),
    }
}

/// Headers that documents do not describe as parameters.
const OWN: [&str; 7] = [
    "accept",
    "accept-encoding",
    "authorization",
    "content-length",
    "content-type",
    "cookie",
    "host",
];

fn body(document: &Value, body: &Value, seen: &Seen) -> Result<(), String> {
    let content = body.get("content").and_then(Value::as_object);
    let Some(content) = content.filter(|content| !content.is_empty()) else { return Ok(()) };
    let kind = seen.headers.get("content-type").map(|kind| essence(kind)).unwrap_or_default();
    if kind.is_empty() {
        let is_required = body.get("required") == Some(&Value::Bool(true));
        let all_bare = content.keys().all(|kind| !kind.contains("json"));
        return if is_required && !all_bare {
            Err("a required body is not there".to_owned())
        } else {
            Ok(())
        };
    }
    let media = content.iter().find(|(known, _)| essence(known) == kind);
    let media = media.or_else(|| content.iter().find(|(known, _)| known.contains('*')));
    let Some((_, media)) = media else {
        return Err(format!("a body of another kind than the document has: {kind}"));
    };
    let Some(schema) = media.get("schema").filter(|_| kind.contains("json")) else { return Ok(()) };
    let value: Value =
        serde_json::from_slice(&seen.body).map_err(|_| "a body that is no JSON".to_owned())?;
    let mut needed = Needed { document, known: Map::new(), is_cut: false };
    let schema = needed.of(schema, false);
    if needed.is_cut {
        return Ok(());
    }
    let schemas = Value::Object(needed.known);
    let whole = json!({ "allOf": [schema], "$defs": schemas });
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    // A document whose schemas are none leaves nothing to be held against.
    let Ok(validator) = options.build(&whole) else { return Ok(()) };
    match validator.iter_errors(&value).next() {
        None => Ok(()),
        Some(error) => {
            let keyword = error.schema_path().to_string();
            let keyword = keyword.rsplit('/').find(|part| part.parse::<usize>().is_err());
            Err(format!("a body that its schema refuses by `{}`", keyword.unwrap_or_default()))
        }
    }
}

/// The schemas that one needs, in the words of 2020-12, without what only servers send.
struct Needed<'d> {
    document: &'d Value,
    known: Map<String, Value>,
    is_cut: bool,
}

impl<'d> Needed<'d> {
    fn of(&mut self, schema: &'d Value, is_part: bool) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        if let Some(to) = members.get("$ref").and_then(Value::as_str) {
            return self.shared(to);
        }
        let is_unseen = |schema: &Value| {
            let found = resolved(self.document, schema);
            [schema, found].iter().any(|one| one.get("readOnly") == Some(&Value::Bool(true)))
        };
        let properties = members.get("properties").and_then(Value::as_object);
        let unseen: HashSet<&String> = properties
            .into_iter()
            .flatten()
            .filter(|(_, schema)| is_unseen(schema))
            .map(|(name, _)| name)
            .collect();
        let mut out = Map::new();
        for (key, value) in members {
            let written = match &**key {
                "properties" | "patternProperties" => {
                    let Value::Object(all) = value else { continue };
                    Value::Object(
                        all.iter().map(|(name, one)| (name.clone(), self.of(one, false))).collect(),
                    )
                }
                // One of several that fit is enough: documents seldom mean less.
                "allOf" | "anyOf" | "oneOf" => {
                    let Value::Array(all) = value else { continue };
                    let all: Value = all.iter().map(|one| self.of(one, true)).collect();
                    let key = if key == "oneOf" && !members.contains_key("anyOf") {
                        "anyOf"
                    } else {
                        key
                    };
                    out.insert(key.to_owned(), all);
                    continue;
                }
                "items" | "not" => self.of(value, false),
                "additionalProperties" if value.is_object() => self.of(value, false),
                "required" => {
                    let Value::Array(names) = value else { continue };
                    let is_sent = |name: &&Value| {
                        !name.as_str().is_some_and(|name| unseen.contains(&name.to_owned()))
                    };
                    names.iter().filter(is_sent).cloned().collect()
                }
                // What a value is of by its enum, its type need not say.
                "type" if members.contains_key("enum") => continue,
                "type" | "minLength" | "maxLength" | "minItems" | "maxItems" => value.clone(),
                _ => continue,
            };
            out.insert(key.clone(), written);
        }
        if members.get("nullable") == Some(&Value::Bool(true)) || is_part && out.is_empty() {
            return json!({ "anyOf": [out, { "type": "null" }] });
        }
        Value::Object(out)
    }

    fn shared(&mut self, to: &'d str) -> Value {
        let name: String = to.bytes().map(|byte| format!("{byte:02x}")).collect();
        if !self.known.contains_key(&name) {
            if self.known.len() == SCHEMAS_MAX {
                self.is_cut = true;
                return json!({});
            }
            self.known.insert(name.clone(), json!({}));
            let found = self.document.pointer(to.trim_start_matches('#'));
            let written = found.map_or(json!({}), |found| self.of(found, false));
            self.known.insert(name.clone(), written);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A text without its escapes.
fn plain(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escape = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escape
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|_| *first == b'%')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a path is one of a template: what stands outside of braces is there, in order.
fn fits_path(template: &str, path: &str) -> bool {
    let path = plain(path);
    let (mut rest, mut at) = (template, 0);
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}') else { break };
        let Some(found) = path[at..].find(&*plain(&rest[..start])) else { return false };
        at += found + plain(&rest[..start]).len();
        rest = &rest[start + end + 1..];
    }
    path[at..].ends_with(&*plain(rest))
}
