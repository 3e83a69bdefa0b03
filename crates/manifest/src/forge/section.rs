//! A mapping of a pforge file: its keys, read one by one, and warnings about those that nobody
//! reads. Used by the other files here, each for what it is about.

use crate::cost::Part;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Tree};
use haft_server::nearest;

/// What is odd about a file, or left out of it.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) part: Part,
    /// What it is about; of the file itself, the key.
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// A file while it is turned into another.
pub(super) struct Work<'w> {
    pub(super) surroundings: &'w Surroundings<'w>,
    pub(super) notes: Vec<Note>,
}

/// A mapping, and whom it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Section<'t> {
    pub(super) tree: &'t Tree,
    pub(super) part: Part,
    /// Of the tool, resource or prompt; of the file itself, the key.
    pub(super) name: &'t str,
}

impl<'t> Section<'t> {
    /// A mapping; anything else is a fault.
    pub(super) fn new(tree: &'t Tree, part: Part, name: &'t str, key: &str) -> Result<Self, Wrong> {
        match tree.node {
            Node::Map(_) => Ok(Self { tree, part, name }),
            _ => Err(tree.wrong_type(key, "a mapping")),
        }
    }

    /// The same about another mapping of the same owner.
    pub(super) fn within(self, tree: &'t Tree, key: &str) -> Result<Self, Wrong> {
        Self::new(tree, self.part, self.name, key)
    }

    /// An entry with a value; what is empty is as good as absent.
    pub(super) fn entry(self, key: &str) -> Option<&'t Entry> {
        self.tree.entry(key).filter(|entry| !matches!(entry.value.node, Node::Null))
    }

    pub(super) fn get(self, key: &str) -> Option<&'t Tree> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The first of several names of one thing.
    pub(super) fn any(self, keys: &[&str]) -> Option<&'t Entry> {
        keys.iter().find_map(|key| self.entry(key))
    }

    /// A text; numbers and truth values are what was typed.
    pub(super) fn text(self, key: &str) -> Result<Option<Placed<String>>, Wrong> {
        self.get(key).map(|tree| text_of(tree, key)).transpose()
    }

    /// A text that must be there.
    pub(super) fn need(self, key: &str) -> Result<Placed<String>, Wrong> {
        self.text(key)?.ok_or_else(|| self.lacks(key))
    }

    /// That a key must be there.
    pub(super) fn lacks(self, key: &str) -> Wrong {
        let owner = match self.part {
            Part::File => format!("`{}`", self.name),
            part => format!("the {} `{}`", part.noun(), self.name),
        };
        Wrong::new(self.tree.place, Problem::MissingKey { owner, key: key.to_owned() })
    }

    pub(super) fn list(self, key: &str) -> Result<&'t [Tree], Wrong> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Tree { node: Node::List(items), .. }) => Ok(items),
            Some(other) => Err(other.wrong_type(key, "a list")),
        }
    }

    pub(super) fn truth(self, key: &str) -> Result<Option<bool>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(Tree { node: Node::Bool(truth, _), .. }) => Ok(Some(*truth)),
            Some(other) => Err(other.wrong_type(key, "true or false")),
        }
    }

    pub(super) fn is_on(self) -> Result<bool, Wrong> {
        Ok(self.truth("enabled")?.unwrap_or(true))
    }

    /// Warns of every key that is none of these and none that all tools may have.
    pub(super) fn know_of_tool(self, own: &[&str], work: &mut Work<'_>) {
        self.know(&[own, &OF_TOOLS].concat(), work);
    }

    /// Warns of every key that is none of these.
    pub(super) fn know(self, known: &[&str], work: &mut Work<'_>) {
        for entry in self.tree.entries().into_iter().flatten() {
            if !known.contains(&entry.key.as_str()) {
                let help = match nearest(&entry.key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "remove it".to_owned(),
                };
                work.note(self, entry.key_place, format!("nothing reads `{}`; {help}", entry.key));
            }
        }
    }
}

/// What every tool may have that can be served.
const OF_TOOLS: [&str; 11] = [
    "bulkhead",
    "circuit_breaker",
    "description",
    "fallback",
    "middleware",
    "name",
    "params",
    "retry",
    "timeout",
    "timeout_ms",
    "type",
];

/// A text; numbers and truth values are what was typed.
pub(super) fn text_of(tree: &Tree, key: &str) -> Result<Placed<String>, Wrong> {
    match &tree.node {
        Node::Text(text) | Node::Bool(_, text) | Node::Number(_, text) => {
            Ok(Placed::new(tree.place, text.clone()))
        }
        Node::List(_) | Node::Map(_) | Node::Null => Err(tree.wrong_type(key, "text")),
    }
}

impl Work<'_> {
    pub(super) fn note(&mut self, section: Section<'_>, place: Place, message: impl Into<String>) {
        let (part, name) = (section.part, section.name.to_owned());
        self.notes.push(Note { part, name, place, message: message.into() });
    }

    /// That something cannot be served, and why: the rest of the file can.
    pub(super) fn leave_out(&mut self, section: Section<'_>, wrong: &Wrong) {
        let (why, help) = (wrong.problem.message(), wrong.problem.help());
        let help = help.map(|help| format!("; {help}")).unwrap_or_default();
        self.note(section, wrong.place, format!("left out: {why}{help}"));
    }
}
