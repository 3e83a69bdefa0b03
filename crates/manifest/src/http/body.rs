//! The body of a request, from as typed to bytes: JSON, a form, parts, or a text. Checked by
//! `check`, written by `request` for each call.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::json::Json;
use crate::http::others::Others;
use crate::http::slot::{Filling, Pairs, Slot};
use crate::limits::MULTIPART_BYTES_MAX;
use crate::media_type;
use crate::place::Placed;
use crate::shown;
use crate::template::{Compiler, Known, plain};
use crate::tool::typed;
use crate::written::http::{self as written, Parts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_fetch::escape;
use http::HeaderValue;
use serde_json::Value;

/// A body.
#[derive(Clone, Debug, Default)]
pub(crate) enum Body {
    /// Base64 of the bytes, and what kind they are.
    Base64(Slot, HeaderValue),
    /// Names, which are escaped, and values.
    Form(Vec<(String, Slot)>),
    Json(Json),
    Multipart(Vec<Part>),
    #[default]
    None,
    /// Nothing, if none of these arguments is there.
    Optional(Box<Self>, Vec<String>),
    /// A text, and what kind it is.
    Text(Slot, HeaderValue),
}

/// A part of a body of several.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Slot,
    /// Only files have one.
    pub(crate) file: Option<FileName>,
    pub(crate) mime_type: Option<String>,
    /// The content is Base64 of what is sent.
    pub(crate) is_base64: bool,
}

/// What a file is called.
#[derive(Clone, Debug)]
pub(crate) struct FileName {
    /// Of several files, their names in order.
    pub(crate) said: Slot,
    /// Where nothing is said; empty, if a file has no name then.
    pub(crate) default: String,
}

/// Bytes, and what kind they are.
pub(crate) type Written = Option<(Vec<u8>, HeaderValue)>;

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

impl Body {
    /// The bytes for a call, if it has any.
    pub(crate) fn write(&self, filling: Filling<'_>) -> Result<Written, String> {
        match self {
            Self::Base64(slot, kind) => {
                let Some(text) = slot.text(filling)? else { return Ok(None) };
                let bytes = STANDARD
                    .decode(text.trim())
                    .map_err(|error| format!("The body is not Base64: {error}"))?;
                Ok(Some((bytes, kind.clone())))
            }
            Self::Form(fields) => {
                let mut pairs = Pairs::default();
                for (name, slot) in fields {
                    slot.pairs(name, filling, &mut pairs)?;
                }
                Ok(Some((pairs.0.into_bytes(), FORM)))
            }
            Self::Json(json) => {
                let mut out = Vec::new();
                Ok(json.write(filling, &mut out)?.then_some((out, JSON)))
            }
            Self::Multipart(parts) => multipart(parts, filling).map(Some),
            Self::None => Ok(None),
            Self::Optional(body, names) => {
                let values = &filling.arguments.values;
                let is_there = names.iter().any(|name| values.contains_key(name));
                let others = body.others().into_iter().flat_map(|others| others.of(filling));
                if is_there || others.count() > 0 { body.write(filling) } else { Ok(None) }
            }
            Self::Text(slot, kind) => {
                Ok(slot.text(filling)?.map(|text| (text.into_bytes(), kind.clone())))
            }
        }
    }

    /// The arguments that it takes without naming them.
    fn others(&self) -> Option<&Others> {
        let slot = match self {
            Self::Form(fields) => &fields.last()?.1,
            Self::Json(Json::Open(_, others)) => return Some(others),
            Self::Multipart(parts) => &parts.last()?.content,
            _ => return None,
        };
        if let Slot::Others(others) = slot { Some(others) } else { None }
    }

    /// Everything in it that has a template or reads an argument.
    pub(crate) fn slots(&self) -> Vec<&Slot> {
        match self {
            Self::Form(fields) => fields.iter().map(|(_, slot)| slot).collect(),
            Self::Json(_) | Self::None => Vec::new(),
            Self::Optional(body, _) => body.slots(),
            Self::Multipart(parts) => parts
                .iter()
                .flat_map(|part| {
                    [&part.content].into_iter().chain(part.file.as_ref().map(|file| &file.said))
                })
                .collect(),
            Self::Base64(slot, _) | Self::Text(slot, _) => vec![slot],
        }
    }
}

/// The fields of a form.
pub(crate) fn form(
    fields: Vec<(Placed<String>, Placed<crate::written::Scalar>)>,
    known: Known<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<(String, Slot)>, Wrong> {
    let field = |(name, value): (Placed<String>, _)| {
        Ok((escape::text(&name.value), Slot::new(compiler.compile(typed(&value), known)?)))
    };
    fields.into_iter().map(field).collect()
}

/// The parts of a body of several.
pub(crate) fn parts(
    Parts(parts): Parts,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<Part>, Wrong> {
    let mut checked = Vec::new();
    for (name, Placed { place, value }) in parts {
        let mut slot = |text| Ok::<_, Wrong>(Slot::new(compiler.compile(text, known)?));
        let name = name.value;
        checked.push(match value {
            written::Part::Field(text) => Part {
                name,
                content: slot(Placed::new(place, text.0))?,
                file: None,
                mime_type: None,
                is_base64: false,
            },
            written::Part::File(file) => Part {
                name,
                content: slot(typed(&file.content))?,
                file: Some(FileName { said: slot(typed(&file.filename))?, default: String::new() }),
                mime_type: shown::mime_type(file.mime_type.as_ref(), surroundings)?,
                is_base64: file.base64,
            },
        });
    }
    Ok(checked)
}

/// What a part holds.
struct Content {
    name: String,
    text: String,
    is_json: bool,
}

impl Part {
    /// What it holds, once for each item of a list: texts and numbers as they are, and all else, or
    /// everything if its kind is JSON, as JSON.
    fn contents(&self, filling: Filling<'_>) -> Result<Vec<Content>, String> {
        let is_json = self.mime_type.as_deref().is_some_and(media_type::is_json);
        let is_json = is_json && !self.is_base64;
        let content = |name: &str, value: &Value| {
            let (text, is_json) = match value {
                Value::Array(_) | Value::Object(_) => (value.to_string(), true),
                value if is_json => (value.to_string(), true),
                value => (plain(value), false),
            };
            Content { name: name.to_owned(), text, is_json }
        };
        let contents = |name: &str, value: &Value| match value {
            Value::Array(items) => items.iter().map(|item| content(name, item)).collect(),
            Value::Null => Vec::new(),
            value => vec![content(name, value)],
        };
        match &self.content {
            Slot::Argument { name, .. } => {
                let value = filling.argument(name);
                Ok(value.map(|value| contents(&self.name, value)).unwrap_or_default())
            }
            Slot::Others(others) => {
                Ok(others.of(filling).flat_map(|(name, value)| contents(name, value)).collect())
            }
            slot => {
                let text = |text| Content { name: self.name.clone(), text, is_json: false };
                Ok(slot.text(filling)?.map(text).into_iter().collect())
            }
        }
    }
}

impl FileName {
    /// The first has the plain name, and each other one a number, so that none replaces another.
    fn default_of(&self, at: usize) -> String {
        let (stem, end) = match self.default.rsplit_once('.') {
            Some((stem, end)) => (stem, format!(".{end}")),
            None => (&*self.default, String::new()),
        };
        match at {
            0 => self.default.clone(),
            _ if stem.is_empty() => String::new(),
            at => format!("{stem}-{}{end}", at + 1),
        }
    }
}

/// `multipart/form-data` as browsers write it (RFC 7578).
fn multipart(parts: &[Part], filling: Filling<'_>) -> Result<(Vec<u8>, HeaderValue), String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| format!("There is no randomness: {error}"))?;
    // Nobody who does not know it can write the line that ends a part.
    let boundary = format!("haft-{:032x}", u128::from_be_bytes(random));
    let mut out = Vec::new();
    for part in parts {
        let names = match &part.file {
            Some(file) => file.said.texts(filling)?,
            None => Vec::new(),
        };
        for (at, Content { name, text, is_json }) in part.contents(filling)?.into_iter().enumerate()
        {
            let content = match part.is_base64 {
                false => text.into_bytes(),
                true => STANDARD
                    .decode(text.trim())
                    .map_err(|error| format!("The content of `{name}` is not Base64: {error}"))?,
            };
            // Each item of a list has a head of its own, which is longer than most items.
            if out.len() + content.len() > MULTIPART_BYTES_MAX {
                return Err(format!(
                    "These arguments make a body of more than {MULTIPART_BYTES_MAX} bytes."
                ));
            }
            let name = quoted(&name);
            let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"");
            out.extend_from_slice(head.as_bytes());
            let mut kind =
                part.mime_type.as_deref().or_else(|| is_json.then_some("application/json"));
            if let Some(file) = &part.file {
                let name = names.get(at).cloned().unwrap_or_else(|| file.default_of(at));
                let rest = format!("; filename=\"{}\"", quoted(&name));
                out.extend_from_slice(rest.as_bytes());
                kind = kind.or(Some("application/octet-stream"));
            }
            if let Some(kind) = kind {
                out.extend_from_slice(format!("\r\ncontent-type: {kind}").as_bytes());
            }
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(&content);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let kind = HeaderValue::from_str(&format!("multipart/form-data; boundary={boundary}"));
    Ok((out, kind.expect("it is made of letters and digits")))
}

/// A name that cannot end its quotes or its line (HTML, "Multipart form data").
fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '"' => out.push_str("%22"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            '\0' => {}
            other => out.push(other),
        }
    }
    out
}
