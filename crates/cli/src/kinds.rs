//! Which kinds of JSON values a schema allows, and the value of them that a typed text means. Asked
//! by `arguments` for each value; a server's schema cannot keep it busy.

use crate::signature::reference;
use serde_json::{Number, Value};

/// Which kinds of JSON values a schema allows.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u8);

pub(crate) const ARRAY: Kinds = Kinds(1);
const BOOLEAN: Kinds = Kinds(2);
const INTEGER: Kinds = Kinds(4);
const NULL: Kinds = Kinds(8);
const NUMBER: Kinds = Kinds(16);
const OBJECT: Kinds = Kinds(32);
pub(crate) const STRING: Kinds = Kinds(64);
const ALL: Kinds = Kinds(127);
/// How deep, and how many, references and branches are followed.
const DEPTH_MAX: usize = 16;
const STEPS_MAX: usize = 1000;

impl Kinds {
    /// Those that a schema allows.
    pub(crate) fn of(root: &Value, schema: &Value) -> Self {
        Self::within(root, schema, 0, &mut STEPS_MAX.clone())
    }

    /// What cannot be found out in so many steps may be anything.
    fn within(root: &Value, schema: &Value, depth: usize, steps: &mut usize) -> Self {
        if depth == DEPTH_MAX || *steps == 0 {
            return ALL;
        }
        *steps -= 1;
        if let Some(target) = reference(root, schema) {
            return Self::within(root, target, depth + 1, steps);
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return options.iter().map(Self::of_value).fold(Self(0), Self::or);
        }
        if let Some(only) = schema.get("const") {
            return Self::of_value(only);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(key).and_then(Value::as_array) {
                let kinds =
                    branches.iter().map(|branch| Self::within(root, branch, depth + 1, steps));
                return kinds.fold(Self(0), Self::or);
            }
        }
        match schema.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => {
                let kinds = names.iter().filter_map(Value::as_str).map(Self::named);
                kinds.fold(Self(0), Self::or)
            }
            _ if schema.get("properties").is_some() => OBJECT,
            _ => ALL,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "array" => ARRAY,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "null" => NULL,
            "number" => NUMBER,
            "object" => OBJECT,
            "string" => STRING,
            _ => ALL,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Array(_) => ARRAY,
            Value::Bool(_) => BOOLEAN,
            Value::Null => NULL,
            Value::Number(_) => NUMBER,
            Value::Object(_) => OBJECT,
            Value::String(_) => STRING,
        }
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it allows that kind.
    pub(crate) const fn has(self, kind: Self) -> bool {
        self.0 & kind.0 == kind.0
    }

    /// The value that a text means: of the narrowest kind that is allowed and fits.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let trimmed = text.trim();
        let starts = |bracket| trimmed.starts_with(bracket);
        if (self.has(OBJECT) && starts('{') || self.has(ARRAY) && starts('['))
            && let Ok(value) = serde_json::from_str(trimmed)
        {
            return Some(value);
        }
        let number = number(trimmed);
        let is_integer = number.as_ref().is_some_and(|number| number.is_i64() || number.is_u64());
        if let Some(number) = number
            && (self.has(NUMBER) || self.has(INTEGER) && is_integer)
        {
            return Some(Value::Number(number));
        }
        match trimmed {
            "true" | "false" if self.has(BOOLEAN) => Some(Value::Bool(trimmed == "true")),
            "null" if self.has(NULL) && (!self.has(STRING) || self.0 == ALL.0) => Some(Value::Null),
            _ if self.has(STRING) => Some(Value::String(text.to_owned())),
            _ => None,
        }
    }
}

/// A number that JSON can hold as it was typed; more digits than that belong into a JSON object.
fn number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    let is_exact = !number.is_f64() || text.contains(['.', 'e', 'E']);
    is_exact.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_that_branches_for_ever_takes_any() {
        let loops = vec![json!({"$ref": "#/$defs/x"}); 100];
        let root = json!({"$defs": {"x": {"anyOf": loops}}});
        let kinds = Kinds::of(&root, &json!({"$ref": "#/$defs/x"}));
        assert_eq!(kinds.read("1"), Some(json!(1)));
        assert_eq!(kinds.read("a"), Some(json!("a")));
    }
}
