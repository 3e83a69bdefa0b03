//! One schema's text of a draft and all that it refers to: everything in its place where that is
//! short, and `$defs` where it would be more than twice as long or never end. Called for each tool.

use crate::openapi::document::Lost;
use crate::openapi::limits::{INLINE_BYTES, SCHEMA_BYTES_MAX};
use crate::openapi::schema::{Draft, Schemas};
use haft_server::schema::Schema;
use std::collections::HashSet;

/// A schema for a tool.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
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
        if draft.references.is_empty() {
            let written = Written { text: draft.text.clone(), is_cut: draft.is_cut };
            if is_tame(&written.text) {
                return Ok(written);
            }
            let refused = |bad: haft_server::schema::BadSchema| Unwritable::Refused(bad.reason);
            return Schema::compile(&written.text).map(|_| written).map_err(refused);
        }
        let (reached, mut is_cut) = self.reach(draft);
        is_cut |= draft.is_cut || reached.iter().any(|id| self.draft(*id).is_cut);
        let is_lost = |id: &usize| self.draft(*id).lost.clone();
        if let Some(lost) = reached.iter().find_map(is_lost) {
            return Err(Unwritable::Lost(lost));
        }
        let shared = self.with_definitions(draft, &reached);
        if !is_cut {
            let mut text = String::new();
            let budget = INLINE_BYTES.max(shared.len() * 2).min(SCHEMA_BYTES_MAX);
            if self.inline(draft, &mut text, budget, 0) && is_tame(&text) {
                return Ok(Written { text, is_cut });
            }
        }
        let refused = match Schema::compile(&shared) {
            Ok(_) => return Ok(Written { text: shared, is_cut }),
            Err(bad) => bad.reason,
        };
        // What is referred to may be too much for a check: it is left open.
        let open = self.with_definitions(draft, &[]);
        match Schema::compile(&open) {
            Ok(_) => Ok(Written { text: open, is_cut: true }),
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

    /// Writes everything in its place; `false` if it is too long, too deep or without end.
    fn inline(&self, draft: &Draft, out: &mut String, budget: usize, depth: usize) -> bool {
        let mut done = 0;
        for &(at, id) in &draft.references {
            out.push_str(&draft.text[done..at]);
            done = at;
            let is_within = depth < INLINE_DEPTH && out.len() <= budget;
            if !is_within || !self.inline(self.draft(id), out, budget, depth + 1) {
                return false;
            }
        }
        out.push_str(&draft.text[done..]);
        out.len() <= budget
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

/// Whether a text is surely a schema that the check of arguments takes, of all that `convert`
/// writes: it refers to nothing, is not deep, and its regular expressions, each of which is known
/// to be one, are few. To know this costs a look at each byte; to compile it costs a hundred.
fn is_tame(text: &str) -> bool {
    const NESTED_MAX: usize = 60;
    const PATTERNS_MAX: usize = 100;
    let (mut nested, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => nested += 1,
            b'}' | b']' if !is_text => nested = nested.saturating_sub(1),
            _ => {}
        }
        if nested > NESTED_MAX {
            return false;
        }
    }
    text.len() <= SCHEMA_BYTES_MAX
        && text.matches(r#""pattern"#).take(PATTERNS_MAX).count() < PATTERNS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tame_is_neither_deep_nor_long() {
        let nested =
            |depth: usize| format!("{}{{}}{}", r#"{"items":"#.repeat(depth), "}".repeat(depth));
        assert!(is_tame(&nested(50)));
        assert!(is_tame(&format!(r#"{{"const":"\\\"{}"}}"#, "[".repeat(100))));
        assert!(!is_tame(&nested(70)));
        let pattern = r#"{"pattern":"a"},"#.repeat(100);
        assert!(!is_tame(&format!(r#"{{"anyOf":[{pattern}{{}}]}}"#)));
        assert!(!is_tame(&format!(r#"{{"const":"{}"}}"#, "a".repeat(SCHEMA_BYTES_MAX))));
        // The most that is tame is a schema.
        for text in [nested(58), format!("{}{{}}{}", r#"{"anyOf":["#.repeat(29), "]}".repeat(29))] {
            assert!(is_tame(&text) && Schema::compile(&text).is_ok(), "{text}");
        }
    }
}
