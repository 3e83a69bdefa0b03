//! Arguments that a client repeats in `Mcp-Param-*` headers, because the tool's input schema marks
//! them with `x-mcp-header` (Streamable HTTP, 2026-07-28, "Custom Headers from Tool Parameters").
//! Found at registration, compared on calls that come with headers.

use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{Cursor, JsonStr, Kind};
use haft_proto::mirror::{self, Field, Headers, PARAM_HEADER_PREFIX};
use serde_json::{Map, Value};

/// The marked arguments of one tool.
#[derive(Debug, Default)]
pub(crate) struct ParamHeaders(Vec<ParamHeader>);

#[derive(Debug)]
struct ParamHeader {
    /// Lower case.
    header: String,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

impl ParamHeaders {
    /// Finds the marks in an input schema.
    ///
    /// # Errors
    /// One line on the first mark that the specification does not allow.
    pub(crate) fn find(schema: &Value) -> Result<Self, String> {
        let mut found = Self::default();
        if let Some(object) = schema.as_object() {
            found.search(object, &mut Vec::new())?;
        }
        if marks(schema) > found.0.len() {
            return Err("`x-mcp-header` may stand only on properties that are reached through \
                        `properties` alone, not inside items or alternatives"
                .to_owned());
        }
        Ok(found)
    }

    fn search(
        &mut self,
        schema: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Result<(), String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            let Some(property) = property.as_object() else { continue };
            path.push(key.clone());
            if let Some(mark) = property.get("x-mcp-header") {
                self.add(mark, property, path)?;
            }
            self.search(property, path)?;
            path.pop();
        }
        Ok(())
    }

    fn add(
        &mut self,
        mark: &Value,
        property: &Map<String, Value>,
        path: &[String],
    ) -> Result<(), String> {
        let place = path.join(".");
        let is_token = |name: &&str| {
            let marks = b"!#$%&'*+-.^_`|~";
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
            !name.is_empty() && name.bytes().all(is_allowed)
        };
        let Some(name) = mark.as_str().filter(is_token) else {
            return Err(format!("`x-mcp-header` of `{place}` must be a header name, not {mark}"));
        };
        let kind = property.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "`x-mcp-header` of `{place}` needs the type string, integer or boolean"
            ));
        }
        let header = format!("{PARAM_HEADER_PREFIX}{}", name.to_ascii_lowercase());
        if self.0.iter().any(|known| known.header == header) {
            return Err(format!("`x-mcp-header` {name:?} is there twice"));
        }
        self.0.push(ParamHeader { header, path: path.to_vec() });
        Ok(())
    }

    /// Compares the headers with the arguments, which are JSON text of an object.
    ///
    /// # Errors
    /// [`Mistake::HeaderMismatch`], naming the header.
    pub(crate) fn check(&self, headers: &dyn Headers, arguments: &str) -> Result<(), Refusal> {
        for ParamHeader { header, path } in &self.0 {
            let raw = value_at(arguments, path)?.filter(|raw| *raw != "null");
            let text = raw.map(|raw| match JsonStr::from_raw(raw) {
                Some(text) => text.decode(),
                None => raw.into(),
            });
            if let (Some(raw), Field::One(value)) = (raw, headers.field(header))
                && is_same_number(raw, value)
            {
                continue;
            }
            let place = format!("params.arguments.{}", path.join("."));
            mirror::compare(headers, header, text.as_deref(), &place)?;
        }
        Ok(())
    }
}

/// `42` and `42.0` are one integer.
fn is_same_number(raw: &str, header: &[u8]) -> bool {
    let header = mirror::decode(header);
    match (raw.parse::<f64>(), header.and_then(|text| text.parse::<f64>().ok())) {
        (Ok(body), Some(header)) => body == header && body.is_finite(),
        _ => false,
    }
}

/// The raw value under keys of nested objects. A key that is there twice would let a proxy read one
/// value and the tool another.
fn value_at<'a>(text: &'a str, path: &[String]) -> Result<Option<&'a str>, Refusal> {
    let Some((first, rest)) = path.split_first() else { return Ok(Some(text)) };
    let mut cursor = Cursor::new(text, usize::MAX);
    if cursor.kind()? != Kind::Object {
        return Ok(None);
    }
    cursor.enter_object()?;
    let (mut is_first, mut found) = (true, None);
    while let Some(key) = cursor.next_key(&mut is_first)? {
        let value = cursor.value()?;
        if key.decode() == *first && found.replace(value).is_some() {
            let message = format!("Invalid params: the argument `{first}` is there twice");
            return Err(Refusal::new(Mistake::InvalidParams, message));
        }
    }
    found.map_or(Ok(None), |value| value_at(value, rest))
}

/// How many marks a schema has anywhere.
fn marks(schema: &Value) -> usize {
    match schema {
        Value::Array(schemas) => schemas.iter().map(marks).sum(),
        Value::Object(keywords) => {
            let of_keyword = |(keyword, value): (&String, &Value)| match keyword.as_str() {
                "x-mcp-header" => 1,
                // Data, not schemas.
                "const" | "default" | "enum" | "example" | "examples" => 0,
                // Maps whose keys are names, not keywords.
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties"
                | "properties" => {
                    value.as_object().map_or(0, |named| named.values().map(marks).sum())
                }
                _ => marks(value),
            };
            keywords.iter().map(of_keyword).sum()
        }
        _ => 0,
    }
}
