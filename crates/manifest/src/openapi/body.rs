//! The body of an operation: the kind of it that is sent, of those that the document offers, and
//! what of it becomes arguments: each member of an object, or the whole. Called by `operation`.

use crate::http::answer;
use crate::http::slot::{Slot, Style};
use crate::media_type::{self, essence};
use crate::openapi::document::{Document, Lost, members, text};
use crate::openapi::limits::MEMBERS_MAX;
use crate::openapi::parameter;
use crate::openapi::schema::{Gathered, Schemas};
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
    /// There may be members of any other name.
    pub(crate) is_open: bool,
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

/// The kinds that say most go first; of JSON, the plain one does.
fn rank(media_type: &str) -> (ContentKind, bool) {
    (kind(media_type), essence(media_type) != "application/json")
}

pub(crate) fn is_json(media_type: &str) -> bool {
    media_type::is_json(media_type) || essence(media_type) == "*/*"
}

/// What is made of a body of this kind.
pub(crate) fn kind(media_type: &str) -> ContentKind {
    let essence = essence(media_type);
    match &*essence {
        _ if is_json(media_type) => ContentKind::Json,
        "application/x-www-form-urlencoded" => ContentKind::Form,
        "multipart/form-data" => ContentKind::Multipart,
        _ if answer::kind(media_type) == answer::Kind::Text => ContentKind::Text,
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
        members.retain(|(_, schema)| !schemas.is_unseen(schema));
        // What others must be like is said of the body as a whole.
        let others = all.get("additionalProperties").and_then(Value::as_object);
        let is_mapping = others.is_some_and(|schema| !schema.is_empty());
        let is_open = !all.says("additionalProperties", false)
            && (others.is_some() || all.says("additionalProperties", true));
        let is_one_of_several = ["oneOf", "anyOf", "not", "patternProperties"]
            .iter()
            .any(|keyword| all.get(keyword).is_some());
        let is_object = all.types().first() == Some(&"object");
        let mut required = all.required();
        let is_whole = required.iter().all(|name| known.contains(name));
        let given: HashSet<_> = members.iter().map(|(name, _)| *name).collect();
        required.retain(|name| given.contains(name));
        let is_flat = is_object && !is_mapping && is_whole && self.may_be_flat(&all);
        if !is_flat || is_one_of_several && self.kind == ContentKind::Json {
            return Ok(None);
        }
        let is_few = (1..=MEMBERS_MAX).contains(&members.len());
        Ok(is_few.then_some(Parts { members, required, is_open }))
    }

    /// What may be null as a whole is an argument as a whole.
    fn may_be_flat(&self, all: &Gathered<'_>) -> bool {
        self.kind != ContentKind::Json || !all.types().contains(&"null")
    }

    fn encoding(&self, member: &str) -> Option<&'d Value> {
        self.encoding?.get(member)
    }

    /// What the whole body is, if it is one value: a text, number or word of any type.
    pub(crate) fn scalar(&self, schemas: &Schemas<'d>) -> Option<&'d Value> {
        let schema = self.schema?;
        let all = schemas.gather(schema).ok()??;
        let is_scalar =
            |kind: &&str| ["string", "number", "integer", "boolean", "null"].contains(kind);
        let types = all.types();
        let is_one = !types.is_empty() && types.iter().all(is_scalar);
        (is_one && files(schemas, schema) == Files::None).then_some(schema)
    }

    /// A member of a form, and how it is written.
    pub(crate) fn field(&self, member: &str, argument: &str) -> Slot {
        let encoding = self.encoding(member);
        let said = |key| encoding.and_then(|encoding| encoding.get(key));
        let (explode, style) = (said("explode").and_then(Value::as_bool), said("style"));
        let reserved = said("allowReserved").and_then(Value::as_bool);
        let kind = said("contentType").and_then(Value::as_str);
        // Who says how it is written says nothing by its kind (3.1, "Encoding Object").
        let style = match (style.and_then(Value::as_str), explode, reserved) {
            (None, None, None) if kind.is_some_and(is_json) => Style::Json,
            (None, None, None | Some(false)) => Style::Repeat,
            (style, explode, _) => parameter::style(style, explode),
        };
        let keeps_reserved = reserved.unwrap_or(false);
        Slot::Argument { name: argument.to_owned(), style, keeps_reserved }
    }

    /// The media type of a part: the first that is one, of those that may be.
    pub(crate) fn part_type(&self, member: &str, schema: &'d Value) -> Option<&'d str> {
        let declared = self.encoding(member).and_then(|encoding| text(encoding, "contentType"));
        let declared = declared.or_else(|| text(schema, "contentMediaType"))?;
        // One with a line end would go on as another header.
        let is_one = |kind: &&str| !kind.contains('*') && media_type::is_one(kind);
        declared.split(',').map(str::trim).find(is_one)
    }
}

/// Whether values of a schema are files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    Many,
    None,
    One,
}

/// Whether a schema is one of bytes, for which an argument has Base64.
pub(crate) fn files(schemas: &Schemas<'_>, schema: &Value) -> Files {
    let Ok(Some(all)) = schemas.gather(schema) else { return Files::None };
    if let Some(items) = all.get("items").filter(|_| all.types().contains(&"array")) {
        let is_list = files(schemas, items) == Files::One;
        return if is_list { Files::Many } else { Files::None };
    }
    let says = |keyword| all.get(keyword).and_then(Value::as_str);
    let is_binary = says("format") == Some("binary");
    // 3.1 says of bytes what they are, and of texts how bytes are written in them.
    let is_media = says("contentMediaType").is_some_and(|kind| {
        says("contentEncoding").is_none()
            && !media_type::is_json(kind)
            && !kind.starts_with("text/")
    });
    match &*all.types() {
        ["string"] | ["string", "null"] if is_binary || is_media => Files::One,
        [] if is_media => Files::One,
        _ => Files::None,
    }
}
