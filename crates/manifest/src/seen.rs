//! What a manifest is made of: the files that are read for it, the variables that it names, and a
//! print of each part, by which two readings of a file are compared. Kept while a file is read;
//! reads nothing itself.

use crate::openapi::known::Documents;
use crate::stamp::Stamp;
use crate::tree::{Node, Tree};
use rustc_hash::FxBuildHasher;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What was read so far.
#[derive(Default)]
pub(crate) struct Seen {
    files: RefCell<BTreeMap<PathBuf, Stamp>>,
    variables: RefCell<Vec<String>>,
    filled: RefCell<DefaultHasher>,
    /// Those from the web that were read before, and now.
    pub(crate) documents: RefCell<Documents>,
    /// They need not be asked for each time.
    pub(crate) may_be_old: bool,
}

/// Equal for parts that are typed alike, wherever they stand, and filled in alike. Never shown: it
/// is made of secrets, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Print(u64);

impl Print {
    /// Of a part and of what is said for many of its kind at once.
    pub(crate) fn with(self, other: Self) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.0, other.0).hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Seen {
    /// For a reading to which these documents are known, if they may be old.
    pub(crate) fn with(documents: Documents, may_be_old: bool) -> Self {
        Self { documents: RefCell::new(documents), may_be_old, ..Self::default() }
    }

    /// A file that is read next, whether it can be read or not: what is written to it from now on
    /// makes another stamp.
    pub(crate) fn file(&self, path: &Path) {
        self.files.borrow_mut().entry(path.to_owned()).or_insert_with(|| Stamp::of(path));
    }

    /// A variable of the environment that the manifest names.
    pub(crate) fn variable(&self, name: &str) {
        let mut known = self.variables.borrow_mut();
        if !known.iter().any(|known| known == name) {
            known.push(name.to_owned());
        }
    }

    /// All variables, in the order in which they were needed.
    pub(crate) fn variables(&self) -> Vec<String> {
        self.variables.borrow().clone()
    }

    /// What was filled in, or read for the next print in another way.
    pub(crate) fn filled(&self, content: &(impl Hash + ?Sized)) {
        content.hash(&mut *self.filled.borrow_mut());
    }

    /// The same of something large, a document say, which is not made to collide: in a quick way.
    pub(crate) fn read(&self, content: &[u8]) {
        self.filled(&FxBuildHasher.hash_one(content));
    }

    /// The print of a part: of what was typed, and of all that was filled in since the last print.
    pub(crate) fn print(&self, tree: Option<&Tree>) -> Print {
        let mut hasher = self.filled.take();
        if let Some(tree) = tree {
            add(tree, &mut hasher);
        }
        Print(hasher.finish())
    }

    /// The documents, and all files with what each was before it was read.
    pub(crate) fn into_parts(self) -> (Documents, BTreeMap<PathBuf, Stamp>) {
        (self.documents.into_inner(), self.files.into_inner())
    }
}

fn add(tree: &Tree, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&tree.node).hash(hasher);
    match &tree.node {
        Node::Bool(_, text) | Node::Number(_, text) | Node::Text(text) => text.hash(hasher),
        Node::List(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| add(item, hasher));
        }
        Node::Map(entries) => {
            entries.len().hash(hasher);
            for entry in entries {
                entry.key.hash(hasher);
                add(&entry.value, hasher);
            }
        }
        Node::Null => {}
    }
}
