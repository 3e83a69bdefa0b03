//! What is known of a value before it is there: from the JSON Schema that it fits, or from how it
//! is made. Whatever is not known may be anything; nothing here refuses a value that could fit.

use serde_json::Value;
use std::sync::Arc;

/// What is known of a value.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// It is of one of these kinds.
    Kinds(Kinds),
    /// A list of such items.
    List(Box<Self>),
    /// A mapping with these members.
    Map(Vec<(String, Self)>),
    /// That, or nothing.
    OrNothing(Box<Self>),
    /// It fits a part of a JSON Schema.
    Schema { root: Arc<Value>, part: Arc<Value> },
}

/// Kinds of JSON values, one bit each; whole numbers and others are two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

/// What is known of a part of a value.
pub(crate) enum Part {
    /// It is there, perhaps.
    Known(Shape),
    /// It cannot be there; those that can.
    Missing(Vec<String>),
}

/// How often a schema may refer to another part of itself on the way to one answer.
const HOPS_MAX: usize = 32;

impl Kinds {
    pub(crate) const NOTHING: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(4 | 8);
    pub(crate) const TEXT: Self = Self(16);
    pub(crate) const LIST: Self = Self(32);
    pub(crate) const MAPPING: Self = Self(64);
    pub(crate) const ANY: Self = Self(127);

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn without_nothing(self) -> Self {
        Self(self.0 & !1)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn named(word: &str) -> Self {
        match word {
            "null" => Self::NOTHING,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::TEXT,
            "array" => Self::LIST,
            "object" => Self::MAPPING,
            _ => Self::ANY,
        }
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NOTHING,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self(8),
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::LIST,
            Value::Object(_) => Self::MAPPING,
        }
    }

    /// What a person would call it: `a text`, `a number or nothing`.
    pub(crate) fn describe(self) -> String {
        const WORDS: [(u8, &str); 8] = [
            (16, "a text"),
            (4 | 8, "a number"),
            (4, "a whole number"),
            (8, "a fraction"),
            (2, "true or false"),
            (32, "a list"),
            (64, "a mapping"),
            (1, "nothing"),
        ];
        let (mut rest, mut words) = (self.0, Vec::new());
        for (bits, word) in WORDS {
            if rest & bits == bits {
                words.push(word);
                rest &= !bits;
            }
        }
        words.join(" or ")
    }
}

impl Shape {
    pub(crate) const ANY: Self = Self::Kinds(Kinds::ANY);

    /// Of a value that fits a schema.
    pub(crate) fn of_schema(schema: Value) -> Self {
        let root = Arc::new(schema);
        Self::Schema { part: Arc::clone(&root), root }
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Array(items) => {
                let items = items.iter().map(Self::of_value).reduce(Self::or);
                Self::List(Box::new(items.unwrap_or(Self::ANY)))
            }
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| (key.clone(), Self::of_value(value));
                Self::Map(members.iter().map(member).collect())
            }
            value => Self::Kinds(Kinds::of_value(value)),
        }
    }

    /// One of the two.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Kinds(Kinds::NOTHING), other) | (other, Self::Kinds(Kinds::NOTHING)) => {
                other.or_nothing()
            }
            (one, other) => Self::Kinds(one.kinds().or(other.kinds())),
        }
    }

    pub(crate) fn or_nothing(self) -> Self {
        match self {
            Self::OrNothing(_) => self,
            shape => Self::OrNothing(Box::new(shape)),
        }
    }

    pub(crate) fn kinds(&self) -> Kinds {
        match self {
            Self::Kinds(kinds) => *kinds,
            Self::List(_) => Kinds::LIST,
            Self::Map(_) => Kinds::MAPPING,
            Self::OrNothing(shape) => shape.kinds().or(Kinds::NOTHING),
            Self::Schema { root, part } => match kinds_of(root, part, HOPS_MAX) {
                // A schema that contradicts itself is somebody else's to tell.
                kinds if kinds.is_empty() => Kinds::ANY,
                kinds => kinds,
            },
        }
    }

    /// A member of a mapping.
    pub(crate) fn part(&self, name: &str) -> Part {
        match self {
            Self::OrNothing(shape) => shape.part(name),
            Self::Map(members) => {
                let found = members.iter().find(|(key, _)| key == name);
                found.map_or_else(
                    || Part::Missing(members.iter().map(|(key, _)| key.clone()).collect()),
                    |(_, shape)| Part::Known(shape.clone()),
                )
            }
            shape if !shape.kinds().has_any(Kinds::MAPPING) => Part::Missing(Vec::new()),
            Self::Schema { root, part } => property(root, part, name, HOPS_MAX),
            Self::Kinds(_) | Self::List(_) => Part::Known(Self::ANY),
        }
    }

    /// An item of a list.
    pub(crate) fn item(&self) -> Self {
        match self {
            Self::OrNothing(shape) => shape.item(),
            Self::List(item) => (**item).clone(),
            Self::Schema { root, part } => items(root, part, HOPS_MAX),
            Self::Kinds(_) | Self::Map(_) => Self::ANY,
        }
    }
}

/// Where a `$ref` within the schema leads.
fn target<'s>(root: &'s Value, part: &Value) -> Option<&'s Value> {
    let pointer = part.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

fn kinds_of(root: &Value, part: &Value, hops: usize) -> Kinds {
    let Some(hops) = hops.checked_sub(1).filter(|_| part.is_object()) else { return Kinds::ANY };
    let list = |key: &str| part.get(key).and_then(Value::as_array).filter(|all| !all.is_empty());
    let either = |all: &Vec<Value>, kinds: &dyn Fn(&Value) -> Kinds| {
        all.iter().map(kinds).reduce(Kinds::or).unwrap_or(Kinds::ANY)
    };
    let mut kinds = Kinds::ANY;
    match part.get("type") {
        Some(Value::String(word)) => kinds = kinds.and(Kinds::named(word)),
        Some(Value::Array(words)) => {
            let word = |word: &Value| word.as_str().map_or(Kinds::ANY, Kinds::named);
            kinds = kinds.and(either(words, &word));
        }
        _ => {}
    }
    if let Some(value) = part.get("const") {
        kinds = kinds.and(Kinds::of_value(value).or(whole(value)));
    }
    if let Some(values) = list("enum") {
        kinds = kinds.and(either(values, &|value| Kinds::of_value(value).or(whole(value))));
    }
    if let Some(target) = target(root, part) {
        kinds = kinds.and(kinds_of(root, target, hops));
    }
    for part in list("allOf").into_iter().flatten() {
        kinds = kinds.and(kinds_of(root, part, hops));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(parts) = list(key) {
            kinds = kinds.and(either(parts, &|part| kinds_of(root, part, hops)));
        }
    }
    kinds
}

/// `3.0` is a whole number as well.
fn whole(value: &Value) -> Kinds {
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if is_whole { Kinds::NUMBER } else { Kinds::of_value(value) }
}

fn property(root: &Arc<Value>, part: &Value, name: &str, hops: usize) -> Part {
    let Some(hops) = hops.checked_sub(1) else { return Part::Known(Shape::ANY) };
    let shape = |part: &Value| Shape::Schema { root: Arc::clone(root), part: part.clone().into() };
    if let Some(target) = target(root, part) {
        return property(root, target, name, hops);
    }
    let properties = part.get("properties").and_then(Value::as_object);
    if let Some(found) = properties.and_then(|properties| properties.get(name)) {
        return Part::Known(shape(found));
    }
    for part in part.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if let Part::Known(Shape::Schema { root, part }) = property(root, part, name, hops) {
            return Part::Known(Shape::Schema { root, part });
        }
    }
    const ELSEWHERE: [&str; 7] =
        ["allOf", "anyOf", "oneOf", "if", "patternProperties", "$dynamicRef", "dependentSchemas"];
    let is_closed = part.get("additionalProperties") == Some(&Value::Bool(false));
    if is_closed && !ELSEWHERE.iter().any(|key| part.get(key).is_some()) {
        let names = properties.into_iter().flatten().map(|(name, _)| name.clone());
        return Part::Missing(names.collect());
    }
    match part.get("additionalProperties").filter(|others| others.is_object()) {
        Some(others) => Part::Known(shape(others)),
        None => Part::Known(Shape::ANY),
    }
}

fn items(root: &Arc<Value>, part: &Value, hops: usize) -> Shape {
    let Some(hops) = hops.checked_sub(1) else { return Shape::ANY };
    if let Some(target) = target(root, part) {
        return items(root, target, hops);
    }
    match part.get("items").filter(|_| part.get("prefixItems").is_none()) {
        Some(item) if item.is_object() => {
            Shape::Schema { root: Arc::clone(root), part: item.clone().into() }
        }
        _ => Shape::ANY,
    }
}
