//! Documents of OpenAPI 3.0 and 3.1, and of Swagger 2.0, become tools: `source` finds a document,
//! `references` takes in the files that it refers to, `document` reads it, with `yaml` and
//! `swagger`,
//! `import` goes through its operations, `operation` plans the request of each (`parameter`,
//! `body`, `security`), and `schema` says what its arguments may be. Called by `upstream`;
//! the tools that come of it are those of the `http` kind.

mod body;
mod document;
mod import;
pub(crate) mod known;
mod limits;
pub(crate) mod mistake;
mod name;
mod operation;
mod output;
mod parameter;
mod references;
mod schema;
mod security;
mod select;
mod source;
mod swagger;
mod words;
mod yaml;

use crate::amount;
use crate::around::Around;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::address::{Address, Base, Path};
use crate::http::{self, auth};
use crate::openapi::import::{Import, Settings};
use crate::openapi::mistake::OpenApiMistake;
use crate::openapi::security::{Security, To};
use crate::openapi::select::Selection;
use crate::openapi::source::Found;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::seen::Print;
use crate::template::{Compiler, Known};
use crate::tool::Tool;
use crate::tree::Tree;
use crate::written::upstream::{ExtraArguments, Upstream};
use haft_fetch::Url;
use std::sync::Arc;

/// The tools of a document.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    pub(crate) tools: Vec<Tool>,
    /// By which each of them is compared with another reading: an upstream is one part.
    pub(crate) prints: Vec<Print>,
    /// The upstream of each of them.
    pub(crate) owners: Vec<Arc<str>>,
    /// What is odd: which operation, and what about it.
    pub(crate) notes: Vec<Note>,
}

/// Something odd about an operation.
#[derive(Debug)]
pub(crate) struct Note {
    /// Where the document is named.
    pub(crate) place: Place,
    /// The operation, or the upstream.
    pub(crate) name: String,
    pub(crate) message: String,
}

/// An upstream that has a document.
pub(crate) struct Described<'w> {
    pub(crate) name: &'w str,
    /// What the names of its tools begin with.
    pub(crate) prefix: String,
    /// What is typed where its document is.
    pub(crate) openapi: Placed<String>,
    pub(crate) written: Upstream,
    /// The same in the file.
    pub(crate) tree: &'w Tree,
}

/// Checks an upstream, and makes its tools.
pub(crate) fn check(
    described: Described<'_>,
    defaults: &Around,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Imported, Wrong> {
    let (tree, owner) = (described.tree, Arc::<str>::from(described.name));
    let mut imported = import(described, defaults, surroundings, compiler)?;
    let print = surroundings.seen.print(Some(tree));
    imported.prints = vec![print; imported.tools.len()];
    imported.owners = vec![owner; imported.tools.len()];
    Ok(imported)
}

impl Imported {
    pub(crate) fn extend(&mut self, other: Self) {
        self.tools.extend(other.tools);
        self.prints.extend(other.prints);
        self.owners.extend(other.owners);
        self.notes.extend(other.notes);
    }
}

pub(crate) fn bad(place: Place, mistake: OpenApiMistake) -> Wrong {
    Wrong::new(place, Problem::OpenApi(mistake))
}

fn import(
    described: Described<'_>,
    defaults: &Around,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Imported, Wrong> {
    let Described { name, prefix, openapi, mut written, .. } = described;
    let reach = written.allow_private.take().map(http::reach).transpose()?.unwrap_or_default();
    let none = "what a request has for every operation is no template";
    let known = Known { names: &[], is_open: false, none };
    let headers = http::headers(written.headers.take(), known, compiler)?;
    let around = defaults.of_upstream(written.timeout.as_ref(), surroundings)?;
    let limit = match &written.limit {
        Some(limit) => {
            amount::bytes("limit", limit, crate::limits::OUTPUT_BYTES_MAX, surroundings)?
        }
        None => crate::limits::OUTPUT_BYTES,
    };
    let redirects = http::redirects(written.redirects.take())?;
    let Found { document, url, is_moved } =
        source::find(&openapi, written.references, &reach, surroundings)?;
    let base = base((&written, openapi.place), &document, url.as_ref(), surroundings)?;
    let tells_something =
        written.auth.is_some() || !written.security.0.is_empty() || !headers.is_empty();
    if is_moved && tells_something && !base.is_typed {
        let host = url.as_ref().map(|url| url.host().to_owned()).unwrap_or_default();
        return Err(bad(openapi.place, OpenApiMistake::Moved { host }));
    }
    let address = Address {
        base: Base::Fixed(base.url.clone()),
        prefix: String::new(),
        path: Path::Pieces(Vec::new()),
        is_filled: base.is_filled,
    };
    let everywhere = written.auth.as_ref();
    let everywhere =
        everywhere.map(|auth| auth::check(auth, &address, &reach, surroundings)).transpose()?;
    if let (Some(_), [(second, _), ..]) = (&everywhere, &*written.security.0) {
        let problem = Problem::TwoOfOne { key: "security", other: "auth" };
        return Err(Wrong::new(second.place, problem));
    }
    let to = To { base: &base.url, is_file: url.is_none(), reach: &reach };
    let security = Security::new(&document, everywhere, &written.security, to, surroundings)?;
    let settings = Settings {
        name,
        place: openapi.place,
        prefix,
        base,
        found_at: url,
        headers,
        around,
        limit,
        redirects,
        reach: reach.clone(),
        has_output_schemas: written.output_schemas,
        leaves_out_extra: written.extra_arguments.map(|said| said == ExtraArguments::LeaveOut),
    };
    let selection = Selection::new(written.include, written.exclude);
    Import::new(&document, settings, security).run(&selection)
}

/// What the names of tools begin with where nobody says it.
pub(crate) fn default_prefix(name: &str) -> String {
    match &*name::valid(name) {
        "" => "api_".to_owned(),
        valid => format!("{valid}_"),
    }
}

/// What all paths are below.
pub(crate) struct Start {
    pub(crate) url: Url,
    /// It is what haft.yaml says, whatever operations say.
    pub(crate) is_typed: bool,
    pub(crate) is_filled: bool,
}

fn base(
    (written, place): (&Upstream, Place),
    document: &document::Document,
    found_at: Option<&Url>,
    surroundings: &Surroundings<'_>,
) -> Result<Start, Wrong> {
    if let Some(typed) = &written.base_url {
        let filled = surroundings.fill(typed)?;
        let is_filled = typed.value.contains("${");
        let refused = |reason: &str| {
            let (shown, reason) = (filled.shown.clone(), reason.to_owned());
            bad(typed.place, OpenApiMistake::BadBase { shown, reason })
        };
        let url = Url::parse(&filled.value).map_err(|error| refused(error.0))?;
        if url.query().is_some() {
            return Err(refused("it has a query"));
        }
        return Ok(Start { url, is_typed: true, is_filled });
    }
    let refused = |reason: String| bad(place, OpenApiMistake::NoBase { reason });
    let Some(servers) = document.get("servers").filter(|servers| servers.get(0).is_some()) else {
        // Without servers, it is the one that the document is from.
        return match found_at {
            Some(url) => Ok(Start {
                url: url.with_path("/").map_err(|error| refused(error.0.to_owned()))?,
                is_typed: false,
                is_filled: false,
            }),
            None => Err(refused("the document names no server".to_owned())),
        };
    };
    let url = import::server(servers, found_at).map_err(refused)?;
    Ok(Start { url, is_typed: false, is_filled: false })
}
