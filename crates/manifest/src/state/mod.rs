//! Tools that keep state: as run, checked from as typed, and where the state is. Called by `kind`
//! and `meant`; the state itself is a `haft_store::Store`.

pub(crate) mod handler;

use crate::amount;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::input::Input;
use crate::limits::{STATE_BYTES_MAX, TTL_MAX};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::value::Expression;
use crate::template::{Compiler, Template};
use crate::tool::{fixed_text, typed};
use crate::written::Scalar;
use crate::written::state as written;
use haft_proto::spec::tool::Annotations;
use haft_store::{Store, StoreError};
use std::path::PathBuf;
use std::time::Duration;

/// Where state is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// In a file, or in memory.
    pub(crate) file: Option<Placed<PathBuf>>,
    bytes_max: Option<u64>,
}

/// What a tool does with it.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) key: Template,
    pub(crate) action: Action,
    pub(crate) ttl: Option<Duration>,
}

/// What is done with a key.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Adds to its number.
    Add(Option<Expression>),
    Delete,
    Get,
    /// Lists the keys that begin like it.
    Keys,
    Set(Expression),
}

impl Kept {
    /// Checks the key `state` of a file.
    pub(crate) fn check(
        written: &written::State,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let file = match &written.file {
            Some(file) => {
                let reason = "all calls share one state";
                let path = fixed_text(file, "file", reason, surroundings)?;
                if path.value.is_empty() || path.value.contains('\0') {
                    return Err(Wrong::new(
                        path.place,
                        Problem::NoValue { key: "file".to_owned() },
                    ));
                }
                Some(Placed::new(path.place, surroundings.directory.join(path.value)))
            }
            None => None,
        };
        let size = |text| amount::bytes("max_size", text, STATE_BYTES_MAX, surroundings);
        let bytes_max = written.max_size.as_ref().map(size).transpose()?;
        Ok(Self { file, bytes_max: bytes_max.map(|bytes| bytes as u64) })
    }

    /// Whether it is kept in the same place, in the same way.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let path = |kept: &Self| kept.file.as_ref().map(|file| file.value.clone());
        path(self) == path(other) && self.bytes_max == other.bytes_max
    }

    /// Opens it.
    pub(crate) fn open(&self) -> Result<Store, StoreError> {
        use haft_store::limits::{FILE_BYTES, MEMORY_BYTES};
        match &self.file {
            Some(file) => Store::open_of(&file.value, self.bytes_max.unwrap_or(FILE_BYTES)),
            None => Store::memory_of(self.bytes_max.unwrap_or(MEMORY_BYTES)),
        }
    }
}

/// Checks the key `state` of a tool.
pub(crate) fn check(
    written: &Placed<written::Operation>,
    input: &Input,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Operation, Wrong> {
    let (place, written) = (written.place, &written.value);
    let (word, key) = only_action(written, place)?;
    check_keys(written, word)?;
    let action = match word {
        "set" => {
            let missing = || Problem::MissingKey {
                owner: "`state` with `set`".to_owned(),
                key: "value".to_owned(),
            };
            let value = written.value.as_ref().ok_or_else(|| Wrong::new(place, missing()))?;
            Action::Set(compiler.compile_expression(typed(value), input.known())?)
        }
        "add" => {
            let by = written.by.as_ref();
            let by = by.map(|by| compiler.compile_expression(typed(by), input.known()));
            Action::Add(by.transpose()?)
        }
        "get" => Action::Get,
        "delete" => Action::Delete,
        _ => Action::Keys,
    };
    let ttl = written.ttl.as_ref().map(|ttl| amount::time("ttl", ttl, TTL_MAX, surroundings));
    let key = compiler.compile(typed(key), input.known())?;
    Ok(Operation { key, action, ttl: ttl.transpose()? })
}

/// The one thing that it does.
fn only_action(
    written: &written::Operation,
    place: Place,
) -> Result<(&'static str, &Placed<Scalar>), Wrong> {
    let all = [
        ("get", &written.get),
        ("set", &written.set),
        ("add", &written.add),
        ("delete", &written.delete),
        ("keys", &written.keys),
    ];
    let mut there = all.into_iter().filter_map(|(word, key)| Some((word, key.as_ref()?)));
    match (there.next(), there.next()) {
        (Some(only), None) => Ok(only),
        (Some((other, _)), Some((key, second))) => {
            Err(Wrong::new(second.place, Problem::TwoOfOne { key, other }))
        }
        (None, _) => {
            let what = "this does nothing with the state".to_owned();
            let help = "say one of `get`, `set`, `add`, `delete` and `keys`, with a key";
            Err(Wrong::new(place, Problem::KindMissing { what, help }))
        }
    }
}

/// What goes with one action does not go with another.
fn check_keys(written: &written::Operation, word: &str) -> Result<(), Wrong> {
    let ends = if word == "add" { "add" } else { "set" };
    for (key, value, other) in
        [("value", &written.value, "set"), ("by", &written.by, "add"), ("ttl", &written.ttl, ends)]
    {
        if let Some(value) = value.as_ref().filter(|_| word != other) {
            let problem = Problem::KeyBelongsTo { key, owners: "`state`", other: other.to_owned() };
            return Err(Wrong::new(value.place, problem));
        }
    }
    Ok(())
}

impl Operation {
    /// What it reads.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let value = match &self.action {
            Action::Set(value) | Action::Add(Some(value)) => Some(&value.template),
            Action::Add(None) | Action::Delete | Action::Get | Action::Keys => None,
        };
        std::iter::once(&self.key).chain(value).collect()
    }

    /// How it behaves, where its tool does not say it.
    pub(crate) fn annotations(&self) -> Annotations {
        let reads = matches!(self.action, Action::Get | Action::Keys);
        Annotations {
            read_only: Some(reads),
            destructive: (!reads).then_some(matches!(self.action, Action::Delete | Action::Set(_))),
            idempotent: (!reads).then_some(!matches!(self.action, Action::Add(_))),
            open_world: Some(false),
        }
    }

    /// The JSON Schema of its answer.
    pub(crate) fn output_schema(&self) -> &'static str {
        match self.action {
            Action::Get => concat!(
                r#"{"type":"object","properties":{"found":{"type":"boolean"},"value":{}},"#,
                r#""required":["found"]}"#
            ),
            Action::Set(_) => concat!(
                r#"{"type":"object","properties":{"key":{"type":"string"}},"#,
                r#""required":["key"]}"#
            ),
            Action::Add(_) => concat!(
                r#"{"type":"object","properties":{"value":{"type":"integer"}},"#,
                r#""required":["value"]}"#
            ),
            Action::Delete => concat!(
                r#"{"type":"object","properties":{"deleted":{"type":"boolean"}},"#,
                r#""required":["deleted"]}"#
            ),
            Action::Keys => concat!(
                r#"{"type":"object","properties":{"keys":{"type":"array","items":"#,
                r#"{"type":"string"}},"more":{"type":"boolean"}},"required":["keys","more"]}"#
            ),
        }
    }
}
