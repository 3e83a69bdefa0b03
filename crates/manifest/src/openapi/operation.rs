//! One operation of a document becomes one tool: its name and words, its arguments and their
//! schema, and the request that they make. Called by `import` for each; sends nothing.

use crate::http::address::{Address, Base, Path, Piece};
use crate::http::body::{Body, FileName, Part};
use crate::http::json::Json;
use crate::http::others::Others;
use crate::http::slot::{Slot, Style};
use crate::media_type;
use crate::openapi::body::{self, Content, ContentKind, Files};
use crate::openapi::document::Lost;
use crate::openapi::limits::{NAME_MAX, PARAMETERS_MAX};
use crate::openapi::name::{is_told, valid, with_name};
use crate::openapi::parameter::{In, Parameter};
use crate::openapi::schema::{Property, Schemas, Shape};
use haft_fetch::escape;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The arguments of an operation, and where they go.
#[derive(Debug, Default)]
pub(crate) struct Plan<'d> {
    pub(crate) properties: Vec<Property<'d>>,
    pub(crate) path: Vec<Piece>,
    pub(crate) query: Vec<(String, Slot)>,
    pub(crate) headers: Vec<(HeaderName, Slot)>,
    pub(crate) cookies: Vec<(String, Slot)>,
    pub(crate) body: Body,
    /// Arguments of other names are members of the body.
    pub(crate) is_open: bool,
    taken: HashSet<String>,
    /// The last number behind a name that several arguments want.
    numbers: HashMap<String, usize>,
}

/// Why an operation becomes no tool.
#[derive(Debug)]
pub(crate) enum Unusable {
    Lost(Lost),
    Other(String),
}

impl From<Lost> for Unusable {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl Unusable {
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Lost(lost) => lost.reason(),
            Self::Other(reason) => reason.clone(),
        }
    }
}

impl<'d> Plan<'d> {
    pub(crate) fn new(
        path: &'d str,
        parameters: &[Parameter<'d>],
        content: Option<&Content<'d>>,
        schemas: &Schemas<'d>,
    ) -> Result<Self, Unusable> {
        let mut plan = Self::default();
        if path.matches('{').take(PARAMETERS_MAX + 1).count() > PARAMETERS_MAX {
            let reason = format!("its path has more than {PARAMETERS_MAX} parameters");
            return Err(Unusable::Other(reason));
        }
        plan.fill_path(path, parameters);
        for place in [In::Query, In::Header, In::Cookie] {
            for parameter in parameters.iter().filter(|parameter| parameter.place == place) {
                plan.elsewhere(parameter)?;
            }
        }
        if let Some(content) = content {
            plan.fill_body(content, schemas)?;
        }
        Ok(plan)
    }

    /// A name that no other argument has.
    fn argument(&mut self, wanted: &str, place: &str) -> String {
        let wanted: String = match &*valid(wanted) {
            // Others of the kind are told apart by numbers.
            "" => "value".to_owned(),
            wanted => wanted.chars().take(NAME_MAX).collect(),
        };
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let wanted = format!("{wanted}_{place}");
        let number = self.numbers.entry(wanted.clone()).or_default();
        loop {
            *number += 1;
            let name = match *number {
                1 => wanted.clone(),
                number => format!("{wanted}_{number}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    fn add(&mut self, parameter: &Parameter<'d>) -> String {
        let name = self.argument(parameter.name, parameter.place.word());
        self.properties.push(Property {
            name: name.clone(),
            shape: match (parameter.schema, parameter.place) {
                (Some(schema), _) => Shape::Schema(schema),
                (None, In::Path) => Shape::Text,
                (None, _) => Shape::Any,
            },
            words: match is_told(parameter.name) {
                true => Some(with_name(parameter.name, parameter.description.unwrap_or_default())),
                false => parameter.description.map(str::to_owned),
            },
            is_required: parameter.is_required,
        });
        name
    }

    /// `/pets/{id}?fixed=1`; a name that no parameter has is an argument all the same.
    fn fill_path(&mut self, path: &'d str, parameters: &[Parameter<'d>]) {
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let of_path = parameters.iter().filter(|parameter| parameter.place == In::Path);
        let of_path: HashMap<_, _> = of_path.map(|parameter| (parameter.name, parameter)).collect();
        let mut rest = path;
        while let Some((before, name, after)) = braced(rest) {
            self.path.push(Piece::Text(literal(before)));
            let piece = match of_path.get(name) {
                Some(parameter) => Piece::Styled {
                    argument: self.add(parameter),
                    name: name.to_owned(),
                    style: parameter.in_path(),
                },
                None => {
                    let argument = self.argument(name, "path");
                    let (shape, words) = (Shape::Text, is_told(name).then(|| with_name(name, "")));
                    let name = argument.clone();
                    self.properties.push(Property { name, shape, words, is_required: true });
                    Piece::Argument(argument)
                }
            };
            self.path.push(piece);
            rest = after;
        }
        self.path.push(Piece::Text(literal(rest)));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !value.contains('{') {
                self.query.push((literal(name), Slot::Fixed(literal(value))));
            }
        }
    }

    fn elsewhere(&mut self, parameter: &Parameter<'d>) -> Result<(), Unusable> {
        let argument = self.add(parameter);
        let slot = parameter.slot(&argument);
        match parameter.place {
            In::Cookie => self.cookies.push((escape::text(parameter.name), slot)),
            In::Header => {
                let name = HeaderName::from_bytes(parameter.name.as_bytes()).map_err(|_| {
                    Unusable::Other(format!("{:?} is no name of a header", parameter.name))
                })?;
                self.headers.push((name, slot));
            }
            In::Path | In::Query => self.query.push((escape::text(parameter.name), slot)),
        }
        Ok(())
    }

    fn fill_body(&mut self, content: &Content<'d>, schemas: &Schemas<'d>) -> Result<(), Unusable> {
        let parts = match content.kind {
            ContentKind::Json | ContentKind::Form | ContentKind::Multipart => {
                content.parts(schemas)?
            }
            ContentKind::Text | ContentKind::Bytes => None,
        };
        // An argument of the same name could be either; then the body is one of its own.
        let clashes = parts.as_ref().is_some_and(|parts| {
            let names: Vec<_> = parts.members.iter().map(|(name, _)| valid(name)).collect();
            let several: HashSet<_> = names.iter().collect();
            several.len() < names.len() || names.iter().any(|name| self.taken.contains(name))
        });
        let first = self.properties.len();
        let body = match parts {
            Some(parts) if !clashes || content.kind == ContentKind::Multipart => {
                let mut named = Vec::new();
                for (member, schema) in &parts.members {
                    let argument = self.argument(member, "body");
                    let is_required = content.is_required && parts.required.contains(member);
                    let shape = shape(content, schemas, schema);
                    let words = is_told(member).then(|| {
                        let said = schemas.gather(schema).ok().flatten();
                        let said = said.and_then(|all| all.get("description")?.as_str());
                        with_name(member, said.unwrap_or_default())
                    });
                    let name = argument.clone();
                    self.properties.push(Property { name, shape, words, is_required });
                    named.push(Named { member, argument, shape, schema });
                }
                self.flat(content, &named, parts.is_open)
            }
            _ => self.whole(content, schemas)?,
        };
        let names = self.properties[first..].iter().map(|property| property.name.clone()).collect();
        self.body = match content.is_required {
            true => body,
            false => Body::Optional(Box::new(body), names),
        };
        if matches!(content.kind, ContentKind::Json)
            && let Ok(kind) = HeaderValue::from_str(content.media_type)
            && content.media_type != "application/json"
            && !content.media_type.contains('*')
        {
            let kind = Slot::Fixed(kind.to_str().unwrap_or_default().to_owned());
            self.headers.push((CONTENT_TYPE, kind));
        }
        Ok(())
    }

    /// A body whose members are arguments.
    fn flat(&mut self, content: &Content<'d>, named: &[Named<'d>], is_open: bool) -> Body {
        self.is_open = is_open;
        match content.kind {
            ContentKind::Json => {
                let member =
                    |one: &Named<'_>| (Json::key(one.member), Json::Argument(one.argument.clone()));
                let members = named.iter().map(member).collect();
                Body::Json(match is_open {
                    true => Json::Open(members, self.others(named)),
                    false => Json::Map(members),
                })
            }
            ContentKind::Multipart => {
                let mut parts: Vec<_> = named.iter().map(|one| self.part(content, one)).collect();
                parts.extend(is_open.then(|| Part {
                    name: String::new(),
                    content: Slot::Others(self.others(named)),
                    file: None,
                    mime_type: None,
                    is_base64: false,
                }));
                Body::Multipart(parts)
            }
            _ => {
                let field = |one: &Named<'_>| {
                    (escape::text(one.member), content.field(one.member, &one.argument))
                };
                let mut fields: Vec<_> = named.iter().map(field).collect();
                let others = is_open.then(|| Slot::Others(self.others(named)));
                fields.extend(others.map(|others| (String::new(), others)));
                Body::Form(fields)
            }
        }
    }

    /// What is no argument by name. All those are known when the last part is made.
    fn others(&self, named: &[Named<'d>]) -> Others {
        let known = self.properties.iter().map(|property| property.name.clone()).collect();
        let member = |one: &Named<'_>| (one.member.to_owned(), one.argument.clone());
        Others { known, members: named.iter().map(member).collect() }
    }

    /// A part. What a file is called is an argument of its own: to some servers that is all that
    /// they know of it.
    fn part(&mut self, content: &Content<'d>, one: &Named<'d>) -> Part {
        let mime_type = content.part_type(one.member, one.schema).map(str::to_owned);
        let is_file = matches!(one.shape, Shape::Bytes | Shape::ManyBytes);
        let file = is_file.then(|| {
            let end = mime_type.as_deref().and_then(media_type::extension);
            let default = match end {
                Some(end) => format!("{}.{end}", one.member),
                None => one.member.to_owned(),
            };
            let name = self.argument(&format!("{}_filename", one.argument), "body");
            let (shape, words) = match one.shape {
                Shape::ManyBytes => (Shape::ManyTexts, "What each of the files is called."),
                _ => (Shape::Text, "What the file is called."),
            };
            let said = Slot::argument(&name, Style::Repeat);
            let words = Some(words.to_owned());
            self.properties.push(Property { name, shape, words, is_required: false });
            FileName { said, default }
        });
        Part {
            name: one.member.to_owned(),
            content: Slot::argument(&one.argument, Style::Repeat),
            is_base64: is_file,
            file,
            mime_type,
        }
    }

    /// The body as one argument.
    fn whole(&mut self, content: &Content<'d>, schemas: &Schemas<'d>) -> Result<Body, Unusable> {
        let name = self.argument("body", "content");
        let argument = |style| Slot::argument(&name, style);
        let schema = content.schema.map_or(Shape::Any, Shape::Schema);
        let scalar = content.scalar(schemas);
        let is_text = scalar.is_some();
        let kind = |default| {
            let own = HeaderValue::from_str(content.media_type).ok();
            let own = own.filter(|_| !content.media_type.contains('*'));
            own.unwrap_or_else(|| HeaderValue::from_static(default))
        };
        let (shape, body) = match content.kind {
            ContentKind::Json => (schema, Body::Json(Json::Argument(name.clone()))),
            // A form that is a text is written by the caller.
            ContentKind::Form if is_text => {
                let kind = kind("application/x-www-form-urlencoded");
                (schema, Body::Text(argument(Style::Repeat), kind))
            }
            ContentKind::Form => (schema, Body::Form(vec![(name.clone(), argument(Style::Form))])),
            ContentKind::Multipart => {
                let reason = "the document does not say what its multipart body is made of";
                return Err(Unusable::Other(reason.to_owned()));
            }
            ContentKind::Bytes if !is_text => {
                let kind = kind("application/octet-stream");
                (Shape::Bytes, Body::Base64(argument(Style::Repeat), kind))
            }
            ContentKind::Bytes | ContentKind::Text => {
                let shape = scalar.map_or(Shape::Text, Shape::Schema);
                let kind = kind("text/plain; charset=utf-8");
                (shape, Body::Text(argument(Style::Repeat), kind))
            }
        };
        let words = match (content.description, shape) {
            (Some(words), _) => Some(words.to_owned()),
            (None, Shape::Bytes) => Some(format!("Base64 of the {} to send.", content.media_type)),
            (None, Shape::Text) => Some(format!("The {} to send.", content.media_type)),
            (None, _) => None,
        };
        let is_required = content.is_required;
        self.properties.push(Property { name, shape, words, is_required });
        Ok(body)
    }

    /// The address of the request.
    pub(crate) fn address(&self, base: &haft_fetch::Url, is_filled: bool) -> Address {
        Address {
            base: Base::Fixed(base.clone()),
            prefix: base.path().trim_end_matches('/').to_owned(),
            path: Path::Pieces(self.path.clone()),
            is_filled,
        }
    }
}

/// A member of a body that is an argument.
struct Named<'d> {
    member: &'d str,
    argument: String,
    shape: Shape<'d>,
    schema: &'d Value,
}

/// What a member of a body may be.
fn shape<'d>(content: &Content<'d>, schemas: &Schemas<'_>, schema: &'d Value) -> Shape<'d> {
    if content.kind != ContentKind::Multipart {
        return Shape::Schema(schema);
    }
    match body::files(schemas, schema) {
        Files::Many => Shape::ManyBytes,
        Files::One => Shape::Bytes,
        Files::None => Shape::Schema(schema),
    }
}

/// What stands before, in and after the first braces.
pub(crate) fn braced(path: &str) -> Option<(&str, &str, &str)> {
    let start = path.find('{')?;
    let end = start + path[start..].find('}')?;
    Some((&path[..start], &path[start + 1..end], &path[end + 1..]))
}

/// A text of a path as an address may have it: escapes stay, and what cannot stand there is
/// escaped.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || "-._~/%!$&'()*+,;=:@".contains(character) {
            out.push(character);
        } else {
            escape::push(&mut out, character.encode_utf8(&mut [0; 4]));
        }
    }
    out
}
