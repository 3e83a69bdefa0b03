//! Makes the outline of a schema: visits every subschema once, follows every reference inside the
//! schema, and refuses references that lead out of it or round in circles. Called when a schema is
//! compiled; reads no file and no network.

use super::BadSchema;
use super::bounds::{Bounds, Range};
use super::kind_set::Kinds;
use super::limits::PATTERNS_MAX;
use super::nesting::{self, Inside};
use super::outline::{Id, Keyword, Outline, Properties};
use super::pattern::Pattern;
use super::reach;
use super::wording::one_line;
use referencing::{Draft, Registry, Resolver, Retrieve, Uri};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The base of references in a schema without `$id`.
const NAMELESS: &str = "json-schema:///";

/// Makes the outline of a schema of that dialect.
pub(super) fn outline(root: &Value, dialect: Draft) -> Result<Outline, BadSchema> {
    let resource = dialect.create_resource_ref(root);
    let base = resource.id().unwrap_or(NAMELESS);
    let registry = Registry::new()
        .draft(dialect)
        .retriever(Nowhere)
        .add(base, resource)
        .and_then(referencing::RegistryBuilder::prepare)
        .map_err(|error| lost(&error))?;
    let base =
        referencing::uri::from_str(base.trim_end_matches('#')).map_err(|error| lost(&error))?;
    Outliner::new(registry.resolver(base)).run(root, dialect)
}

/// What a schema may not refer to: anything that is not in it.
pub(super) struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("nothing is fetched".into())
    }
}

struct Outliner<'r> {
    resolver: Resolver<'r>,
    nodes: Vec<Vec<Keyword>>,
    insides: Vec<Inside>,
    /// Subschemas by their address, which is theirs as long as the schema is borrowed.
    ids: HashMap<usize, Id>,
    waiting: Vec<Waiting<'r>>,
    patterns: HashMap<&'r str, Arc<Pattern>>,
    /// Where `$dynamicRef` may lead, by the name of the anchor.
    dynamic_anchors: HashMap<&'r str, Vec<Id>>,
    /// The `$dynamicRef`s, by the name of the anchor.
    dynamic_refs: Vec<(Id, &'r str)>,
}

/// A subschema that has an id and is not visited yet.
struct Waiting<'r> {
    id: Id,
    schema: &'r Value,
    resolver: Resolver<'r>,
    draft: Draft,
}

impl<'r> Outliner<'r> {
    fn new(resolver: Resolver<'r>) -> Self {
        Self {
            resolver,
            nodes: Vec::new(),
            insides: Vec::new(),
            ids: HashMap::new(),
            waiting: Vec::new(),
            patterns: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            dynamic_refs: Vec::new(),
        }
    }

    fn run(mut self, root: &'r Value, draft: Draft) -> Result<Outline, BadSchema> {
        self.id(root, &self.resolver.clone(), draft);
        // A list instead of recursion: a chain of references may be as long as the schema.
        while let Some(mut next) = self.waiting.pop() {
            self.visit(&mut next)?;
        }
        for (id, name) in std::mem::take(&mut self.dynamic_refs) {
            let targets = self.dynamic_anchors.get(name).cloned().unwrap_or_default();
            self.nodes[id.0 as usize].push(Keyword::Unknown(targets));
        }
        reach::check(&self.nodes)?;
        nesting::check(&self.insides)?;
        // Most have one keyword, and were given room for four.
        self.nodes.iter_mut().for_each(Vec::shrink_to_fit);
        self.nodes.shrink_to_fit();
        Ok(Outline { nodes: self.nodes })
    }

    fn id(&mut self, schema: &'r Value, resolver: &Resolver<'r>, draft: Draft) -> Id {
        let address = std::ptr::from_ref(schema).addr();
        if let Some(id) = self.ids.get(&address) {
            return *id;
        }
        let id = Id(u32::try_from(self.nodes.len()).expect("a schema has fewer bytes than that"));
        self.ids.insert(address, id);
        self.nodes.push(Vec::new());
        self.insides.push(Inside::default());
        self.waiting.push(Waiting { id, schema, resolver: resolver.clone(), draft });
        id
    }

    fn visit(&mut self, here: &mut Waiting<'r>) -> Result<(), BadSchema> {
        let schema = match here.schema {
            Value::Bool(false) => {
                self.nodes[here.id.0 as usize].push(Keyword::Nothing);
                return Ok(());
            }
            Value::Object(schema) => schema,
            _ => return Ok(()),
        };
        if let Some(uri) = schema.get("$schema") {
            here.draft = super::dialect_named(uri)?;
        }
        let resource = here.draft.create_resource_ref(here.schema);
        here.resolver = here.resolver.in_subresource(resource).map_err(|error| lost(&error))?;
        let mut keywords = Vec::new();
        let is_only_ref = here.draft < Draft::Draft201909 && schema.contains_key("$ref");
        for (name, value) in schema {
            if !is_only_ref || matches!(&**name, "$ref" | "definitions") {
                self.keyword(name, value, here, schema, &mut keywords)?;
            }
        }
        if !is_only_ref {
            self.groups(schema, here, &mut keywords)?;
        }
        // What tells most stands first, as in the checks.
        keywords.sort_by_key(|keyword| !matches!(keyword, Keyword::Kinds(_)));
        let node = &mut self.nodes[here.id.0 as usize];
        node.extend(keywords);
        Ok(())
    }

    /// Keywords that stand for themselves.
    fn keyword(
        &mut self,
        name: &str,
        value: &'r Value,
        here: &Waiting<'r>,
        schema: &'r Map<String, Value>,
        out: &mut Vec<Keyword>,
    ) -> Result<(), BadSchema> {
        let draft = here.draft;
        let since = |first: Draft| draft >= first;
        let made = match name {
            "$ref" => self.reference(value, here)?.map(|id| Keyword::AllOf(vec![id])),
            "$dynamicRef" if since(Draft::Draft202012) => self.dynamic(value, here)?,
            "$recursiveRef" if draft == Draft::Draft201909 => self.dynamic(value, here)?,
            "$dynamicAnchor" if since(Draft::Draft202012) => {
                if let Some(name) = value.as_str() {
                    self.dynamic_anchors.entry(name).or_default().push(here.id);
                }
                None
            }
            "$recursiveAnchor" if draft == Draft::Draft201909 => {
                self.dynamic_anchors.entry("").or_default().push(here.id);
                None
            }
            // Nothing refers to most of them by the way, but a `$dynamicRef` may end in any.
            "$defs" | "definitions" => {
                for schema in value.as_object().into_iter().flatten().map(|(_, schema)| schema) {
                    self.id(schema, &here.resolver, here.draft);
                }
                None
            }
            "allOf" => Some(Keyword::AllOf(self.list(value, here))),
            "anyOf" => Some(Keyword::AnyOf(self.list(value, here))),
            "oneOf" => Some(Keyword::OneOf(self.list(value, here))),
            "not" => Some(Keyword::Not(self.one(value, here))),
            "type" => Kinds::compile(value).map(Keyword::Kinds),
            "enum" => value.as_array().cloned().map(Keyword::Enum),
            "const" if since(Draft::Draft6) => Some(Keyword::Enum(vec![value.clone()])),
            "multipleOf" => value.as_f64().map(Keyword::MultipleOf),
            "pattern" => match value.as_str() {
                Some(text) => Some(Keyword::Pattern(self.expression(text)?)),
                None => None,
            },
            "required" => value.as_array().map(|names| Keyword::Required(texts(names))),
            "propertyNames" if since(Draft::Draft6) => {
                Some(Keyword::PropertyNames(self.one(value, here)))
            }
            "uniqueItems" => (value == &Value::Bool(true)).then_some(Keyword::UniqueItems),
            "dependencies" => Some(self.dependencies(value, here, out)),
            "dependentSchemas" if since(Draft::Draft201909) => {
                Some(Keyword::DependentSchemas(self.map(value, here)))
            }
            "dependentRequired" if since(Draft::Draft201909) => {
                Some(Keyword::DependentRequired(required_with(value)))
            }
            "unevaluatedProperties" if since(Draft::Draft201909) => {
                Some(Keyword::UnevaluatedProperties(self.one(value, here)))
            }
            "unevaluatedItems" if since(Draft::Draft201909) => {
                self.one(value, here);
                Some(Keyword::UnevaluatedItems)
            }
            "contentEncoding" | "contentMediaType" if draft < Draft::Draft201909 => {
                Some(Keyword::Unknown(Vec::new()))
            }
            _ => bounds(name, value, draft, schema),
        };
        out.extend(made);
        Ok(())
    }

    /// Keywords that mean something together only.
    fn groups(
        &mut self,
        schema: &'r Map<String, Value>,
        here: &Waiting<'r>,
        out: &mut Vec<Keyword>,
    ) -> Result<(), BadSchema> {
        let named = schema.get("properties");
        let patterns = schema.get("patternProperties");
        let others = schema.get("additionalProperties");
        if named.or(patterns).or(others).is_some() {
            let named = named.map(|value| self.map(value, here)).unwrap_or_default();
            let mut by_pattern = Vec::new();
            for (text, schema) in patterns.and_then(Value::as_object).into_iter().flatten() {
                by_pattern.push((self.expression(text)?, self.one(schema, here)));
            }
            let others = others.map(|value| self.one(value, here));
            let all = Properties::new(named, by_pattern, others);
            out.push(Keyword::Properties(Box::new(all)));
        }
        let is_2020 = here.draft >= Draft::Draft202012;
        let (first, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (first, rest) if is_2020 => (first, rest),
            (_, first @ Some(Value::Array(_))) => (first, schema.get("additionalItems")),
            (_, rest) => (None, rest),
        };
        if first.or(rest).is_some() {
            let first = first.map(|value| self.list(value, here)).unwrap_or_default();
            out.push(Keyword::Items { first, rest: rest.map(|value| self.one(value, here)) });
        }
        if let (Some(condition), true) = (schema.get("if"), here.draft >= Draft::Draft7) {
            let condition = self.one(condition, here);
            let then = schema.get("then").map(|value| self.one(value, here));
            let otherwise = schema.get("else").map(|value| self.one(value, here));
            out.push(Keyword::If { condition, then, otherwise });
        }
        if let (Some(item), true) = (schema.get("contains"), here.draft >= Draft::Draft6) {
            let has_counts = here.draft >= Draft::Draft201909;
            let count = |name| schema.get(name).filter(|_| has_counts).and_then(Value::as_u64);
            let count =
                Bounds { min: Some(count("minContains").unwrap_or(1)), max: count("maxContains") };
            out.push(Keyword::Contains { item: self.one(item, here), count });
        }
        Ok(())
    }

    fn one(&mut self, schema: &'r Value, here: &Waiting<'r>) -> Id {
        let id = self.id(schema, &here.resolver, here.draft);
        self.insides[here.id.0 as usize].subschemas.push(id);
        id
    }

    fn list(&mut self, schemas: &'r Value, here: &Waiting<'r>) -> Vec<Id> {
        schemas.as_array().into_iter().flatten().map(|schema| self.one(schema, here)).collect()
    }

    fn map(&mut self, schemas: &'r Value, here: &Waiting<'r>) -> Vec<(Box<str>, Id)> {
        let schemas = schemas.as_object().into_iter().flatten();
        schemas.map(|(name, schema)| (name.as_str().into(), self.one(schema, here))).collect()
    }

    fn reference(&mut self, value: &Value, here: &Waiting<'r>) -> Result<Option<Id>, BadSchema> {
        let Some(reference) = value.as_str() else { return Ok(None) };
        let found = here.resolver.lookup(reference).map_err(|error| lost(&error))?;
        let (contents, resolver, draft) = found.into_inner();
        let id = self.id(contents, &resolver, draft);
        self.insides[here.id.0 as usize].references.push(id);
        Ok(Some(id))
    }

    /// `$dynamicRef` and `$recursiveRef`, whose end depends on the way to them.
    fn dynamic(
        &mut self,
        value: &'r Value,
        here: &Waiting<'r>,
    ) -> Result<Option<Keyword>, BadSchema> {
        let name = value.as_str().and_then(|text| text.split_once('#')).map(|(_, name)| name);
        self.dynamic_refs.push((here.id, name.unwrap_or_default()));
        let nearest = self.reference(value, here)?;
        Ok(Some(Keyword::Unknown(nearest.into_iter().collect())))
    }

    /// A regular expression; the same one is compiled once.
    fn expression(&mut self, text: &'r str) -> Result<Arc<Pattern>, BadSchema> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(Arc::clone(known));
        }
        if self.patterns.len() == PATTERNS_MAX {
            let reason = format!("it has more than {PATTERNS_MAX} regular expressions");
            return Err(BadSchema { reason });
        }
        let made = Arc::new(Pattern::compile(text)?);
        self.patterns.insert(text, Arc::clone(&made));
        Ok(made)
    }

    /// The old name of `dependentSchemas` and `dependentRequired` in one.
    fn dependencies(
        &mut self,
        value: &'r Value,
        here: &Waiting<'r>,
        out: &mut Vec<Keyword>,
    ) -> Keyword {
        let all = value.as_object().into_iter().flatten();
        let (names, schemas): (Vec<_>, Vec<_>) = all.partition(|(_, value)| value.is_array());
        let names = names.into_iter().map(|(name, value)| {
            (name.as_str().into(), texts(value.as_array().into_iter().flatten()))
        });
        out.push(Keyword::DependentRequired(names.collect()));
        let schemas = schemas.into_iter();
        let schemas = schemas.map(|(name, schema)| (name.as_str().into(), self.one(schema, here)));
        Keyword::DependentSchemas(schemas.collect())
    }
}

fn bounds(name: &str, value: &Value, draft: Draft, schema: &Map<String, Value>) -> Option<Keyword> {
    let is_draft_4 = draft == Draft::Draft4;
    let is_strict = |name: &str| is_draft_4 && schema.get(name) == Some(&Value::Bool(true));
    let range = |range: Range| Some(Keyword::Range(range));
    let number = value.as_f64();
    match name {
        "minimum" if is_strict("exclusiveMinimum") => {
            range(Range { above: number, ..Range::default() })
        }
        "maximum" if is_strict("exclusiveMaximum") => {
            range(Range { below: number, ..Range::default() })
        }
        "minimum" => range(Range { min: number, ..Range::default() }),
        "maximum" => range(Range { max: number, ..Range::default() }),
        "exclusiveMinimum" if !is_draft_4 => range(Range { above: number, ..Range::default() }),
        "exclusiveMaximum" if !is_draft_4 => range(Range { below: number, ..Range::default() }),
        "minLength" => Bounds::at_least(value).map(Keyword::Length),
        "maxLength" => Bounds::at_most(value).map(Keyword::Length),
        "minItems" => Bounds::at_least(value).map(Keyword::ItemsCount),
        "maxItems" => Bounds::at_most(value).map(Keyword::ItemsCount),
        "minProperties" => Bounds::at_least(value).map(Keyword::PropertiesCount),
        "maxProperties" => Bounds::at_most(value).map(Keyword::PropertiesCount),
        _ => None,
    }
}

fn texts<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<Box<str>> {
    values.into_iter().filter_map(Value::as_str).map(Into::into).collect()
}

fn required_with(value: &Value) -> Vec<(Box<str>, Vec<Box<str>>)> {
    let all = value.as_object().into_iter().flatten();
    all.map(|(name, value)| (name.as_str().into(), texts(value.as_array().into_iter().flatten())))
        .collect()
}

/// Why a reference cannot be followed.
fn lost(error: &referencing::Error) -> BadSchema {
    use referencing::Error;
    let reason = match error {
        Error::Unretrievable { uri, .. } => format!(
            "it refers to {uri:?}, which is not in it; nothing is fetched, so put that into `$defs`"
        ),
        Error::PointerToNowhere { pointer } => {
            format!("a `$ref` leads to {pointer:?}, where nothing is")
        }
        Error::NoSuchAnchor { anchor } | Error::InvalidAnchor { anchor } => {
            format!("a `$ref` leads to the anchor {anchor:?}, which nothing has")
        }
        Error::UnknownSpecification { specification } => {
            format!("`$schema` {specification:?} is not a known dialect")
        }
        other => format!("a reference in it cannot be followed: {other}"),
    };
    BadSchema { reason: one_line(&reason) }
}
