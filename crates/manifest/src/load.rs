//! Reading a manifest, and what one is for: the server, the addresses, the costs, the warnings.
//! Called by the command line.

use crate::cost::Cost;
use crate::decode::decode;
use crate::fault::{Fault, Wrong};
use crate::fill::Surroundings;
use crate::forge::{self, Translated};
use crate::kind::Kind;
use crate::limits::FILE_BYTES_MAX;
use crate::lint::{self, Warning};
use crate::meant::{Listen, Meant};
use crate::offer::{self, Means};
use crate::problem::Problem;
use crate::seen::Seen;
use crate::tree::{Node, Tree};
use crate::upstream::Upstream;
use crate::view::View;
use crate::written::File;
use haft_server::{BuildError, Server};
use haft_store::Store;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A manifest that has been read and checked.
pub struct Manifest {
    path: PathBuf,
    text: String,
    /// The variables of the environment that it names.
    variables: Vec<String>,
    pub(crate) meant: Meant,
}

/// Reads and checks a file.
///
/// # Errors
/// The first [`Fault`] of the file.
pub fn load(path: &Path) -> Result<Manifest, Fault> {
    load_seen(path, &Seen::default())
}

/// The same; what it is read from is seen even if it has a fault.
pub(crate) fn load_seen(path: &Path, seen: &Seen) -> Result<Manifest, Fault> {
    seen.file(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let text = read(path).map_err(|problem| Fault::of_file(path, problem))?;
    let text = String::from_utf8(text).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let place = crate::place::Place { start, end: start };
        Fault::in_text(path, &text, Wrong::new(place, Problem::NotUtf8))
    })?;
    parse_seen(path, &text, seen)
}

/// Checks the text of a file. The file need not exist, but its directory is what relative paths
/// in it are relative to.
///
/// # Errors
/// The first [`Fault`] of the text.
pub fn parse(path: &Path, text: &str) -> Result<Manifest, Fault> {
    parse_seen(path, text, &Seen::default())
}

/// The same, as if the environment had these variables and no others.
///
/// # Errors
/// The first [`Fault`] of the text.
pub fn parse_with(
    path: &Path,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Manifest, Fault> {
    parse_in(path, text, variable, &Seen::default())
}

fn parse_seen(path: &Path, text: &str, seen: &Seen) -> Result<Manifest, Fault> {
    parse_in(path, text, &|name| std::env::var(name).ok(), seen)
}

fn parse_in(
    path: &Path,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    seen: &Seen,
) -> Result<Manifest, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unreadable = |error: std::io::Error| {
        Fault::of_file(path, Problem::Unreadable { reason: error.to_string() })
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = std::path::absolute(directory).map_err(unreadable)?;
    let surroundings = Surroundings { text, directory: &directory, variable, seen };
    let meant = understand(&surroundings).map_err(|wrong| Fault::in_text(path, text, wrong))?;
    let (path, text, variables) = (path.to_owned(), text.to_owned(), seen.variables());
    Ok(Manifest { path, text, variables, meant })
}

fn understand(surroundings: &Surroundings<'_>) -> Result<Meant, Wrong> {
    let tree = Tree::read(surroundings.text)?;
    if let Node::Null = tree.node {
        return Err(Wrong::new(tree.place, Problem::Empty));
    }
    if forge::is_forge(&tree) {
        return understand_forge(&tree, surroundings);
    }
    let file: File = decode(&tree)?;
    Meant::new(file, &tree, surroundings)
}

/// A file of pforge is one of ours, written differently.
fn understand_forge(tree: &Tree, surroundings: &Surroundings<'_>) -> Result<Meant, Wrong> {
    let Translated { tree, foreign, notes } = forge::translate(tree, surroundings)?;
    let mut file: File = decode(&tree)?;
    for (tool, foreign) in file.tools.iter_mut().zip(foreign) {
        tool.value.foreign = foreign;
    }
    let meant = Meant::new(file, &tree, surroundings)?;
    Ok(Meant { forge: notes, ..meant })
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let said = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Problem::NotThere,
        ErrorKind::IsADirectory => Problem::IsDirectory,
        _ => Problem::Unreadable { reason: error.to_string() },
    };
    let file = std::fs::File::open(path).map_err(said)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Problem::TooLarge);
    }
    Ok(bytes)
}

impl Manifest {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.meant.server.name
    }

    /// The variables of the environment that its texts name, each once.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Where it listens; one address at least.
    #[must_use]
    pub fn listeners(&self) -> &[Listen] {
        &self.meant.listeners
    }

    /// The servers behind this one that speak MCP, in the order of the file. [`Manifest::server`]
    /// knows nothing of them: whoever serves the file connects to them.
    #[must_use]
    pub fn upstreams(&self) -> &[Upstream] {
        &self.meant.upstreams
    }

    /// How many processes of these there may be together.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.meant.server.processes
    }

    /// The endpoints beside that of everything, in the order of the file.
    #[must_use]
    pub fn views(&self) -> &[View] {
        &self.meant.views
    }

    /// A server of all that is in the file but its [`Manifest::upstreams`], which never changes.
    /// Each tool counts its own running calls.
    ///
    /// # Errors
    /// A [`Fault`] at the tool that the server refuses.
    pub fn server(&self) -> Result<Server, Fault> {
        let means = Means::new(self.store()?);
        let server = offer::builder(&self.meant, &means, None).fixed().build();
        server.map_err(|error| self.refused(&error))
    }

    /// Whether there could be such a server. It opens nothing: what its tools would keep is left
    /// alone, as another process may have it.
    ///
    /// # Errors
    /// Those of [`Manifest::server`], but for that of a state that cannot be opened.
    pub fn verify(&self) -> Result<(), Fault> {
        let store = self.keeps_state().then(Store::memory).and_then(Result::ok);
        let built = offer::builder(&self.meant, &Means::new(store), None).build();
        built.map(drop).map_err(|error| self.refused(&error))
    }

    /// The names of the tools, and what models are told of them.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meant.tools.iter().map(|tool| {
            let description = tool.description.as_ref().map(|text| text.value.as_str());
            (tool.name.value.as_str(), description.unwrap_or_default())
        })
    }

    /// Whether any tool keeps state.
    pub(crate) fn keeps_state(&self) -> bool {
        self.meant.tools.iter().any(|tool| matches!(tool.kind, Kind::State(_)))
    }

    /// Where the tools keep state, if any does. What cannot be served makes no file for it.
    pub(crate) fn store(&self) -> Result<Option<Store>, Fault> {
        if !self.keeps_state() {
            return Ok(None);
        }
        self.verify()?;
        let kept = &self.meant.state;
        kept.open().map(Some).map_err(|error| {
            let place = kept.file.as_ref().map(|file| file.place).unwrap_or_default();
            let problem = Problem::NoState { reason: error.to_string() };
            Fault::in_text(&self.path, &self.text, Wrong::new(place, problem))
        })
    }

    /// What is allowed and yet probably not meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        lint::warnings(&self.meant, &self.path, &self.text)
    }

    /// What each tool, resource and prompt costs the clients that list it, in this order.
    #[must_use]
    pub fn costs(&self) -> Vec<Cost> {
        let tools = self.meant.tools.iter().map(Cost::of_tool);
        let resources = self.meant.resources.iter().map(Cost::of_resource);
        tools.chain(resources).chain(self.meant.prompts.iter().map(Cost::of_prompt)).collect()
    }

    /// What the server refuses is wrong at the tool, in a schema mostly.
    pub(crate) fn refused(&self, error: &BuildError) -> Fault {
        let (BuildError::BadSchema { tool: name, .. }
        | BuildError::BadToolName { name }
        | BuildError::Duplicate { name, .. }) = error
        else {
            return Fault::of_file(&self.path, Problem::Unreadable { reason: error.to_string() });
        };
        let tool = self.meant.tools.iter().find(|tool| tool.name.value == *name);
        let place = tool.map(|tool| tool.input.place).unwrap_or_default();
        let problem = match error {
            BuildError::BadSchema { part, reason, .. } => {
                let key = format!("{part}_schema");
                Problem::BadSchema { key, reason: reason.clone() }
            }
            _ => Problem::BadToolName { name: name.clone() },
        };
        Fault::in_text(&self.path, &self.text, Wrong::new(place, problem))
    }
}
