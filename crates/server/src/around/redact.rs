//! What must not be seen is taken out of answers: secrets that a program repeats, numbers of cards.

use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::content::{Body, Content};
use haft_proto::spec::tool_result::ToolResult;
use regex::Regex;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Takes texts out of what tools answer: of their texts, links and structured content, of texts
/// that they embed, and of errors. Pictures, sounds and other bytes stay as they are, and so does
/// what a tool says while it runs.
#[derive(Clone, Debug, Default)]
pub struct Redact {
    words: Vec<Arc<str>>,
    patterns: Vec<Regex>,
}

/// A pattern that is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// Why.
    pub reason: String,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no regular expression: {}", self.reason)
    }
}

impl std::error::Error for BadPattern {}

/// What stands in the place of what was taken out.
const INSTEAD: &str = "[redacted]";
/// The most memory that a compiled pattern may take, in bytes.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

impl Redact {
    /// The shortest word that is taken out, in characters. A shorter one would be in many answers
    /// by chance.
    pub const WORD_MIN: usize = 4;

    /// Takes nothing out yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more word, a password say. Words of fewer than [`Redact::WORD_MIN`] characters are left
    /// alone.
    #[must_use]
    pub fn word(mut self, word: &str) -> Self {
        if word.chars().count() >= Self::WORD_MIN {
            // In a text that is JSON, it is spelled with escapes.
            let json = serde_json::to_string(word).unwrap_or_default();
            let escaped = json.trim_matches('"');
            for spelled in [word, escaped, &escaped.replace('/', "\\/")] {
                if !self.words.iter().any(|known| **known == *spelled) {
                    self.words.push(spelled.into());
                }
            }
            // What contains another goes first, or a rest of it would stay.
            self.words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        }
        self
    }

    /// Everything that matches a regular expression (in the syntax of the `regex` crate).
    ///
    /// # Errors
    /// [`BadPattern`]: it is none, or a huge one.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, BadPattern> {
        let built = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build();
        let bad = |error: regex::Error| BadPattern { reason: last_line(&error.to_string()) };
        self.patterns.push(built.map_err(bad)?);
        Ok(self)
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for word in &self.words {
            if clean.contains(&**word) {
                clean = Cow::Owned(clean.replace(&**word, INSTEAD));
            }
        }
        for pattern in &self.patterns {
            if let Cow::Owned(cleaner) = pattern.replace_all(&clean, INSTEAD) {
                clean = Cow::Owned(cleaner);
            }
        }
        clean
    }

    /// Whether there is something to take out of a JSON text. Its strings may be spelled in any
    /// way, so one with escapes may have something.
    fn is_in(&self, json: &str) -> bool {
        json.contains('\\') || matches!(self.text(json), Cow::Owned(_))
    }

    fn string(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                let taken = std::mem::take(members);
                members.extend(taken.into_iter().map(|(mut name, mut value)| {
                    self.string(&mut name);
                    self.value(&mut value);
                    (name, value)
                }));
            }
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.text(&number.to_string()) {
                    *value = Value::String(clean);
                }
            }
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn content(&self, content: &mut Content) {
        match content {
            Content::Text(text) => self.string(text),
            Content::Embedded(contents) => {
                self.string(&mut contents.uri);
                if let Body::Text(text) = &mut contents.body {
                    self.string(text);
                }
            }
            Content::Annotated(annotated) => self.content(&mut annotated.content),
            Content::Link(resource) => {
                let texts = [&mut resource.title, &mut resource.description];
                texts.into_iter().flatten().for_each(|text| self.string(text));
                self.string(&mut resource.uri);
                self.string(&mut resource.name);
            }
            Content::Raw(raw) => self.json(raw),
            Content::Image(_) | Content::Audio(_) => {}
        }
    }

    /// What has nothing to hide stays as it is written, its numbers digit for digit.
    fn json(&self, raw: &mut Box<RawValue>) {
        if !self.is_in(raw.get()) {
            return;
        }
        let clean = serde_json::from_str::<Value>(raw.get()).and_then(|mut value| {
            self.value(&mut value);
            to_raw_value(&value)
        });
        *raw = clean.unwrap_or_default();
    }

    fn result(&self, mut result: ToolResult) -> ToolResult {
        result.content.iter_mut().for_each(|content| self.content(content));
        result.structured.iter_mut().for_each(|raw| self.json(raw));
        result
    }
}

/// The `regex` crate draws the pattern first and says what is wrong at the end.
fn last_line(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(text);
    line.trim_start_matches("error: ").to_owned()
}

impl Middleware for Redact {
    fn handle(&self, request: Request, next: Next) -> Handling {
        let (redact, handling) = (self.clone(), next.run(request));
        Box::pin(async move {
            match handling.await {
                Outcome::Tool(result) => Outcome::Tool(redact.result(result)),
                Outcome::Refused(mut refusal) => {
                    if let Cow::Owned(clean) = redact.text(&refusal.message) {
                        refusal.message = clean.into();
                    }
                    Outcome::Refused(refusal)
                }
                other => other,
            }
        })
    }
}
