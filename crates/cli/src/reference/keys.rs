//! The page on the keys of haft.yaml, from the schema that `haft schema` prints.

use super::examples::Example;
use super::{examples, page as titled, table};
use serde_json::Value;
use std::fmt::Write;

pub(super) fn page() -> String {
    let schema: Value =
        serde_json::from_str(&haft_manifest::json_schema()).expect("the schema is JSON");
    let mut text = titled("Keys of haft.yaml", &described(&schema));
    text.push_str(INTRODUCTION);
    let shown = examples::all(&schema);
    let mut names: Vec<String> = Vec::new();
    section(&mut text, examples::FILE, &schema, &mut names);
    text.push_str(&example(examples::FILE, &shown));
    let mut done = 0;
    while let Some(name) = names.get(done).cloned() {
        let Some(definition) = schema.pointer(&format!("/$defs/{}", pointer(&name))) else {
            panic!("{name} is no part of the schema")
        };
        section(&mut text, &name, definition, &mut names);
        text.push_str(&example(&name, &shown));
        done += 1;
    }
    text
}

/// What holds for all keys.
const INTRODUCTION: &str = "
The column *default* is what holds when the key is absent; *needed* is a key that must be there. \
`haft schema` prints the same as JSON Schema, for editors.

A *time* is a number with `ms`, `s`, `m` or `h`: `500ms`, `1.5s`, `720h`. A *size* is a whole \
number of bytes, or one with `B`, `kB`, `KB`, `MB`, `KiB`, `MiB` or `GiB`: `64KiB`, `10MB`.

The examples are checked and served in tests, where `style.md`, `logo.png`, `shop-api.yaml`, the \
directories `docs` and `prompts` and the variables that they name are there. One that has no \
`server` is a part of a file; one that begins with `- name:` stands under `tools:`.
";

/// The example of a part, or the part whose example has it.
fn example(part: &str, shown: &[Example]) -> String {
    if let Some(own) = shown.iter().find(|example| example.part == part) {
        return format!("\n```yaml\n{}\n```\n", own.text.trim_end());
    }
    match shown.iter().find(|example| example.shows(part)) {
        Some(other) => format!("\nAn example is at {}.\n", link(&other.part)),
        None => String::new(),
    }
}

/// A part of the schema: what it is, and its keys or its words.
fn section(text: &mut String, name: &str, definition: &Value, names: &mut Vec<String>) {
    _ = write!(text, "\n## {}\n\n", title(name));
    if name != examples::FILE {
        _ = write!(text, "{}\n\n", described(definition));
    }
    let required = definition.get("required").and_then(Value::as_array);
    let is_required =
        |key: &str| required.is_some_and(|keys| keys.iter().any(|required| required == key));
    if let Some(Value::Object(properties)) = definition.get("properties") {
        let row = |(key, property): (&String, &Value)| {
            let line = described(property);
            let default = match property.get("default").filter(|value| !value.is_array()) {
                _ if is_required(key) => "needed".to_owned(),
                Some(value) => format!("`{}`", value.to_string().trim_matches('"')),
                None => otherwise(&line),
            };
            vec![format!("`{key}`"), amount(key, kind(property, names)), default, line]
        };
        table(
            text,
            &["key", "type", "default", "what"],
            &properties.iter().map(row).collect::<Vec<_>>(),
        );
        return;
    }
    let choices = choices(definition);
    let row = |choice: &&Value| vec![kind(choice, names), described(choice)];
    table(text, &["value", "what"], &choices.iter().map(row).collect::<Vec<_>>());
}

fn choices(definition: &Value) -> Vec<&Value> {
    let lists = ["anyOf", "oneOf"].into_iter().filter_map(|key| definition.get(key));
    lists.filter_map(Value::as_array).flatten().collect()
}

/// What a value may be, in words; parts of the schema that it refers to are noted.
fn kind(schema: &Value, names: &mut Vec<String>) -> String {
    if let Some(Value::String(reference)) = schema.get("$ref") {
        let name = reference.trim_start_matches("#/$defs/").to_owned();
        let link = link(&name);
        if !names.contains(&name) {
            names.push(name);
        }
        return link;
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return format!("`{word}`");
    }
    if let Some(Value::Array(words)) = schema.get("enum") {
        let words = words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or_default()));
        return words.collect::<Vec<_>>().join(", ");
    }
    let choices = choices(schema);
    if !choices.is_empty() {
        let kinds = choices.iter().map(|choice| kind(choice, names));
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(name, schema, names),
        Some(Value::Array(several)) => alternatives(several),
        _ => "anything".to_owned(),
    }
}

fn named(name: &str, schema: &Value, names: &mut Vec<String>) -> String {
    match name {
        "array" => match schema.get("items") {
            Some(items) => format!("list of {}", kind(items, names)),
            None => "list".to_owned(),
        },
        "boolean" => "`true` or `false`".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("mapping to {}", kind(values, names)),
            _ => "mapping".to_owned(),
        },
        _ => "text".to_owned(),
    }
}

/// Text that may be typed as a number is text.
fn alternatives(several: &[Value]) -> String {
    let mut words: Vec<&str> = several
        .iter()
        .filter_map(Value::as_str)
        .map(|name| match name {
            "array" => "list",
            "object" => "mapping",
            "string" | "number" | "boolean" | "integer" => "text",
            other => other,
        })
        .collect();
    words.dedup();
    words.join(" or ")
}

fn described(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Texts that are times and sizes, by their keys.
fn amount(key: &str, kind: String) -> String {
    const TIMES: [&str; 6] = ["delay", "each", "max_delay", "rest", "timeout", "ttl"];
    const SIZES: [&str; 3] = ["limit", "max_size", "size"];
    match key {
        key if kind == "text" && TIMES.contains(&key) => "time".to_owned(),
        key if kind == "text" && SIZES.contains(&key) => "size".to_owned(),
        _ => kind,
    }
}

fn link(name: &str) -> String {
    format!("[{}](#{})", title(name), slug(&title(name)))
}

/// Headings that their names in the schema do not make.
const TITLES: [(&str, &str); 5] = [
    (examples::FILE, "The file"),
    ("Key", "Auth: header or query key"),
    ("OAuth", "OAuth"),
    ("PartFile", "Part: file"),
    ("Somebody", "Credential with a name"),
];

/// `OutputOptions` as a heading.
fn title(name: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(known, _)| *known == name) {
        return (*title).to_owned();
    }
    let mut title = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !title.is_empty() && !title.ends_with(' ') {
            title.push(' ');
            title.push(letter.to_ascii_lowercase());
        } else if title.is_empty() {
            title.push(letter.to_ascii_uppercase());
        } else {
            title.push(letter);
        }
    }
    title
}

fn slug(title: &str) -> String {
    title.to_lowercase().replace(' ', "-").replace(':', "")
}

/// What holds without a key, from the sentence that says so; nothing if that takes a sentence.
fn otherwise(doc: &str) -> String {
    const MARK: &str = "ithout this key";
    let Some(at) = doc.find(MARK) else { return String::new() };
    let (before, after) = (&doc[..at - 1], &doc[at + MARK.len()..]);
    let is_first = doc[at - 1..].starts_with('W') || before.ends_with("; ");
    let found = if is_first {
        after.trim_start_matches([':', ',']).split([';', ')']).next().unwrap_or_default()
    } else {
        let ends = ["; ", ". ", ", ", ": ", "("];
        let clause =
            |text: &str| ends.iter().filter_map(|end| Some(text.rfind(end)? + end.len())).max();
        let begins = clause(before).unwrap_or(0);
        match before[begins..].trim() {
            // It is the example right before.
            "" | "the limit" => {
                let said = before[..begins].trim_end_matches(['(', ',', ' ', ')']);
                said.rsplit([' ', '(']).next().unwrap_or_default()
            }
            // It holds in one case of several.
            "as" => "",
            "not" => "`false`",
            "yes" => "`true`",
            words => words,
        }
    };
    let found = found.split(". ").next().unwrap_or_default().trim().trim_end_matches('.');
    if found.len() > OTHERWISE_LENGTH { String::new() } else { found.to_owned() }
}

/// Longer ones are left to the line that says what a key is.
const OTHERWISE_LENGTH: usize = 48;

#[test]
fn what_holds_without_a_key_is_found_in_its_line() {
    for (line, expected) in [
        ("Its version; 0.0.0 without this key.", "0.0.0"),
        ("Where it listens. Without this key: on 127.0.0.1:7300.", "on 127.0.0.1:7300"),
        ("For how long; 30s without this key. Then one call tries.", "30s"),
        ("A program with all that it started. 1m without this key.", "1m"),
        ("`stop` (without this key) ends the pipeline.", "`stop`"),
        ("The directory; without this key, the one of this file.", "the one of this file"),
        ("Like 64KiB or 1MiB (the limit without this key); more is killed.", "1MiB"),
        ("Who the server is.", ""),
    ] {
        assert_eq!(otherwise(line), expected, "{line}");
    }
}

fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
