//! A manifest as it is run: everything filled in, checked and compiled. Made by `load` from the
//! structs of `written`; starts nothing.

use crate::amount;
use crate::around::Around;
use crate::fault::{Wrong, line_of};
use crate::fill::Surroundings;
use crate::forge;
use crate::limits::{PROCESSES, PROCESSES_MAX};
use crate::openapi::{Imported, Note};
use crate::pipeline;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::prompt::{self, Prompt, page};
use crate::resource::{self, Resource};
use crate::seen::Print;
use crate::shown;
use crate::state::Kept;
use crate::template::Compiler;
use crate::tool::{self, Tool, out_of_range};
use crate::tree::Tree;
use crate::upstream::{self, Upstream};
use crate::view::mistake::ViewMistake;
use crate::view::{self, Beside, View};
use crate::written::search::Search;
use crate::written::upstream::ExtraArguments;
use crate::written::{self, Naming, Scalar};
use haft_proto::authority::{Unmatchable, check_host, check_origin};
use haft_proto::encode::fields::Caching;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::tool::{PORTABLE_NAME_BYTES_MAX, portable_names};
use haft_server::{CALL, FIND, StateKey};
use minijinja::Environment;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// A manifest, checked.
pub(crate) struct Meant {
    pub(crate) server: Server,
    pub(crate) listeners: Vec<Listen>,
    /// Where tools keep state.
    pub(crate) state: Kept,
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) prompts: Vec<Prompt>,
    /// Servers that speak MCP.
    pub(crate) upstreams: Vec<Upstream>,
    /// Where their names stand, one for each.
    pub(crate) upstream_places: Vec<Place>,
    /// Whose the last of the tools are, one for each: upstreams that have a document.
    pub(crate) described: Vec<Arc<str>>,
    /// Endpoints with a part of all this.
    pub(crate) views: Vec<View>,
    pub(crate) templates: Arc<Environment<'static>>,
    /// What is odd about upstreams.
    pub(crate) notes: Vec<Note>,
    /// What is odd about a file of pforge, or left out of it.
    pub(crate) forge: Vec<forge::Note>,
    pub(crate) prints: Prints,
}

/// By which two readings of a file are compared, in the order of the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prints {
    pub(crate) server: Print,
    pub(crate) tools: Vec<Print>,
    pub(crate) resources: Vec<Print>,
    pub(crate) prompts: Vec<Print>,
}

/// Who the server is.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) website_url: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) caching: Option<Caching>,
    pub(crate) state_keys: Vec<StateKey>,
    /// How many of upstreams there may be together.
    pub(crate) processes: usize,
    pub(crate) strict_arguments: bool,
    pub(crate) names: Naming,
    /// Arguments that a tool does not have are left out.
    pub(crate) leaves_out_extra: bool,
    /// From how many tools on they are found, and not listed.
    pub(crate) search: Option<usize>,
}

/// An address that the server listens on, for HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address; port 0 is any free one.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
    /// The web origins that may call and read the answers; `*` is any.
    pub origins: Vec<String>,
    /// The host names that requests may be addressed to; `*` is any, and none is the default of the
    /// wire.
    pub hosts: Vec<String>,
    /// Whether legacy clients have sessions over HTTP.
    pub has_sessions: bool,
    /// Whether clients of 2024-11-05 are served as well, by HTTP+SSE.
    pub sse: bool,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(LOOPBACK, 7300),
            path: "/mcp".to_owned(),
            origins: Vec::new(),
            hosts: Vec::new(),
            has_sessions: true,
            sse: false,
        }
    }
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Meant {
    /// Checks a file. `tree` is the same file.
    pub(crate) fn new(
        file: written::File,
        tree: &Tree,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let seen = surroundings.seen;
        let mut prints = Prints::default();
        let server = Server::new(file.server, surroundings)?;
        prints.server = seen.print(tree.get("server"));
        let listeners = listeners(file.listen, surroundings)?;
        // They are compared themselves, here and below.
        _ = seen.print(None);
        let around = Around::of_all(&file.defaults.unwrap_or_default(), surroundings)?;
        let defaults = seen.print(tree.get("defaults"));
        let state = Kept::check(&file.state.unwrap_or_default(), surroundings)?;
        _ = seen.print(None);
        let mut compiler = Compiler::new(surroundings);
        let mut tools: Vec<Tool> = Vec::new();
        for (index, written) in file.tools.into_iter().enumerate() {
            let tree = part(tree, "tools", index);
            let tool = tool::check(written.value, tree, &around, surroundings, &mut compiler)?;
            if let Some(first) = tools.iter().find(|first| first.name.value == tool.name.value) {
                return Err(duplicate("tool", &first.name, &tool.name, surroundings));
            }
            tools.push(tool);
            prints.tools.push(seen.print(Some(tree)));
        }
        let upstreams = (file.upstreams, tree.get("upstreams"));
        let checked =
            upstream::check(upstreams, (&around, defaults), &server, surroundings, &mut compiler)?;
        let upstream::Checked { mut upstreams, places, imported, names, known, notes: overlaps } =
            checked;
        let upstream_places = places;
        upstreams.iter_mut().for_each(|upstream| server.tell(upstream));
        prints.tools.extend(&imported.prints);
        let described = imported.owners.clone();
        prints.tools.iter_mut().for_each(|print| *print = print.with(defaults));
        let mut notes = join((imported, &names), &mut tools, surroundings)?;
        notes.extend(overlaps);
        let beside = Beside { upstreams: &known, listeners: &listeners, tools: &tools };
        let views = view::check(file.views, tree.get("views"), &beside, surroundings)?;
        check_search((&server, &views), &tools, &names)?;
        pipeline::link::link(&mut tools, &[], surroundings.text)?;
        let prints_of = &mut prints.resources;
        let resources = resources(file.resources, tree, surroundings, &mut compiler, prints_of)?;
        let beside = (&*resources, &mut prints.prompts);
        let prompts = prompts(file.prompts, tree, beside, surroundings, &mut compiler)?;
        let templates = compiler.finish();
        let forge = Vec::new();
        #[rustfmt::skip]
        let meant = Self {
            server, listeners, state, tools, resources, prompts, upstreams, described, views,
            templates, prints, notes, forge, upstream_places,
        };
        Ok(meant)
    }

    /// The names that clients are told of the tools, in their order.
    pub(crate) fn told_names(&self) -> Vec<String> {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.value.as_str()).collect();
        match self.server.names {
            Naming::Keep => names.into_iter().map(str::to_owned).collect(),
            Naming::Portable => portable_names(&names, PORTABLE_NAME_BYTES_MAX),
        }
    }

    /// The upstream whose document describes a tool, by its place among the tools.
    pub(crate) fn described_by(&self, place: usize) -> Option<&str> {
        let own = self.tools.len() - self.described.len();
        place.checked_sub(own).map(|place| &*self.described[place])
    }
}

/// The tools of upstreams come after those of the file. The names are of those that come later.
fn join(
    (imported, names): (Imported, &[Placed<String>]),
    tools: &mut Vec<Tool>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Note>, Wrong> {
    let mut known: HashMap<String, Placed<String>> =
        tools.iter().map(|tool| (tool.name.value.clone(), tool.name.clone())).collect();
    for tool in &imported.tools {
        if let Some(first) = known.insert(tool.name.value.clone(), tool.name.clone()) {
            return Err(duplicate("tool", &first, &tool.name, surroundings));
        }
    }
    for name in names {
        if let Some(first) = known.get(&name.value) {
            return Err(duplicate("tool", first, name, surroundings));
        }
    }
    tools.extend(imported.tools);
    Ok(imported.notes)
}

/// The tools by which others are found and called have names of their own.
fn check_search(
    (server, views): (&Server, &[View]),
    tools: &[Tool],
    names: &[Placed<String>],
) -> Result<(), Wrong> {
    if server.search.is_none() && views.iter().all(|view| view.search.is_none()) {
        return Ok(());
    }
    let mut named = tools.iter().map(|tool| &tool.name).chain(names);
    match named.find(|name| [FIND, CALL].contains(&&*name.value)) {
        Some(name) => {
            Err(view::bad(name.place, ViewMistake::SearchName { name: name.value.clone() }))
        }
        None => Ok(()),
    }
}

/// The same item of a list in the file.
fn part<'t>(tree: &'t Tree, key: &str, index: usize) -> &'t Tree {
    tree.get(key).and_then(|list| list.at(index)).expect("the typed items come from this tree")
}

pub(crate) fn duplicate(
    kind: &'static str,
    first: &Placed<String>,
    second: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Wrong {
    let first_line = line_of(surroundings.text, first.place);
    let name = second.value.clone();
    Wrong::new(second.place, Problem::DuplicateName { kind, name, first_line })
}

fn prompts(
    written: Vec<Placed<written::prompt::Prompt>>,
    tree: &Tree,
    (resources, prints): (&[Resource], &mut Vec<Print>),
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<Prompt>, Wrong> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for (index, written) in written.into_iter().enumerate() {
        let tree = part(tree, "prompts", index);
        let written = written.value;
        let found = if let Some(directory) = &written.directory {
            page::check(directory, tree, surroundings, compiler)?
        } else {
            let prompt = prompt::check(written, tree, resources, surroundings, compiler)?;
            vec![(prompt, surroundings.seen.print(Some(tree)))]
        };
        for (prompt, print) in found {
            let is_same = |first: &&Prompt| first.name.value == prompt.name.value;
            if let Some(first) = prompts.iter().find(is_same) {
                return Err(duplicate("prompt", &first.name, &prompt.name, surroundings));
            }
            prompts.push(prompt);
            prints.push(print);
        }
    }
    Ok(prompts)
}

fn resources(
    written: Vec<Placed<written::resource::Resource>>,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
    prints: &mut Vec<Print>,
) -> Result<Vec<Resource>, Wrong> {
    let mut resources: Vec<Resource> = Vec::new();
    for (index, written) in written.into_iter().enumerate() {
        let tree = part(tree, "resources", index);
        let resource = resource::check(written.value, tree, surroundings, compiler)?;
        let is_same = |first: &&Resource| first.uri.value == resource.uri.value;
        if let Some(first) = resources.iter().find(is_same) {
            let first_line = line_of(surroundings.text, first.uri.place);
            // What was filled in is not shown.
            let uri = resource.typed_uri;
            return Err(Wrong::new(resource.uri.place, Problem::DuplicateUri { uri, first_line }));
        }
        for listed in resource.listed() {
            surroundings.seen.filled(&format!("{listed:?}"));
        }
        prints.push(surroundings.seen.print(Some(tree)));
        resources.push(resource);
    }
    Ok(resources)
}

/// Secrets that nobody can guess, one at least.
fn state_keys(
    written: Option<Placed<Vec<Placed<String>>>>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<StateKey>, Wrong> {
    let Some(written) = written else { return Ok(Vec::new()) };
    if written.value.is_empty() {
        let help = "remove it, or name a secret: [\"${env:HAFT_STATE_KEY}\"]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "state_keys", help }));
    }
    let key = |text: &Placed<String>| {
        let secret = surroundings.fill(text)?.value;
        StateKey::from_text(&secret).ok_or_else(|| Wrong::new(text.place, Problem::WeakKey))
    };
    written.value.iter().map(key).collect()
}

impl Server {
    /// Tells an upstream what holds where it says nothing itself.
    fn tell(&self, upstream: &mut Upstream) {
        let rules = Arc::make_mut(&mut upstream.rules);
        rules.leaves_out_extra.get_or_insert(self.leaves_out_extra);
    }

    fn new(written: written::Server, surroundings: &Surroundings<'_>) -> Result<Self, Wrong> {
        let fill = |text: Option<Placed<String>>| {
            text.map(|text| surroundings.fill(&text).map(|filled| filled.value)).transpose()
        };
        let name = shown::name(&written.name, surroundings)?.value;
        let version = fill(written.version.map(text))?;
        Ok(Self {
            name,
            version: version.unwrap_or_else(|| "0.0.0".to_owned()),
            title: fill(written.title)?,
            description: fill(written.description)?,
            website_url: fill(written.website_url)?,
            instructions: fill(written.instructions)?,
            icons: shown::icons(&written.icons, surroundings)?,
            caching: shown::caching(written.caching.as_ref(), surroundings)?,
            state_keys: state_keys(written.state_keys, surroundings)?,
            processes: written.processes.map_or(Ok(PROCESSES), |processes| {
                amount::number("processes", &processes, 1, PROCESSES_MAX)
            })?,
            strict_arguments: written.strict_arguments,
            names: written.names,
            leaves_out_extra: written.extra_arguments == ExtraArguments::LeaveOut,
            search: written.search.map(|search| self::search(&search)).transpose()?.flatten(),
        })
    }
}

fn listeners(
    written: Option<Placed<Vec<Placed<written::Listen>>>>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Listen>, Wrong> {
    let Some(written) = written else { return Ok(vec![Listen::default()]) };
    if written.value.is_empty() {
        let help = "remove it to listen on 127.0.0.1:7300, or name an address: - http: ADDRESS";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "listen", help }));
    }
    let mut listeners: Vec<(Listen, Place)> = Vec::new();
    for Placed { value: written, .. } in written.value {
        let place = written.http.place;
        let listen = listen(written, surroundings)?;
        let is_same = |(known, _): &&(Listen, Place)| {
            known.address == listen.address && listen.address.port() != 0
        };
        if let Some((_, first)) = listeners.iter().find(is_same) {
            let first_line = line_of(surroundings.text, *first);
            let address = listen.address.to_string();
            return Err(Wrong::new(place, Problem::DuplicateListener { address, first_line }));
        }
        listeners.push((listen, place));
    }
    Ok(listeners.into_iter().map(|(listen, _)| listen).collect())
}

fn listen(written: written::Listen, surroundings: &Surroundings<'_>) -> Result<Listen, Wrong> {
    let place = written.http.place;
    let http = surroundings.fill(&text(written.http))?;
    let address = address(&http.value)
        .ok_or_else(|| Wrong::new(place, Problem::BadAddress { shown: http.shown }))?;
    let path = written.path.as_ref().map(|path| self::path(path, surroundings)).transpose()?;
    let path = path.unwrap_or_else(|| Listen::default().path);
    let origins = callers("origins", &written.origins, check_origin, surroundings)?;
    let hosts = callers("hosts", &written.hosts, check_host, surroundings)?;
    let has_sessions = written.sessions != Some(written::ListenSessions::None);
    Ok(Listen { address, path, origins, hosts, has_sessions, sse: written.sse })
}

/// A list of hosts or origins, each of which a request can have.
fn callers(
    key: &'static str,
    written: &[Placed<String>],
    check: fn(&str) -> Result<(), Unmatchable>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<String>, Wrong> {
    let filled = written.iter().map(|text| {
        let filled = surroundings.fill(text)?;
        let is_typed = filled.value == text.value;
        match check(&filled.value) {
            Ok(()) => Ok(filled.value),
            Err(Unmatchable { reason, instead }) => {
                // What was filled in may be a secret.
                let why = Unmatchable { reason, instead: instead.filter(|_| is_typed) };
                let problem = Problem::Unmatchable { key, shown: filled.shown, why };
                Err(Wrong::new(text.place, problem))
            }
        }
    });
    filled.collect()
}

/// From how many tools on they are found, and not listed.
pub(crate) fn search(written: &Placed<Search>) -> Result<Option<usize>, Wrong> {
    match written.value {
        Search::Always(always) => Ok(always.then_some(1)),
        Search::From(0) => Err(out_of_range("search", "`true`, or 1 or more", written.place)),
        Search::From(least) => Ok(Some(usize::try_from(least).unwrap_or(usize::MAX))),
    }
}

/// The path of an endpoint.
pub(crate) fn path(
    written: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Result<String, Wrong> {
    let filled = surroundings.fill(written)?;
    let is_odd = |character: char| character.is_whitespace() || "?#".contains(character);
    if !filled.value.starts_with('/') || filled.value.contains(is_odd) {
        return Err(Wrong::new(written.place, Problem::BadPath { shown: filled.shown }));
    }
    Ok(filled.value)
}

/// `address:port`, or `:port` and `port`, which mean this machine alone.
fn address(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|_| is_number).map(|port| SocketAddr::new(LOOPBACK, port))
}

fn text(scalar: Placed<Scalar>) -> Placed<String> {
    Placed::new(scalar.place, scalar.value.0)
}
