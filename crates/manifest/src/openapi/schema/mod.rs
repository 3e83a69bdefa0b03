//! Schemas of a document become schemas of tools: `argument` has those of a tool's arguments,
//! `gather` puts together what an `allOf` says, `convert` writes it in the dialect of 2020-12, once
//! for each schema that is referred to, and `write` makes one text of it, whole or with `$defs`,
//! `values` has those that it allows, and `tame` knows which texts need no proof. Called for each
//! operation.

mod argument;
mod beside;
mod convert;
mod gather;
mod members;
mod tame;
mod values;
mod write;

use crate::openapi::document::{Document, Lost};
use crate::openapi::limits::{DEFINITION_NAME_MAX, SCHEMAS_BYTES_MAX};
use serde_json::{Map, Value};
use std::collections::HashMap;
use tame::{Facts, Findings};

pub(crate) use argument::{Property, Shape};
use beside::Beside;
pub(crate) use gather::Gathered;
pub(crate) use write::Unwritable;

/// The schemas of a document that somebody asked for, converted.
pub(crate) struct Schemas<'d> {
    pub(crate) document: &'d Document,
    /// Schemas of what is sent, not of what comes back.
    is_sent: bool,
    shared: Vec<Shared<'d>>,
    findings: Findings,
    by_reference: HashMap<&'d str, Result<usize, Lost>>,
    names: HashMap<String, usize>,
    /// Regular expressions, and whether they are ones here.
    patterns: HashMap<&'d str, bool>,
    /// What is being written, and what that is put together of.
    expanding: Vec<&'d Map<String, Value>>,
    /// What stands beside the schema that is written next.
    beside: Option<Beside<'d>>,
    /// The bytes of all drafts that are kept.
    bytes: usize,
}

/// A schema that others refer to.
struct Shared<'d> {
    /// Under `$defs`.
    name: String,
    source: &'d Value,
    draft: Option<Draft>,
    facts: Facts,
}

/// A schema's text with places for those that it refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    /// Where, in order, and which.
    references: Vec<(usize, usize)>,
    /// Something in it was too long, and allows anything.
    pub(crate) is_cut: bool,
    /// A reference in it that cannot be followed.
    pub(crate) lost: Option<Lost>,
}

impl<'d> Schemas<'d> {
    /// For arguments.
    pub(crate) fn sent(document: &'d Document) -> Self {
        Self {
            document,
            is_sent: true,
            shared: Vec::new(),
            findings: Findings::new(),
            by_reference: HashMap::new(),
            names: HashMap::new(),
            patterns: HashMap::new(),
            expanding: Vec::new(),
            beside: None,
            bytes: 0,
        }
    }

    /// For answers: only as strict as servers are known to be.
    pub(crate) fn answered(document: &'d Document) -> Self {
        Self { is_sent: false, ..Self::sent(document) }
    }

    /// The schema that a reference leads to.
    fn shared(&mut self, reference: &'d str) -> Result<usize, Lost> {
        if let Some(known) = self.by_reference.get(reference) {
            return known.clone();
        }
        let found = self.share(reference);
        self.by_reference.insert(reference, found.clone());
        found
    }

    fn share(&mut self, reference: &'d str) -> Result<usize, Lost> {
        let (source, last) = self.document.follow(reference)?;
        // A name for another name.
        if let Some(known) = self.by_reference.get(last) {
            return known.clone();
        }
        let name = self.name(last);
        self.shared.push(Shared { name, source, draft: None, facts: Facts::default() });
        let id = self.shared.len() - 1;
        self.by_reference.insert(last, Ok(id));
        Ok(id)
    }

    /// A name for `$defs` that no other one has.
    fn name(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let last = crate::openapi::document::token_of(last);
        let is_plain =
            |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
        let plain = |character: char| if is_plain(character) { character } else { '_' };
        let base: String = last.chars().take(DEFINITION_NAME_MAX).map(plain).collect();
        let base = if base.is_empty() { "schema".to_owned() } else { base };
        loop {
            let count = self.names.entry(base.clone()).or_insert(0);
            *count += 1;
            if *count == 1 {
                return base;
            }
            // A name of the document could be the same; it is known then, and the next one tried.
            let name = format!("{base}.{count}");
            if !self.names.contains_key(&name) {
                self.names.insert(name.clone(), 1);
                return name;
            }
        }
    }

    /// The draft of a shared schema, made when it is first wanted.
    fn ready(&mut self, id: usize) {
        if self.shared[id].draft.is_none() {
            // What refers to itself finds an empty draft, which it does not look into.
            self.shared[id].draft = Some(Draft::default());
            let mut draft = Draft::default();
            if self.bytes <= SCHEMAS_BYTES_MAX {
                self.convert(self.shared[id].source, &mut draft, 0);
            } else {
                draft.is_cut = true;
            }
            // One that was cut fits into no tool: it is not kept.
            if draft.is_cut {
                draft = Draft { text: "{}".to_owned(), is_cut: true, ..Draft::default() };
            }
            self.bytes += draft.text.len();
            self.shared[id].facts = Facts::of(&draft);
            self.shared[id].draft = Some(draft);
        }
    }

    fn draft(&self, id: usize) -> &Draft {
        self.shared[id].draft.as_ref().expect("`ready` is called before")
    }
}
