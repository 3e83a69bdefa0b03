//! Every chosen operation of a document becomes a tool, in the order of the document; what becomes
//! none is noted by name, and the rest is served. Called by `check`.

use crate::around::Around;
use crate::fault::Wrong;
use crate::http::auth::Who;
use crate::http::slot::Slot;
use crate::http::{Http, SUCCESS};
use crate::input::{Argument, Input};
use crate::kind::Kind;
use crate::openapi::document::{Document, members, shown, text};
use crate::openapi::limits::{DESCRIPTION_MAX, SCHEMAS_BYTES_MAX, TITLE_MAX, TOOLS_MAX};
use crate::openapi::mistake::OpenApiMistake;
use crate::openapi::name::{self, Names};
use crate::openapi::operation::{Plan, Unusable, braced};
use crate::openapi::schema::{Schemas, Unwritable};
use crate::openapi::security::Security;
use crate::openapi::select::{Known, Selection};
use crate::openapi::{Imported, Note, Start, bad, body, output, parameter, words};
use crate::output::Output;
use crate::place::{Place, Placed};
use crate::tool::Tool;
use crate::written::tool::Parse;
use crate::written::upstream::Method;
use haft_fetch::limits::URL_BYTES_MAX;
use haft_fetch::{Reach, Url};
use haft_proto::spec::tool::Annotations;
use haft_server::schema::Prepared;
use http::HeaderName;
use http::header::ACCEPT;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What haft.yaml says for all operations.
pub(crate) struct Settings<'a> {
    pub(crate) name: &'a str,
    /// Where the document is named.
    pub(crate) place: Place,
    pub(crate) prefix: String,
    pub(crate) base: Start,
    pub(crate) found_at: Option<Url>,
    pub(crate) headers: Vec<(HeaderName, Slot)>,
    pub(crate) around: Around,
    pub(crate) limit: usize,
    pub(crate) redirects: usize,
    pub(crate) reach: Reach,
    pub(crate) has_output_schemas: bool,
    pub(crate) leaves_out_extra: Option<bool>,
}

/// A document on its way to tools.
pub(crate) struct Import<'d, 'a> {
    document: &'d Document,
    settings: Settings<'a>,
    security: Security<'d>,
    sent: Schemas<'d>,
    answered: Schemas<'d>,
    names: Names,
    imported: Imported,
    /// The security schemes that nothing is given for, and how many operations want each.
    missing: BTreeMap<String, usize>,
    bytes: usize,
}

/// An operation, and where it stands.
#[derive(Clone, Copy)]
struct Operation<'d> {
    method: Method,
    path: &'d str,
    item: &'d Map<String, Value>,
    value: &'d Value,
}

const METHODS: [(&str, Method); 8] = [
    ("get", Method::Get),
    ("head", Method::Head),
    ("options", Method::Options),
    ("post", Method::Post),
    ("put", Method::Put),
    ("patch", Method::Patch),
    ("delete", Method::Delete),
    ("trace", Method::Trace),
];

impl Method {
    fn word(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("get", |(word, _)| word)
    }

    fn of_http(self) -> http::Method {
        match self {
            Self::Get => http::Method::GET,
            Self::Head => http::Method::HEAD,
            Self::Options => http::Method::OPTIONS,
            Self::Post => http::Method::POST,
            Self::Put => http::Method::PUT,
            Self::Patch => http::Method::PATCH,
            Self::Delete => http::Method::DELETE,
            Self::Trace => http::Method::TRACE,
        }
    }

    /// What HTTP says of it (RFC 9110, 9.2).
    fn annotations(self) -> Annotations {
        let is_safe = matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace);
        let is_idempotent = is_safe || matches!(self, Self::Put | Self::Delete);
        Annotations {
            read_only: Some(is_safe),
            destructive: (!is_safe).then_some(matches!(self, Self::Delete)),
            idempotent: Some(is_idempotent),
            open_world: Some(true),
        }
    }
}

impl<'d> Operation<'d> {
    fn id(self) -> Option<&'d str> {
        text(self.value, "operationId").filter(|id| !id.is_empty())
    }

    /// `GET /pets`, for messages.
    fn label(self) -> String {
        format!("{} {}", self.method.word().to_uppercase(), shown(self.path))
    }

    fn known(self) -> Known<'d> {
        let tags = self.value.get("tags").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Known { method: self.method, path: self.path, id: self.id(), tags }
    }
}

impl<'d, 'a> Import<'d, 'a> {
    pub(crate) fn new(
        document: &'d Document,
        settings: Settings<'a>,
        security: Security<'d>,
    ) -> Self {
        Self {
            document,
            settings,
            security,
            sent: Schemas::sent(document),
            answered: Schemas::answered(document),
            names: Names::default(),
            imported: Imported::default(),
            missing: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// The tools of the chosen operations.
    pub(crate) fn run(mut self, selection: &Selection) -> Result<Imported, Wrong> {
        let operations = self.operations();
        selection.check(operations.iter().map(|operation| operation.known()))?;
        let wrong = |place, mistake| Err(bad(place, mistake));
        let place = self.settings.place;
        for operation in operations.iter().filter(|operation| selection.has(operation.known())) {
            if self.imported.tools.len() == TOOLS_MAX {
                return wrong(place, OpenApiMistake::TooMany);
            }
            match self.tool(*operation) {
                Ok(tool) => self.imported.tools.push(tool),
                Err(unusable) => {
                    self.note(operation.label(), format!("it is left out: {}", unusable.reason()));
                }
            }
            if self.bytes > SCHEMAS_BYTES_MAX {
                return wrong(place, OpenApiMistake::TooMuch);
            }
        }
        if self.imported.tools.is_empty() {
            let reason = match (operations.len(), self.imported.notes.first()) {
                (_, Some(note)) => format!("`{}`: {}", note.name, note.message),
                (0, _) => "the document has none".to_owned(),
                (several, _) => format!("none of {several} is chosen"),
            };
            return wrong(place, OpenApiMistake::NoTools { reason });
        }
        for (scheme, count) in std::mem::take(&mut self.missing) {
            let message = format!(
                "{count} operations ask for `{}`; name it under `security`, or say who asks by \
                 `auth`",
                shown(&scheme)
            );
            self.note(self.settings.name.to_owned(), message);
        }
        Ok(self.imported)
    }

    /// Every operation, in the order of the document.
    fn operations(&mut self) -> Vec<Operation<'d>> {
        let document = self.document;
        let mut found = Vec::new();
        let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
        for (path, item) in paths.filter(|(path, _)| path.starts_with('/')) {
            let item = match document.resolve(item) {
                Ok(item) => item,
                Err(lost) => {
                    self.note(shown(path), format!("it is left out: {}", lost.reason()));
                    continue;
                }
            };
            let Value::Object(item) = item else { continue };
            for (key, value) in item.iter().filter(|(_, value)| value.is_object()) {
                let Some((_, method)) = METHODS.iter().find(|(word, _)| word == key) else {
                    continue;
                };
                let operation = Operation { method: *method, path, item, value };
                match document.resolve(value) {
                    Ok(value) if value.is_object() => found.push(Operation { value, ..operation }),
                    Ok(_) => {
                        self.note(operation.label(), "it is left out: it is no mapping".to_owned());
                    }
                    Err(lost) => {
                        let message = format!("it is left out: {}", lost.reason());
                        self.note(operation.label(), message);
                    }
                }
            }
        }
        found
    }

    fn note(&mut self, name: String, message: String) {
        self.imported.notes.push(Note { place: self.settings.place, name, message });
    }

    fn tool(&mut self, operation: Operation<'d>) -> Result<Tool, Unusable> {
        let Operation { method, path, item, value } = operation;
        let document = self.document;
        let parameters = parameter::parameters(document, item, value)?;
        // TRACE repeats a request, credentials included; GET and HEAD have no body.
        if method == Method::Trace {
            return Err(Unusable::Other("no tool asks for TRACE".to_owned()));
        }
        let content = match method {
            Method::Get | Method::Head => None,
            _ => body::content(document, value)?,
        };
        let plan = Plan::new(path, &parameters, content.as_ref(), &self.sent)?;
        let draft = self.sent.arguments(&plan.properties, plan.is_open);
        let written = self.sent.write(&draft).map_err(|why| match why {
            Unwritable::Lost(lost) => Unusable::Lost(lost),
            Unwritable::Refused(reason) => {
                Unusable::Other(format!("its arguments cannot be checked: {reason}"))
            }
        })?;
        let asking = self.security.of(value);
        let base = self.base(operation, &asking.who)?;
        let wanted = match operation.id().filter(|id| !name::valid(id).is_empty()) {
            Some(id) => id.to_owned(),
            None => format!("{}_{path}", method.word()),
        };
        let name = self.names.of(&self.settings.prefix, &wanted, &operation.label());
        if written.is_cut {
            let message = "its schema is too long; parts of it allow anything";
            self.note(name.clone(), message.to_owned());
        }
        let output_schema = self.output_schema(value);
        let bytes = |schema: &Prepared| schema.text().len();
        self.bytes += bytes(&written.schema) + output_schema.as_ref().map_or(0, bytes);
        for scheme in asking.missing {
            *self.missing.entry(scheme).or_default() += 1;
        }
        let place = self.settings.place;
        let arguments = plan.properties.iter().map(|property| Argument {
            name: property.name.clone(),
            place,
            schema: Value::Null,
            is_required: property.is_required,
        });
        let arguments: Vec<_> = arguments.collect();
        let names = arguments.iter().map(|argument| argument.name.clone()).collect();
        let input =
            Input { schema: written.schema, arguments, names, is_open: plan.is_open, place };
        let (title, description) = said(operation);
        Ok(Tool {
            name: Placed::new(place, name),
            title,
            description: Some(Placed::new(place, description)),
            annotations: method.annotations(),
            icons: Vec::new(),
            meta: None,
            input,
            output_schema,
            around: self.settings.around.clone(),
            leaves_out_extra: self.settings.leaves_out_extra,
            kind: Kind::Http(Box::new(self.http(operation, plan, &base, asking.who))),
        })
    }

    fn http(&self, operation: Operation<'d>, plan: Plan<'d>, base: &Url, auth: Who) -> Http {
        let settings = &self.settings;
        let address = plan.address(base, settings.base.is_filled);
        let own = settings
            .headers
            .iter()
            .filter(|(name, _)| !plan.headers.iter().any(|(known, _)| known == name));
        let mut headers: Vec<_> = own.cloned().chain(plan.headers.iter().cloned()).collect();
        if let Some(kinds) = output::accepted(self.document, operation.value)
            && !headers.iter().any(|(name, _)| name == ACCEPT)
        {
            headers.push((ACCEPT, Slot::Fixed(kinds)));
        }
        Http {
            method: operation.method.of_http(),
            address,
            query: plan.query,
            headers,
            body: plan.body,
            cookies: plan.cookies,
            auth,
            keeps_null: true,
            ok_status: vec![SUCCESS],
            redirects: settings.redirects,
            reach: settings.reach.clone(),
            output: Output { limit: settings.limit, ..Output::new(Parse::Auto) },
            place: settings.place,
        }
    }

    /// Where requests of an operation go. Who asks is told to the upstream's own server only.
    fn base(&self, operation: Operation<'d>, who: &Who) -> Result<Url, Unusable> {
        let start = &self.settings.base;
        let own = operation.value.get("servers").or_else(|| operation.item.get("servers"));
        let Some(own) = own.filter(|own| !start.is_typed && own.get(0).is_some()) else {
            return Ok(start.url.clone());
        };
        let url = server(own, self.settings.found_at.as_ref()).map_err(Unusable::Other)?;
        let tells_nothing = matches!(who, Who::Nobody) && self.settings.headers.is_empty();
        if tells_nothing || url.is_same_origin(&start.url) {
            return Ok(url);
        }
        let host = url.host().to_owned();
        Err(Unusable::Other(format!(
            "it has a server of its own, `{host}`, which is not told who asks; import it by \
             another upstream with that `base_url`"
        )))
    }

    fn output_schema(&mut self, operation: &'d Value) -> Option<Prepared> {
        if !self.settings.has_output_schemas {
            return None;
        }
        let draft = output::schema(self.document, operation, &mut self.answered)?;
        let written = self.answered.write(&draft).ok()?;
        (!written.is_cut).then_some(written.schema)
    }
}

/// The first of some servers, with the defaults of its variables.
pub(crate) fn server(servers: &Value, found_at: Option<&Url>) -> Result<Url, String> {
    let first = servers.get(0).unwrap_or(&Value::Null);
    let written = text(first, "url").unwrap_or("/");
    let refused =
        |reason: &str| format!("the server {:?} of the document: {reason}", shown(written));
    let variables = members(first, "variables");
    let (mut address, mut rest) = (String::new(), written);
    // What is put in is not looked into again: it could grow without end.
    while let Some((before, name, after)) = braced(rest) {
        let variable = variables.and_then(|variables| variables.get(name));
        let Some(variable) = variable else {
            return Err(refused("it has a variable without a default"));
        };
        address.push_str(before);
        address.push_str(text(variable, "default").unwrap_or_default());
        if address.len() > URL_BYTES_MAX {
            return Err(refused("it is too long with its variables"));
        }
        rest = after;
    }
    address.push_str(rest);
    if address.contains('{') {
        return Err(refused("it has a variable without a default"));
    }
    let url = match found_at {
        Some(found_at) => found_at.join(&address),
        None if address.contains("://") => Url::parse(&address),
        // Of a file nobody knows by what it would have been asked for.
        None if address.starts_with("//") => Url::parse(&format!("https:{address}")),
        None => return Err(refused("it is relative, and the document is a file")),
    };
    let url = url.map_err(|error| refused(error.0))?;
    if url.query().is_some() { Err(refused("it has a query")) } else { Ok(url) }
}

/// What people and models read of an operation.
fn said(operation: Operation<'_>) -> (Option<String>, String) {
    let own = |key: &str| {
        let of_path = || operation.item.get(key).and_then(Value::as_str);
        let found = text(operation.value, key).or_else(of_path).unwrap_or_default().trim();
        (!found.is_empty()).then_some(found)
    };
    let summary = own("summary");
    let title = summary.map(|summary| words::cut(summary, TITLE_MAX));
    let description = match (summary, own("description")) {
        (Some(summary), Some(long)) if !long.starts_with(summary.trim_end_matches('.')) => {
            format!("{summary}\n\n{long}")
        }
        (_, Some(long)) => long.to_owned(),
        (Some(summary), None) => summary.to_owned(),
        (None, None) => operation.label(),
    };
    let description = match operation.id().filter(|id| name::is_told(id)) {
        Some(id) => name::with_name(id, &description),
        None => description,
    };
    (title, words::cut(&description, DESCRIPTION_MAX))
}
