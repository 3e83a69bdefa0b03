//! What holds of the repair of any value by any schema.

use haft_server::schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A value in which some parts are in quotes.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        Just(json!(2.5)),
        "[a-c]{0,2}".prop_map(Value::from),
        prop_oneof![
            "-?[0-9]{1,2}",
            "[0-9]\\.[05]",
            "true|false|null",
            "\\[\\]|\\{\\}|\\[1,\"2\"\\]"
        ]
        .prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]", inner.clone(), 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            inner.prop_map(|inner| Value::from(inner.to_string())),
        ]
    })
}

/// A schema; with `is_direct` only of keywords that are checked directly.
fn schema(is_direct: bool) -> BoxedStrategy<Value> {
    let kind = prop_oneof![
        Just(json!("string")),
        Just(json!("integer")),
        Just(json!("number")),
        Just(json!("boolean")),
        Just(json!(["null", "integer"])),
        Just(json!(["string", "boolean"])),
        Just(json!("array")),
        Just(json!("object")),
    ];
    let leaf = prop_oneof![
        4 => kind.prop_map(|kind| json!({"type": kind})),
        1 => (-5i64..5).prop_map(|min| json!({"type": "integer", "minimum": min})),
        1 => Just(json!({"enum": [null, true, 1, 2.5, "a", "5"]})),
        1 => Just(json!({"const": 1})),
        1 => Just(json!({"type": "string", "maxLength": 1})),
        1 => Just(json!({})),
    ];
    let object = |inner: BoxedStrategy<Value>| {
        (
            proptest::collection::btree_map("[a-d]", inner.clone(), 1..4),
            proptest::collection::vec(any::<bool>(), 4),
            prop_oneof![Just(json!(true)), Just(json!(false)), inner],
        )
            .prop_map(|(properties, needed, others)| {
                let names = properties.keys().cloned().zip(needed);
                let required: Vec<_> =
                    names.filter_map(|(key, needed)| needed.then_some(key)).collect();
                json!({"type": "object", "properties": properties, "required": required,
                       "additionalProperties": others})
            })
    };
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let inner = inner.boxed();
        let simple = prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            object(inner.clone()),
        ];
        if is_direct {
            return simple.boxed();
        }
        let two = (inner.clone(), inner.clone());
        let list = proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            3 => simple,
            1 => list.clone().prop_map(|list| json!({"anyOf": list})),
            1 => list.clone().prop_map(|list| json!({"oneOf": list})),
            1 => list.clone().prop_map(|list| json!({"allOf": list})),
            1 => list.prop_map(|list| json!({"prefixItems": list, "items": {"type": "integer"}})),
            1 => two.prop_map(|(then, or)| {
                json!({"if": {"type": "object"}, "then": then, "else": or})
            }),
            1 => inner.clone().prop_map(|not| json!({"not": not})),
            1 => inner.clone().prop_map(|below| json!({"patternProperties": {"[ab]": below}})),
            1 => inner.prop_map(|below| json!({"$ref": "#/$defs/d", "$defs": {"d": below}})),
        ]
        .boxed()
    })
    .boxed()
}

/// A value that is about what a schema asks for, some parts of it in quotes or `null`. Each choice
/// takes one of `choices`.
fn meant(schema: &Value, root: &Value, choices: &mut impl Iterator<Item = u8>) -> Value {
    // A schema may be a circle, so it ends with the choices.
    let (Some(quoting), Some(pick)) = (choices.next(), choices.next()) else { return Value::Null };
    let (is_quoted, pick) = (quoting % 4 == 0, usize::from(pick % 8));
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return quote(list[pick % list.len()].clone(), is_quoted);
    }
    if let Some(only) = schema.get("const") {
        return quote(only.clone(), is_quoted);
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(list) = schema.get(keyword).and_then(Value::as_array) {
            return meant(&list[pick % list.len()], root, choices);
        }
    }
    if schema.get("$ref").is_some() {
        return meant(&root["$defs"]["d"], root, choices);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds[pick % kinds.len()].as_str(),
        Some(kind) => kind.as_str(),
        None if schema.get("prefixItems").is_some() => Some("array"),
        None if schema.get("properties").is_some() => Some("object"),
        None => ["string", "integer", "boolean", "null"].get(pick).copied(),
    };
    let value = match kind {
        Some("integer") => json!(pick),
        Some("number") => json!(pick as f64 / 2.0),
        Some("boolean") => json!(pick % 2 == 0),
        Some("string") => return json!(["5", "true", "a", ""][pick % 4]),
        Some("array") => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let items = schema.get("items").cloned().unwrap_or(json!({}));
            let each = (0..pick % 4).map(|index| {
                let item = first.and_then(|first| first.get(index)).unwrap_or(&items);
                meant(item, root, choices)
            });
            Value::Array(each.collect())
        }
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let each = properties.into_iter().flatten().map(|(key, schema)| {
                let value = meant(schema, root, choices);
                let is_null = choices.next().unwrap_or(0).is_multiple_of(5);
                (key.clone(), if is_null { Value::Null } else { value })
            });
            Value::Object(each.collect())
        }
        _ => Value::Null,
    };
    quote(value, is_quoted)
}

fn quote(value: Value, is_quoted: bool) -> Value {
    if is_quoted && !value.is_string() { Value::from(value.to_string()) } else { value }
}

/// A schema, and a value that is somehow meant for it.
fn pair(is_direct: bool) -> impl Strategy<Value = (Value, Value)> {
    let choices = proptest::collection::vec(any::<u8>(), 64);
    (schema(is_direct), choices, value(), 0..4).prop_map(|(schema, choices, any_value, which)| {
        let value = match which {
            0 => any_value,
            _ => meant(&schema, &schema, &mut choices.into_iter()),
        };
        (schema, value)
    })
}

/// What holds of any repair.
fn holds(schema: &Value, text: &str) -> Result<(), TestCaseError> {
    let compiled = match Schema::compile(&schema.to_string()) {
        Ok(compiled) => compiled,
        // A `$ref` below the root is found from the root only.
        Err(error) => return Err(TestCaseError::reject(error.reason)),
    };
    let verdict = compiled.check(text);
    let mended = compiled.repair(text);
    if verdict.is_ok() {
        prop_assert_eq!(mended, None, "{} fits {}", text, schema);
        return Ok(());
    }
    let Some(mended) = mended else { return Ok(()) };
    prop_assert_eq!(compiled.check(&mended.text), Ok(()), "{} for {}", mended.text, schema);
    prop_assert_eq!(compiled.repair(&mended.text), None);
    prop_assert!(mended.count > 0 && !mended.repairs.is_empty());
    let value: Value = serde_json::from_str(&mended.text).expect("a repair gives JSON");
    prop_assert!(jsonschema::is_valid(schema, &value), "{} for {}", mended.text, schema);
    let before: Value = serde_json::from_str(text).expect("it was JSON");
    for undone in with_one_undone(&before, &value) {
        prop_assert!(!jsonschema::is_valid(schema, &undone), "{undone} is fine for {schema}");
    }
    Ok(())
}

/// The mended value with one spot as it was before, in every way.
fn with_one_undone(before: &Value, mended: &Value) -> Vec<Value> {
    match (before, mended) {
        (Value::Array(before), Value::Array(mended)) => {
            let pairs = before.iter().zip(mended).enumerate();
            let each = pairs.flat_map(|(index, (before, item))| {
                with_one_undone(before, item).into_iter().map(move |item| {
                    let mut undone = mended.clone();
                    undone[index] = item;
                    Value::Array(undone)
                })
            });
            each.collect()
        }
        (Value::Object(before), Value::Object(mended)) => {
            let each = before.iter().flat_map(|(key, before)| {
                let ways = match mended.get(key) {
                    Some(value) => with_one_undone(before, value),
                    None => vec![before.clone()],
                };
                ways.into_iter().map(move |value| {
                    let mut undone = mended.clone();
                    undone.insert(key.clone(), value);
                    Value::Object(undone)
                })
            });
            each.collect()
        }
        (before, mended) if before == mended => Vec::new(),
        (before, _) => vec![before.clone()],
    }
}

proptest! {
    #[test]
    fn a_repair_of_a_directly_checked_value_fits_by_both_checks(
        (schema, value) in pair(true)
    ) {
        holds(&schema, &value.to_string())?;
    }

    #[test]
    fn a_repair_fits_and_what_fits_is_not_repaired((schema, value) in pair(false)) {
        holds(&schema, &value.to_string())?;
    }

    #[test]
    fn the_general_verdict_is_that_of_the_crate_behind_it(
        (schema, value) in pair(false)
    ) {
        let schema = json!({"allOf": [schema], "uniqueItems": true});
        if let Ok(compiled) = Schema::compile(&schema.to_string()) {
            let verdict = compiled.check(&value.to_string());
            prop_assert_eq!(verdict.is_ok(), jsonschema::is_valid(&schema, &value));
        }
    }

    #[test]
    fn what_was_put_in_quotes_comes_out_again(schema in schema(true), value in value()) {
        let compiled = Schema::compile(&schema.to_string()).expect("a schema");
        let in_quotes = |value: &Value| Value::from(value.to_string());
        let object = json!({"type": "object", "properties": {"x": schema}});
        let wrapped = Schema::compile(&object.to_string()).expect("a schema");
        let is_other = !value.is_string();
        if is_other && compiled.check(&value.to_string()).is_ok() {
            let text = json!({"x": in_quotes(&value)}).to_string();
            if wrapped.check(&text).is_err() {
                let allows = |text: &str| compiled.check(text).is_ok();
                let allows_strings = allows("\"a\"") || allows("\"\"");
                let mended = wrapped.repair(&text).map(|mended| mended.text);
                let expected = json!({"x": value}).to_string();
                prop_assert!(allows_strings || mended == Some(expected), "{:?}", mended);
            }
        }
    }
}
