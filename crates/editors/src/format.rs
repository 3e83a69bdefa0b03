//! The formats of editors' files: reading one into JSON, and putting a server in or taking it out
//! by changing no other byte. What an edit did is read again and compared with what it should have
//! done; an edit that cannot be proved right is refused. Works on text alone.

mod json;
#[cfg(test)]
mod properties;
mod splice;
mod toml;
mod trivia;
mod yaml;

use crate::limits::READING_STACK_BYTES;
use crate::mistake::Mistake;
use serde_json::{Map, Value};
use splice::Splice;
use std::path::Path;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas where they are.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Where a server is in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    /// The keys that lead to the servers.
    pub(crate) keys: &'a [&'a str],
    /// The server's name.
    pub(crate) name: &'a str,
}

impl Format {
    /// By the end of a file's name.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" | "jsonc" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// What a text says; an empty one is an empty mapping.
    ///
    /// # Errors
    /// A [`Mistake`] if it is not in this format.
    pub fn read(self, text: &str) -> Result<Value, Mistake> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(Value::Object(Map::new()));
        }
        let read = on_a_deep_stack(|| match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        })?;
        // YAML with nothing but comments.
        Ok(if read.is_null() { Value::Object(Map::new()) } else { read })
    }

    /// The text with a mapping of this name below `keys`, in the place of the one that is there.
    ///
    /// # Errors
    /// A [`Mistake`] if it cannot be edited with certainty.
    pub fn put(
        self,
        text: &str,
        (keys, name): (&[&str], &str),
        value: &Value,
    ) -> Result<String, Mistake> {
        self.with(text, Slot { keys, name }, value)
    }

    /// The text with a server in its slot, in the place of the one that is there.
    pub(crate) fn with(
        self,
        text: &str,
        slot: Slot<'_>,
        server: &Value,
    ) -> Result<String, Mistake> {
        let before = self.read(text)?;
        check_shape(&before, slot)?;
        let edited = edited(text, |text| match self {
            Self::Json => json::with(text, slot, server),
            Self::Toml => toml::with(text, slot, server),
            Self::Yaml => yaml::with(text, slot, server),
        })?;
        let mut after = self.read(&edited).map_err(|_| slot.unsure())?;
        let mut before = before;
        let is_there = slot.take(&mut after).as_ref() == Some(server);
        slot.take(&mut before);
        if !is_there || !slot.is_same_around(before, after) {
            return Err(slot.unsure());
        }
        Ok(edited)
    }

    /// The text without a server; the same text if it is not there.
    pub(crate) fn without(self, text: &str, slot: Slot<'_>) -> Result<String, Mistake> {
        let mut before = self.read(text)?;
        check_shape(&before, slot)?;
        if slot.take(&mut before).is_none() {
            return Ok(text.to_owned());
        }
        let edited = edited(text, |text| match self {
            Self::Json => json::without(text, slot),
            Self::Toml => toml::without(text, slot),
            Self::Yaml => yaml::without(text, slot),
        })?;
        let after = self.read(&edited).map_err(|_| slot.unsure())?;
        if slot.find(&after).is_some() || !slot.is_same_around(before, after) {
            return Err(slot.unsure());
        }
        Ok(edited)
    }
}

const BOM: char = '\u{feff}';

/// Applies the changes that `edit` wants to the text behind a byte order mark.
fn edited(
    text: &str,
    edit: impl FnOnce(&str) -> Result<Vec<Splice>, Mistake> + Send,
) -> Result<String, Mistake> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let splices = on_a_deep_stack(|| edit(body))?;
    let mark = if body.len() == text.len() { "" } else { "\u{feff}" };
    Ok(format!("{mark}{}", splice::apply(body, splices)))
}

/// Parsers go as deep as their bounds let them; whoever calls may be on a small stack.
fn on_a_deep_stack<T: Send>(
    work: impl FnOnce() -> Result<T, Mistake> + Send,
) -> Result<T, Mistake> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(READING_STACK_BYTES);
        match builder.spawn_scoped(scope, work) {
            Ok(working) => working
                .join()
                .unwrap_or_else(|_| Err(Mistake::unreadable("readable", "its parser stopped"))),
            Err(error) => Err(Mistake::unreadable("readable", error)),
        }
    })
}

/// That all on the way to the servers is a mapping, or not there.
fn check_shape(root: &Value, slot: Slot<'_>) -> Result<(), Mistake> {
    let mut found = root;
    for depth in 0..=slot.keys.len() {
        if !found.is_object() && !found.is_null() {
            let key = if depth == 0 { "the file".to_owned() } else { slot.keys[..depth].join(".") };
            return Err(Mistake::NotMapping { key });
        }
        let Some(next) = slot.keys.get(depth).and_then(|key| found.get(key)) else { break };
        found = next;
    }
    Ok(())
}

impl Slot<'_> {
    /// What is in it.
    pub(crate) fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.keys.iter().try_fold(root, |value, key| value.get(key))?.get(self.name)
    }

    /// Takes what is in it out.
    fn take(&self, root: &mut Value) -> Option<Value> {
        let servers = self.keys.iter().try_fold(root, |value, key| value.get_mut(key))?;
        servers.as_object_mut()?.shift_remove(self.name)
    }

    /// Whether two files without this server are the same, the order of their keys included.
    fn is_same_around(&self, mut one: Value, mut other: Value) -> bool {
        self.prune(&mut one);
        self.prune(&mut other);
        // As lists, whose order counts.
        let (one, other) = (one.to_string(), other.to_string());
        one == other
    }

    /// Takes the mappings that lead there out where nothing is in them, to compare two files of
    /// which one has them: tables of TOML go with their last key.
    fn prune(&self, root: &mut Value) {
        for depth in (1..=self.keys.len()).rev() {
            let (outer, key) = (&self.keys[..depth - 1], self.keys[depth - 1]);
            let outer = outer.iter().try_fold(&mut *root, |value, key| value.get_mut(key));
            let Some(Value::Object(fields)) = outer else { continue };
            let is_empty =
                |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if fields.get(key).is_some_and(is_empty) {
                fields.shift_remove(key);
            }
        }
    }

    fn unsure(&self) -> Mistake {
        Mistake::Unsure { name: self.name.to_owned() }
    }
}

/// The line end of a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
