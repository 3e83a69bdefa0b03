//! What a manifest is made of: the files that are read for it, the variables that it names, and a
//! print of each part, by which two readings of a file are compared. Kept while a file is read;
//! reads nothing itself.

use crate::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN};
use crate::openapi::known::Documents;
use crate::stamp::Stamp;
use crate::tree::{Node, Tree};
use rustc_hash::FxBuildHasher;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What was read so far.
#[derive(Default)]
pub(crate) struct Seen {
    files: RefCell<BTreeMap<PathBuf, Stamp>>,
    variables: RefCell<Vec<String>>,
    filled: RefCell<DefaultHasher>,
    secrets: RefCell<Vec<String>>,
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

/// Values of `${env:}` and `${file:}` that are secret. Never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Given(pub Vec<String>);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given([{} values])", self.0.len())
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

    /// What was filled in for something that may be secret.
    pub(crate) fn secret(&self, value: &str) {
        if may_be_secret(value) {
            self.secrets.borrow_mut().push(value.to_owned());
        }
    }

    /// How many of these there are so far.
    pub(crate) fn secrets_count(&self) -> usize {
        self.secrets.borrow().len()
    }

    /// Those that came after so many.
    pub(crate) fn secrets_since(&self, count: usize) -> Vec<String> {
        self.secrets.borrow().get(count..).unwrap_or_default().to_vec()
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

/// Whether a value can be told from the words of any text, and is no address of a server.
fn may_be_secret(value: &str) -> bool {
    let is_address = value.split_once("://").is_some_and(|(_, rest)| {
        let mut path = rest.split('/').skip(1);
        !rest.contains(['@', '?']) && path.all(|part| part.len() < KEY_LIKE)
    });
    (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&value.len()) && !is_address
}

/// A part of a path that has so many bytes is more likely a key than a name.
const KEY_LIKE: usize = 16;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_neither_short_nor_an_address() {
        for (value, expected) in [
            ("hunter2", true),
            ("short", false),
            ("", false),
            ("two\nlines of a key", true),
            ("https://api.example.com", false),
            ("https://a-long-name-of-a-machine.example.com:8443/", false),
            ("http://127.0.0.1:8080/v1/items", false),
            ("https://joe:hunter2@api.example.com", true),
            ("https://api.example.com/?key=k", true),
            ("https://hooks.example.com/services/T0/B0/0123456789abcdef01", true),
            (&"x".repeat(SECRET_BYTES_MAX), true),
            (&"x".repeat(SECRET_BYTES_MAX + 1), false),
        ] {
            assert_eq!(may_be_secret(value), expected, "{value}");
        }
    }
}
