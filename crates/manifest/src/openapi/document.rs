//! A document that describes an API: its text becomes one value, in which references are followed
//! when somebody asks. Read by `source`; never fetches anything, and copies nothing that is
//! referred to.

use crate::openapi::limits::{DOCUMENT_STACK_BYTES, REFERENCES_MAX};
use crate::openapi::mistake::OpenApiMistake;
use crate::openapi::references::{self, Unread};
use crate::openapi::{swagger, yaml};
use crate::template::plain;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A document.
#[derive(Debug)]
pub(crate) struct Document {
    root: Value,
    /// Schemas are those of 3.0, a dialect of their own.
    pub(crate) is_3_0: bool,
    unread: Unread,
}

/// Why a reference cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It leads out of the document.
    Outside { to: String, why: String },
    /// Nothing is where it leads.
    Nowhere(String),
    /// It leads to itself, or through too many others.
    Endless(String),
}

impl Lost {
    /// The end of a sentence about an operation.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Outside { to, why } => format!("`$ref: {to}` {why}"),
            Self::Nowhere(to) => format!("`$ref: {to}` leads nowhere"),
            Self::Endless(to) => {
                format!("`$ref: {to}` leads to more than {REFERENCES_MAX} others in a row")
            }
        }
    }
}

impl Document {
    /// Reads a text that refers to no other.
    #[cfg(test)]
    pub(crate) fn read(text: &[u8]) -> Result<Self, OpenApiMistake> {
        let root = parse(text).map_err(|reason| OpenApiMistake::NotReadable { reason })?;
        Self::new(root, Unread::new())
    }

    /// A document that was read; of some references it is known why they lead nowhere.
    pub(crate) fn new(root: Value, unread: Unread) -> Result<Self, OpenApiMistake> {
        let swagger = root.get("swagger").filter(|_| root.get("openapi").is_none()).map(plain);
        let root = match swagger.as_deref() {
            Some("2.0" | "2") => {
                swagger::converted(root).map_err(|reason| OpenApiMistake::NotReadable { reason })?
            }
            Some(version) => {
                let version = format!("Swagger {}", shown(version));
                return Err(OpenApiMistake::Version { version });
            }
            None => root,
        };
        let version = match root.get("openapi") {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => return Err(OpenApiMistake::NotOpenApi),
        };
        let is_of = |minor: &str| version == minor || version.starts_with(&format!("{minor}."));
        match (is_of("3.0"), is_of("3.1") || is_of("3.2")) {
            (false, false) => Err(OpenApiMistake::Version { version: shown(&version) }),
            (is_3_0, _) => Ok(Self { root, is_3_0, unread }),
        }
    }

    /// A member of the document itself.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.root.get(key)
    }

    /// Where a reference leads in the end, and the last one that leads there. In 3.1 a schema that
    /// says something beside its reference is an end.
    pub(crate) fn follow<'d>(&'d self, reference: &'d str) -> Result<(&'d Value, &'d str), Lost> {
        let mut last = reference;
        for _ in 0..=REFERENCES_MAX {
            let value = self.find(last)?;
            match value.get("$ref") {
                Some(Value::String(next)) if self.is_alone(value) => last = next,
                _ => return Ok((value, last)),
            }
        }
        Err(Lost::Endless(shown(reference)))
    }

    /// Whether a reference is all that is said.
    pub(crate) fn is_alone(&self, value: &Value) -> bool {
        self.is_3_0 || value.as_object().is_some_and(|members| members.len() == 1)
    }

    /// What is really there, whatever stands beside references.
    pub(crate) fn resolve<'d>(&'d self, value: &'d Value) -> Result<&'d Value, Lost> {
        let mut value = value;
        for _ in 0..=REFERENCES_MAX {
            let Some(Value::String(reference)) = value.get("$ref") else { return Ok(value) };
            value = self.find(reference)?;
        }
        Err(Lost::Endless(value.get("$ref").and_then(Value::as_str).map(shown).unwrap_or_default()))
    }

    /// What a reference leads to.
    pub(crate) fn find(&self, reference: &str) -> Result<&Value, Lost> {
        let why = || references::reason(&self.unread, reference);
        let outside = |why: &str| Lost::Outside { to: shown(reference), why: why.to_owned() };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(outside(why().unwrap_or("leads out of the document")));
        };
        let nowhere = || why().map_or_else(|| Lost::Nowhere(shown(reference)), outside);
        let mut found = &self.root;
        if pointer.is_empty() {
            return Ok(found);
        }
        for token in pointer.strip_prefix('/').ok_or_else(nowhere)?.split('/') {
            let token = token_of(token);
            found = match found {
                Value::Object(members) => members.get(&*token),
                Value::Array(items) => token.parse().ok().and_then(|at: usize| items.get(at)),
                _ => None,
            }
            .ok_or_else(nowhere)?;
        }
        Ok(found)
    }
}

/// The value of a text. What is no JSON is read on a thread whose stack has room for the deepest
/// one.
pub(crate) fn parse(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text)
        .map_err(|_| "it is not UTF-8".to_owned())?
        .trim_start_matches('\u{feff}');
    match json(text) {
        Some(Ok(root)) => Ok(root),
        Some(Err(error)) if looks_like_json(text) => Err(error),
        other => elsewhere(text).map_err(|reason| match other {
            Some(Err(error)) => error,
            _ => reason,
        }),
    }
}

/// A step of a pointer in an address: `%7B` and `~1` stand for what they stand for.
pub(crate) fn token_of(token: &str) -> Cow<'_, str> {
    if !token.contains(['%', '~']) {
        return Cow::Borrowed(token);
    }
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |at: usize| after.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Cow::Owned(text.replace("~1", "/").replace("~0", "~"))
}

/// A text of the document within a message.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 100;
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    let mut shown: String = text.chars().take(CHARACTERS).map(plain).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// What begins like JSON, read as that: no deeper than 128 levels, so that any thread has room.
fn json(text: &str) -> Option<Result<Value, String>> {
    let is_mapping = text.trim_start().starts_with('{');
    is_mapping.then(|| serde_json::from_str(text).map_err(|error| error.to_string()))
}

/// Whether it is meant as JSON; a mapping of YAML on one line begins with the same brace.
fn looks_like_json(text: &str) -> bool {
    text.trim_start()[1..].trim_start().starts_with(['"', '}'])
}

/// Reads YAML on a thread of its own. What is large and JSON is better off without: memory that
/// another thread asks for comes in small pieces.
fn elsewhere(text: &str) -> Result<Value, String> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(DOCUMENT_STACK_BYTES);
        match builder.spawn_scoped(scope, || yaml::read(text)) {
            Ok(reading) => {
                let stopped = |_| Err("the reader stopped in the middle".to_owned());
                reading.join().unwrap_or_else(stopped)
            }
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The members of a value under a key, if it is a mapping there.
pub(crate) fn members<'d>(value: &'d Value, key: &str) -> Option<&'d Map<String, Value>> {
    value.get(key).and_then(Value::as_object)
}

/// A text under a key.
pub(crate) fn text<'d>(value: &'d Value, key: &str) -> Option<&'d str> {
    value.get(key).and_then(Value::as_str)
}
