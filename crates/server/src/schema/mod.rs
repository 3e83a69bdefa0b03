//! JSON Schemas, compiled once and checked on every call. Common schemas are checked straight on
//! the message's text by `direct`; any other by the `jsonschema` crate, on a parsed value. Neither
//! reads a file or the network.

pub mod derived;
mod direct;

use haft_proto::json::Cursor;
use jsonschema::Draft;
use serde_json::Value;
use std::fmt;

/// A compiled schema.
pub struct Schema {
    checker: Checker,
}

enum Checker {
    Direct(Box<direct::Node>),
    General(Box<jsonschema::Validator>),
}

/// Why a text is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchema {
    /// One line, without the name of the tool.
    pub reason: String,
}

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for BadSchema {}

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, like `filter.tags[2]`; empty for the whole value.
    pub path: String,
    /// What was expected and what came.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "`{}` {}", self.path, self.problem)
        }
    }
}

/// How many violations one check tells at most: enough to mend a call in one go.
const VIOLATIONS_MAX: usize = 8;

impl Schema {
    /// Compiles a schema. The dialect is 2020-12 unless `$schema` says otherwise.
    ///
    /// # Errors
    /// [`BadSchema`] if it is not JSON, not a schema, of an unknown dialect, or refers outside.
    ///
    /// ```
    /// let schema = haft_server::schema::Schema::compile(r#"{"type":"object","properties":
    ///     {"city":{"type":"string","minLength":1}},"required":["city"]}"#)?;
    /// assert!(schema.check(r#"{"city":"Bern"}"#).is_ok());
    /// let wrong = schema.check(r#"{"city":3}"#).unwrap_err();
    /// assert_eq!(wrong[0].to_string(), "`city` must be a string, not 3");
    /// # Ok::<(), haft_server::schema::BadSchema>(())
    /// ```
    pub fn compile(text: &str) -> Result<Self, BadSchema> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| BadSchema { reason: format!("the schema is not JSON: {error}") })?;
        if !value.is_object() {
            return Err(BadSchema { reason: "the schema must be an object".to_owned() });
        }
        let dialect = dialect(&value)?;
        // Older dialects have keywords of the same name that mean something else.
        let is_current = dialect == Draft::Draft202012;
        let direct = is_current.then(|| direct::Node::compile(&value)).flatten();
        if let Some(node) = direct {
            return Ok(Self { checker: Checker::Direct(Box::new(node)) });
        }
        // What is not handled directly may also be no schema at all; this knows all the rules.
        let general = jsonschema::options()
            .with_draft(dialect)
            .should_validate_formats(false)
            .build(&value)
            .map_err(|error| BadSchema { reason: one_line(&error.to_string()) })?;
        Ok(Self { checker: Checker::General(Box::new(general)) })
    }

    /// Whether values are checked straight on their text.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.checker, Checker::Direct(_))
    }

    /// Checks JSON text that is known to be well-formed.
    ///
    /// # Errors
    /// What does not fit: at least one [`Violation`], eight at most.
    pub fn check(&self, text: &str) -> Result<(), Vec<Violation>> {
        match &self.checker {
            Checker::Direct(node) => node.check(&mut Cursor::new(text, usize::MAX)),
            Checker::General(validator) => check_generally(validator, text),
        }
    }
}

fn dialect(schema: &Value) -> Result<Draft, BadSchema> {
    let Some(uri) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let known = [
        ("https://json-schema.org/draft/2020-12/schema", Draft::Draft202012),
        ("https://json-schema.org/draft/2019-09/schema", Draft::Draft201909),
        ("http://json-schema.org/draft-07/schema", Draft::Draft7),
        ("http://json-schema.org/draft-06/schema", Draft::Draft6),
        ("http://json-schema.org/draft-04/schema", Draft::Draft4),
    ];
    let named = uri.as_str().unwrap_or_default().trim_end_matches('#');
    known.into_iter().find(|(uri, _)| *uri == named).map(|(_, draft)| draft).ok_or_else(|| {
        BadSchema {
            reason: format!("`$schema` {uri} is not a known dialect; use {:?}", known[0].0),
        }
    })
}

fn check_generally(validator: &jsonschema::Validator, text: &str) -> Result<(), Vec<Violation>> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            let problem = format!("is not usable JSON: {error}");
            return Err(vec![Violation { path: String::new(), problem }]);
        }
    };
    let violations: Vec<_> = validator
        .iter_errors(&value)
        .take(VIOLATIONS_MAX)
        .map(|error| Violation {
            path: one_line(&dotted(error.instance_path().as_str())),
            problem: one_line(&error.to_string()),
        })
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// `/filter/tags/2` as `filter.tags[2]`, the spelling that models know from code.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push('[');
            path.push_str(part);
            path.push(']');
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&part.replace("~1", "/").replace("~0", "~"));
    }
    path
}

/// At most 200 characters, without line breaks.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(200)
        .collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line
}
