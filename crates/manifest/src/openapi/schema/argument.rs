//! The arguments of a tool and the schema of all of them: each is a schema of the document, or of a
//! shape that requests need. Called by `operation`.

use crate::openapi::limits::WORDS_MAX;
use crate::openapi::schema::members::Members;
use crate::openapi::schema::{Draft, Schemas};
use crate::openapi::words;
use serde_json::Value;

/// An argument of a tool.
#[derive(Debug)]
pub(crate) struct Property<'d> {
    pub(crate) name: String,
    pub(crate) shape: Shape<'d>,
    /// About it, instead of what its schema says.
    pub(crate) words: Option<String>,
    pub(crate) is_required: bool,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'d> {
    Any,
    /// Base64 of bytes.
    Bytes,
    /// A list of these.
    ManyBytes,
    ManyTexts,
    Schema(&'d Value),
    Text,
}

impl<'d> Schemas<'d> {
    /// The schema of a tool's arguments.
    pub(crate) fn arguments(&mut self, properties: &[Property<'d>], is_open: bool) -> Draft {
        let mut draft = Draft::default();
        let mut out = Members::begin(&mut draft);
        out.json("type", r#""object""#);
        if !properties.is_empty() {
            let mut inner = Members::begin(out.key("properties"));
            for property in properties {
                let words = property.words.as_deref().filter(|words| !words.trim().is_empty());
                let draft = inner.key(&property.name);
                match property.shape {
                    Shape::Schema(schema) => self.convert_with(schema, words, draft, 1),
                    fixed => fixed_shape(fixed, words, draft),
                }
            }
            inner.end();
        }
        let required: Vec<_> = properties.iter().filter(|property| property.is_required).collect();
        if !required.is_empty() {
            let names: Vec<_> = required.iter().map(|property| &*property.name).collect();
            out.json("required", &Value::from(names).to_string());
        }
        out.json("additionalProperties", if is_open { "true" } else { "false" });
        out.end();
        draft
    }
}

fn fixed_shape(shape: Shape<'_>, words: Option<&str>, draft: &mut Draft) {
    const BYTES: &str = r#""type":"string","contentEncoding":"base64""#;
    let mut out = Members::begin(draft);
    match shape {
        Shape::Any | Shape::Schema(_) => {}
        Shape::Bytes => {
            out.json("type", r#""string""#);
            out.json("contentEncoding", r#""base64""#);
        }
        Shape::ManyBytes => {
            out.json("type", r#""array""#);
            out.json("items", &format!("{{{BYTES}}}"));
        }
        Shape::ManyTexts => {
            out.json("type", r#""array""#);
            out.json("items", r#"{"type":"string"}"#);
        }
        Shape::Text => out.json("type", r#""string""#),
    }
    if let Some(words) = words {
        out.json("description", &Value::from(words::cut(words, WORDS_MAX)).to_string());
    }
    out.end();
}
