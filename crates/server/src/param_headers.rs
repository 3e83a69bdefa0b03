//! Arguments that a client repeats in `Mcp-Param-*` headers, because the tool's input schema marks
//! them with `x-mcp-header` (Streamable HTTP, 2026-07-28, "Custom Headers from Tool Parameters").
//! Found at registration, compared on calls that come with headers.

use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{Cursor, JsonStr, Kind};
use haft_proto::mirror::{self, Field, Headers, PARAM_HEADER_PREFIX};
use serde_json::{Map, Value};

/// The keyword that marks an argument.
const MARK: &str = "x-mcp-header";

/// The marked arguments of one tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamHeaders(Box<[ParamHeader]>);

#[derive(Clone, Debug)]
struct ParamHeader {
    /// Lower case.
    header: String,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

impl ParamHeaders {
    /// Finds the marks in an input schema, which is JSON text.
    ///
    /// # Errors
    /// One line on the first mark that the specification does not allow.
    pub(crate) fn of_text(schema: &str) -> Result<Self, String> {
        // Hardly any schema has one; only one that is spelled in escapes is not seen at once.
        if !schema.contains(MARK) && !schema.contains("\\u") {
            return Ok(Self::default());
        }
        let schema = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        Self::find(&schema)
    }

    fn find(schema: &Value) -> Result<Self, String> {
        let mut found = Found::default();
        if let Some(object) = schema.as_object() {
            found.search(object, &mut Vec::new())?;
        }
        if marks(schema) > found.0.len() {
            return Err("`x-mcp-header` may stand only on properties that are reached through \
                        `properties` alone, not inside items or alternatives"
                .to_owned());
        }
        Ok(Self(found.0.into()))
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

/// Those that are found so far.
#[derive(Default)]
struct Found(Vec<ParamHeader>);

impl Found {
    fn search(
        &mut self,
        schema: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Result<(), String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            let Some(property) = property.as_object() else { continue };
            path.push(key.clone());
            if let Some(mark) = property.get(MARK) {
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
}

/// `42` and `42.0` are one integer; `9007199254740993` and `9007199254740992` are two.
fn is_same_number(raw: &str, header: &[u8]) -> bool {
    let header = mirror::decode(header);
    let (body, header) = (Decimal::read(raw), header.as_deref().and_then(Decimal::read));
    body.is_some() && body == header
}

/// A number without what does not count, so that two are the same if their parts are.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end.
    digits: String,
    /// The power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    /// The number that JSON text is, if it is one.
    fn read(text: &str) -> Option<Self> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let exponent = exponent.checked_add(zeros)?;
        let digits = significant.trim_start_matches('0').to_owned();
        match digits.is_empty() {
            true => Some(Self { is_negative: false, digits, exponent: 0 }),
            false => Some(Self { is_negative, digits, exponent }),
        }
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
                MARK => 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_to_the_last_digit() {
        for (body, header) in [
            ("42", "42"),
            ("42", "42.0"),
            ("4200", "42e2"),
            ("42e+2", "4200.00"),
            ("0.5", "5E-1"),
            ("-0", "0"),
            ("0e5", "-0.0"),
            ("123456789012345678901234567890", "123456789012345678901234567890.0"),
        ] {
            assert!(is_same_number(body, header.as_bytes()), "{body} {header}");
        }
        for (body, header) in [
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551616", "18446744073709551617"),
            ("1e400", "2e400"),
            ("42", "-42"),
            ("42", "420"),
            ("0", "inf"),
            ("1", "0x1"),
            ("1", ""),
            ("1", "."),
            ("1e99999999999999999999", "1e99999999999999999999"),
            ("\"42\"", "42.0"),
            ("true", "true"),
        ] {
            assert!(!is_same_number(body, header.as_bytes()), "{body} {header}");
        }
    }
}
