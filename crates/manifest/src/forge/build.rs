//! Trees that no file has: values of haft.yaml made from those of a pforge file, each with the
//! place that it comes from. Used by the other files here.

use crate::place::Place;
use crate::tree::{Entry, Node, Tree};

pub(super) fn text(place: Place, text: impl Into<String>) -> Tree {
    Tree { place, node: Node::Text(text.into()) }
}

pub(super) fn number(place: Place, number: u64) -> Tree {
    Tree { place, node: Node::Number(number.into(), number.to_string()) }
}

pub(super) fn truth(place: Place, truth: bool) -> Tree {
    Tree { place, node: Node::Bool(truth, truth.to_string()) }
}

pub(super) fn list(place: Place, items: Vec<Tree>) -> Tree {
    Tree { place, node: Node::List(items) }
}

/// A mapping that grows.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    place: Place,
    entries: Vec<Entry>,
}

impl Mapping {
    pub(super) fn new(place: Place) -> Self {
        Self { place, entries: Vec::new() }
    }

    /// Adds a value under a key, which stands where the value does.
    pub(super) fn put(&mut self, key: &str, value: Tree) {
        self.put_at(key, value.place, value);
    }

    pub(super) fn put_at(&mut self, key: &str, key_place: Place, value: Tree) {
        self.entries.push(Entry { key: key.to_owned(), key_place, value });
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn tree(self) -> Tree {
        Tree { place: self.place, node: Node::Map(self.entries) }
    }
}

impl Mapping {
    /// Adds a value to the mapping under a key, which is made if it is not there.
    pub(super) fn put_within(&mut self, key: &str, name: &str, value: Tree) {
        let place = value.place;
        let entry = Entry { key: name.to_owned(), key_place: place, value };
        let known = self.entries.iter_mut().find(|entry| entry.key == key);
        if let Some(Entry { value: Tree { node: Node::Map(entries), .. }, .. }) = known {
            entries.push(entry);
        } else {
            self.put(key, Tree { place, node: Node::Map(vec![entry]) });
        }
    }
}

/// JSON of which nothing has a place of its own.
pub(super) fn of_json(place: Place, json: &serde_json::Value) -> Tree {
    let node = match json {
        serde_json::Value::Null => Node::Null,
        serde_json::Value::Bool(truth) => Node::Bool(*truth, truth.to_string()),
        serde_json::Value::Number(number) => Node::Number(number.clone(), number.to_string()),
        serde_json::Value::String(text) => Node::Text(text.clone()),
        serde_json::Value::Array(items) => {
            Node::List(items.iter().map(|item| of_json(place, item)).collect())
        }
        serde_json::Value::Object(members) => {
            let member = |(key, value): (&String, &serde_json::Value)| Entry {
                key: key.clone(),
                key_place: place,
                value: of_json(place, value),
            };
            Node::Map(members.iter().map(member).collect())
        }
    };
    Tree { place, node }
}
