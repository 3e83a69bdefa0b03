//! A manifest's YAML as a tree in which every key and value knows its place. Built once for each
//! file; `decode` reads the typed form from it, `meant` finds schemas and places in it. What a
//! value means is not decided here.

use crate::fault::Wrong;
use crate::limits::{DEPTH_MAX, READING_STACK_BYTES};
use crate::place::Place;
use crate::problem::Problem;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Location, Spanned};
use std::fmt;

/// A value of the file.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// What the value is. A number or truth value comes with its text as it was typed.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Bool(bool, String),
    List(Vec<Tree>),
    Map(Vec<Entry>),
    Null,
    Number(Number, String),
    Text(String),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Tree,
}

impl Tree {
    /// Reads YAML text of one document, on a thread whose stack has room for the deepest one:
    /// whoever calls may be on a small stack.
    pub(crate) fn read(text: &str) -> Result<Self, Wrong> {
        let unreadable = |reason: &str| {
            Wrong::new(Place::default(), Problem::Unreadable { reason: reason.to_owned() })
        };
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(READING_STACK_BYTES);
            match builder.spawn_scoped(scope, || Self::scan(text)) {
                Ok(reading) => reading
                    .join()
                    .unwrap_or_else(|_| Err(unreadable("the YAML scanner stopped in the middle"))),
                Err(error) => Err(unreadable(&error.to_string())),
            }
        })
    }

    fn scan(text: &str) -> Result<Self, Wrong> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: DEPTH_MAX, max_documents: 1 },
            strict_booleans: true,
            reject_unsupported_tags: true,
            with_snippet: false,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Scanned>>(text, options) {
            Ok(root) => place(root, text),
            Err(error) => Err(refuse(&error, text)),
        }
    }

    /// The entry under a key, if this is a mapping that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        let Node::Map(entries) = &self.node else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    /// The value under a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entries, if this is a mapping.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        let Node::Map(entries) = &self.node else { return None };
        Some(entries)
    }

    /// An item of a list.
    pub(crate) fn at(&self, index: usize) -> Option<&Self> {
        let Node::List(items) = &self.node else { return None };
        items.get(index)
    }

    /// Where a JSON Pointer leads, or as far as it leads.
    pub(crate) fn place_at(&self, pointer: &str) -> Place {
        let mut found = self;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            let next = match &found.node {
                Node::List(_) => part.parse().ok().and_then(|index| found.at(index)),
                _ => found.get(&part),
            };
            let Some(next) = next else { break };
            found = next;
        }
        found.place
    }

    /// The same as JSON, with its keys in order.
    pub(crate) fn to_json(&self) -> Value {
        match &self.node {
            Node::Bool(value, _) => Value::Bool(*value),
            Node::List(items) => items.iter().map(Self::to_json).collect(),
            Node::Map(entries) => {
                let entry = |entry: &Entry| (entry.key.clone(), entry.value.to_json());
                Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
            Node::Null => Value::Null,
            Node::Number(number, _) => Value::Number(number.clone()),
            Node::Text(text) => Value::String(text.clone()),
        }
    }

    /// That it is no value for a key.
    pub(crate) fn wrong_type(&self, key: &str, expected: &str) -> Wrong {
        let key = key.to_owned();
        let problem = match self.node {
            Node::Null => Problem::NoValue { key },
            _ => Problem::WrongType {
                key,
                is_item: false,
                expected: expected.to_owned(),
                found: self.describe().to_owned(),
                example: None,
            },
        };
        Wrong::new(self.place, problem)
    }

    /// What a person would call it.
    pub(crate) fn describe(&self) -> &'static str {
        match &self.node {
            Node::Bool(true, _) => "true",
            Node::Bool(false, _) => "false",
            Node::List(_) => "a list",
            Node::Map(_) => "a mapping",
            Node::Null => "nothing",
            Node::Number(..) => "a number",
            Node::Text(_) => "text",
        }
    }
}

/// A value as the scanner gives it.
enum Scanned {
    Bool(bool),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Key>, Spanned<Self>)>),
    Null,
    Number(Number),
    Text(String),
}

/// A key as the scanner gives it.
enum Key {
    Plain,
    Structure,
    Text(String),
}

/// Gives every value its place, and numbers their text.
fn place(scanned: Spanned<Scanned>, text: &str) -> Result<Tree, Wrong> {
    let place_of = place_of(&scanned.defined, text);
    let typed = || text.get(place_of.start..place_of.end).unwrap_or_default().to_owned();
    let node = match scanned.value {
        Scanned::Bool(value) => Node::Bool(value, typed()),
        Scanned::List(items) => {
            Node::List(items.into_iter().map(|item| place(item, text)).collect::<Result<_, _>>()?)
        }
        Scanned::Map(entries) => Node::Map(
            entries
                .into_iter()
                .map(|(key, value)| place_entry(key, value, text))
                .collect::<Result<_, _>>()?,
        ),
        Scanned::Null => Node::Null,
        Scanned::Number(number) => Node::Number(number, typed()),
        Scanned::Text(value) => Node::Text(value),
    };
    Ok(Tree { place: place_of, node })
}

fn place_entry(key: Spanned<Key>, value: Spanned<Scanned>, text: &str) -> Result<Entry, Wrong> {
    let key_place = place_of(&key.defined, text);
    let key = match key.value {
        Key::Plain => text.get(key_place.start..key_place.end).unwrap_or_default().to_owned(),
        Key::Structure => {
            // `key: {{ name }}` is, to YAML, a mapping whose key is a mapping.
            let before = text.get(..key_place.start).unwrap_or_default().trim_end();
            let looks_like_template = before.ends_with('{');
            return Err(Wrong::new(key_place, Problem::KeyIsNoText { looks_like_template }));
        }
        Key::Text(key) => key,
    };
    Ok(Entry { key, key_place, value: place(value, text)? })
}

fn place_of(location: &Location, text: &str) -> Place {
    let span = location.span();
    let byte = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    match (byte(span.byte_offset()), byte(span.byte_len())) {
        (Some(start), Some(length)) => Place { start, end: start.saturating_add(length) },
        _ => {
            let start = offset_of(text, location.line(), location.column());
            Place { start, end: start }
        }
    }
}

/// The byte at which a line and column, both from 1 and in characters, begin.
fn offset_of(text: &str, line: u64, column: u64) -> usize {
    let line = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let column = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(found) = text.split_inclusive('\n').nth(line) else { return text.len() };
    let before = found.char_indices().nth(column).map_or(found.len(), |(at, _)| at);
    found.as_ptr() as usize - text.as_ptr() as usize + before
}

fn refuse(error: &Error, text: &str) -> Wrong {
    let error = error.without_snippet();
    let location = error.location();
    let place = location.map(|location| place_of(&location, text)).unwrap_or_default();
    let problem = problem_of(error);
    let place = match &problem {
        Problem::NotYaml { reason } if reason.ends_with("found a tab") => first_tab(text, place),
        _ => place,
    };
    Wrong::new(place, problem)
}

/// The tab that ends a text: the scanner points at the text, which may be lines before.
fn first_tab(text: &str, after: Place) -> Place {
    let tab = text.get(after.start..).and_then(|rest| rest.find('\t'));
    tab.map_or(after, |tab| Place { start: after.start + tab, end: after.start + tab + 1 })
}

fn problem_of(error: &Error) -> Problem {
    match error {
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => Problem::SecondDocument,
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => Problem::TooDeep,
        Error::Budget { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => Problem::TooMuchYaml,
        Error::AliasError { error, .. } => problem_of(error.without_snippet()),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            Problem::DuplicateKey { key: key.clone() }
        }
        Error::Eof { .. } => Problem::Empty,
        Error::MultipleDocuments { .. } => Problem::SecondDocument,
        Error::UnknownAnchor { .. } => {
            Problem::NotYaml { reason: "there is no such anchor".into() }
        }
        error => match first_line(error) {
            reason if reason.contains("recursion limit") => Problem::TooDeep,
            reason => Problem::NotYaml { reason },
        },
    }
}

/// What the scanner says, without the place, which is drawn.
fn first_line(error: &Error) -> String {
    let said = error.render();
    let line = said.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = line.split_once(" at line ").map_or(line, |(before, _)| before);
    line.to_owned()
}

impl<'de> Deserialize<'de> for Scanned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScannedVisitor)
    }
}

struct ScannedVisitor;

impl<'de> Visitor<'de> for ScannedVisitor {
    type Value = Scanned;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scanned, E> {
        Ok(Scanned::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scanned, E> {
        Ok(Scanned::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scanned, E> {
        Ok(Scanned::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Scanned, E> {
        Number::from_f64(value)
            .map(Scanned::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scanned, E> {
        Ok(Scanned::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scanned, E> {
        Ok(Scanned::Null)
    }

    fn visit_none<E>(self) -> Result<Scanned, E> {
        Ok(Scanned::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scanned, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scanned, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Scanned::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scanned, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Scanned::Map(map))
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_unit<E>(self) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_none<E>(self) -> Result<Key, E> {
        Ok(Key::Plain)
    }

    fn visit_str<E>(self, value: &str) -> Result<Key, E> {
        Ok(Key::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Key, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Key::Structure)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Key, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Key::Structure)
    }
}
