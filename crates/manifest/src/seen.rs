//! What a manifest is made of beside its own text: the files and variables that it names, and a
//! print of each part, by which two readings of a file are compared. Kept while a file is read;
//! reads nothing.

use crate::tree::{Node, Tree};
use rustc_hash::FxBuildHasher;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What was read so far.
#[derive(Default)]
pub(crate) struct Seen {
    files: RefCell<BTreeSet<PathBuf>>,
    variables: RefCell<Vec<String>>,
    filled: RefCell<DefaultHasher>,
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
    /// A file that the manifest names, whether it can be read or not.
    pub(crate) fn file(&self, path: &Path) {
        self.files.borrow_mut().insert(path.to_owned());
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

    /// All files.
    pub(crate) fn into_files(self) -> BTreeSet<PathBuf> {
        self.files.into_inner()
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
