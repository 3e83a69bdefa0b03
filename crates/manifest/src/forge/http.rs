//! `type: http` becomes `http`. Called by `tool`.

use super::build::{self, Mapping};
use super::params::{self, Param};
use super::placeholder::{ARGUMENT, Holds, Piece, REQUEST, VALUE, pieces};
use super::section::{Section, Work, text_of};
use super::tool::{Given, Made};
use super::{around, auth};
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tree::{Node, Tree};
use crate::written::tool::Foreign;
use haft_fetch::{Allowed, Url};
use haft_server::nearest;

/// Methods as pforge and as haft write them.
const METHODS: [(&str, &str); 6] = [
    ("GET", "get"),
    ("POST", "post"),
    ("PUT", "put"),
    ("DELETE", "delete"),
    ("PATCH", "patch"),
    ("HEAD", "head"),
];

/// A status from 400 on is a failure.
const OK: [&str; 2] = ["2xx", "3xx"];
/// Headers that say who asks, if a file writes them out.
const SECRET: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
/// As many as pforge follows.
const REDIRECTS: u64 = 10;

pub(super) fn translate(
    section: Section<'_>,
    mut tool: Mapping,
    work: &mut Work<'_>,
) -> Result<Option<Made>, Wrong> {
    let place = section.tree.place;
    let mut given = Given::new(section, work)?;
    let (method, method_place) = method(section, work)?;
    let mut http = Mapping::new(place);
    let endpoint = match section.text("url")? {
        Some(url) => url,
        None => section.need("endpoint")?,
    };
    let address = given.slots.template(&endpoint, REQUEST);
    let is_chosen = reach(&endpoint, &address, &mut http, work);
    http.put_at(method, method_place, build::text(endpoint.place, address));
    for key in ["query", "headers"] {
        pairs(section, key, &mut given, &mut http)?;
    }
    http.put("ok_status", build::list(place, OK.map(|class| build::text(place, class)).to_vec()));
    http.put("redirects", build::number(place, REDIRECTS));
    if !auth::translate(section, &mut given, &mut http, work)? {
        return Ok(None);
    }
    if !body(section, &mut given, &mut http, work)? {
        return Ok(None);
    }
    if is_chosen {
        if has_secret(&http) {
            let why = "left out: whoever calls would choose the server that gets `auth` or \
                       variables; write it out in `endpoint`, up to its `/`";
            work.note(section, endpoint.place, why);
            return Ok(None);
        }
        let what = "whoever calls chooses the server; write it out, up to its `/`, if not";
        work.note(section, endpoint.place, what);
    }
    let is_reading = ["get", "head"].contains(&method);
    let mut foreign = Foreign::default();
    let mut more = Vec::new();
    // Without a word about what callers give, it is what pforge lets them give.
    if given.params.is_none() {
        let names = |name: &str| given.slots.found.iter().any(|found| found.value == name);
        if !http.has("query") && !names("query") {
            foreign.open_query = true;
            more.push(query(place));
        }
        let has_body = ["json", "body"].iter().any(|key| http.has(key));
        if !has_body && !names("body") && !is_reading {
            http.put("json", build::text(place, "{{body}}"));
            more.push(param(place, "body", "What is sent, as JSON."));
        }
    }
    tool.put("http", http.tree());
    tool.put("output", build::text(place, "report"));
    tool.put("annotations", annotations(method, place));
    around::of_tool(section, is_reading || method != "post" && method != "patch", &mut tool, work)?;
    let input = given.input(section, place, more, work);
    tool.put("input", input);
    know(section, work);
    Ok(Some(Made { tool, foreign, calls: Vec::new() }))
}

fn method(section: Section<'_>, work: &mut Work<'_>) -> Result<(&'static str, Place), Wrong> {
    let Some(written) = section.text("method")? else {
        work.note(section, section.tree.place, "there is no `method`; this is a GET");
        return Ok(("get", section.tree.place));
    };
    let word = written.value.to_ascii_uppercase();
    match METHODS.iter().find(|(known, _)| *known == word) {
        Some((_, method)) => Ok((method, written.place)),
        None => {
            let known = METHODS.map(|(known, _)| known);
            let nearest = nearest(&word, known.iter().copied()).map(str::to_owned);
            let known = known.map(str::to_owned).to_vec();
            let (key, word) = ("method".to_owned(), written.value);
            Err(Wrong::new(written.place, Problem::UnknownWord { key, word, nearest, known }))
        }
    }
}

/// The server that the file names is reached wherever it is, and no other private one. Whether
/// callers choose it.
fn reach(endpoint: &Placed<String>, address: &str, http: &mut Mapping, work: &Work<'_>) -> bool {
    let place = endpoint.place;
    let template = Placed::new(place, address.to_owned());
    let Ok(filled) = work.surroundings.fill(&template) else { return false };
    let before_path = match filled.value.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            format!("{scheme}://{}", &rest[..end])
        }
        None => filled.value.clone(),
    };
    if before_path.contains("{{") {
        http.put("allow_dynamic_host", build::truth(place, true));
        return true;
    }
    let host = Url::parse(&before_path);
    if let Ok(url) = host
        && url.host().parse::<Allowed>().is_ok()
    {
        let host = build::text(place, url.host());
        http.put("allow_private", build::list(place, vec![host]));
    }
    false
}

/// Whether a request says what only this server should know.
fn has_secret(http: &Mapping) -> bool {
    let headers = http.get("headers").and_then(Tree::entries).unwrap_or_default();
    let is_fixed = |tree: &Tree| matches!(&tree.node, Node::Text(text) if !text.contains("{{"));
    let is_secret = |key: &str| SECRET.iter().any(|name| key.eq_ignore_ascii_case(name));
    http.has("auth")
        || headers.iter().any(|entry| is_secret(&entry.key) && is_fixed(&entry.value))
        || has_variable(&http.clone().tree())
}

fn has_variable(tree: &Tree) -> bool {
    match &tree.node {
        // Two dollars are one that means nothing.
        Node::Text(text) => text.match_indices("${env:").any(|(at, _)| !text[..at].ends_with('$')),
        Node::List(items) => items.iter().any(has_variable),
        Node::Map(entries) => entries.iter().any(|entry| has_variable(&entry.value)),
        Node::Bool(..) | Node::Null | Node::Number(..) => false,
    }
}

/// `query` and `headers`.
fn pairs(
    section: Section<'_>,
    key: &str,
    given: &mut Given,
    http: &mut Mapping,
) -> Result<(), Wrong> {
    let Some(entry) = section.entry(key) else { return Ok(()) };
    section.within(&entry.value, key)?;
    let mut pairs = Mapping::new(entry.value.place);
    for pair in entry.value.entries().unwrap_or_default() {
        let value = text_of(&pair.value, &pair.key)?;
        let template = given.slots.template(&value, REQUEST);
        pairs.put_at(&pair.key, pair.key_place, build::text(value.place, template));
    }
    http.put_at(key, entry.key_place, pairs.tree());
    Ok(())
}

/// What is sent; `false` if what callers give could become more of it than a value.
fn body(
    section: Section<'_>,
    given: &mut Given,
    http: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<bool, Wrong> {
    const BODY: Holds = VALUE;
    let entry = section.any(&["body", "body_template", "json"]);
    let Some(entry) = entry else { return Ok(true) };
    let Node::Text(text) = &entry.value.node else {
        let json = templates(&entry.value, given, BODY);
        http.put_at("json", entry.key_place, json);
        return Ok(true);
    };
    let place = entry.value.place;
    // The values of a template of JSON stand in its texts, and are escaped there.
    let json = serde_json::from_str::<serde_json::Value>(text)
        .or_else(|_| serde_json::from_str(&quoted(text, given)));
    if let Ok(json) = json {
        let tree = build::of_json(place, &json);
        http.put_at("json", entry.key_place, templates(&tree, given, BODY));
        return Ok(true);
    }
    let first = pieces(text, BODY).into_iter().next();
    if matches!(first, Some(Piece::Text(text)) if text.trim_start().starts_with(['{', '[']))
        && given.slots.names_argument(text, BODY)
    {
        let why = "left out: this looks like JSON and is none, so that nothing in it could be \
                   escaped; a placeholder stands in a text or where a value stands";
        work.note(section, place, why);
        return Ok(false);
    }
    let text = Placed::new(place, text.clone());
    let is_one = matches!(&*pieces(text.value.trim(), BODY), [Piece::Name(_)]);
    let template = given.slots.template(&text, BODY);
    let key = if is_one { "json" } else { "body" };
    http.put_at(key, entry.key_place, build::text(place, template));
    Ok(true)
}

/// Something like JSON with quotes around each argument that stands where a value stands.
fn quoted(text: &str, given: &Given) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_inside, mut is_escaped) = (false, false);
    let mut pieces = pieces(text, ARGUMENT).into_iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(text) => {
                for letter in text.chars() {
                    is_inside ^= letter == '"' && !is_escaped;
                    is_escaped = is_inside && letter == '\\' && !is_escaped;
                }
                out.push_str(text);
            }
            Piece::Name(path) => {
                let is_key = matches!(
                    pieces.peek(), Some(Piece::Text(text)) if text.trim_start().starts_with(':')
                );
                let is_value = !is_inside && !is_key && given.slots.is_argument(path);
                let mark = if is_value { "\"" } else { "" };
                out.push_str(&format!("{mark}{{{{{path}}}}}{mark}"));
                is_escaped = false;
            }
            Piece::Variable(name) => out.push_str(&format!("${{{name}}}")),
        }
    }
    out
}

/// A value of any shape, with templates in its texts.
pub(super) fn templates(tree: &Tree, given: &mut Given, holds: Holds) -> Tree {
    let place = tree.place;
    match &tree.node {
        Node::Text(text) => {
            let text = Placed::new(place, text.clone());
            build::text(place, given.slots.template(&text, holds))
        }
        Node::List(items) => {
            build::list(place, items.iter().map(|item| templates(item, given, holds)).collect())
        }
        Node::Map(entries) => {
            let mut out = Mapping::new(place);
            for entry in entries {
                let value = templates(&entry.value, given, holds);
                out.put_at(&entry.key, entry.key_place, value);
            }
            out.tree()
        }
        Node::Bool(..) | Node::Null | Node::Number(..) => tree.clone(),
    }
}

fn param(place: Place, name: &str, description: &str) -> Param {
    let mut schema = Mapping::new(place);
    schema.put("description", build::text(place, description));
    Param { name: Placed::new(place, name.to_owned()), schema, is_required: false }
}

/// What pforge lets callers add to any address.
fn query(place: Place) -> Param {
    let mut param = param(place, "query", "Parameters for the query.");
    param.schema.put("type", build::text(place, "object"));
    param.schema.put("additionalProperties", params::typed(place, "string").tree());
    param
}

/// What HTTP says of a method (RFC 9110, 9.2).
fn annotations(method: &str, place: Place) -> Tree {
    let is_safe = ["get", "head"].contains(&method);
    let mut out = Mapping::new(place);
    out.put("readOnly", build::truth(place, is_safe));
    if !is_safe {
        out.put("destructive", build::truth(place, method == "delete"));
    }
    let is_idempotent = is_safe || ["put", "delete"].contains(&method);
    out.put("idempotent", build::truth(place, is_idempotent));
    out.put("openWorld", build::truth(place, true));
    out.tree()
}

fn know(section: Section<'_>, work: &mut Work<'_>) {
    const KNOWN: [&str; 19] = [
        "type",
        "name",
        "description",
        "endpoint",
        "url",
        "method",
        "auth",
        "headers",
        "query",
        "body",
        "body_template",
        "json",
        "params",
        "timeout_ms",
        "timeout",
        "retry",
        "circuit_breaker",
        "bulkhead",
        "fallback",
    ];
    let known: Vec<_> = KNOWN.into_iter().chain(["middleware"]).collect();
    section.know(&known, work);
}
