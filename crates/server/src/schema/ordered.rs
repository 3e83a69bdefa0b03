//! A schema as JSON text, its keywords in the order in which people read them: the order of the
//! `schemars` crate, which looks each one up in each object. Called by `derived`; drops nothing.

use haft_proto::encode::string;
use serde_json::{Map, Value};

/// What stands first, in this order, and what stands last. All else is as it was put in.
const FIRST: [&str; 7] = ["$id", "$schema", "title", "description", "type", "format", "properties"];
const LAST: [&str; 2] = ["$defs", "definitions"];

/// Appends a schema, a list of schemas, or any value that is none.
pub(super) fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(schema) => write_schema(out, schema),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        other => write_as_it_is(out, other),
    }
}

fn write_schema(out: &mut Vec<u8>, schema: &Map<String, Value>) {
    let mut placed = [None; FIRST.len() + LAST.len()];
    for (keyword, value) in schema {
        if let Some(rank) = rank(keyword) {
            placed[rank] = Some((keyword, value));
        }
    }
    let (first, last) = placed.split_at(FIRST.len());
    let others = schema.iter().filter(|(keyword, _)| rank(keyword).is_none());
    let members =
        first.iter().flatten().copied().chain(others).chain(last.iter().flatten().copied());
    write_members(out, members, |out, keyword, value| match keyword {
        // Data, not schemas.
        "default" | "examples" => write_as_it_is(out, value),
        keyword if keyword.starts_with("x-") => write_as_it_is(out, value),
        // Maps whose keys are names, not keywords.
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            match value {
                Value::Object(named) => {
                    write_members(out, named, |out, _, schema| write(out, schema));
                }
                other => write(out, other),
            }
        }
        _ => write(out, value),
    });
}

fn write_members<'v>(
    out: &mut Vec<u8>,
    members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    mut write: impl FnMut(&mut Vec<u8>, &str, &Value),
) {
    out.push(b'{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, key);
        out.push(b':');
        write(out, key, value);
    }
    out.push(b'}');
}

fn write_as_it_is(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::String(text) => string(out, text),
        other => serde_json::to_writer(out, other).expect("a value is written to memory"),
    }
}

/// Where a keyword stands that has a place, among all that have one.
fn rank(keyword: &str) -> Option<usize> {
    FIRST.iter().chain(&LAST).position(|known| *known == keyword)
}

#[cfg(test)]
mod tests {
    use super::write;
    use schemars::Schema;
    use serde_json::{Value, json};

    #[test]
    fn it_is_written_as_schemars_writes_it() {
        for schema in [
            json!({}),
            json!({"definitions": {}, "$defs": {}, "z": 1, "properties": {}, "format": "f",
                "type": "t", "description": "d", "title": "T", "$schema": "s", "$id": "i"}),
            json!({"$defs": {"b": {"x": 1, "type": "null"}, "a": true}, "type": "object"}),
            json!({"required": ["type", "a"], "properties": {"type": {"minimum": 1.5,
                "description": "a \"word\"\nand \u{e9}\u{1}\u{7f}\u{2028}",
                "type": "number"}, "title": false},
                "title": "T"}),
            json!({"default": {"z": 1, "type": 2}, "examples": [{"z": 1, "type": 2}],
                "x-own": {"z": 1, "type": 2}, "enum": [{"z": 1, "type": 2}]}),
            json!({"anyOf": [{"z": 1, "format": "f", "$id": "i"}, [[{"z": 1, "type": "t"}]]],
                "properties": [1], "definitions": {}, "not": {"a": -0.0, "$schema": u64::MAX}}),
        ] {
            let mut ours = Vec::new();
            write(&mut ours, &schema);
            let theirs = Schema::try_from(schema.clone()).expect("an object");
            let theirs = serde_json::to_string(&theirs).expect("a value");
            assert_eq!(String::from_utf8_lossy(&ours), theirs);
            assert_eq!(serde_json::from_slice::<Value>(&ours).expect("it is JSON"), schema);
        }
    }
}
