//! One schema's text of a draft and all that it refers to: everything in its place where that is
//! short, and `$defs` where it would be more than twice as long or never end. Called for each tool.

use crate::openapi::document::Lost;
use crate::openapi::limits::{INLINE_BYTES, SCHEMA_BYTES_MAX};
use crate::openapi::schema::tame::{Facts, Findings, Inlined, Judge};
use crate::openapi::schema::{Draft, Schemas};
use haft_server::schema::Prepared;
use std::collections::HashSet;

/// A schema for a tool.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) schema: Prepared,
    /// Something in it was too long, and allows anything.
    pub(crate) is_cut: bool,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Unwritable {
    Lost(Lost),
    /// What the check of arguments says of it.
    Refused(String),
}

/// How deep references within each other are written in their place.
const INLINE_DEPTH: usize = 8;

impl Schemas<'_> {
    /// The schema of a draft, an object, that the check of arguments takes.
    pub(crate) fn write(&mut self, draft: &Draft) -> Result<Written, Unwritable> {
        if let Some(lost) = &draft.lost {
            return Err(Unwritable::Lost(lost.clone()));
        }
        let facts = Facts::of(draft);
        let (reached, is_trimmed) = self.reach(draft);
        let is_cut = is_trimmed || reached.iter().any(|id| self.draft(*id).is_cut) || draft.is_cut;
        let is_lost = |id: &usize| self.draft(*id).lost.clone();
        if let Some(lost) = reached.iter().find_map(is_lost) {
            return Err(Unwritable::Lost(lost));
        }
        let (mut findings, only) = (Findings::new(), HashSet::from_iter(reached.iter().copied()));
        let mut judge = match is_trimmed {
            false => Judge::of_all(&self.shared, &mut self.findings),
            true => Judge::of(&self.shared, &mut findings, &only),
        };
        let is_tame = judge.is_tame(&facts, &reached);
        let inlined = if is_cut { None } else { judge.inlined(&facts) };
        let inlined = inlined.filter(|inlined| inlined.depth <= INLINE_DEPTH && inlined.is_tame());
        if let Some(inlined) = inlined.filter(|inlined| inlined.bytes <= INLINE_BYTES) {
            let written = self.written_inline(draft, inlined, is_tame);
            if let Some(written) = written {
                return Ok(written);
            }
        }
        let shared = self.with_definitions(draft, &reached);
        let budget = shared.len().saturating_mul(2).min(SCHEMA_BYTES_MAX);
        if let Some(inlined) = inlined.filter(|inlined| inlined.bytes <= budget) {
            let written = self.written_inline(draft, inlined, is_tame);
            if let Some(written) = written {
                return Ok(written);
            }
        }
        if is_tame && shared.len() <= SCHEMA_BYTES_MAX {
            return Ok(Written { schema: Prepared::deferred(shared), is_cut });
        }
        let refused = match Prepared::compile(shared) {
            Ok(schema) => return Ok(Written { schema, is_cut }),
            Err(bad) => bad.reason,
        };
        // What is referred to may be too much for a check: it is left open.
        let open = self.with_definitions(draft, &[]);
        match Prepared::compile(open) {
            Ok(schema) => Ok(Written { schema, is_cut: true }),
            Err(_) => Err(Unwritable::Refused(refused)),
        }
    }

    /// All that a draft refers to, in order, as far as there is room for it, and whether there is
    /// more.
    fn reach(&mut self, draft: &Draft) -> (Vec<usize>, bool) {
        let (mut reached, mut known, mut is_cut) = (Vec::new(), HashSet::new(), false);
        let mut bytes = draft.text.len();
        let mut waiting: Vec<usize> = Vec::new();
        let mut at = 0;
        waiting.extend(draft.references.iter().map(|(_, id)| *id));
        while let Some(&id) = waiting.get(at) {
            at += 1;
            if !known.insert(id) {
                continue;
            }
            self.ready(id);
            let found = self.draft(id);
            // Each reference to it is written as one, and its name stands before it.
            let length = found.text.len() + (found.references.len() + 1) * 48;
            if bytes + length > SCHEMA_BYTES_MAX {
                is_cut = true;
                continue;
            }
            bytes += length;
            reached.push(id);
            waiting.extend(found.references.iter().map(|(_, id)| *id));
        }
        (reached, is_cut)
    }

    /// Without references; `None` if that is refused, which it is not where all is tame.
    fn written_inline(&self, draft: &Draft, inlined: Inlined, is_tame: bool) -> Option<Written> {
        let mut text = String::with_capacity(inlined.bytes);
        self.inline(draft, &mut text);
        let schema =
            if is_tame { Prepared::deferred(text) } else { Prepared::compile(text).ok()? };
        Some(Written { schema, is_cut: false })
    }

    /// Writes everything in its place, which has an end.
    fn inline(&self, draft: &Draft, out: &mut String) {
        let mut done = 0;
        for &(at, id) in &draft.references {
            out.push_str(&draft.text[done..at]);
            done = at;
            self.inline(self.draft(id), out);
        }
        out.push_str(&draft.text[done..]);
    }

    /// Writes what is reached once, under `$defs`, and `{}` for all else.
    fn with_definitions(&self, draft: &Draft, reached: &[usize]) -> String {
        let known: HashSet<usize> = reached.iter().copied().collect();
        let mut out = String::new();
        self.refer(draft, &known, &mut out);
        if reached.is_empty() {
            return out;
        }
        let last = out.pop();
        debug_assert_eq!(last, Some('}'), "a tool's schema is an object");
        out.push_str(if out == "{" { r#""$defs":{"# } else { r#","$defs":{"# });
        for (at, id) in reached.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&format!("{:?}:", self.shared[*id].name));
            self.refer(self.draft(*id), &known, &mut out);
        }
        out.push_str("}}");
        out
    }

    fn refer(&self, draft: &Draft, known: &HashSet<usize>, out: &mut String) {
        let mut done = 0;
        for &(at, id) in &draft.references {
            out.push_str(&draft.text[done..at]);
            done = at;
            if known.contains(&id) {
                out.push_str(&format!(r##"{{"$ref":"#/$defs/{}"}}"##, self.shared[id].name));
            } else {
                out.push_str("{}");
            }
        }
        out.push_str(&draft.text[done..]);
    }
}
