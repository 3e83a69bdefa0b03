//! The servers behind this one, from as typed to as meant: one that speaks MCP becomes an
//! [`Upstream`], to which whoever serves the file connects; one that a document describes becomes
//! tools, by `openapi`. Called by `meant`; starts no program and asks no server itself.

pub(crate) mod mistake;
mod names;

use crate::amount;
use crate::around::Around;
use crate::command::environ::{self, Inherited};
use crate::fault::{Wrong, line_of};
use crate::fill::{Filled, Surroundings};
use crate::http;
use crate::http::mistake::HttpMistake;
use crate::keys::Kinds;
use crate::limits::{
    ANSWER_BYTES_MAX, INSTANCES_MAX, LIST_BYTES_MAX, PREFIX_BYTES_MAX, SESSIONS, SESSIONS_IDLE,
    SESSIONS_IDLE_MAX, SESSIONS_MAX, TOOLS, TOOLS_MAX,
};
use crate::meant::{Server, duplicate};
use crate::openapi::{self, Described, Imported, Note};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::rules::{self, Rules, Typed};
use crate::seen::Given;
use crate::seen::Print;
use crate::tags;
use crate::template::Compiler;
use crate::tool::typed;
use crate::tree::Tree;
use crate::upstream::mistake::UpstreamMistake;
use crate::upstream::names::{agents, is_name, is_plain, overlaps, room_for_names};
use crate::written::Naming;
use crate::written::Scalar;
use crate::written::environ::Environ;
use crate::written::tool::Env;
use crate::written::upstream::{
    self as written, ExtraArguments, InheritEnv, Sessions, Start, Upstreams,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, header};
use haft_fetch::Url;
use haft_proto::mirror::{METHOD_HEADER, NAME_HEADER, PARAM_HEADER_PREFIX, VERSION_HEADER};
use haft_proto::version::Era;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server behind this one that speaks MCP. Two readings of a file have equal ones where nothing
/// is different of what was typed and filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in the file: 1 to 31 letters, digits, `-` and `_`.
    pub name: String,
    /// What the names of its tools and prompts begin with here; at most 32 letters, digits, `-` and
    /// `_`, and maybe none. No other upstream that speaks MCP, or has a document, has the same.
    pub prefix: String,
    /// How long a call may take, as the upstream says, or else the file's `defaults`.
    pub timeout: Option<Duration>,
    /// The way to speak with it; to be found out if the file does not say it.
    pub era: Option<Era>,
    /// When it is started or connected to.
    pub start: Start,
    /// How many connections share its calls, each to a process of its own; 1 if it is at an
    /// address.
    pub instances: usize,
    /// Whose these processes are. With [`Sessions::Own`] there is one instance, for all who have no
    /// session.
    pub sessions: Sessions,
    /// How many sessions have such a process at most.
    pub sessions_max: usize,
    /// How long one may ask nothing of it before it is ended.
    pub sessions_idle: Duration,
    /// How many bytes a message of it may have, if the file says so.
    pub answer_bytes: Option<usize>,
    /// How many bytes a list of it may have, if the file says so.
    pub list_bytes: Option<usize>,
    /// Where it is.
    pub reach: Reach,
    /// What it is given that nobody is to be told.
    pub secrets: Given,
    /// What of it is served, and what is other of its tools here.
    pub rules: Arc<Rules>,
}

impl Upstream {
    /// Whether the connection to one is good for the other: at most their rules differ.
    #[must_use]
    pub fn reaches_as(&self, other: &Self) -> bool {
        let rules = Arc::clone(&self.rules);
        *self == Self { rules, ..other.clone() }
    }
}

/// Where a server is. Shown for debugging, it has no value that may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// It is a child process, and speaks over its stdin and stdout.
    Command {
        /// The program, a path or a name to look up in PATH, and its arguments; one element at
        /// least.
        argv: Vec<OsString>,
        /// Variables beside those of this process that it has, by their names.
        env: Vec<(String, String)>,
        /// The names of the variables of this process that it has beside the usual ones; all of
        /// them if this is nothing.
        inherit: Option<Vec<String>>,
        /// The directory that it runs in, from the root.
        directory: PathBuf,
    },
    /// It is behind an agent that has dialled this server.
    Agent {
        /// What the agents are called that have the same; one at least.
        names: Vec<String>,
    },
    /// It listens at an address, for Streamable HTTP or HTTP+SSE.
    Url {
        /// The address of its endpoint.
        url: Url,
        /// What is sent with every request; each value is marked as sensitive, and none is a header
        /// of the protocol or the connection.
        headers: HeaderMap,
    },
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { argv, env, inherit, directory } => {
                let names: Vec<_> = env.iter().map(|(name, _)| name).collect();
                f.debug_struct("Command")
                    .field("argv", &format_args!("[{} texts]", argv.len()))
                    .field("env", &names)
                    .field("inherit", inherit)
                    .field("directory", directory)
                    .finish()
            }
            Self::Agent { names } => f.debug_struct("Agent").field("names", names).finish(),
            Self::Url { url, headers } => f
                .debug_struct("Url")
                // A path or a query may have a key in it.
                .field("url", &format_args!("{}/…", url.origin()))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

/// The key of each kind, and those that belong to some kinds alone.
const KINDS: Kinds = Kinds {
    owners: "upstreams",
    keys: &[
        (
            "command",
            &[
                "env",
                "inherit_env",
                "instances",
                "sessions",
                "sessions_max",
                "sessions_idle",
                "cwd",
                "era",
                "start",
                "tools",
                "names",
                "limit",
                "list_limit",
                "tools_max",
            ],
        ),
        ("url", &["headers", "era", "start", "tools", "names", "limit", "list_limit", "tools_max"]),
        ("agent", &["start", "tools", "names", "limit", "list_limit", "tools_max"]),
        (
            "openapi",
            &[
                "base_url",
                "auth",
                "security",
                "headers",
                "limit",
                "redirects",
                "allow_private",
                "output_schemas",
                "references",
            ],
        ),
    ],
};

/// Headers that MCP has for itself, beside those that the connection needs.
const MCP_HEADERS: [HeaderName; 4] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-session-id"),
];

/// A prefix that an upstream has.
struct Taken {
    prefix: String,
    place: Place,
    speaks_mcp: bool,
}

/// What comes of `upstreams`.
#[derive(Default)]
pub(crate) struct Checked {
    /// Those that speak MCP.
    pub(crate) upstreams: Vec<Upstream>,
    /// Where their names stand, one for each.
    pub(crate) places: Vec<Place>,
    /// The tools of those that have a document.
    pub(crate) imported: Imported,
    /// The names that the file gives tools of those that speak MCP; all differ.
    pub(crate) names: Vec<Placed<String>>,
    /// The names of all upstreams.
    pub(crate) known: Vec<String>,
    /// What is odd about them.
    pub(crate) notes: Vec<Note>,
}

/// Checks `upstreams`, and makes the tools of those with a document. The tree is the same key in
/// the file.
pub(crate) fn check(
    (Upstreams(written), tree): (Upstreams, Option<&Tree>),
    (defaults, print): (&Around, Print),
    server: &Server,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Checked, Wrong> {
    let mut checked = Checked::default();
    let mut taken: Vec<Taken> = Vec::new();
    for (name, Placed { value: mut written, .. }) in written {
        let tree = tree.and_then(|tree| tree.get(&name.value));
        let tree = tree.expect("what is typed comes from this tree");
        if KINDS.of(tree)?.is_none() {
            let what = format!("there is no way to the upstream `{}`", name.value);
            let help = "give it a `command` to start, a `url` to ask, an `openapi` document, or \
                        the name of an `agent`";
            return Err(Wrong::new(name.place, Problem::KindMissing { what, help }));
        }
        checked.known.push(name.value.clone());
        let prefix = prefix(&name, &written, &mut taken, surroundings)?;
        let (place, name, openapi) = (name.place, &*name.value, written.openapi.take());
        let Some(openapi) = openapi else {
            let (rules, names) = rules(&mut written, tree, surroundings)?;
            for name in names {
                if let Some(first) = checked.names.iter().find(|first| first.value == name.value) {
                    return Err(duplicate("tool", first, &name, surroundings));
                }
                checked.names.push(name);
            }
            let is_shared = written.sessions == Sessions::Shared;
            let around = defaults.surrounding(print, is_shared);
            let name_bytes_max = match written.names.unwrap_or(server.names) {
                Naming::Keep => None,
                Naming::Portable => Some(room_for_names(&server.name)),
            };
            let tools_max = written.tools_max.as_ref();
            let tools_max = tools_max
                .map_or(Ok(TOOLS), |written| amount::number("tools_max", written, 1, TOOLS_MAX))?;
            let said = written.extra_arguments;
            let leaves_out_extra = said.map(|said| said == ExtraArguments::LeaveOut);
            let rules = Rules { around, name_bytes_max, tools_max, leaves_out_extra, ..rules };
            let named = (name, prefix, Arc::new(rules));
            checked.places.push(place);
            checked.upstreams.push(upstream(named, written, defaults, surroundings)?);
            // They are compared themselves.
            _ = surroundings.seen.print(None);
            continue;
        };
        rules::check_described(tree)?;
        let described = Described { name, prefix, openapi, written, tree };
        checked.imported.extend(openapi::check(described, defaults, surroundings, compiler)?);
    }
    checked.notes = overlaps(&checked.upstreams, &taken);
    Ok(checked)
}

/// What of it is served, and what is other of its tools here; and the names that these get.
fn rules(
    written: &mut written::Upstream,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
) -> Result<(Rules, Vec<Placed<String>>), Wrong> {
    let (include, exclude) = (written.include.take(), written.exclude.take());
    let typed = Typed { include, exclude, tools: std::mem::take(&mut written.tools) };
    rules::check(typed, tree, surroundings)
}

fn bad(place: Place, mistake: UpstreamMistake) -> Wrong {
    Wrong::new(place, Problem::Upstream(mistake))
}

/// What the names of an upstream's tools begin with. Names of documents are known when they are
/// read, and told apart then; what others have is known to nobody yet.
fn prefix(
    name: &Placed<String>,
    written: &written::Upstream,
    taken: &mut Vec<Taken>,
    surroundings: &Surroundings<'_>,
) -> Result<String, Wrong> {
    let speaks_mcp = written.openapi.is_none();
    if speaks_mcp && !is_name(&name.value) {
        return Err(bad(name.place, UpstreamMistake::BadName { name: name.value.clone() }));
    }
    let (place, Filled { value: prefix, shown }) = match &written.prefix {
        Some(written) => (written.place, surroundings.fill(written)?),
        None => {
            let prefix = if speaks_mcp {
                format!("{}_", name.value)
            } else {
                openapi::default_prefix(&name.value)
            };
            (name.place, Filled { shown: format!("{prefix:?}"), value: prefix })
        }
    };
    if written.prefix.is_some() && !(is_plain(&prefix) && prefix.len() <= PREFIX_BYTES_MAX) {
        return Err(bad(place, UpstreamMistake::BadPrefix { shown }));
    }
    let is_same = |other: &&Taken| other.prefix == prefix && (other.speaks_mcp || speaks_mcp);
    if let Some(first) = taken.iter().find(is_same) {
        let first_line = line_of(surroundings.text, first.place);
        return Err(bad(place, UpstreamMistake::SamePrefix { shown, first_line }));
    }
    taken.push(Taken { prefix: prefix.clone(), place, speaks_mcp });
    Ok(prefix)
}

/// An upstream that speaks MCP.
fn upstream(
    (name, prefix, rules): (&str, String, Arc<Rules>),
    written: written::Upstream,
    defaults: &Around,
    surroundings: &Surroundings<'_>,
) -> Result<Upstream, Wrong> {
    let around = defaults.of_upstream(written.timeout.as_ref(), surroundings)?;
    let instances = written
        .instances
        .as_ref()
        .map_or(Ok(1), |written| amount::number("instances", written, 1, INSTANCES_MAX))?;
    let sessions = written.sessions;
    if let (Sessions::Own, Some(instances)) = (sessions, &written.instances) {
        let (key, other) = ("instances", "sessions");
        return Err(Wrong::new(instances.place, Problem::TwoOfOne { key, other }));
    }
    let (sessions_max, sessions_idle) = of_sessions(&written, surroundings)?;
    let size = |key, written: Option<&Placed<Scalar>>, max| {
        written.map(|written| amount::bytes(key, written, max, surroundings)).transpose()
    };
    let answer_bytes = size("limit", written.limit.as_ref(), ANSWER_BYTES_MAX)?;
    let list_bytes = size("list_limit", written.list_limit.as_ref(), LIST_BYTES_MAX)?;
    let before = surroundings.seen.secrets_count();
    let reach = if let Some(command) = written.command {
        let env = (written.env, written.inherit_env);
        program(&command, env, written.cwd.as_ref(), surroundings)?
    } else if let Some(agent) = written.agent {
        Reach::Agent { names: agents(agent)? }
    } else {
        let url = written.url.expect("an upstream of no other kind has a url");
        let url = address(&url, surroundings)?;
        Reach::Url { url, headers: headers(written.headers, surroundings)? }
    };
    let secrets = Given(surroundings.seen.secrets_since(before));
    let (era, start) = (written.era.map(Era::from), written.start);
    let (name, timeout) = (name.to_owned(), around.timeout);
    #[rustfmt::skip]
    let upstream = Upstream {
        name, prefix, timeout, era, start, instances, sessions, sessions_max, sessions_idle, reach,
        rules, answer_bytes, list_bytes, secrets,
    };
    Ok(upstream)
}

/// How many sessions have a process of their own, and for how long after they last asked.
fn of_sessions(
    written: &written::Upstream,
    surroundings: &Surroundings<'_>,
) -> Result<(usize, Duration), Wrong> {
    let (most, idle) = (written.sessions_max.as_ref(), written.sessions_idle.as_ref());
    if written.sessions == Sessions::Shared {
        let keys = [
            most.map(|most| (most.place, "sessions_max")),
            idle.map(|idle| (idle.place, "sessions_idle")),
        ];
        if let Some((place, key)) = keys.into_iter().flatten().next() {
            return Err(bad(place, UpstreamMistake::OfOwn { key }));
        }
    }
    let most =
        most.map_or(Ok(SESSIONS), |most| amount::number("sessions_max", most, 1, SESSIONS_MAX))?;
    let idle = idle.map_or(Ok(SESSIONS_IDLE), |idle| {
        amount::time("sessions_idle", idle, SESSIONS_IDLE_MAX, surroundings)
    })?;
    Ok((most, idle))
}

fn program(
    written: &Placed<Vec<Placed<Scalar>>>,
    (env, inherit_env): (Option<Placed<Environ>>, Option<Placed<InheritEnv>>),
    cwd: Option<&Placed<String>>,
    surroundings: &Surroundings<'_>,
) -> Result<Reach, Wrong> {
    let Some(program) = written.value.first() else {
        let help = "name a program and its arguments: [github-mcp-server, stdio]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "command", help }));
    };
    let argument = |text| given("command", &typed(text), surroundings).map(OsString::from);
    let mut argv = written.value.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    if argv[0].is_empty() {
        return Err(Wrong::new(program.place, Problem::NoValue { key: "command".to_owned() }));
    }
    // A name is looked up in PATH; a path is one from the file's directory.
    if argv[0].as_encoded_bytes().contains(&b'/') {
        argv[0] = surroundings.directory.join(&argv[0]).into_os_string();
    }
    let mut variables = Vec::new();
    let (env, inherit) =
        env.map(|env| (env.value.variables, env.value.inherit)).unwrap_or_default();
    for (name, value) in env {
        variables.push((environ::name(name)?, given("env", &typed(&value), surroundings)?));
    }
    if let (Some(inherit), Some(_)) = (&inherit, &inherit_env) {
        let (key, other) = ("env: { inherit }", "inherit_env");
        return Err(Wrong::new(inherit.place, Problem::TwoOfOne { key, other }));
    }
    let inherit = inherit_env.map_or(inherit, |keys| keys.value.meant(keys.place));
    let inherit = match Inherited::check(inherit)? {
        Inherited::All => None,
        Inherited::Usual(names) => Some(names),
    };
    let directory = match cwd {
        Some(cwd) => surroundings.directory.join(given("cwd", cwd, surroundings)?),
        None => surroundings.directory.to_owned(),
    };
    Ok(Reach::Command { argv, env: variables, inherit, directory })
}

/// A text that a program is given.
fn given(
    key: &'static str,
    text: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Result<String, Wrong> {
    let filled = fixed(key, text, surroundings)?;
    if filled.contains('\0') {
        return Err(bad(text.place, UpstreamMistake::Nul { key }));
    }
    Ok(filled)
}

/// A text with everything filled in, which is no template: nobody has called anything yet.
fn fixed(
    key: &'static str,
    text: &Placed<String>,
    surroundings: &Surroundings<'_>,
) -> Result<String, Wrong> {
    if tags::has_any(&text.value) {
        let reason = "it is needed before anything is called";
        return Err(Wrong::new(text.place, Problem::FixedText { key, reason }));
    }
    Ok(surroundings.fill(text)?.value)
}

fn address(written: &Placed<String>, surroundings: &Surroundings<'_>) -> Result<Url, Wrong> {
    let text = fixed("url", written, surroundings)?;
    let refused = |reason| bad(written.place, UpstreamMistake::BadUrl { reason });
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err(refused("it holds a user name or password; send them in `headers`"));
    }
    Url::parse(&text).map_err(|error| refused(error.0))
}

fn headers(
    written: Option<Placed<Env>>,
    surroundings: &Surroundings<'_>,
) -> Result<HeaderMap, Wrong> {
    let mut headers = HeaderMap::new();
    for (name, value) in http::pairs(written) {
        let parsed = http::header_name(&name)?;
        let is_mirrored = [VERSION_HEADER, METHOD_HEADER, NAME_HEADER].contains(&parsed.as_str())
            || parsed.as_str().starts_with(PARAM_HEADER_PREFIX);
        if is_mirrored || MCP_HEADERS.contains(&parsed) {
            return Err(http::bad(name.place, HttpMistake::OwnHeader { name: name.value }));
        }
        let text = fixed("headers", &typed(&value), surroundings)?;
        let Ok(mut sent) = HeaderValue::from_bytes(text.as_bytes()) else {
            return Err(http::bad(value.place, HttpMistake::HeaderValue { name: name.value }));
        };
        sent.set_sensitive(true);
        if headers.insert(parsed, sent).is_some() {
            return Err(bad(name.place, UpstreamMistake::HeaderTwice { name: name.value }));
        }
    }
    Ok(headers)
}
