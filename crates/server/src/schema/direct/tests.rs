//! The two readings of a value, the one that says whether it fits and the one that says why not.

use super::{Found, Node};
use crate::schema::place::Place;
use haft_proto::json::Cursor;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Each keyword, and what they are when together.
const SCHEMAS: &[&str] = &[
    "true",
    r#"{"type":"integer"}"#,
    r#"{"type":["number","null"]}"#,
    r#"{"type":"object"}"#,
    r#"{"enum":["a",1,null]}"#,
    r#"{"const":2.5}"#,
    r#"{"minLength":1,"maxLength":2}"#,
    r#"{"minItems":1,"maxItems":2}"#,
    r#"{"minimum":-2,"maximum":2}"#,
    r#"{"exclusiveMinimum":-2,"exclusiveMaximum":2.5}"#,
    r#"{"items":{"type":"integer"}}"#,
    r#"{"type":"array","items":{"items":{"minimum":1},"minItems":1},"maxItems":2}"#,
    r#"{"properties":{"a":{"type":"integer"},"b":{"maxLength":1}}}"#,
    r#"{"properties":{"b":{"minimum":0},"a":{"enum":["a",true]}},"required":["b"]}"#,
    r#"{"properties":{"a":true},"additionalProperties":false}"#,
    r#"{"properties":{"a":true},"additionalProperties":{"type":"string"},"required":["a"]}"#,
    r#"{"additionalProperties":{"properties":{"a":{"items":{"maximum":1}}},"required":["a"]}}"#,
];

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-30_i64..30).prop_map(|tenths| json!(tenths as f64 / 10.0)),
        "[a\né]{0,3}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 3, |inner| {
        let members = (prop::sample::select(&["a", "b", "é"][..]), inner.clone());
        let members = members.prop_map(|(name, value)| (name.to_owned(), value));
        let object = |members: Vec<_>| Value::Object(members.into_iter().collect::<Map<_, _>>());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(members, 0..4).prop_map(object),
        ]
    })
}

fn compiled(schema: &str) -> Node {
    let schema = serde_json::from_str(schema).expect("it is JSON");
    Node::compile(&schema).expect("it is checked here")
}

fn nothing_is_wrong(node: &Node, text: &str) -> bool {
    let mut found = Found::default();
    let visited = node.visit(&mut Cursor::new(text, usize::MAX), &Place::Root, &mut found);
    visited.is_ok() && found.0.is_empty()
}

#[test]
fn what_fits_is_what_nothing_is_wrong_with() {
    let (fitting, others) = (Cell::new(0), Cell::new(0));
    proptest!(ProptestConfig::with_cases(2000), |(
        schema in prop::sample::select(SCHEMAS),
        value in value(),
    )| {
        let node = compiled(schema);
        for text in [value.to_string(), format!("{value:#}"), format!(" {value} ")] {
            let is_right = nothing_is_wrong(&node, &text);
            let mut cursor = Cursor::new(&text, usize::MAX);
            prop_assert_eq!(node.fits(&mut cursor), is_right, "{} {}", schema, text);
            prop_assert!(!is_right || cursor.end().is_ok(), "{} {}", schema, text);
            let count = if is_right { &fitting } else { &others };
            count.update(|count| count + 1);
        }
    });
    assert!(fitting.get() > 1500 && others.get() > 1500, "{fitting:?} {others:?}");
}

#[test]
fn a_key_of_a_property_with_escapes_is_left_to_the_other_reading() {
    let node = compiled(r#"{"properties":{"a":{"type":"integer"}},"required":["a"]}"#);
    let text = r#"{"\u0061":1}"#;
    assert!(!node.fits(&mut Cursor::new(text, usize::MAX)) && nothing_is_wrong(&node, text));
    assert!(node.check(&mut Cursor::new(text, usize::MAX)).is_ok());
}
