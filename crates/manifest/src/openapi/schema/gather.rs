//! What a schema says altogether: itself, what it refers to, and all of its `allOf`, as long as
//! these only add to each other. Called by `convert`, and by those who look into a body.

use crate::openapi::document::Lost;
use crate::openapi::limits::MERGED_MAX;
use crate::openapi::schema::Schemas;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The mappings that together are a schema; the last one is the schema's own.
#[derive(Debug, Default)]
pub(crate) struct Gathered<'d> {
    pub(crate) sources: Vec<&'d Map<String, Value>>,
}

impl<'d> Schemas<'d> {
    /// All that a schema says, or nothing if that is more than can be put together.
    pub(crate) fn gather(&self, schema: &'d Value) -> Result<Option<Gathered<'d>>, Lost> {
        let mut gathered = Gathered::default();
        Ok(self.collect(schema, &mut gathered, &mut Vec::new())?.then_some(gathered))
    }

    fn collect(
        &self,
        schema: &'d Value,
        gathered: &mut Gathered<'d>,
        above: &mut Vec<&'d Map<String, Value>>,
    ) -> Result<bool, Lost> {
        let Value::Object(members) = schema else { return Ok(true) };
        let is_same = |known: &&'d Map<String, Value>| std::ptr::eq(*known, members);
        if above.iter().any(is_same) || gathered.sources.iter().any(is_same) {
            return Ok(true);
        }
        if above.len() + gathered.sources.len() >= MERGED_MAX {
            return Ok(false);
        }
        above.push(members);
        if let Some(Value::String(reference)) = members.get("$ref") {
            let target = self.document.find(reference)?;
            if !self.collect(target, gathered, above)? {
                return Ok(false);
            }
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if !self.collect(part, gathered, above)? {
                return Ok(false);
            }
        }
        above.pop();
        gathered.sources.push(members);
        Ok(true)
    }
}

impl<'d> Gathered<'d> {
    /// The value of a keyword; the schema's own goes before those of its parts.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'d Value> {
        self.sources.iter().rev().find_map(|source| source.get(keyword))
    }

    /// The values of a keyword that only adds, except those of a base that lists its own heirs.
    pub(crate) fn choices(&self, keyword: &str) -> Vec<&'d Vec<Value>> {
        let own = self.sources.len().saturating_sub(1);
        let is_meant = |(at, source): &(usize, &&'d Map<String, Value>)| {
            *at == own || !source.contains_key("discriminator")
        };
        let sources = self.sources.iter().enumerate().filter(is_meant);
        sources.filter_map(|(_, source)| source.get(keyword)?.as_array()).collect()
    }

    /// Its properties, in order; one that is there twice means what the last one says.
    pub(crate) fn properties(&self) -> Vec<(&'d str, &'d Value)> {
        let mut found: Vec<(&'d str, &'d Value)> = Vec::new();
        let mut places: HashMap<&'d str, usize> = HashMap::new();
        for source in &self.sources {
            for (name, schema) in
                source.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                match places.get(name.as_str()) {
                    Some(&place) => found[place].1 = schema,
                    None => {
                        places.insert(name, found.len());
                        found.push((name, schema));
                    }
                }
            }
        }
        found
    }

    /// The names that are required, each once.
    pub(crate) fn required(&self) -> Vec<&'d str> {
        let mut found = Vec::new();
        let mut known = std::collections::HashSet::new();
        for source in &self.sources {
            for name in source.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str().filter(|name| known.insert(*name)) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Whether some part of it says so.
    pub(crate) fn says(&self, keyword: &str, wanted: bool) -> bool {
        self.sources.iter().any(|source| source.get(keyword) == Some(&Value::Bool(wanted)))
    }

    /// The types that it may have: those of 3.1, or the one of 3.0; none if it does not say.
    pub(crate) fn types(&self) -> Vec<&'d str> {
        const TYPES: [&str; 7] =
            ["string", "integer", "number", "boolean", "array", "object", "null"];
        let mut types: Vec<&'d str> = match self.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        types.retain(|kind| TYPES.contains(kind));
        if types.is_empty() {
            let has = |keyword| self.get(keyword).is_some_and(Value::is_object);
            if has("properties") {
                types.push("object");
            } else if has("items") {
                types.push("array");
            }
        }
        let is_nullable = self.says("nullable", true) && !types.is_empty();
        if is_nullable && !types.contains(&"null") {
            types.push("null");
        }
        types.dedup();
        types
    }
}
