//! One schema of a document, as 2020-12 has it: keywords that are not of it are left out, those of
//! 3.0 are translated, and what no schema may say is not said. A draft knows its references and
//! does not follow them. Called by `Schemas`.

use crate::openapi::document::Lost;
use crate::openapi::limits::{SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX, WORDS_MAX};
use crate::openapi::schema::beside::Beside;
use crate::openapi::schema::members::Members;
use crate::openapi::schema::{Draft, Gathered, Schemas, values};
use crate::openapi::words;
use haft_server::schema::Schema;
use serde_json::{Map, Number, Value};
use std::collections::HashSet;

impl Draft {
    pub(crate) fn refer(&mut self, id: usize) {
        self.references.push((self.text.len(), id));
    }

    fn lose(&mut self, lost: Lost) {
        self.lost.get_or_insert(lost);
        self.text.push_str("{}");
    }
}

impl<'d> Schemas<'d> {
    /// The schema of an answer that is an object, and not null.
    pub(crate) fn answer(&mut self, gathered: &Gathered<'d>) -> Draft {
        let mut draft = Draft::default();
        let mut out = Members::begin(&mut draft);
        out.json("type", r#""object""#);
        let unseen = self.unseen(gathered);
        self.object(gathered, (&unseen, None), &mut out, 0);
        out.end();
        draft
    }

    /// Writes a schema.
    pub(crate) fn convert(&mut self, schema: &'d Value, draft: &mut Draft, depth: usize) {
        self.convert_with(schema, None, draft, depth);
    }

    /// Writes a schema with other words about it.
    pub(crate) fn convert_with(
        &mut self,
        schema: &'d Value,
        words: Option<&str>,
        draft: &mut Draft,
        depth: usize,
    ) {
        let Value::Object(members) = schema else {
            return draft.text.push_str(if *schema == Value::Bool(false) {
                r#"{"not":{}}"#
            } else {
                "{}"
            });
        };
        let beside = self.beside.take();
        if depth > SCHEMA_DEPTH_MAX {
            return draft.text.push_str("{}");
        }
        if draft.text.len() > SCHEMA_BYTES_MAX {
            draft.is_cut = true;
            return draft.text.push_str("{}");
        }
        if let Some(Value::String(reference)) = members.get("$ref")
            && words.is_none()
            && self.document.is_alone(schema)
            && !self.is_changed(schema, beside.as_ref())
        {
            return match self.shared(reference) {
                Ok(id) => draft.refer(id),
                Err(lost) => draft.lose(lost),
            };
        }
        if let Some(id) = self.again(members) {
            return again(members, id, words, draft);
        }
        match self.gather(schema) {
            Ok(Some(gathered)) => {
                let above = self.expanding.len();
                self.expanding.extend(&gathered.sources);
                self.emit(&gathered, words, beside, draft, depth);
                self.expanding.truncate(above);
            }
            Ok(None) => draft.text.push_str("{}"),
            Err(lost) => draft.lose(lost),
        }
    }

    /// Whether a schema means something else beside others than where it stands alone.
    fn is_changed(&self, schema: &'d Value, beside: Option<&Beside<'d>>) -> bool {
        let Some(beside) = beside else { return false };
        matches!(self.gather(schema), Ok(Some(gathered)) if beside.changes(&gathered))
    }

    /// The schema that another says again with other words, if it is being written already: in its
    /// place it would have no end.
    fn again(&mut self, members: &'d Map<String, Value>) -> Option<usize> {
        const WORDS: [&str; 11] = [
            "$comment",
            "default",
            "deprecated",
            "description",
            "example",
            "examples",
            "nullable",
            "readOnly",
            "title",
            "writeOnly",
            "xml",
        ];
        let reference = match (members.get("$ref"), members.get("allOf")) {
            (Some(reference), None) => reference,
            (None, Some(Value::Array(parts))) => match &**parts {
                [part] if self.document.is_alone(part) => part.get("$ref")?,
                _ => return None,
            },
            _ => return None,
        };
        let is_word = |key: &String| {
            WORDS.contains(&&**key) || matches!(&**key, "$ref" | "allOf") || key.starts_with("x-")
        };
        let is_object = members.get("type").is_none_or(|kind| kind == "object");
        if !is_object || !members.keys().all(|key| is_word(key) || key == "type") {
            return None;
        }
        let reference = reference.as_str()?;
        let (target, _) = self.document.follow(reference).ok()?;
        let target = target.as_object()?;
        let is_open = self.expanding.iter().any(|known| std::ptr::eq(*known, target));
        if is_open { self.shared(reference).ok() } else { None }
    }

    fn emit(
        &mut self,
        gathered: &Gathered<'d>,
        words: Option<&str>,
        beside: Option<Beside<'d>>,
        draft: &mut Draft,
        depth: usize,
    ) {
        let mut out = Members::begin(draft);
        let types = gathered.types();
        match &*types {
            [] => {}
            [one] if self.is_sent || *one == "null" => {
                out.json("type", &Value::from(*one).to_string());
            }
            several => {
                let mut several = several.to_vec();
                if !self.is_sent && !several.contains(&"null") {
                    several.push("null");
                }
                out.json("type", &Value::from(several).to_string());
            }
        }
        if let Some(title) = gathered.get("title").and_then(Value::as_str)
            && words.is_none()
            && gathered.get("description").is_none()
        {
            out.json("description", &Value::from(words::cut(title, WORDS_MAX)).to_string());
        }
        let description = gathered.get("description").and_then(Value::as_str);
        if let Some(words) = words.or(description).filter(|words| !words.trim().is_empty()) {
            out.json("description", &Value::from(words::cut(words, WORDS_MAX)).to_string());
        }
        if self.is_sent {
            values::write(gathered, &types, &mut out);
            self.bounds(gathered, &types, &mut out);
        }
        let unseen = self.unseen(gathered);
        self.object(gathered, (&unseen, beside.as_ref()), &mut out, depth);
        self.array(gathered, &types, &mut out, depth);
        let beside = self.beside(gathered, unseen, beside);
        self.applied(gathered, beside, &mut out, depth);
        out.end();
    }

    /// How long, how large, of which form.
    fn bounds(&mut self, gathered: &Gathered<'d>, types: &[&str], out: &mut Members<'_>) {
        let number = |keyword| match gathered.get(keyword) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        };
        for (keyword, exclusive) in
            [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")]
        {
            let bound = number(keyword);
            match (gathered.get(exclusive), bound) {
                (Some(Value::Bool(true)), Some(bound)) => out.json(exclusive, &bound.to_string()),
                (Some(Value::Number(bound)), _) => out.json(exclusive, &bound.to_string()),
                (_, Some(bound)) => out.json(keyword, &bound.to_string()),
                _ => {}
            }
        }
        if let Some(step) = number("multipleOf").filter(|step| step.as_f64() > Some(0.0)) {
            out.json("multipleOf", &step.to_string());
        }
        for keyword in
            ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
        {
            if let Some(count) = number(keyword).and_then(count) {
                out.json(keyword, &count.to_string());
            }
        }
        if gathered.says("uniqueItems", true) {
            out.json("uniqueItems", "true");
        }
        if let Some(Value::String(pattern)) = gathered.get("pattern")
            && self.is_pattern(pattern)
        {
            out.json("pattern", &Value::from(&**pattern).to_string());
        }
        let is_text = types.contains(&"string") || types.is_empty();
        for keyword in ["format", "contentEncoding", "contentMediaType"] {
            // What the size of a number is to a program is nothing to a model.
            if let Some(Value::String(word)) = gathered.get(keyword).filter(|_| is_text) {
                out.json(keyword, &Value::from(words::cut(word, WORDS_MAX)).to_string());
            }
        }
    }

    fn is_pattern(&mut self, pattern: &'d str) -> bool {
        *self.patterns.entry(pattern).or_insert_with(|| {
            let schema = format!(r#"{{"pattern":{}}}"#, Value::from(pattern));
            Schema::compile(&schema).is_ok()
        })
    }

    fn object(
        &mut self,
        gathered: &Gathered<'d>,
        (unseen, beside): (&HashSet<&'d str>, Option<&Beside<'d>>),
        out: &mut Members<'_>,
        depth: usize,
    ) {
        let (mut properties, mut required) = (gathered.properties(), gathered.required());
        let is_unseen = |name: &&str| {
            unseen.contains(name) || beside.is_some_and(|beside| beside.unseen.contains(name))
        };
        required.retain(|name| !is_unseen(name));
        properties.retain(|(name, schema)| !unseen.contains(name) || !self.is_unseen(schema));
        if !properties.is_empty() {
            let mut inner = Members::begin(out.key("properties"));
            for (name, schema) in properties {
                self.convert(schema, inner.key(name), depth + 1);
            }
            inner.end();
        }
        if !required.is_empty() && self.is_sent {
            out.json("required", &Value::from(required).to_string());
        }
        if !self.is_sent {
            return;
        }
        match gathered.get("additionalProperties") {
            _ if gathered.says("additionalProperties", false)
                // Together with what others name it would allow nothing.
                && beside.is_none_or(|beside| beside.is_covered(gathered))
                    && !self.has_further(gathered) =>
            {
                out.json("additionalProperties", "false");
            }
            Some(schema @ Value::Object(members)) if !members.is_empty() => {
                self.convert(schema, out.key("additionalProperties"), depth + 1);
            }
            _ => {}
        }
        for keyword in ["patternProperties"] {
            let Some(Value::Object(members)) = gathered.get(keyword) else { continue };
            let mut inner = Members::begin(out.key(keyword));
            for (pattern, schema) in members {
                if self.is_pattern(pattern) {
                    self.convert(schema, inner.key(pattern), depth + 1);
                }
            }
            inner.end();
        }
    }

    fn array(
        &mut self,
        gathered: &Gathered<'d>,
        types: &[&str],
        out: &mut Members<'_>,
        depth: usize,
    ) {
        match gathered.get("items") {
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => {
                self.convert(schema, out.key("items"), depth + 1);
            }
            // Some hosts take no list that does not say of what.
            _ if types.contains(&"array") && self.is_sent => out.json("items", "{}"),
            _ => {}
        }
        if let Some(Value::Array(schemas)) = gathered.get("prefixItems")
            && !schemas.is_empty()
        {
            self.list(schemas, None, out.key("prefixItems"), depth);
        }
    }

    /// Other schemas for the same value. Of `oneOf` it is enough that one fits: documents are
    /// seldom exact enough for others not to.
    fn applied(
        &mut self,
        gathered: &Gathered<'d>,
        beside: Beside<'d>,
        out: &mut Members<'_>,
        depth: usize,
    ) {
        let mut choices = gathered.choices("anyOf");
        choices.extend(gathered.choices("oneOf"));
        choices.retain(|choice| !choice.is_empty());
        let is_nullable = gathered.says("nullable", true) || !self.is_sent;
        match &*choices {
            [] => {}
            [one] => {
                self.alternatives(one, &beside, is_nullable, out.key("anyOf"), depth);
            }
            several => {
                let draft = out.key("allOf");
                draft.text.push('[');
                for (at, one) in several.iter().enumerate() {
                    draft.text.push_str(if at > 0 { r#",{"anyOf":"# } else { r#"{"anyOf":"# });
                    self.alternatives(one, &beside, is_nullable, draft, depth);
                    draft.text.push('}');
                }
                draft.text.push(']');
            }
        }
        if !self.is_sent {
            return;
        }
        if let Some(schema @ Value::Object(_)) = gathered.get("not") {
            self.convert(schema, out.key("not"), depth + 1);
        }
    }

    fn alternatives(
        &mut self,
        schemas: &'d [Value],
        beside: &Beside<'d>,
        is_nullable: bool,
        draft: &mut Draft,
        depth: usize,
    ) {
        let start = draft.text.len();
        self.list(schemas, Some(beside), draft, depth);
        if is_nullable && draft.text.len() > start {
            draft.text.pop();
            draft.text.push_str(r#",{"type":"null"}]"#);
        }
    }

    fn list(
        &mut self,
        schemas: &'d [Value],
        beside: Option<&Beside<'d>>,
        draft: &mut Draft,
        depth: usize,
    ) {
        draft.text.push('[');
        for (at, schema) in schemas.iter().enumerate() {
            if at > 0 {
                draft.text.push(',');
            }
            self.beside = beside.cloned();
            self.convert(schema, draft, depth + 1);
        }
        draft.text.push(']');
    }
}

/// Writes a reference, with the words that stand beside it.
fn again(members: &Map<String, Value>, id: usize, words: Option<&str>, draft: &mut Draft) {
    let own = members.get("description").and_then(Value::as_str);
    let words = words.or(own).filter(|words| !words.trim().is_empty());
    let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
    if words.is_none() && !is_nullable {
        return draft.refer(id);
    }
    let mut out = Members::begin(draft);
    if let Some(words) = words {
        out.json("description", &Value::from(words::cut(words, WORDS_MAX)).to_string());
    }
    let draft = out.key("anyOf");
    draft.text.push('[');
    draft.refer(id);
    draft.text.push_str(if is_nullable { r#",{"type":"null"}]"# } else { "]" });
    out.end();
}

/// A number of things.
fn count(number: &Number) -> Option<u64> {
    let whole = number.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
    number.as_u64().or_else(|| format!("{whole:.0}").parse().ok())
}
