//! Arguments that a tool does not have, as some clients send them with every call: left out, for
//! tools that say so. Called by `calls`; the names are read of the schema when a call first needs
//! them.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

/// The arguments that a tool has.
#[derive(Debug, Default)]
pub(crate) struct Extra(OnceLock<Option<HashSet<String>>>);

impl Extra {
    /// The arguments of a call without those that the schema does not name; nothing if there are
    /// none of those, or the schema takes any.
    pub(crate) fn left_out(&self, schema: &str, arguments: &str) -> Option<String> {
        let known = self.0.get_or_init(|| names(schema)).as_ref()?;
        let mut given: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(arguments).ok()?;
        let before = given.len();
        given.retain(|name, _| known.contains(&**name));
        (given.len() < before).then(|| serde_json::to_string(&given).ok()).flatten()
    }
}

/// The names in a schema that has no place for others.
fn names(schema: &str) -> Option<HashSet<String>> {
    let members: Map<String, Value> = serde_json::from_str(schema).ok()?;
    let is_elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
    let is_open = match members.get("additionalProperties") {
        None => !members.contains_key("properties"),
        Some(others) => *others != Value::Bool(false),
    };
    if is_open || is_elsewhere.iter().any(|keyword| members.contains_key(*keyword)) {
        return None;
    }
    let properties = members.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flatten().map(|(name, _)| name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_schema_does_not_name_is_left_out_unless_it_takes_any() {
        for (schema, arguments, expected) in [
            (r#"{"properties":{"a":{}}}"#, r#"{"a":1,"b":2}"#, Some(r#"{"a":1}"#)),
            (r#"{"properties":{"a":{}}}"#, r#"{"a": 1.10}"#, None),
            (r#"{"additionalProperties":false}"#, r#"{"b":2}"#, Some("{}")),
            (r#"{"properties":{"a":{}},"additionalProperties":true}"#, r#"{"b":2}"#, None),
            (r#"{"properties":{"a":{}},"additionalProperties":{}}"#, r#"{"b":2}"#, None),
            (r#"{"properties":{},"patternProperties":{"b":{}}}"#, r#"{"b":2}"#, None),
            (r#"{"properties":{},"anyOf":[{"required":["b"]}]}"#, r#"{"b":2}"#, None),
            (r#"{"type":"object"}"#, r#"{"b":2}"#, None),
            (r#"{"properties":{"é":{}}}"#, "{\"\\u00e9\":1.10,\"x\":[]}", Some("{\"é\":1.10}")),
            (r#"{"properties":{"a":{}}}"#, "[1]", None),
        ] {
            let found = Extra::default().left_out(schema, arguments);
            assert_eq!(found.as_deref(), expected, "{schema} {arguments}");
        }
    }
}
