//! Files of pforge (top key `forge:`) become files of haft: the tree of one is turned into the tree
//! of the other, value by value, each with the place that it has in the file. What haft cannot do
//! is a note and not a fault, so that the rest is served. Called by `load`; whatever the new tree
//! means is the business of those who read haft.yaml.
//!
//! Two grammars are read: the one of pforge's parser, and the larger one of its documents.
//! `section` reads mappings, `build` makes new ones, `placeholder` turns texts into templates,
//! `params` types into schemas; `tool` and the files of its kinds make tools.

mod around;
mod auth;
mod body;
mod build;
mod calls;
mod cli;
mod compiled;
mod condition;
mod handlebars;
mod http;
mod params;
mod passed;
mod pipeline;
mod placeholder;
mod prompt;
mod resource;
mod section;
mod server;
mod tool;

pub(crate) use section::Note;

use crate::cost::Part;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::tree::Tree;
use crate::written::tool::Foreign;
use build::Mapping;
use section::{Section, Work};

/// A file of haft, made from one of pforge.
pub(crate) struct Translated {
    pub(crate) tree: Tree,
    /// What its tools do beside what the tree says, in their order.
    pub(crate) foreign: Vec<Foreign>,
    pub(crate) notes: Vec<Note>,
}

/// Whether a file is one of pforge.
pub(crate) fn is_forge(tree: &Tree) -> bool {
    tree.get("forge").is_some() && tree.get("server").is_none()
}

/// Turns a file of pforge into one of haft.
pub(crate) fn translate(tree: &Tree, surroundings: &Surroundings<'_>) -> Result<Translated, Wrong> {
    let mut work = Work { surroundings, notes: Vec::new() };
    let file = Section { tree, part: Part::File, name: "forge" };
    let mut out = Mapping::new(tree.place);
    server::translate(file, &mut out, &mut work)?;
    let foreign = tool::translate(file, &mut out, &mut work)?;
    resource::translate(file, &mut out, &mut work)?;
    prompt::translate(file, &mut out, &mut work)?;
    const KNOWN: [&str; 9] = [
        "forge",
        "tools",
        "resources",
        "prompts",
        "state",
        "middleware",
        "fault_tolerance",
        "bridges",
        "description",
    ];
    file.know(&KNOWN, &mut work);
    work.notes.sort_by_key(|note| note.place.start);
    // What was filled in to look at it counts when it is filled in to be run.
    _ = surroundings.seen.print(None);
    Ok(Translated { tree: out.tree(), foreign, notes: work.notes })
}
