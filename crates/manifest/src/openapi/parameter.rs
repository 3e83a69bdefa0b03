//! The parameters of an operation, in path, query, headers and cookies: each becomes an argument,
//! with its schema, and a slot of the request, in the style that the document asks for. Called by
//! `operation`.

use crate::http::OWN_HEADERS;
use crate::http::path_style::{PathStyle, Styled};
use crate::http::slot::{Slot, Style};
use crate::openapi::document::{Document, members, text};
use crate::openapi::limits::PARAMETERS_MAX;
use crate::openapi::operation::Unusable;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A parameter.
#[derive(Debug)]
pub(crate) struct Parameter<'d> {
    pub(crate) name: &'d str,
    pub(crate) place: In,
    pub(crate) is_required: bool,
    pub(crate) description: Option<&'d str>,
    /// Of its value; any, if the document does not say.
    pub(crate) schema: Option<&'d Value>,
    explode: Option<bool>,
    style: Option<&'d str>,
    is_json: bool,
    keeps_reserved: bool,
    has_slashes: bool,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum In {
    Cookie,
    Header,
    Path,
    Query,
}

impl In {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Cookie => "cookie",
            Self::Header => "header",
            Self::Path => "path",
            Self::Query => "query",
        }
    }
}

/// The parameters of a path and of one of its operations, whose own go before.
pub(crate) fn parameters<'d>(
    document: &'d Document,
    path: &'d Map<String, Value>,
    operation: &'d Value,
) -> Result<Vec<Parameter<'d>>, Unusable> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    let mut places: HashMap<(&'d str, In), usize> = HashMap::new();
    let of_path = path.get("parameters").and_then(Value::as_array);
    let own = operation.get("parameters").and_then(Value::as_array);
    for value in of_path.into_iter().chain(own).flatten() {
        let Some(parameter) = parameter(document.resolve(value)?) else { continue };
        match places.get(&(parameter.name, parameter.place)) {
            Some(&at) => found[at] = parameter,
            None if found.len() == PARAMETERS_MAX => {
                let reason = format!("it has more than {PARAMETERS_MAX} parameters");
                return Err(Unusable::Other(reason));
            }
            None => {
                places.insert((parameter.name, parameter.place), found.len());
                found.push(parameter);
            }
        }
    }
    Ok(found)
}

fn parameter(value: &Value) -> Option<Parameter<'_>> {
    let name = text(value, "name")?;
    let place = match text(value, "in")? {
        "cookie" => In::Cookie,
        "header" => In::Header,
        "path" => In::Path,
        "query" => In::Query,
        _ => return None,
    };
    // The specification has other places for these, and a connection its own.
    let lower = name.to_ascii_lowercase();
    let is_own = OWN_HEADERS.contains(&&*lower)
        || ["accept", "authorization", "content-type", "cookie"].contains(&&*lower);
    if place == In::Header && is_own {
        return None;
    }
    let is_true = |key: &str| value.get(key) == Some(&Value::Bool(true));
    let content = members(value, "content").and_then(|content| content.iter().next());
    let schema = match content {
        Some((_, media)) => media.get("schema"),
        None => value.get("schema"),
    };
    Some(Parameter {
        name,
        place,
        is_required: place == In::Path || is_true("required"),
        description: text(value, "description"),
        schema,
        explode: value.get("explode").and_then(Value::as_bool),
        style: text(value, "style"),
        is_json: content.is_some(),
        keeps_reserved: is_true("allowReserved"),
        has_slashes: is_true("x-multi-segment") || is_true("allowReserved"),
    })
}

impl Parameter<'_> {
    /// How it is written in a path.
    pub(crate) fn in_path(&self) -> Styled {
        let style = match self.style {
            _ if self.has_slashes => PathStyle::Segments,
            Some("label") => PathStyle::Label,
            Some("matrix") => PathStyle::Matrix,
            _ => PathStyle::Simple,
        };
        Styled { style, explode: self.explode.unwrap_or(false) }
    }

    /// How it is written elsewhere.
    pub(crate) fn slot(&self, argument: &str) -> Slot {
        let (name, keeps_reserved) = (argument.to_owned(), self.keeps_reserved);
        Slot::Argument { name, style: self.style_elsewhere(), keeps_reserved }
    }

    fn style_elsewhere(&self) -> Style {
        if self.is_json {
            return Style::Json;
        }
        match self.place {
            In::Header if self.explode == Some(true) => Style::Assigned,
            In::Header => Style::Comma,
            _ => style(self.style, self.explode),
        }
    }
}

/// A style of values in a query or form.
pub(crate) fn style(style: Option<&str>, explode: Option<bool>) -> Style {
    match (style, explode) {
        (Some("deepObject"), _) => Style::Deep,
        (Some("spaceDelimited"), None | Some(false)) => Style::Space,
        (Some("pipeDelimited"), None | Some(false)) => Style::Pipe,
        // No style of OpenAPI 3: what Swagger 2.0 calls `tsv`.
        (Some("tabDelimited"), _) => Style::Tab,
        (_, Some(false)) => Style::Comma,
        _ => Style::Form,
    }
}
