//! A tool's arguments: the short form becomes a JSON Schema, a JSON Schema is passed on as it is,
//! and both are checked so that a mistake is shown where it stands. Called by `tool`.

use crate::alias;
use crate::fault::Wrong;
use crate::hints::is_json_schema;
use crate::place::Place;
use crate::problem::Problem;
use crate::template::Known;
use crate::tree::{Entry, Node, Tree};
use haft_server::nearest;
use haft_server::schema::{Prepared, Schema, is_sound};
use serde_json::{Map, Value, json};

/// What a tool takes.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The JSON Schema.
    pub(crate) schema: Prepared,
    /// The arguments that it names, in order.
    pub(crate) arguments: Vec<Argument>,
    /// What templates call them: their names, unless another file than ours has them.
    pub(crate) names: Vec<String>,
    /// It may take others.
    pub(crate) is_open: bool,
    /// Where it stands.
    pub(crate) place: Place,
}

/// An argument.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) schema: Value,
    pub(crate) is_required: bool,
}

impl Argument {
    /// The value of the argument where a call has none.
    pub(crate) fn default(&self) -> Option<&Value> {
        self.schema.get("default")
    }

    pub(crate) fn has_default(&self) -> bool {
        self.default().is_some()
    }
}

/// The schema of a tool that takes nothing.
const NO_ARGUMENTS: &str = r#"{"type":"object","additionalProperties":false}"#;

impl Input {
    /// No arguments at all.
    pub(crate) fn none(place: Place) -> Self {
        let schema = Prepared::deferred(NO_ARGUMENTS);
        Self { schema, arguments: Vec::new(), names: Vec::new(), is_open: false, place }
    }

    /// The short form.
    pub(crate) fn short(tree: &Tree) -> Result<Self, Wrong> {
        let Node::Map(entries) = &tree.node else {
            return Err(tree.wrong_type("input", "a mapping"));
        };
        let kind = tree.get("type").and_then(|kind| match &kind.node {
            Node::Text(word) => Some(&**word),
            _ => None,
        });
        let properties = tree.get("properties");
        let has_properties = properties.is_some_and(|found| matches!(found.node, Node::Map(_)));
        if is_json_schema(kind, has_properties) {
            return Err(Wrong::new(tree.place, Problem::SchemaAsInput));
        }
        let mut arguments: Vec<Argument> = Vec::new();
        for entry in entries {
            let argument = short_argument(entry)?;
            if arguments.iter().any(|known| known.name == argument.name) {
                let problem = Problem::DuplicateKey { key: argument.name };
                return Err(Wrong::new(entry.key_place, problem));
            }
            arguments.push(argument);
        }
        let schema = prepare("input", object_of(&arguments), tree.place)?;
        Self { schema, ..Self::none(tree.place) }.with(arguments)
    }

    /// The long form.
    pub(crate) fn long(tree: &Tree) -> Result<Self, Wrong> {
        let (schema, prepared) = check_schema("input_schema", tree)?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            let reason = "its `type` must be `object`".to_owned();
            let place = tree.get("type").map_or(tree.place, |kind| kind.place);
            return Err(bad_schema("input_schema", reason, place));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let properties = tree.get("properties").map(|properties| &properties.node);
        let argument = |entry: &Entry| Argument {
            name: entry.key.clone(),
            place: entry.key_place,
            schema: entry.value.to_json(),
            is_required: is_required(&entry.key),
        };
        let arguments = match properties {
            Some(Node::Map(entries)) => entries.iter().map(argument).collect(),
            _ => Vec::new(),
        };
        // Arguments may be named in places that are not followed.
        const ELSEWHERE: [&str; 7] =
            ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"];
        let is_open = ELSEWHERE.iter().any(|keyword| schema.get(keyword).is_some());
        Self { schema: prepared, is_open, ..Self::none(tree.place) }.with(arguments)
    }

    /// The same for templates to which every name has been made readable.
    pub(crate) fn with_aliases(mut self) -> Self {
        for name in &mut self.names {
            *name = alias::inner(name).into_owned();
        }
        self
    }

    /// The arguments that templates call something else, and what.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.arguments.iter().zip(&self.names);
        let pairs = pairs.map(|(argument, name)| (argument.name.as_str(), name.as_str()));
        pairs.filter(|(argument, name)| argument != name)
    }

    /// What templates may name.
    pub(crate) fn known(&self) -> Known<'_> {
        let none = "the tool takes no arguments; name them in `input`";
        Known { names: &self.names, is_open: self.is_open, none }
    }

    fn with(mut self, arguments: Vec<Argument>) -> Result<Self, Wrong> {
        for argument in &arguments {
            let Some(default) = argument.default() else { continue };
            // A part of a schema may refer to another part; then it is not checked.
            let Ok(schema) = Schema::compile(&argument.schema.to_string()) else { continue };
            if let Err(violations) = schema.check(&default.to_string()) {
                let reason = violations.first().map(ToString::to_string).unwrap_or_default();
                let problem = Problem::BadDefault { argument: argument.name.clone(), reason };
                return Err(Wrong::new(argument.place, problem));
            }
        }
        self.names = arguments.iter().map(|argument| argument.name.clone()).collect();
        self.arguments = arguments;
        Ok(self)
    }
}

/// A JSON Schema of the file, checked.
pub(crate) fn check_schema(key: &str, tree: &Tree) -> Result<(Value, Prepared), Wrong> {
    if !matches!(tree.node, Node::Map(_)) {
        return Err(tree.wrong_type(key, "a JSON Schema"));
    }
    let schema = tree.to_json();
    check_parts(key, &schema, tree)?;
    let prepared =
        prepare(key, schema.to_string(), tree.place).map_err(|wrong| match outside(tree) {
            Some(place) => {
                bad_schema(key, "`$ref` must stay in the schema: #/$defs/…".into(), place)
            }
            None => wrong,
        })?;
    Ok((schema, prepared))
}

/// The first `$ref` that leads out of the file, which nothing is fetched for.
fn outside(tree: &Tree) -> Option<Place> {
    match &tree.node {
        Node::List(items) => items.iter().find_map(outside),
        Node::Map(entries) => entries.iter().find_map(|entry| match &entry.value.node {
            Node::Text(uri) if entry.key == "$ref" => {
                (!uri.starts_with('#')).then_some(entry.value.place)
            }
            _ => outside(&entry.value),
        }),
        _ => None,
    }
}

/// The rules of being a schema, each shown at its keyword. Those of older dialects are left to
/// `compile`, which knows no place.
fn check_parts(key: &str, schema: &Value, tree: &Tree) -> Result<(), Wrong> {
    // The schema of schemas is large, and few files need it.
    if schema.get("$schema").is_some() || is_sound(&schema.to_string()) {
        return Ok(());
    }
    jsonschema::draft202012::meta::validate(schema).map_err(|error| {
        let pointer = error.instance_path().as_str();
        let keyword = pointer.rsplit('/').next().unwrap_or_default();
        let reason = match keyword {
            "" => error.to_string(),
            "type" => "`type` must be string, integer, number, boolean, array, object or null, \
                       or a list of these"
                .to_owned(),
            keyword => format!("`{keyword}`: {error}"),
        };
        bad_schema(key, reason, tree.place_at(pointer))
    })
}

/// The schema of an object of these, as text: there may be thousands, and no tree is needed.
fn object_of(arguments: &[Argument]) -> String {
    let quoted = |name: &str| Value::from(name).to_string();
    let property = |known: &Argument| format!("{}:{}", quoted(&known.name), known.schema);
    let properties = arguments.iter().map(property).collect::<Vec<_>>().join(",");
    let required = arguments.iter().filter(|known| known.is_required);
    let required = required.map(|known| quoted(&known.name)).collect::<Vec<_>>().join(",");
    let required = match required.as_str() {
        "" => required,
        names => format!(r#""required":[{names}],"#),
    };
    let rest = format!(r#"{required}"additionalProperties":false"#);
    format!(r#"{{"type":"object","properties":{{{properties}}},{rest}}}"#)
}

fn prepare(key: &str, schema: String, place: Place) -> Result<Prepared, Wrong> {
    Prepared::compile(schema).map_err(|bad| bad_schema(key, bad.reason, place))
}

fn bad_schema(key: &str, reason: String, place: Place) -> Wrong {
    Wrong::new(place, Problem::BadSchema { key: key.to_owned(), reason })
}

/// `name: type`, `"name?": type`, or `name: { type: …, … }`.
fn short_argument(entry: &Entry) -> Result<Argument, Wrong> {
    let Entry { key, key_place: place, value } = entry;
    let (name, is_optional) = match key.strip_suffix('?') {
        Some(name) => (name, true),
        None => (&**key, false),
    };
    if name.is_empty() {
        return Err(bad_schema("input", "an argument has no name".to_owned(), *place));
    }
    let schema = match &value.node {
        Node::Text(word) => type_schema(name, word, value.place)?,
        Node::Map(_) => short_schema(name, value)?,
        _ => return Err(value.wrong_type(key, "a type or a JSON Schema")),
    };
    let is_required = !is_optional && schema.get("default").is_none();
    Ok(Argument { name: name.to_owned(), place: *place, schema, is_required })
}

/// A JSON Schema whose `type` may be a type of the short form.
fn short_schema(name: &str, tree: &Tree) -> Result<Value, Wrong> {
    let written = tree.to_json();
    let mut schema = Map::new();
    for (keyword, value) in written.as_object().into_iter().flatten() {
        match (keyword.as_str(), value.as_str()) {
            ("type", Some(word)) => {
                let place = tree.get("type").map_or(tree.place, |kind| kind.place);
                let kind = type_schema(name, word, place)?;
                if kind.get("items").is_some() && written.get("items").is_some() {
                    let reason = format!("`items` is there, and `{word}` says it too");
                    return Err(bad_schema(name, reason, place));
                }
                schema.extend(kind.as_object().cloned().unwrap_or_default());
            }
            _ => _ = schema.insert(keyword.clone(), value.clone()),
        }
    }
    let schema = Value::Object(schema);
    check_parts(name, &schema, tree)?;
    Ok(schema)
}

/// The types, and what other languages call them.
const TYPES: [(&str, &[&str]); 6] = [
    ("string", &["str", "text"]),
    ("integer", &["int"]),
    ("number", &["float", "double", "decimal"]),
    ("boolean", &["bool"]),
    ("array", &["list", "sequence"]),
    ("object", &["dict", "map", "mapping"]),
];

/// `string` and `string[]` as a JSON Schema.
fn type_schema(argument: &str, word: &str, place: Place) -> Result<Value, Wrong> {
    if let Some(item) = word.strip_suffix("[]") {
        let items = type_schema(argument, item, place)?;
        return Ok(json!({ "type": "array", "items": items }));
    }
    if TYPES.iter().any(|(name, _)| *name == word) {
        return Ok(json!({ "type": word }));
    }
    let alias = TYPES.iter().find(|(_, aliases)| aliases.contains(&word)).map(|(name, _)| *name);
    let names = || TYPES.iter().map(|(name, _)| *name);
    let close = alias.or_else(|| {
        let close = nearest(word, names())?;
        names().find(|name| *name == close)
    });
    let problem =
        Problem::BadType { argument: argument.to_owned(), word: word.to_owned(), nearest: close };
    Err(Wrong::new(place, problem))
}
