//! The check of common schemas against the `jsonschema` crate: the same verdict on any value.

use haft_server::schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A value of any kind, small.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        (-50i64..50).prop_map(|tenths| json!(tenths as f64 / 10.0)),
        "[a-cé]{0,3}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A schema of the keywords that are checked directly.
fn schema() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just(json!("string")),
        Just(json!("integer")),
        Just(json!("number")),
        Just(json!("boolean")),
        Just(json!(["null", "string"])),
        Just(json!("array")),
        Just(json!("object")),
    ];
    let leaf = prop_oneof![
        kind.prop_map(|kind| json!({"type": kind})),
        (0u64..3, 0u64..4).prop_map(|(min, max)| json!({"minLength": min, "maxLength": max})),
        (-5i64..5, -5i64..5).prop_map(|(min, max)| json!({"minimum": min, "maximum": max})),
        (-5i64..5).prop_map(|bound| json!({"exclusiveMinimum": bound, "type": "number"})),
        (-5i64..5).prop_map(|bound| json!({"exclusiveMaximum": bound})),
        (0u64..3, 0u64..3).prop_map(|(min, max)| json!({"minItems": min, "maxItems": max})),
        proptest::collection::vec("[a-c]{0,2}", 1..3).prop_map(|words| json!({"enum": words})),
        (-3i64..3).prop_map(|number| json!({"const": number})),
        Just(json!({"enum": [null, true, 1, 2.5, "a"]})),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            (
                proptest::collection::btree_map("[a-d]", inner.clone(), 1..4),
                proptest::collection::vec(any::<bool>(), 4),
                prop_oneof![Just(json!(true)), Just(json!(false)), inner],
            )
                .prop_map(|(properties, needed, others)| {
                    let required: Vec<_> = properties
                        .keys()
                        .zip(needed)
                        .filter_map(|(key, needed)| needed.then_some(key.clone()))
                        .collect();
                    json!({"properties": properties, "required": required,
                           "additionalProperties": others})
                }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_direct_check_agrees_with_the_general_one(schema in schema(), value in value()) {
        let compiled = Schema::compile(&schema.to_string()).expect("it is a schema");
        prop_assert!(compiled.is_direct(), "{}", schema);
        let is_valid = jsonschema::is_valid(&schema, &value);
        for text in [value.to_string(), format!("{value:#}")] {
            let verdict = compiled.check(&text);
            prop_assert_eq!(verdict.is_ok(), is_valid, "{} on {}: {:?}", schema, text, verdict);
        }
    }
}

#[test]
fn each_keyword_is_looked_at() {
    let cases = [
        (json!({"type": "integer"}), json!([0, -7, 1.0, 1e20]), json!([1.5, "1", true, null])),
        (json!({"type": "number"}), json!([0, 1.5, -1e-5]), json!(["1", false, [], {}])),
        (json!({"type": ["null", "string"]}), json!([null, "", "\n"]), json!([0, false, []])),
        (json!({"type": "boolean"}), json!([true, false]), json!([0, "true", null])),
        (json!({"minimum": 1, "maximum": 2.5}), json!([1, 2.5, "0"]), json!([0, 0.75, 2.75, 3])),
        (
            json!({"exclusiveMinimum": 1, "exclusiveMaximum": 2.5}),
            json!([2, 1.25, true]),
            json!([1, 1.0, 2.5, 3, -1]),
        ),
        (
            json!({"minLength": 2, "maxLength": 3}),
            json!(["ab", "éé", "ééé", "a\n", 1]),
            json!(["", "a", "é", "\n", "abcd", "éééé", "\u{1f600}"]),
        ),
        (json!({"minItems": 1, "maxItems": 2}), json!([[1], [1, 2], {}]), json!([[], [1, 2, 3]])),
        (json!({"enum": ["a", 1, 0.5]}), json!(["a", 1, 1.0, 0.5]), json!(["b", 2, true, [], {}])),
        (json!({"const": "\u{e9}\n"}), json!(["é\n"]), json!(["é", 1])),
        (json!({"items": {"type": "string"}}), json!([["a"], []]), json!([[1], ["a", null]])),
        (
            json!({"properties": {"a": {"type": "null"}, "b\"": true}, "required": ["b\""]}),
            json!([{"b\"": 1}, {"b\"": 1, "a": null}, {"a": null, "c": 1, "b\"": 2}]),
            json!([{}, {"a": null}, {"b\"": 1, "a": 1}]),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": {"minimum": 1}}),
            json!([{"a": 0, "b": 1}, {"b": 1, "c": 2, "a": 0}]),
            json!([{"a": 0, "b": 0}, {"b": 1, "c": 0}]),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            json!([{"a": 0}, {}, 1]),
            json!([{"a": 0, "b": 1}, {"b": 1}]),
        ),
    ];
    for (schema, fitting, others) in cases {
        let compiled = Schema::compile(&schema.to_string()).expect("it is a schema");
        assert!(compiled.is_direct(), "{schema}");
        for (values, fits) in [(fitting, true), (others, false)] {
            for value in values.as_array().expect("a list") {
                assert_eq!(jsonschema::is_valid(&schema, value), fits, "{schema} on {value}");
                for text in [format!("{value}"), format!("{value:#}")] {
                    assert_eq!(compiled.check(&text).is_ok(), fits, "{schema} on {text}");
                }
            }
        }
    }
}

#[test]
fn a_key_is_what_is_meant_by_it_however_it_is_written() {
    let schema = r#"{"properties":{"a":{"type":"null"},"c\\d":{"type":"null"}},"required":["a"],
        "additionalProperties":{"type":"string"}}"#;
    let schema = Schema::compile(schema).expect("a schema");
    assert!(schema.is_direct());
    for fitting in
        [r#"{"\u0061":null,"\u0062":""}"#, r#"{ "c\u005cd" : null , "a" : null }"#, r#"{"a":null}"#]
    {
        assert_eq!(schema.check(fitting), Ok(()), "{fitting}");
    }
    for wrong in [
        r#"{"\u0061":""}"#,
        r#"{"a":null,"\u0061":null}"#,
        r#"{"a":null,"c\\d":""}"#,
        r#"{"a":null,"c\u005cd":""}"#,
        r#"{"a":null,"\u0062":null}"#,
        r#"{"\u0062":""}"#,
    ] {
        assert!(schema.check(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn other_schemas_are_checked_by_the_general_check() {
    let schema = Schema::compile(
        r#"{"type":"object","properties":{"zip":{"type":"string","pattern":"^[0-9]{4}$"}},
            "if":{"required":["a"]},"then":{"required":["b"]}}"#,
    )
    .expect("a schema");
    assert!(!schema.is_direct());
    assert!(schema.check(r#"{"zip":"3000"}"#).is_ok());
    let wrong = schema.check(r#"{"zip":"30","a":1}"#).expect_err("it does not fit");
    let told: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    let expected = [
        "`zip` must match the pattern `^[0-9]{4}$`, not \"30\"",
        "`b` is missing; it must be given",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_violation_says_where_what_and_what_came() {
    let schema = Schema::compile(
        r#"{"type":"object","properties":{
            "mode":{"enum":["fast","slow"]},
            "tags":{"type":"array","items":{"type":"string","maxLength":3},"maxItems":2},
            "page":{"type":"object","properties":{"size":{"type":"integer","maximum":50}}}},
            "required":["mode"],"additionalProperties":false}"#,
    )
    .expect("a schema");
    let value = r#"{"mod":"x","tags":["a","long",3],"page":{"size":51},"page":{}}"#;
    let wrong = schema.check(value).expect_err("it does not fit");
    let told: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`mod` is not known; did you mean `mode`?",
            "`tags[1]` must have at most 3 characters, not 4",
            "`tags[2]` must be a string, not 3",
            "`tags` must have at most 2 items, not 3",
            "`page.size` must be at most 50, not 51",
            "`page` is there twice; send it once",
            "`mode` is missing; it must be one of \"fast\", \"slow\"",
        ]
    );
}

#[test]
fn at_most_eight_violations_are_told() {
    let schema = Schema::compile(r#"{"items":{"type":"string"}}"#).expect("a schema");
    let many = json!((0..100).collect::<Vec<_>>()).to_string();
    assert_eq!(schema.check(&many).expect_err("none fits").len(), 8);
}

#[test]
fn a_million_bad_values_cost_no_more_than_a_few() {
    let words: Vec<_> = (0..100).map(|number| format!("word_{number}")).collect();
    let schema = json!({"properties": {"list": {"items": {"enum": words}}}}).to_string();
    let schema = Schema::compile(&schema).expect("a schema");
    let many = json!({"list": vec![""; 1_000_000]}).to_string();
    // Without the end after eight violations this takes seconds, and its texts gigabytes.
    assert_eq!(schema.check(&many).expect_err("none fits").len(), 8);
    let long = format!("{{\"{}\\n\":1}}", "k".repeat(1 << 20));
    let closed = Schema::compile(r#"{"properties":{"key":{}},"additionalProperties":false}"#);
    let told = closed.expect("a schema").check(&long).expect_err("it does not fit")[0].to_string();
    assert!(told.len() < 200 && !told.contains('\n'), "{told}");
}

#[test]
fn format_is_a_remark_in_every_dialect() {
    for dialect in [
        "",
        r#""$schema":"http://json-schema.org/draft-07/schema#","#,
        r#""$schema":"https://json-schema.org/draft-07/schema","#,
        r#""$schema":"http://json-schema.org/draft/2020-12/schema","#,
    ] {
        let schema = format!(r#"{{{dialect}"format":"ipv4","pattern":""}}"#);
        let schema = Schema::compile(&schema).expect("a schema");
        assert_eq!(schema.check("\"no address\""), Ok(()), "{dialect}");
    }
}

#[test]
fn what_const_and_enum_do_not_both_allow_does_not_fit() {
    for text in [r#"{"const":"a","enum":["a","b"]}"#, r#"{"enum":["a","b"],"const":"a"}"#] {
        let schema = Schema::compile(&format!(r#"{{"properties":{{"x":{text}}}}}"#));
        let schema = schema.expect("it is one");
        assert!(schema.check(r#"{"x":"a"}"#).is_ok(), "{text}");
        assert!(schema.check(r#"{"x":"b"}"#).is_err(), "{text}");
    }
}
