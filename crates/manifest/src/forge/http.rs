//! `type: http` becomes `http`. Called by `tool`.

use super::build::{self, Mapping};
use super::params::{self, Param};
use super::placeholder::REQUEST;
use super::section::{Section, Work, text_of};
use super::tool::{Given, Made};
use super::{around, auth, body};
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tree::{Node, Tree};
use crate::written::tool::Foreign;
use haft_fetch::{Allowed, Url};
use haft_server::nearest;

/// What a tool of this kind may have besides what all tools may.
const OWN_KEYS: [&str; 9] =
    ["auth", "body", "body_template", "endpoint", "headers", "json", "method", "query", "url"];

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
    if !body::translate(section, &mut given, &mut http, work)? {
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
        let has_body = ["json", "form", "body"].iter().any(|key| http.has(key));
        if !has_body && !names("body") && !is_reading {
            http.put("json", build::text(place, "{{body}}"));
            more.push(param(place, "body", "What is sent, as JSON."));
        }
    }
    tool.put("http", http.tree());
    tool.put("output", build::text(place, "report"));
    tool.put("annotations", annotations(method, place));
    around::of_tool(section, is_reading || method != "post" && method != "patch", &mut tool, work)?;
    foreign.waiting = around::bulkhead(section, &mut tool, work)?;
    let input = given.input(section, place, more, work);
    tool.put("input", input);
    section.know_of_tool(&OWN_KEYS, work);
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
