//! What a person typed after a tool's name becomes the JSON object of its arguments, with the types
//! that its input schema asks for. Called by `call`. Reading files and stdin is the caller's.

use crate::kinds::{ARRAY, Kinds, STRING};
use crate::signature::{reference, type_name};
use haft_server::nearest;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::io;

/// What was typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    /// `key=value` words, or one JSON object.
    pub(crate) words: &'a [String],
    /// The value of `--input-json`, already read if it named a file.
    pub(crate) json: Option<&'a str>,
}

/// Why the words are not arguments of the tool.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mistake {
    #[error("the arguments are not JSON: {reason}")]
    BadJson { reason: String },
    #[error("`{key}` must be {expected}, not {found:?}")]
    BadType { key: String, expected: String, found: String },
    #[error("`{key}` is given {times} times, but is not a list")]
    GivenTwice { key: String, times: usize },
    #[error("`{key}` is missing; give {key}=… ({kind})")]
    Missing { key: String, kind: String },
    #[error("the arguments must be a JSON object like '{{\"key\": 1}}'")]
    NotAnObject,
    #[error("`{key}` must be one of {options}, not {found:?}{}", did_you_mean(nearest))]
    NotAnOption { key: String, options: String, found: String, nearest: Option<String> },
    #[error("{word:?} is no argument; write key=value or one JSON object")]
    NotAPair { word: String },
    #[error("`{key}` is inside `{parent}`, which is given as a whole")]
    Overlapping { key: String, parent: String },
    #[error("the tool has no argument `{key}`{}", did_you_mean(nearest))]
    Unknown { key: String, nearest: Option<String> },
    #[error("cannot read {name:?} for `{key}`: {reason}")]
    Unreadable { key: String, name: String, reason: String },
}

/// Reads the file that a value names, or stdin if its name is `-`.
pub(crate) type ReadFile<'a> = &'a mut dyn FnMut(&str) -> io::Result<String>;

/// Makes the object.
pub(crate) fn build(
    typed: Typed<'_>,
    schema: &Value,
    read_file: ReadFile<'_>,
) -> Result<Box<RawValue>, Mistake> {
    let is_json = |word: &&String| word.trim_start().starts_with('{');
    let (json, pairs) = match (typed.json, typed.words.split_first()) {
        (None, Some((first, rest))) if is_json(&first) => (Some(first.as_str()), rest),
        (json, _) => (json, typed.words),
    };
    let mut object = match json {
        Some(text) => read_object(text)?,
        None => Map::new(),
    };
    for group in group(pairs, schema, read_file)? {
        let value = group.value(schema)?;
        insert(&mut object, &group.path, value)?;
    }
    check_required(&object, schema)?;
    // JSON alone is passed on as it was typed: numbers keep their digits.
    let text = match json {
        Some(text) if pairs.is_empty() => text.trim().to_owned(),
        _ => Value::Object(object).to_string(),
    };
    RawValue::from_string(text).map_err(|error| Mistake::BadJson { reason: error.to_string() })
}

/// The values that were typed for one key.
struct Group {
    key: String,
    path: Vec<String>,
    texts: Vec<String>,
}

impl Group {
    fn value(&self, root: &Value) -> Result<Value, Mistake> {
        let schema = find(root, &self.path, &self.key)?;
        let kinds = Kinds::of(root, schema);
        let [text] = &*self.texts else {
            if !kinds.has(ARRAY) {
                let times = self.texts.len();
                return Err(Mistake::GivenTwice { key: self.key.clone(), times });
            }
            let items = items(root, schema);
            return self.texts.iter().map(|text| self.typed(root, items, text)).collect();
        };
        let is_list = kinds.has(ARRAY) && !kinds.has(STRING);
        if is_list && !text.trim_start().starts_with('[') {
            return Ok(Value::Array(vec![self.typed(root, items(root, schema), text)?]));
        }
        self.typed(root, schema, text)
    }

    fn typed(&self, root: &Value, schema: &Value, text: &str) -> Result<Value, Mistake> {
        let value = Kinds::of(root, schema).read(text).ok_or_else(|| Mistake::BadType {
            key: self.key.clone(),
            expected: with_article(&type_name(root, schema, 0)),
            found: text.chars().take(80).collect(),
        })?;
        let schema = reference(root, schema).unwrap_or(schema);
        let options = schema.get("enum").and_then(Value::as_array);
        let Some(options) = options.filter(|options| !options.contains(&value)) else {
            return Ok(value);
        };
        let names: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
        Err(Mistake::NotAnOption {
            key: self.key.clone(),
            options: listed(options),
            found: text.to_owned(),
            nearest: nearest(text, names).map(str::to_owned),
        })
    }
}

/// Reads `key=value`, `key=@file`, `key==text` words; a key given again makes its group longer.
fn group(words: &[String], schema: &Value, read_file: ReadFile<'_>) -> Result<Vec<Group>, Mistake> {
    let mut groups: Vec<Group> = Vec::new();
    for word in words {
        let pair = word.split_once('=').filter(|(key, _)| !key.is_empty());
        let Some((key, value)) = pair else {
            return Err(Mistake::NotAPair { word: word.clone() });
        };
        let text = if let Some(literal) = value.strip_prefix('=') {
            literal.to_owned()
        } else if let Some(name) = value.strip_prefix('@') {
            read_file(name).map_err(|error| Mistake::Unreadable {
                key: key.to_owned(),
                name: name.to_owned(),
                reason: error.to_string(),
            })?
        } else {
            value.to_owned()
        };
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.texts.push(text),
            None => groups.push(Group {
                key: key.to_owned(),
                path: path_of(key, schema),
                texts: vec![text],
            }),
        }
    }
    Ok(groups)
}

/// `a.b` is `b` inside `a`, unless the tool has an argument whose name has the dot.
fn path_of(key: &str, schema: &Value) -> Vec<String> {
    let is_whole = schema.get("properties").is_some_and(|all| all.get(key).is_some());
    if is_whole {
        return vec![key.to_owned()];
    }
    key.split('.').map(str::to_owned).collect()
}

/// The schema of the argument at a path.
fn find<'a>(root: &'a Value, path: &[String], key: &str) -> Result<&'a Value, Mistake> {
    let mut schema = root;
    for step in path {
        schema = reference(root, schema).unwrap_or(schema);
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let is_open = match others {
            Some(others) => *others != Value::Bool(false),
            // Where nothing is named, anything goes.
            None => properties.is_none(),
        };
        let is_open = is_open || schema.get("patternProperties").is_some();
        schema = match properties.and_then(|properties| properties.get(step)) {
            Some(property) => property,
            None if is_open => others.filter(|others| others.is_object()).unwrap_or(&Value::Null),
            None => {
                let names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
                let nearest = nearest(step, names).map(str::to_owned);
                return Err(Mistake::Unknown { key: key.to_owned(), nearest });
            }
        };
    }
    Ok(schema)
}

fn items<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    reference(root, schema).unwrap_or(schema).get("items").unwrap_or(&Value::Null)
}

fn insert(object: &mut Map<String, Value>, path: &[String], value: Value) -> Result<(), Mistake> {
    let [parents @ .., last] = path else { return Ok(()) };
    let mut object = object;
    for parent in parents {
        let next = object.entry(parent.clone()).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(next) = next else {
            return Err(Mistake::Overlapping { key: path.join("."), parent: parent.clone() });
        };
        object = next;
    }
    object.insert(last.clone(), value);
    Ok(())
}

fn read_object(text: &str) -> Result<Map<String, Value>, Mistake> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Mistake::NotAnObject),
        Err(error) => Err(Mistake::BadJson { reason: error.to_string() }),
    }
}

fn check_required(object: &Map<String, Value>, schema: &Value) -> Result<(), Mistake> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let mut missing = names.filter(|name| !object.contains_key(*name));
    let Some(name) = missing.next() else { return Ok(()) };
    let property = schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
    Err(Mistake::Missing { key: name.to_owned(), kind: type_name(schema, property, 0) })
}

/// How many of the values that an argument may have are named.
const OPTIONS_SHOWN_MAX: usize = 20;

/// The values that an argument may have, or the first of them.
fn listed(options: &[Value]) -> String {
    let shown: Vec<_> = options.iter().take(OPTIONS_SHOWN_MAX).map(Value::to_string).collect();
    let more = if options.len() > OPTIONS_SHOWN_MAX { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn with_article(kind: &str) -> String {
    match kind {
        "boolean" => "true or false".to_owned(),
        "array" | "integer" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

pub(crate) fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "loud": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "id": {"type": ["integer", "string"]},
                "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "any": {},
                "point": {"$ref": "#/$defs/Point"},
                "a.b": {"type": "integer"},
            },
            "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}}},
        })
    }

    fn built(words: &[&str], schema: &Value) -> Result<String, Mistake> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let typed = Typed { words: &words, json: None };
        let mut read_file = |name: &str| match name {
            "-" => Ok("from stdin".to_owned()),
            "five" => Ok("5\n".to_owned()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        build(typed, schema, &mut read_file).map(|raw| raw.get().to_owned())
    }

    fn check(words: &[&str], expected: &str) {
        assert_eq!(built(words, &schema()).as_deref(), Ok(expected), "{words:?}");
    }

    fn fails(words: &[&str], expected: &str) {
        let message = built(words, &schema()).map_err(|mistake| mistake.to_string());
        assert_eq!(message, Err(expected.to_owned()), "{words:?}");
    }

    #[test]
    fn a_value_has_the_type_that_the_schema_asks_for() {
        check(&["text=5"], r#"{"text":"5"}"#);
        check(&["text="], r#"{"text":""}"#);
        check(&["text=a=b"], r#"{"text":"a=b"}"#);
        check(&["count=5"], r#"{"count":5}"#);
        check(&["count=-5", "ratio=1"], r#"{"count":-5,"ratio":1}"#);
        check(&["ratio=1.5e3"], r#"{"ratio":1500.0}"#);
        check(&["loud=true"], r#"{"loud":true}"#);
        check(&["id=7"], r#"{"id":7}"#);
        check(&["id=x7"], r#"{"id":"x7"}"#);
        check(&["maybe=null"], r#"{"maybe":null}"#);
        check(&["unit=celsius"], r#"{"unit":"celsius"}"#);
    }

    #[test]
    fn without_a_type_json_is_json_and_the_rest_is_text() {
        check(&["any=1"], r#"{"any":1}"#);
        check(&["any=[1,2]"], r#"{"any":[1,2]}"#);
        check(&["any=null"], r#"{"any":null}"#);
        check(&["any=[1"], r#"{"any":"[1"}"#);
        check(&["any=hello"], r#"{"any":"hello"}"#);
    }

    #[test]
    fn a_list_is_json_or_a_repeated_key() {
        check(&["tags=a", "tags=b"], r#"{"tags":["a","b"]}"#);
        check(&["tags=a"], r#"{"tags":["a"]}"#);
        check(&[r#"tags=["a","b"]"#], r#"{"tags":["a","b"]}"#);
        check(&["sizes=1", "sizes=2"], r#"{"sizes":[1,2]}"#);
        fails(&["sizes=1", "sizes=x"], r#"`sizes` must be an integer, not "x""#);
        fails(&["text=a", "text=b"], "`text` is given 2 times, but is not a list");
    }

    #[test]
    fn an_object_is_json_or_dotted_keys() {
        check(&["point.x=1", "text=a"], r#"{"point":{"x":1},"text":"a"}"#);
        check(&[r#"point={"x":1}"#], r#"{"point":{"x":1}}"#);
        check(&["a.b=1"], r#"{"a.b":1}"#);
        fails(&["point.y=1"], "the tool has no argument `point.y`");
        fails(&["text=a", "text.b=1"], "`text.b` is inside `text`, which is given as a whole");
    }

    #[test]
    fn an_at_sign_reads_a_file_and_a_second_equals_sign_does_not() {
        check(&["text=@-"], r#"{"text":"from stdin"}"#);
        check(&["count=@five"], r#"{"count":5}"#);
        check(&["text==@ada"], r#"{"text":"@ada"}"#);
        check(&["text===x"], r#"{"text":"=x"}"#);
        let missing = built(&["text=@nope"], &schema());
        assert!(matches!(missing, Err(Mistake::Unreadable { .. })), "{missing:?}");
    }

    #[test]
    fn a_json_object_is_passed_on_as_it_was_typed() {
        check(&["{\"count\": 1.00, \"new\": 12345678901234567890123}"], {
            "{\"count\": 1.00, \"new\": 12345678901234567890123}"
        });
        check(&[r#"{"count":1}"#, "text=a"], r#"{"count":1,"text":"a"}"#);
        assert!(matches!(built(&["{"], &schema()), Err(Mistake::BadJson { .. })));
    }

    #[test]
    fn mistakes_say_what_was_meant() {
        fails(&["txet=a"], "the tool has no argument `txet`; did you mean `text`?");
        fails(&["count=five"], r#"`count` must be an integer, not "five""#);
        fails(&["count=1.5"], r#"`count` must be an integer, not "1.5""#);
        fails(&["loud=yes"], r#"`loud` must be true or false, not "yes""#);
        fails(&["hello"], r#""hello" is no argument; write key=value or one JSON object"#);
        fails(&["=x"], r#""=x" is no argument; write key=value or one JSON object"#);
        fails(
            &["unit=celcius"],
            "`unit` must be one of \"celsius\", \"fahrenheit\", not \"celcius\"; \
             did you mean `celsius`?",
        );
        fails(
            &["count=123456789012345678901"],
            r#"`count` must be an integer, not "123456789012345678901""#,
        );
    }

    #[test]
    fn of_many_values_the_first_are_named() {
        let many: Vec<_> = (0..1000).map(|n| n.to_string()).collect();
        let schema = json!({"properties": {"a": {"enum": many}}});
        let message = built(&["a=x"], &schema).expect_err("no value").to_string();
        assert!(message.contains(r#""19", …, not "x""#) && !message.contains("20"), "{message}");
    }

    #[test]
    fn what_is_required_must_be_there_however_it_is_given() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        let missing = Mistake::Missing { key: "a".to_owned(), kind: "string".to_owned() };
        assert_eq!(built(&[], &schema), Err(missing));
        assert!(built(&["{}"], &schema).is_err());
        assert!(built(&[r#"{"a":""}"#], &schema).is_ok());
    }

    #[test]
    fn a_schema_without_names_takes_any() {
        for schema in [json!({"type": "object"}), json!(true), json!({})] {
            assert_eq!(built(&["x=1"], &schema).as_deref(), Ok(r#"{"x":1}"#), "{schema}");
        }
        for none in [json!({"properties": {}}), json!({"additionalProperties": false})] {
            assert!(matches!(built(&["x=1"], &none), Err(Mistake::Unknown { .. })), "{none}");
        }
        let open = json!({"properties": {}, "additionalProperties": {"type": "string"}});
        assert_eq!(built(&["x=1"], &open).as_deref(), Ok(r#"{"x":"1"}"#));
    }
}
