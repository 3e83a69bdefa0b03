//! Which schemas are surely ones that the check of arguments takes, of all that `convert` writes:
//! to know this costs a look at each byte of a draft, once, and to compile a schema a hundred, for
//! each tool. Asked by `write`, which compiles the others at once; it is wrong on one side only.

use crate::openapi::schema::{Draft, Shared};
use std::collections::{HashMap, HashSet};

/// The most arrays and objects within each other, in a text.
const NESTED_MAX: usize = 60;
/// The most regular expressions, each of which is known to be one, and the longest, in bytes: a
/// schema is compiled while a call waits, and that must not take long.
const PATTERNS_MAX: usize = 8;
const PATTERN_BYTES_MAX: usize = 256;
/// The most subschemas that follow each other for one value.
const CHAIN_MAX: usize = 30;
/// The most subschemas and keywords for one value.
const WEIGHT_MAX: usize = 50_000;
/// The most subschemas within each other, so many references being followed.
const LEVELS_MAX: usize = 90;
const HOPS_MAX: usize = 8;

/// What the text of a draft is like, without what it refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    bytes: usize,
    /// The most arrays and objects within each other.
    nested: usize,
    /// The most subschemas within each other.
    levels: usize,
    /// The most of them for one value.
    chain: usize,
    /// Subschemas and keywords.
    weight: usize,
    patterns: usize,
    /// The bytes of the longest of them.
    longest: usize,
    references: Vec<Reference>,
}

/// Where a reference stands.
#[derive(Clone, Copy, Debug)]
struct Reference {
    to: usize,
    nested: usize,
    levels: usize,
    chain: usize,
    /// What it refers to is about the value that the whole draft is about.
    is_in_place: bool,
}

/// What is found about shared schemas, by their numbers.
pub(super) type Findings = HashMap<usize, Finding>;

/// What is found about one of them and all that it refers to.
#[derive(Debug, Default)]
pub(super) struct Finding {
    in_place: Found<InPlace>,
    inlined: Found<Inlined>,
    levels: [Option<usize>; HOPS_MAX + 1],
}

#[derive(Clone, Copy, Debug, Default)]
enum Found<T> {
    #[default]
    Nothing,
    /// It is being looked for.
    Open,
    /// There is none: it leads back to itself.
    Endless,
    Known(T),
}

impl<T> Found<T> {
    fn known(self) -> Option<T> {
        if let Self::Known(known) = self { Some(known) } else { None }
    }
}

/// What a value is compared with, apart from its parts.
#[derive(Clone, Copy, Debug)]
struct InPlace {
    chain: usize,
    weight: usize,
}

/// A draft with everything written in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inlined {
    pub(super) bytes: usize,
    /// How deep references are within each other.
    pub(super) depth: usize,
    nested: usize,
    patterns: usize,
    longest: usize,
}

impl Inlined {
    /// Whether its text is surely a schema.
    pub(super) fn is_tame(&self) -> bool {
        self.nested <= NESTED_MAX
            && self.patterns <= PATTERNS_MAX
            && self.longest <= PATTERN_BYTES_MAX
    }
}

impl Facts {
    pub(super) fn of(draft: &Draft) -> Self {
        let text = &*draft.text;
        let mut facts = Self {
            bytes: text.len(),
            patterns: text.matches(r#""pattern"#).count(),
            ..Self::default()
        };
        let mut references = draft.references.iter().peekable();
        let mut reader = Reader { above: Vec::new(), key: "" };
        let (mut at, bytes) = (0, text.as_bytes());
        loop {
            while let Some((_, to)) = references.next_if(|(place, _)| *place <= at) {
                let Scope { levels, chain, is_in_place, .. } = reader.scope(true);
                let nested = reader.above.len();
                facts.references.push(Reference { to: *to, nested, levels, chain, is_in_place });
                facts.see(nested, levels, chain);
            }
            let Some(byte) = bytes.get(at) else { return facts };
            match byte {
                b'"' => {
                    let length = quoted(&bytes[at + 1..]);
                    if reader.is_pattern() {
                        facts.longest = facts.longest.max(length);
                    }
                    reader.key = &text[at + 1..at + 1 + length];
                    at += length + 1;
                }
                b'{' | b'[' => {
                    let scope = reader.scope(*byte == b'{');
                    reader.above.push(scope);
                    facts.weight += 1;
                    facts.see(reader.above.len(), scope.levels, scope.chain);
                }
                b'}' | b']' => _ = reader.above.pop(),
                b':' => facts.weight += 1,
                _ => {}
            }
            at += 1;
        }
    }

    fn see(&mut self, nested: usize, levels: usize, chain: usize) {
        self.nested = self.nested.max(nested);
        self.levels = self.levels.max(levels);
        self.chain = self.chain.max(chain);
    }
}

/// The bytes up to the end of a text in quotes.
fn quoted(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(b'"') => return at,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// An array or object that is open.
#[derive(Clone, Copy)]
struct Scope {
    what: What,
    levels: usize,
    /// Of a list, those of its items.
    chain: usize,
    is_in_place: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    List,
    /// Schemas by names.
    Named,
    /// Schemas by regular expressions.
    Patterned,
    Schema,
}

struct Reader<'t> {
    above: Vec<Scope>,
    /// The last text in quotes, which is the key of what is opened next in an object.
    key: &'t str,
}

impl Reader<'_> {
    /// Whether the text that begins here may be a regular expression.
    fn is_pattern(&self) -> bool {
        self.key == "pattern" || self.above.last().is_some_and(|open| open.what == What::Patterned)
    }

    /// What begins here.
    fn scope(&self, is_object: bool) -> Scope {
        let what = if is_object { What::Schema } else { What::List };
        let Some(above) = self.above.last().copied() else {
            return Scope { what, levels: 1, chain: 0, is_in_place: true };
        };
        let levels = above.levels + usize::from(is_object);
        let apart = Scope { what, levels, chain: 0, is_in_place: false };
        match (above.what, self.key) {
            (What::List, _) => Scope { what, levels, ..above },
            (What::Named | What::Patterned, _) => apart,
            (What::Schema, "properties") if is_object => {
                Scope { what: What::Named, levels: above.levels, ..apart }
            }
            (What::Schema, "patternProperties") if is_object => {
                Scope { what: What::Patterned, levels: above.levels, ..apart }
            }
            (What::Schema, "additionalProperties" | "items" | "prefixItems") => apart,
            // Everything else is about the same value, or no schema at all.
            (What::Schema, _) => Scope { what, levels, chain: above.chain + 1, ..above },
        }
    }
}

/// Looks into drafts that are ready, and remembers what it finds.
pub(super) struct Judge<'s, 'd> {
    shared: &'s [Shared<'d>],
    findings: &'s mut Findings,
    /// What else is referred to is left open.
    only: Option<&'s HashSet<usize>>,
}

impl<'s, 'd> Judge<'s, 'd> {
    /// For drafts that refer to nothing but what is ready.
    pub(super) fn of_all(shared: &'s [Shared<'d>], findings: &'s mut Findings) -> Self {
        Self { shared, findings, only: None }
    }

    /// For drafts whose references lead to these or are left open. What is found then is true of
    /// them alone, so `findings` is a list of its own.
    pub(super) fn of(
        shared: &'s [Shared<'d>],
        findings: &'s mut Findings,
        only: &'s HashSet<usize>,
    ) -> Self {
        Self { only: Some(only), ..Self::of_all(shared, findings) }
    }

    fn references<'f>(
        &self,
        facts: &'f Facts,
    ) -> impl Iterator<Item = &'f Reference> + use<'f, 's> {
        let only = self.only;
        facts.references.iter().filter(move |one| only.is_none_or(|only| only.contains(&one.to)))
    }

    /// Whether a draft is surely a schema together with those that it reaches, under `$defs`.
    pub(super) fn is_tame(&mut self, draft: &Facts, reached: &[usize]) -> bool {
        let shared = self.shared;
        let facts = || reached.iter().map(|id| &shared[*id].facts).chain([draft]);
        facts().map(|facts| facts.patterns).sum::<usize>() <= PATTERNS_MAX
            && facts().all(|facts| facts.longest <= PATTERN_BYTES_MAX)
            && facts().all(|facts| self.is_tame_alone(facts))
    }

    /// Whether nothing that begins within a draft goes on for too long.
    fn is_tame_alone(&mut self, draft: &Facts) -> bool {
        let (mut chain, mut weight, mut levels) = (draft.chain, draft.weight, draft.levels);
        for reference in self.references(draft) {
            let Some(below) = self.in_place(reference.to) else { return false };
            chain = chain.max(reference.chain + 1 + below.chain);
            weight = weight.saturating_add(below.weight).saturating_add(2);
            levels = levels.max(reference.levels + self.levels(reference.to, HOPS_MAX - 1));
        }
        // Below `$defs` and a name.
        draft.nested + 2 <= NESTED_MAX
            && chain <= CHAIN_MAX
            && weight <= WEIGHT_MAX
            && levels <= LEVELS_MAX
    }

    fn in_place(&mut self, id: usize) -> Option<InPlace> {
        let known = &mut self.findings.entry(id).or_default().in_place;
        match std::mem::replace(known, Found::Open) {
            Found::Nothing => {}
            found => {
                *known = found;
                return found.known();
            }
        }
        let facts = &self.shared[id].facts;
        let mut found = Some(InPlace { chain: facts.chain, weight: facts.weight });
        for reference in self.references(facts).filter(|reference| reference.is_in_place) {
            found = found.zip(self.in_place(reference.to)).map(|(here, below)| InPlace {
                chain: here.chain.max(reference.chain + 1 + below.chain),
                weight: here.weight.saturating_add(below.weight).saturating_add(2),
            });
        }
        self.findings.entry(id).or_default().in_place = found.map_or(Found::Endless, Found::Known);
        found
    }

    fn levels(&mut self, id: usize, hops: usize) -> usize {
        if let Some(known) = self.findings.entry(id).or_default().levels[hops] {
            return known;
        }
        let facts = &self.shared[id].facts;
        let mut levels = facts.levels;
        if let Some(hops) = hops.checked_sub(1) {
            for reference in self.references(facts) {
                levels = levels.max(reference.levels + self.levels(reference.to, hops));
            }
        }
        self.findings.entry(id).or_default().levels[hops] = Some(levels);
        levels
    }

    /// What a draft is with everything in its place; nothing if it would have no end.
    pub(super) fn inlined(&mut self, draft: &Facts) -> Option<Inlined> {
        let &Facts { bytes, nested, patterns, longest, .. } = draft;
        let mut whole = Inlined { bytes, depth: 0, nested, patterns, longest };
        for reference in self.references(draft) {
            whole.add(*reference, self.inlined_shared(reference.to)?);
        }
        Some(whole)
    }

    fn inlined_shared(&mut self, id: usize) -> Option<Inlined> {
        let known = &mut self.findings.entry(id).or_default().inlined;
        match std::mem::replace(known, Found::Open) {
            Found::Nothing => {}
            found => {
                *known = found;
                return found.known();
            }
        }
        let shared = self.shared;
        let found = self.inlined(&shared[id].facts);
        self.findings.entry(id).or_default().inlined = found.map_or(Found::Endless, Found::Known);
        found
    }
}

impl Inlined {
    fn add(&mut self, reference: Reference, below: Self) {
        self.bytes = self.bytes.saturating_add(below.bytes);
        self.depth = self.depth.max(below.depth + 1);
        self.nested = self.nested.max(reference.nested + below.nested);
        self.patterns = self.patterns.saturating_add(below.patterns);
        self.longest = self.longest.max(below.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::document::Document;
    use crate::openapi::schema::{Property, Schemas, Shape};
    use haft_server::schema::Schema;
    use serde_json::{Map, Value, json};

    fn facts(text: &str) -> Facts {
        Facts::of(&Draft { text: text.to_owned(), ..Draft::default() })
    }

    #[test]
    fn a_draft_is_looked_at_as_a_schema() {
        let text = r#"{"anyOf":[{"not":{}}],"properties":{"anyOf":{"items":{"type":"string"}}}}"#;
        let Facts { nested, levels, chain, weight, .. } = facts(text);
        assert_eq!((nested, levels, chain, weight), (4, 3, 2, 13));
        let Facts { nested, weight, .. } = facts(r#"{"const":"\\\"[[{{::"}"#);
        assert_eq!((nested, weight), (1, 2));
        assert_eq!(facts(r#"{"pattern":"a","patternProperties":{}}"#).patterns, 2);
        assert_eq!(facts(r#"{"type":"string","pattern":"abc"}"#).longest, 3);
        let keys = r#"{"patternProperties":{"a":{"title":"long"},"bc":{"items":{}}}}"#;
        assert_eq!(facts(keys).longest, 2);
        assert_eq!(facts(r#"{"properties":{"long":{"type":"string"}}}"#).longest, 0);
    }

    #[test]
    fn regular_expressions_that_are_many_or_long_are_compiled_before_a_call_waits() {
        let alone = |schema: Value| Map::from_iter([("S0".to_owned(), schema)]);
        let many = |count: usize| {
            let one = |at: usize| (format!("p{at}"), json!({"type": "string", "pattern": "^a$"}));
            alone(json!({"properties": Map::from_iter((0..count).map(one))}))
        };
        assert!(is_tame(&many(PATTERNS_MAX), &to(0)));
        assert!(!is_tame(&many(PATTERNS_MAX + 1), &to(0)));
        let long = |bytes: usize| alone(json!({"type": "string", "pattern": "a".repeat(bytes)}));
        assert!(is_tame(&long(PATTERN_BYTES_MAX), &to(0)));
        assert!(!is_tame(&long(PATTERN_BYTES_MAX + 1), &to(0)));
        let keys = |bytes: usize| {
            alone(json!({"patternProperties": {"a".repeat(bytes): {"type": "string"}}}))
        };
        assert!(is_tame(&keys(PATTERN_BYTES_MAX), &to(0)));
        assert!(!is_tame(&keys(PATTERN_BYTES_MAX + 1), &to(0)));
    }

    /// The schemas of a document, and whether its one tool has a schema that needs no proof.
    fn is_tame(schemas: &Map<String, Value>, first: &Value) -> bool {
        let text = json!({"openapi": "3.1.0", "components": {"schemas": schemas}}).to_string();
        let document = Document::read(text.as_bytes()).expect("it is one");
        let mut all = Schemas::sent(&document);
        let (name, shape) = ("a".to_owned(), Shape::Schema(first));
        let property = Property { name, shape, words: None, is_required: false };
        let draft = all.arguments(&[property], false);
        let Ok(written) = all.write(&draft) else { return false };
        // Whatever is written is a schema, be it known before or not, and whole or cut.
        Schema::compile(written.schema.text()).expect("it is one");
        let (reached, facts) = (0..all.shared.len(), Facts::of(&draft));
        for id in reached.clone() {
            all.ready(id);
        }
        let mut findings = Findings::new();
        let mut judge = Judge::of_all(&all.shared, &mut findings);
        judge.is_tame(&facts, &reached.collect::<Vec<_>>())
    }

    fn to(number: usize) -> Value {
        json!({ "$ref": format!("#/components/schemas/S{number}") })
    }

    /// Schemas of which each is made of the next, up to a number where that is no schema any more.
    fn check(count: usize, is_tame_expected: bool, make: impl Fn(Value) -> Value) {
        let chain = |count: usize| {
            let one = |at: usize| (format!("S{at}"), make(to(at + 1)));
            let last = [(format!("S{count}"), json!({"type": "string"}))];
            (0..count).map(one).chain(last).collect()
        };
        assert_eq!(is_tame(&chain(count), &to(0)), is_tame_expected, "{count}");
    }

    #[test]
    fn what_goes_on_for_too_long_is_compiled_to_know() {
        let any = |next: Value| json!({"anyOf": [next, {"minLength": 1}]});
        check(14, true, any);
        check(15, false, any);
        check(60, false, any);
        // Each is a part of the value of the one before.
        check(200, true, |next| json!({"properties": {"p": {"items": next}}}));
        check(400, true, |next| json!({"items": next}));
        let deep = |next: Value| json!({"items": {"items": {"items": {"items": next}}}});
        check(40, true, deep);
        check(40, false, move |next| deep(deep(deep(next))));
        let heavy = |next: Value| json!({"anyOf": [next, next, next]});
        check(8, true, heavy);
        check(10, false, heavy);
    }

    #[test]
    fn what_leads_back_to_itself_is_tame_only_if_it_goes_into_the_value() {
        let alone = |schema: Value| Map::from_iter([("S0".to_owned(), schema)]);
        assert!(is_tame(&alone(json!({"properties": {"next": to(0)}})), &to(0)));
        assert!(is_tame(&alone(json!({"properties": {"n": {"anyOf": [to(0)]}}})), &to(0)));
        assert!(!is_tame(&alone(json!({"anyOf": [to(0), {"type": "null"}]})), &to(0)));
    }

    /// A number that follows from the one before.
    fn random(seed: &mut u64) -> usize {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 40).expect("it has 24 bits")
    }

    fn any_schema(seed: &mut u64, count: usize, depth: usize) -> Value {
        let below = |seed: &mut u64| any_schema(seed, count, depth - 1);
        match random(seed) % if depth == 0 { 3 } else { 9 } {
            0 => to(random(seed) % count),
            1 => json!({"type": "string", "pattern": "^a\"?[{]*$"}),
            2 => json!({"enum": ["{", {"properties": [1]}]}),
            3 => json!({"items": below(seed), "default": {"items": {}}}),
            4 => json!({"anyOf": [below(seed), below(seed)]}),
            5 => json!({"oneOf": [below(seed)], "not": below(seed)}),
            6 => json!({"allOf": [below(seed), below(seed)], "prefixItems": [below(seed)]}),
            7 => json!({"additionalProperties": below(seed)}),
            _ => json!({"properties": {"anyOf": below(seed), "items": below(seed)}}),
        }
    }

    #[test]
    fn what_is_tame_is_a_schema() {
        let mut counts = [0, 0];
        for start in 0..400 {
            let mut seed = start;
            let count = 1 + random(&mut seed) % 12;
            let depth = 1 + random(&mut seed) % 4;
            let one = |at| (format!("S{at}"), any_schema(&mut seed, count, depth));
            let schemas = (0..count).map(one).collect();
            counts[usize::from(is_tame(&schemas, &to(0)))] += 1;
        }
        assert!(counts[0] > 40 && counts[1] > 40, "{counts:?}");
    }
}
