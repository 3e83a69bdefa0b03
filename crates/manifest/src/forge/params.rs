//! The `params` of a pforge file become the `input` of a tool: short and long form, defaults, and
//! everything that its parser or its documents say of a value. Called for tools and prompts.

use super::build::{self, Mapping};
use super::section::{Section, Work, text_of};
use crate::cost::Part;
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Tree};
use haft_server::nearest;
use haft_server::schema::Schema;

/// A parameter.
#[derive(Debug)]
pub(super) struct Param {
    pub(super) name: Placed<String>,
    /// A JSON Schema.
    pub(super) schema: Mapping,
    pub(super) is_required: bool,
}

/// The types of both grammars, and those of JSON Schema.
const TYPES: [(&str, &str); 14] = [
    ("string", "string"),
    ("integer", "integer"),
    ("float", "number"),
    ("boolean", "boolean"),
    ("array", "array"),
    ("object", "object"),
    ("number", "number"),
    ("str", "string"),
    ("int", "integer"),
    ("double", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("map", "object"),
    ("any", ""),
];

/// Keys that mean the same in JSON Schema.
const ALIKE: [&str; 14] = [
    "additionalProperties",
    "const",
    "default",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "pattern",
    "title",
    "uniqueItems",
];

/// Bounds, and what they bound in a text, a list and anything else.
const BOUNDS: [(&str, [&str; 3]); 12] = [
    ("min", ["minLength", "minItems", "minimum"]),
    ("max", ["maxLength", "maxItems", "maximum"]),
    ("minimum", ["minimum"; 3]),
    ("maximum", ["maximum"; 3]),
    ("min_length", ["minLength", "minItems", "minLength"]),
    ("max_length", ["maxLength", "maxItems", "maxLength"]),
    ("minLength", ["minLength"; 3]),
    ("maxLength", ["maxLength"; 3]),
    ("min_items", ["minItems"; 3]),
    ("max_items", ["maxItems"; 3]),
    ("minItems", ["minItems"; 3]),
    ("maxItems", ["maxItems"; 3]),
];

/// The parameters, if the file says anything of them.
pub(super) fn params(
    section: Section<'_>,
    key: &str,
    work: &mut Work<'_>,
) -> Result<Option<Vec<Param>>, Wrong> {
    let Some(tree) = section.get(key) else { return Ok(None) };
    let mut params: Vec<Param> = Vec::new();
    match &tree.node {
        Node::Map(_) if is_schema(tree) => {
            let whole = section.within(tree, key)?;
            let properties = tree.get("properties").and_then(Tree::entries).unwrap_or_default();
            let required = names(tree.get("required"));
            for entry in properties {
                let mut param = named(entry, whole, work)?;
                param.is_required = required.contains(&entry.key);
                params.push(param);
            }
        }
        Node::Map(entries) => {
            for entry in entries {
                params.push(named(entry, section, work)?);
            }
        }
        Node::List(items) => {
            for item in items {
                let (name, about) = match &item.node {
                    Node::Text(_) => (text_of(item, key)?, None),
                    _ => (section.within(item, key)?.need("name")?, Some(item)),
                };
                let (schema, is_required) = match about {
                    Some(about) => schema(&name.value, about, section, work)?,
                    None => (typed(name.place, "string"), true),
                };
                params.push(Param { name, schema, is_required });
            }
        }
        _ => return Err(tree.wrong_type(key, "a mapping of names and types")),
    }
    for (index, param) in params.iter().enumerate() {
        if params[..index].iter().any(|known| known.name.value == param.name.value) {
            let key = param.name.value.clone();
            return Err(Wrong::new(param.name.place, Problem::DuplicateKey { key }));
        }
    }
    Ok(Some(params))
}

/// A whole JSON Schema in the place of names.
fn is_schema(tree: &Tree) -> bool {
    let is_object = matches!(
        tree.get("type").map(|kind| &kind.node), Some(Node::Text(kind)) if kind == "object"
    );
    is_object && matches!(tree.get("properties").map(|it| &it.node), Some(Node::Map(_)))
}

/// The texts of a list.
fn names(list: Option<&Tree>) -> Vec<String> {
    let Some(Tree { node: Node::List(items), .. }) = list else { return Vec::new() };
    let text = |item: &Tree| match &item.node {
        Node::Text(text) => Some(text.clone()),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

fn named(entry: &Entry, section: Section<'_>, work: &mut Work<'_>) -> Result<Param, Wrong> {
    let name = Placed::new(entry.key_place, entry.key.clone());
    let (schema, is_required) = schema(&entry.key, &entry.value, section, work)?;
    check(&entry.key, &schema)?;
    Ok(Param { name, schema, is_required })
}

/// Whether values can be compared with a schema at all.
fn check(name: &str, schema: &Mapping) -> Result<(), Wrong> {
    let tree = schema.clone().tree();
    let Err(bad) = Schema::compile(&tree.to_json().to_string()) else { return Ok(()) };
    let place = schema.get("pattern").map_or(tree.place, |pattern| pattern.place);
    Err(Wrong::new(place, Problem::BadSchema { key: name.to_owned(), reason: bad.reason }))
}

/// A schema of one type.
pub(super) fn typed(place: Place, kind: &str) -> Mapping {
    let mut schema = Mapping::new(place);
    schema.put("type", build::text(place, kind));
    schema
}

/// What a type in either form is, and whether the value must be there: in the short form it must.
fn schema(
    name: &str,
    tree: &Tree,
    section: Section<'_>,
    work: &mut Work<'_>,
) -> Result<(Mapping, bool), Wrong> {
    match &tree.node {
        Node::Text(word) => {
            let mut schema = Mapping::new(tree.place);
            put_type(name, word, tree.place, &mut schema)?;
            return Ok((schema, true));
        }
        Node::Map(_) => {}
        _ => return Err(tree.wrong_type(name, "a type, or a mapping with a `type`")),
    }
    let long = section.within(tree, name)?;
    let mut schema = Mapping::new(tree.place);
    match long.text("type")? {
        Some(word) => put_type(name, &word.value, word.place, &mut schema)?,
        None if tree.get("properties").is_some() => {
            schema.put("type", build::text(tree.place, "object"));
        }
        None if tree.get("items").is_some() => {
            schema.put("type", build::text(tree.place, "array"));
        }
        None if tree.get("enum").is_some() => {}
        // Those of prompts are texts.
        None if section.part == Part::Prompt => {
            schema.put("type", build::text(tree.place, "string"));
        }
        None => {
            let owner = format!("the parameter `{name}`");
            return Err(Wrong::new(
                tree.place,
                Problem::MissingKey { owner, key: "type".to_owned() },
            ));
        }
    }
    if let Some(description) = long.text("description")? {
        schema.put("description", build::text(description.place, description.value));
    }
    put_bounds(long, &mut schema);
    if let Some(validation) = long.get("validation") {
        let validation = long.within(validation, "validation")?;
        put_bounds(validation, &mut schema);
        let known: Vec<_> = ALIKE.into_iter().chain(BOUNDS.map(|(key, _)| key)).collect();
        validation.know(&known, work);
    }
    put_parts(name, long, &mut schema, work)?;
    const OWN: [&str; 7] =
        ["name", "type", "description", "required", "validation", "items", "properties"];
    let known: Vec<_> = OWN.into_iter().chain(ALIKE).chain(BOUNDS.map(|(key, _)| key)).collect();
    long.know(&known, work);
    let is_list = matches!(long.get("required").map(|it| &it.node), Some(Node::List(_)));
    let is_required = if is_list { None } else { long.truth("required")? };
    Ok((schema, is_required.unwrap_or(false)))
}

/// Items and members, which are types themselves.
fn put_parts(
    name: &str,
    long: Section<'_>,
    schema: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    if let Some(items) = long.get("items") {
        schema.put("items", self::schema(name, items, long, work)?.0.tree());
    }
    let Some(properties) = long.get("properties") else { return Ok(()) };
    let Node::Map(entries) = &properties.node else {
        return Err(properties.wrong_type("properties", "a mapping of names and types"));
    };
    let mut members = Mapping::new(properties.place);
    let mut required = names(long.get("required"));
    for entry in entries {
        let param = named(entry, long, work)?;
        if param.is_required && !required.contains(&entry.key) {
            required.push(entry.key.clone());
        }
        members.put_at(&entry.key, entry.key_place, param.schema.tree());
    }
    schema.put("properties", members.tree());
    if !required.is_empty() {
        let place = properties.place;
        let required = required.into_iter().map(|name| build::text(place, name)).collect();
        schema.put("required", build::list(place, required));
    }
    Ok(())
}

fn put_type(name: &str, word: &str, place: Place, schema: &mut Mapping) -> Result<(), Wrong> {
    let found = TYPES.iter().find(|(known, _)| *known == word);
    let Some((_, kind)) = found else {
        // The nearest of those that are told.
        let nearest = nearest(word, TYPES[..7].iter().map(|(known, _)| *known));
        let nearest = TYPES.iter().map(|(known, _)| *known).find(|known| Some(*known) == nearest);
        let (argument, word) = (name.to_owned(), word.to_owned());
        return Err(Wrong::new(place, Problem::BadType { argument, word, nearest }));
    };
    if !kind.is_empty() {
        schema.put("type", build::text(place, *kind));
    }
    Ok(())
}

fn put_bounds(long: Section<'_>, schema: &mut Mapping) {
    let kind = match &long.get("type").map(|kind| &kind.node) {
        Some(Node::Text(kind)) if matches!(&**kind, "string" | "str") => 0,
        Some(Node::Text(kind)) if matches!(&**kind, "array" | "list") => 1,
        _ => 2,
    };
    let bounds = BOUNDS.map(|(key, keywords)| (key, keywords[kind]));
    for (key, keyword) in bounds.into_iter().chain(ALIKE.map(|key| (key, key))) {
        if let Some(entry) = long.entry(key).filter(|_| !schema.has(keyword)) {
            schema.put_at(keyword, entry.key_place, entry.value.clone());
        }
    }
}

/// The `input` of a tool.
pub(super) fn input(place: Place, params: Vec<Param>) -> Tree {
    let mut input = Mapping::new(place);
    for Param { name, schema, is_required } in params {
        let key = if is_required { name.value } else { format!("{}?", name.value) };
        input.put_at(&key, name.place, schema.tree());
    }
    input.tree()
}
