//! Which texts are surely schemas that `direct` checks: known from one look at their bytes, without
//! a tree, so that a server of many tools starts at once and compiles a schema when it is first
//! needed. Asked by whoever has one, to compile all others there and then; wrong on one side only.

use super::direct::{ALLOWED_MAX, DEPTH_MAX, PROPERTIES_MAX, SILENT, TEXTS};
use super::kind_set::Kinds;
use super::limits::SCHEMA_BYTES_MAX;
use haft_proto::json::{Cursor, Kind};

/// The dialect that `direct` knows.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// No schema of a tool has more keywords; each is compared with those before it.
const KEYWORDS_MAX: usize = 64;

/// A number of so many bytes is read by everybody in the same way.
const NUMBER_BYTES_MAX: usize = 15;

/// Whether the text is surely a JSON Schema of 2020-12, by the schema of schemas too, and one that
/// [`Schema::compile`](super::Schema::compile) takes. Of one that is not, nothing is known.
///
/// ```
/// use haft_server::schema::is_sound;
/// assert!(is_sound(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#));
/// assert!(!is_sound(r#"{"type":"text"}"#));
/// // It is one, but to know that is left to others.
/// assert!(!is_sound(r#"{"pattern":"^a"}"#));
/// ```
#[must_use]
pub fn is_sound(text: &str) -> bool {
    let mut cursor = Cursor::new(text, usize::MAX);
    let is_object = cursor.kind().is_ok_and(|kind| kind == Kind::Object);
    text.len() <= SCHEMA_BYTES_MAX
        && is_object
        && schema(&mut cursor, 0).is_some()
        && cursor.end().is_ok()
}

/// Reads a schema; `None` if it is to be looked at more closely.
fn schema<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Option<()> {
    if cursor.kind().ok()? != Kind::Object {
        return (cursor.value().ok()? == "true").then_some(());
    }
    if depth == DEPTH_MAX {
        return None;
    }
    cursor.enter_object().ok()?;
    let (mut keywords, mut names, mut required) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_first = true;
    while let Some(keyword) = cursor.next_key(&mut is_first).ok()? {
        once(&mut keywords, keyword.raw(), KEYWORDS_MAX)?;
        match keyword.raw() {
            "properties" => {
                cursor.enter_object().ok()?;
                let mut is_first = true;
                while let Some(name) = cursor.next_key(&mut is_first).ok()? {
                    once(&mut names, name.raw(), PROPERTIES_MAX)?;
                    schema(cursor, depth + 1)?;
                }
            }
            "required" => {
                items(cursor, |cursor| {
                    once(&mut required, cursor.string().ok()?.raw(), PROPERTIES_MAX)
                })?;
            }
            "items" => schema(cursor, depth + 1)?,
            "additionalProperties" => match cursor.kind().ok()? {
                Kind::Bool => _ = cursor.value().ok()?,
                _ => schema(cursor, depth + 1)?,
            },
            "$schema" => (depth == 0 && cursor.string().ok()?.raw() == DIALECT).then_some(())?,
            keyword => self::keyword(cursor, keyword)?,
        }
    }
    let are_named = required.iter().all(|name| names.contains(name));
    let has_both = keywords.contains(&"enum") && keywords.contains(&"const");
    (are_named && !has_both).then_some(())
}

/// Keeps one name more; `None` if it was there before, if escapes may spell it in another way, or
/// if there are enough.
fn once<'t>(known: &mut Vec<&'t str>, name: &'t str, most: usize) -> Option<()> {
    let is_new = known.len() < most && !name.contains('\\') && !known.contains(&name);
    is_new.then(|| known.push(name))
}

/// Reads the value of a keyword that has no schema in it.
fn keyword(cursor: &mut Cursor<'_>, keyword: &str) -> Option<()> {
    match keyword {
        "type" if cursor.kind().ok()? == Kind::Array => {
            let mut named = Vec::new();
            items(cursor, |cursor| {
                let kind = one_type(cursor)?;
                (!named.contains(&kind)).then(|| named.push(kind))
            })?;
            (!named.is_empty()).then_some(())
        }
        "type" => one_type(cursor).map(|_| ()),
        "$id" => (!cursor.string().ok()?.raw().contains(['#', '\\'])).then_some(()),
        "enum" => {
            let count = items(cursor, scalar)?;
            (1..=ALLOWED_MAX).contains(&count).then_some(())
        }
        "const" => scalar(cursor),
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            let is_count = |raw: &str| raw.bytes().all(|byte| byte.is_ascii_digit());
            is_count(number(cursor)?).then_some(())
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            number(cursor).map(|_| ())
        }
        "examples" => items(cursor, scalar).map(|_| ()),
        "deprecated" | "readOnly" | "writeOnly" => {
            (cursor.kind().ok()? == Kind::Bool).then_some(())?;
            cursor.value().ok().map(|_| ())
        }
        keyword if TEXTS.contains(&keyword) => cursor.string().ok().map(|_| ()),
        keyword if SILENT.contains(&keyword) || keyword.starts_with("x-") => scalar(cursor),
        _ => None,
    }
}

fn one_type(cursor: &mut Cursor<'_>) -> Option<Kinds> {
    Kinds::named(cursor.string().ok()?.raw())
}

/// Reads an array and says how many items it has.
fn items<'t>(
    cursor: &mut Cursor<'t>,
    mut item: impl FnMut(&mut Cursor<'t>) -> Option<()>,
) -> Option<usize> {
    (cursor.kind().ok()? == Kind::Array).then_some(())?;
    cursor.enter_array().ok()?;
    let (mut is_first, mut count) = (true, 0);
    while cursor.next_item(&mut is_first).ok()? {
        item(cursor)?;
        count += 1;
    }
    Some(count)
}

/// A value that is neither array nor object, and that every reader takes.
fn scalar(cursor: &mut Cursor<'_>) -> Option<()> {
    match cursor.kind().ok()? {
        Kind::Array | Kind::Object => None,
        Kind::Number => number(cursor).map(|_| ()),
        Kind::Bool | Kind::Null | Kind::String => cursor.value().ok().map(|_| ()),
    }
}

/// A number without an exponent, which could be too large.
fn number<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
    (cursor.kind().ok()? == Kind::Number).then_some(())?;
    let raw = cursor.value().ok()?;
    (raw.len() <= NUMBER_BYTES_MAX && !raw.contains(['e', 'E'])).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::is_sound;
    use crate::schema::Schema;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_tools_usually_have_is_seen_at_once() {
        for text in [
            "{}",
            r#" {"type":"object", "additionalProperties":false} "#,
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","properties":
                {"a":{"type":["string","null"],"minLength":1,"default":null,"x-mcp-header":"A"},
                "b":{"enum":["a",1,true],"description":"x"},"c":{"items":{"maximum":-1}},"d":true},
                "required":["b","a"],"type":"object","additionalProperties":{"const":0}}"#,
        ] {
            assert!(is_sound(text), "{text}");
            assert!(Schema::compile(text).is_ok_and(|schema| schema.is_direct()), "{text}");
        }
    }

    #[test]
    fn a_property_may_have_a_name_that_serde_json_keeps_for_itself() {
        let text = r#"{"properties":{"$serde_json::private::RawValue":{"type":"string"}}}"#;
        assert!(is_sound(text));
        let schema = Schema::compile(text).expect("it is one");
        assert!(schema.check(r#"{"$serde_json::private::RawValue":1}"#).is_err());
    }

    #[test]
    fn what_may_be_no_schema_is_not() {
        for text in [
            "",
            "true",
            "[]",
            "{",
            "{}x",
            r#"{"type":"text"}"#,
            r#"{"type":[1]}"#,
            r#"{"type":{}}"#,
            r#"{"type":[]}"#,
            r#"{"type":["null","null"]}"#,
            r#"{"required":["a","a"],"properties":{"a":true}}"#,
            r#"{"$id":"a#b"}"#,
            r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#,
            r#"{"properties":{"a":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}}"#,
            r#"{"required":["a"]}"#,
            r#"{"required":"a","properties":{"a":true}}"#,
            r#"{"properties":[]}"#,
            r#"{"properties":{"a":false}}"#,
            r#"{"properties":{"a":{"pattern":"("}}}"#,
            r#"{"$ref":"x"}"#,
            r#"{"minLength":-1}"#,
            r#"{"minLength":1.5}"#,
            r#"{"minimum":"1"}"#,
            r#"{"default":1e999}"#,
            r#"{"default":11111111111111111111}"#,
            r#"{"enum":[]}"#,
            r#"{"enum":[[]]}"#,
            r#"{"description":1}"#,
            r#"{"title":"\ud800"}"#,
            r#"{"readOnly":1}"#,
            r#"{"\u0074ype":"object"}"#,
            r#"{"type":"object","type":"string"}"#,
            r#"{"properties":{"a":true},"required":["a"],"properties":{}}"#,
            r#"{"properties":{"a":true,"a":{}}}"#,
            r#"{"const":"a","enum":["a","b"]}"#,
        ] {
            assert!(!is_sound(text), "{text}");
        }
        let deep = |levels| r#"{"items":"#.repeat(levels) + "{}" + &"}".repeat(levels);
        assert!(is_sound(&deep(31)) && !is_sound(&deep(32)));
        let wide = |count| {
            let all: Vec<_> = (0..count).map(|number| format!("\"p{number}\":true")).collect();
            format!("{{\"properties\":{{{}}}}}", all.join(","))
        };
        assert!(is_sound(&wide(64)) && !is_sound(&wide(65)));
        let long = |count| format!("{{\"title\":\"{}\"}}", "x".repeat(count));
        assert!(is_sound(&long(1024 * 1024 - 12)) && !is_sound(&long(1024 * 1024 - 11)));
    }

    /// Values like those of schemas, some of which are right.
    fn values() -> impl Strategy<Value = Value> {
        let word = || {
            prop::sample::select(vec![
                "a",
                "type",
                "string",
                "object",
                "items",
                "enum",
                "const",
                "properties",
                "required",
                "minLength",
                "maximum",
                "additionalProperties",
                "examples",
                "default",
                "x-a",
                "description",
                "$schema",
                "$id",
                "$ref",
                "readOnly",
                "pattern",
                "not",
            ])
        };
        let leaf = prop_oneof![
            word().prop_map(|word| json!(word)),
            any::<bool>().prop_map(|flag| json!(flag)),
            (-2..3i8).prop_map(|number| json!(number)),
            Just(json!(1.5)),
            Just(json!(null)),
        ];
        leaf.prop_recursive(5, 40, 5, move |value| {
            prop_oneof![
                prop::collection::vec(value.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((word().prop_map(str::to_owned), value), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn whatever_is_sound_compiles(value in values()) {
            let text = value.to_string();
            if is_sound(&text) {
                prop_assert!(jsonschema::draft202012::meta::is_valid(&value), "{}", text);
                let compiled = Schema::compile(&text);
                prop_assert!(compiled.is_ok_and(|schema| schema.is_direct()), "{}", text);
            }
        }
    }
}
