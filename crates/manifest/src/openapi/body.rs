//! The body of an operation: the kind of it that is sent, of those that the document offers, and
//! what of it becomes arguments: each member of an object, or the whole. Called by `operation`.

use crate::http::slot::Style;
use crate::openapi::document::{Document, Lost, members, text};
use crate::openapi::limits::MEMBERS_MAX;
use crate::openapi::parameter;
use crate::openapi::schema::{Gathered, Schemas};
use http::HeaderValue;
use serde_json::Value;
use std::collections::HashSet;

/// A body.
#[derive(Debug)]
pub(crate) struct Content<'d> {
    pub(crate) is_required: bool,
    pub(crate) description: Option<&'d str>,
    /// As the document writes it.
    pub(crate) media_type: &'d str,
    pub(crate) kind: ContentKind,
    pub(crate) schema: Option<&'d Value>,
    encoding: Option<&'d Value>,
}

/// What a body is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ContentKind {
    Json,
    Form,
    Multipart,
    Text,
    Bytes,
}

/// What of an object becomes arguments: its members, in order, and those that must be there.
#[derive(Debug)]
pub(crate) struct Parts<'d> {
    pub(crate) members: Vec<(&'d str, &'d Value)>,
    pub(crate) required: Vec<&'d str>,
}

/// The body of an operation, if it has one.
pub(crate) fn content<'d>(
    document: &'d Document,
    operation: &'d Value,
) -> Result<Option<Content<'d>>, Lost> {
    let Some(body) = operation.get("requestBody") else { return Ok(None) };
    let body = document.resolve(body)?;
    let kinds = members(body, "content").into_iter().flatten();
    let best = kinds.min_by_key(|(media_type, _)| rank(media_type));
    let Some((media_type, media)) = best else { return Ok(None) };
    Ok(Some(Content {
        is_required: body.get("required") == Some(&Value::Bool(true)),
        description: text(body, "description"),
        media_type,
        kind: kind(media_type),
        schema: media.get("schema"),
        encoding: media.get("encoding"),
    }))
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The kinds that say most go first; of JSON, the plain one does.
fn rank(media_type: &str) -> (ContentKind, bool) {
    (kind(media_type), essence(media_type) != "application/json")
}

pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "*/*"
}

fn kind(media_type: &str) -> ContentKind {
    let essence = essence(media_type);
    match &*essence {
        _ if is_json(media_type) => ContentKind::Json,
        "application/x-www-form-urlencoded" => ContentKind::Form,
        "multipart/form-data" => ContentKind::Multipart,
        "application/xml" | "application/yaml" | "application/x-yaml" => ContentKind::Text,
        "application/graphql" | "application/x-ndjson" => ContentKind::Text,
        essence if essence.starts_with("text/") || essence.ends_with("+xml") => ContentKind::Text,
        _ => ContentKind::Bytes,
    }
}

impl<'d> Content<'d> {
    /// The members that become arguments, if they can stand alone: an object that says what its
    /// members are, and nothing that only some of them fit.
    pub(crate) fn parts(&self, schemas: &Schemas<'d>) -> Result<Option<Parts<'d>>, Lost> {
        let Some(schema) = self.schema else { return Ok(None) };
        let Some(all) = schemas.gather(schema)? else { return Ok(None) };
        let mut members = all.properties();
        let known: HashSet<_> = members.iter().map(|(name, _)| *name).collect();
        let is_given =
            |(_, schema): &(&str, &Value)| schema.get("readOnly") != Some(&Value::Bool(true));
        members.retain(is_given);
        let is_open = matches!(all.get("additionalProperties"), Some(Value::Object(_)));
        let is_one_of_several = ["oneOf", "anyOf", "not", "patternProperties"]
            .iter()
            .any(|keyword| all.get(keyword).is_some());
        let is_object = all.types().first() == Some(&"object");
        let mut required = all.required();
        let is_whole = required.iter().all(|name| known.contains(name));
        let given: HashSet<_> = members.iter().map(|(name, _)| *name).collect();
        required.retain(|name| given.contains(name));
        let is_flat = is_object && !is_open && is_whole && self.may_be_flat(&all);
        if !is_flat || is_one_of_several && self.kind == ContentKind::Json {
            return Ok(None);
        }
        let is_few = (1..=MEMBERS_MAX).contains(&members.len());
        Ok(is_few.then_some(Parts { members, required }))
    }

    /// What may be null as a whole is an argument as a whole.
    fn may_be_flat(&self, all: &Gathered<'_>) -> bool {
        self.kind != ContentKind::Json || !all.types().contains(&"null")
    }

    /// How a member of a form is written.
    pub(crate) fn style(&self, member: &str) -> Style {
        let encoding = self.encoding.and_then(|encoding| encoding.get(member));
        let said = encoding.map(|encoding| {
            (text(encoding, "style"), encoding.get("explode").and_then(Value::as_bool))
        });
        match said {
            Some((None, None)) | None => Style::Repeat,
            Some((style, explode)) => parameter::style(style, explode),
        }
    }

    /// The media type of a part.
    pub(crate) fn part_type(&self, member: &str) -> Option<&'d str> {
        let declared = text(self.encoding?.get(member)?, "contentType")?;
        let first = declared.split(',').next().map(str::trim);
        // One with a line end would go on as another header.
        first.filter(|kind| !kind.contains('*') && HeaderValue::from_str(kind).is_ok())
    }
}

/// Whether a schema is one of bytes, for which an argument has Base64.
pub(crate) fn is_bytes(document: &Document, schema: &Value) -> bool {
    let Ok(schema) = document.resolve(schema) else { return false };
    match text(schema, "type") {
        Some("array") => schema.get("items").is_some_and(|items| {
            let items = document.resolve(items).unwrap_or(items);
            text(items, "type") == Some("string") && text(items, "format") == Some("binary")
        }),
        Some("string") => {
            text(schema, "format") == Some("binary")
                || text(schema, "contentMediaType") == Some("application/octet-stream")
        }
        _ => false,
    }
}
