//! Arguments that a modern HTTP request repeats in `Mcp-Param-*` headers, because the tool's input
//! schema marks them with `x-mcp-header` (Streamable HTTP, 2026-07-28, "Custom Headers from Tool
//! Parameters"). Found when tools are listed, written when one is called.

use crate::limits::PARAM_HEADERS_MAX;
use haft_proto::mirror::{PARAM_HEADER_PREFIX, encode};
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// The marked arguments of one tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamHeaders(Vec<ParamHeader>);

#[derive(Clone, Debug)]
struct ParamHeader {
    name: HeaderName,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

const MARK: &str = "x-mcp-header";

impl ParamHeaders {
    /// Finds the marks in an input schema.
    ///
    /// # Errors
    /// One line on a mark that the specification forbids. A client must not offer such a tool.
    pub(crate) fn find(schema: &Value) -> Result<Self, String> {
        let mut found = Self::default();
        found.search(schema, &mut Vec::new())?;
        let all = count_marks(schema, Place::Schema);
        if all > found.0.len() {
            return Err(format!("`{MARK}` stands where no property of the arguments is"));
        }
        Ok(found)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The headers for some arguments. What is absent or null gets none.
    pub(crate) fn write(&self, arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
        let header = |param: &ParamHeader| {
            let value = param.path.iter().try_fold(arguments, |value, key| value.get(key))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            let value = HeaderValue::from_str(&encode(&text)).ok()?;
            Some((param.name.clone(), value))
        };
        self.0.iter().filter_map(header).collect()
    }

    fn search(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            path.push(key.clone());
            if let Some(mark) = property.get(MARK) {
                self.add(mark, property, path)?;
            }
            self.search(property, path)?;
            path.pop();
        }
        Ok(())
    }

    fn add(&mut self, mark: &Value, property: &Value, path: &[String]) -> Result<(), String> {
        let place = path.join(".");
        let name = mark.as_str().filter(|name| !name.is_empty());
        let name = name.map(|name| format!("{PARAM_HEADER_PREFIX}{name}"));
        let Some(name) = name.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) else {
            return Err(format!("`{MARK}` of `{place}` must be a header name, not {mark}"));
        };
        let kind = property.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!("`{MARK}` of `{place}` needs the type string, integer or boolean"));
        }
        if self.0.iter().any(|known| known.name == name) {
            return Err(format!("`{MARK}` {mark} is there twice"));
        }
        if self.0.len() == PARAM_HEADERS_MAX {
            return Err(format!("`{MARK}` marks more than {PARAM_HEADERS_MAX} arguments"));
        }
        self.0.push(ParamHeader { name, path: path.to_vec() });
        Ok(())
    }
}

/// What an object in a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A value: nothing in it is a keyword.
    Data,
    /// A map from names to schemas.
    Names,
    /// A schema: its keys are keywords.
    Schema,
}

/// How often the mark stands anywhere in a schema as a keyword.
fn count_marks(value: &Value, place: Place) -> usize {
    let inside = |map: &Map<String, Value>| -> usize {
        let of = |(key, value): (&String, &Value)| {
            let here = usize::from(place == Place::Schema && key == MARK);
            here + count_marks(value, place.below(key))
        };
        map.iter().map(of).sum()
    };
    match value {
        _ if place == Place::Data => 0,
        Value::Object(map) => inside(map),
        Value::Array(items) => items.iter().map(|item| count_marks(item, place)).sum(),
        _ => 0,
    }
}

impl Place {
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Names, _) => Self::Schema,
            (
                _,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            ) => Self::Names,
            (_, "const" | "default" | "enum" | "example" | "examples" | MARK) => Self::Data,
            _ => Self::Schema,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
        let found = ParamHeaders::find(schema).expect("valid marks");
        let text = |(name, value): (HeaderName, HeaderValue)| {
            (name.to_string(), value.to_str().expect("ASCII").to_owned())
        };
        found.write(arguments).into_iter().map(text).collect()
    }

    #[test]
    fn marked_arguments_become_headers_and_others_do_not() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
            "query": {"type": "string"},
            "deep": {"properties": {"x": {"type": "string", "x-mcp-header": "X"}}},
        }});
        let arguments =
            json!({"region": " ö", "n": 42, "verbose": null, "query": "q", "deep": {"x": ""}});
        let expected =
            [("mcp-param-region", "=?base64?IMO2?="), ("mcp-param-n", "42"), ("mcp-param-x", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(written(&schema, &arguments), expected);
    }

    #[test]
    fn a_mark_that_the_specification_forbids_is_an_error() {
        let property = |property: Value| json!({"type": "object", "properties": {"a": property}});
        let bad = [
            property(json!({"type": "string", "x-mcp-header": ""})),
            property(json!({"type": "string", "x-mcp-header": 7})),
            property(json!({"type": "string", "x-mcp-header": "a b"})),
            property(json!({"type": "string", "x-mcp-header": "a:b"})),
            property(json!({"type": "string", "x-mcp-header": "ö"})),
            property(json!({"type": "string", "x-mcp-header": "a\u{1}"})),
            property(json!({"type": "number", "x-mcp-header": "A"})),
            property(json!({"type": "array", "x-mcp-header": "A"})),
            property(json!({"type": ["string", "null"], "x-mcp-header": "A"})),
            property(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
            property(json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]})),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }}),
        ];
        for schema in bad {
            assert!(ParamHeaders::find(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn so_many_arguments_become_headers_and_no_more() {
        let schema = |count: usize| {
            let marked = |n| (format!("p{n}"), json!({"type": "string", MARK: format!("H{n}")}));
            json!({"properties": (0..count).map(marked).collect::<Map<_, _>>()})
        };
        assert!(ParamHeaders::find(&schema(PARAM_HEADERS_MAX)).is_ok());
        // Each of them is compared with those before it.
        assert!(ParamHeaders::find(&schema(50_000)).is_err());
    }

    #[test]
    fn an_argument_of_that_name_is_no_mark() {
        let schema = json!({"properties": {"x-mcp-header": {"type": "string"}}, "default": {
            "x-mcp-header": 1
        }});
        assert_eq!(written(&schema, &json!({})), []);
    }
}
