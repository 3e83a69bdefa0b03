//! Schemas and values from strangers: each is refused with a reason or handled, on an ordinary
//! stack, in bounded time, without the network or the file system.

use haft_server::schema::Schema;
use serde_json::{Map, Value, json};
use std::net::TcpListener;

fn compile(schema: &Value) -> Result<Schema, String> {
    Schema::compile(&schema.to_string()).map_err(|error| error.reason)
}

fn refused(schema: &Value) -> String {
    compile(schema).err().expect("the schema is refused")
}

/// Whether the value fits, after an explanation and a repair were tried as well.
fn fits(schema: &Schema, value: &Value) -> bool {
    let text = value.to_string();
    _ = schema.repair(&text);
    schema.check(&text).is_ok()
}

/// The first thing that is wrong.
fn told(schema: &Schema, value: &Value) -> String {
    schema.check(&value.to_string()).expect_err("it does not fit")[0].to_string()
}

const TOO_LONG: &str = "takes too long to compare with its schema; send less";

/// `depth` times `wrap` around a value.
fn nest(depth: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(inner, |value, _| wrap(value))
}

/// Definitions of which each leads to the next by `hop`; the last is a string.
fn chain(length: usize, hop: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for number in 0..length {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), hop(next));
    }
    definitions.insert(format!("d{length}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn a_circle_of_references_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}),
        json!({"if": {}, "then": {"$ref": "#"}}),
        json!({"$ref": "#/$defs/a",
               "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"oneOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#",
               "dependencies": {"a": {"$ref": "#"}}}),
    ] {
        let reason = refused(&schema);
        assert!(reason.starts_with("a `$ref` in it leads back to itself"), "{schema}: {reason}");
    }
}

#[test]
fn a_circle_that_goes_into_the_value_is_followed_as_deep_as_the_value() {
    let tree =
        json!({"type": "object", "properties": {"a": {"$ref": "#"}, "n": {"type": "integer"}}});
    let tree = compile(&tree).expect("a schema");
    let deep = |leaf| nest(125, json!({"n": leaf}), |value| json!({"a": value}));
    assert!(fits(&tree, &deep(json!(1))));
    assert!(!fits(&tree, &deep(json!(true))));
    let text = deep(json!("1")).to_string();
    let mended = tree.repair(&text).expect("it can be mended");
    assert_eq!(mended.text, text.replace("\"1\"", "1"));
    let text = "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000);
    assert!(tree.check(&text).is_err() && tree.repair(&text).is_none());
}

#[test]
fn references_out_of_the_schema_are_refused_and_nothing_is_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it is a socket");
    let address = listener.local_addr().expect("an address");
    for uri in [
        format!("http://{address}/schema.json"),
        format!("https://{address}/schema.json#/x"),
        format!("file://{}/Cargo.toml", env!("CARGO_MANIFEST_DIR")),
        "file:///etc/hostname".to_owned(),
        "other.json".to_owned(),
        "urn:x:y".to_owned(),
        "//host/x".to_owned(),
    ] {
        for schema in [
            json!({"$ref": uri}),
            json!({"properties": {"a": {"$ref": uri}}}),
            json!({"properties": {"a": {"$dynamicRef": uri}}}),
            json!({"$id": "http://example.com/a", "properties": {"a": {"$ref": uri}}}),
            json!({"$defs": {"unused": {"$ref": uri}}, "minProperties": 1}),
        ] {
            let reason = refused(&schema);
            assert!(
                reason.contains("it refers to") || reason.contains("cannot be followed"),
                "{schema}: {reason}"
            );
        }
        let reason = refused(&json!({"$schema": uri}));
        assert!(reason.contains("is not a known dialect"), "{reason}");
        let reason = refused(&json!({"properties": {"a": {"$schema": uri}}, "minProperties": 1}));
        assert!(reason.contains("is not a known dialect"), "{reason}");
    }
    assert!(listener.accept().is_err(), "somebody has connected");
}

#[test]
fn references_to_nothing_are_refused() {
    for (reference, place) in
        [("#/$defs/x", "/$defs/x"), ("#x", "x"), ("#/a/0/b", "/a/0/b"), ("#/%zz", "%zz")]
    {
        let reason = refused(&json!({"properties": {"a": {"$ref": reference}}}));
        assert!(reason.contains(place), "{reason}");
    }
}

#[test]
fn long_chains_of_references_at_one_place_are_refused() {
    let all = |next| json!({"allOf": [next]});
    let any = |next| json!({"anyOf": [next, {"type": "null"}]});
    let hops: [fn(Value) -> Value; 5] = [
        |next| next,
        |next| json!({"allOf": [next]}),
        |next| json!({"not": next}),
        |next| json!({"if": next}),
        |next| json!({"dependentSchemas": {"a": next}, "type": ["object", "integer"]}),
    ];
    for hop in hops {
        for length in [100, 2_000] {
            let reason = refused(&chain(length, hop));
            assert!(reason.starts_with("more than 32 `$ref`"), "{reason}");
        }
    }
    let reason = refused(&chain(10_000, |next| next));
    assert!(reason.starts_with("more than 32 `$ref`"), "{reason}");
    assert!(!fits(&compile(&chain(31, |next| next)).expect("a schema"), &json!(1)));
    assert!(!fits(&compile(&chain(15, all)).expect("a schema"), &json!(1)));
    assert!(fits(&compile(&chain(15, any)).expect("a schema"), &json!(null)));
}

#[test]
fn a_chain_of_references_into_the_value_may_be_as_long_as_the_schema() {
    let schema = chain(10_000, |next| json!({"properties": {"a": next}}));
    let schema = compile(&schema).expect("a schema");
    assert!(fits(&schema, &nest(120, json!({}), |value| json!({"a": value}))));
    let short = chain(100, |next| json!({"properties": {"a": next}}));
    let short = compile(&short).expect("a schema");
    let value = |leaf| nest(100, leaf, |value| json!({"a": value}));
    assert!(fits(&short, &value(json!("x"))));
    assert!(!fits(&short, &value(json!(1))));
}

/// The longest chain that is allowed, at each of as many levels as a message may have.
#[test]
fn the_longest_chain_at_every_level_of_the_deepest_value_has_enough_stack() {
    let hops: [fn(Value) -> Value; 6] = [
        |next| json!({"allOf": [next]}),
        |next| json!({"anyOf": [{"type": "null"}, next]}),
        |next| json!({"oneOf": [{"type": "null"}, next]}),
        |next| json!({"if": {"type": "object"}, "then": next, "else": {"type": "integer"}}),
        |next| json!({"dependentSchemas": {"a": next}, "type": ["object", "integer"]}),
        |next| json!({"not": {"not": next}}),
    ];
    for (number, hop) in hops.iter().enumerate() {
        let hops_each = if number == 5 { 3 } else { 2 };
        let mut schema = chain(31 / hops_each, hop);
        let last = format!("d{}", 31 / hops_each);
        for unevaluated in [json!(true), json!({"type": ["object", "integer"]})] {
            schema["$defs"][&last] = json!({"properties": {"a": {"$ref": "#"}},
                "additionalProperties": {"type": "integer"}, "type": ["object", "integer"]});
            schema["unevaluatedProperties"] = unevaluated;
            let compiled = compile(&schema).expect("a schema");
            for (leaf, verdict) in [(json!(1), true), (json!("x"), false), (json!("1"), false)] {
                let value = nest(126, leaf, |value| json!({"a": value}));
                let is_right = match compiled.check(&value.to_string()) {
                    Ok(()) => verdict,
                    Err(wrong) => !verdict || wrong[0].to_string() == TOO_LONG,
                };
                assert!(is_right, "{schema}");
                _ = compiled.repair(&value.to_string());
            }
        }
    }
}

#[test]
fn deep_schemas_are_refused_by_their_depth() {
    let levels: [fn(Value) -> Value; 4] = [
        |inner| json!({"properties": {"a": inner}}),
        |inner| json!({"items": inner}),
        |inner| json!({"not": inner}),
        |inner| json!({"unknown": inner}),
    ];
    for level in levels {
        // Text, for such a value cannot be dropped.
        let frame = level(json!("HERE")).to_string();
        let (open, close) = frame.split_once("\"HERE\"").expect("it is there");
        let schema = open.repeat(10_000) + "{}" + &close.repeat(10_000);
        let error = Schema::compile(&schema).err().expect("it is too deep").reason;
        assert!(error.starts_with("the schema is nested too deep"), "{error}");
    }
    let deepest = nest(60, json!({"type": "integer"}), |inner| json!({"properties": {"a": inner}}));
    let schema = compile(&deepest).expect("a schema");
    assert!(!fits(&schema, &nest(60, json!("x"), |inner| json!({"a": inner}))));
    let bad_leaf = nest(60, json!({"type": "bogus"}), |inner| json!({"items": {"not": inner}}));
    assert!(compile(&bad_leaf).is_err());
}

/// Each definition is as deep as it may be, and the last thing in it is the next one.
#[test]
fn deep_definitions_that_lead_to_each_other_have_enough_stack() {
    let levels: [fn(Value) -> Value; 4] = [
        |inner| json!({"properties": {"a": inner}}),
        |inner| json!({"items": inner}),
        |inner| json!({"additionalProperties": inner, "unevaluatedProperties": false}),
        |inner| json!({"allOf": [{"prefixItems": [inner]}], "unevaluatedItems": false}),
    ];
    for (number, level) in levels.iter().enumerate() {
        let reason = refused(&chain(20, |next| nest(25, next, level)));
        assert!(reason.starts_with("definitions that refer to each other nest"), "{reason}");
        let depth = if number == 3 { 5 } else { 10 };
        let schema = compile(&chain(200, |next| nest(depth, next, level))).expect("a schema");
        let value = if number == 0 || number == 2 {
            nest(126, json!(1), |inner| json!({"a": inner}))
        } else {
            nest(126, json!(1), |inner| json!([inner]))
        };
        _ = fits(&schema, &value);
    }
}

#[test]
fn schemas_have_a_length() {
    let long = |bytes: usize| json!({"description": "x".repeat(bytes)});
    assert!(compile(&long(1024 * 1024 - 100)).is_ok());
    assert_eq!(refused(&long(1024 * 1024)), "the schema is longer than 1048576 bytes");
}

#[test]
fn long_lists_of_values_are_looked_up_or_paid_for() {
    let words: Vec<_> = (0..50_000).map(|number| format!("word_{number}")).collect();
    let schema = compile(&json!({"items": {"enum": words}})).expect("a schema");
    assert!(fits(&schema, &json!(vec!["word_49999"; 10_000])));
    assert!(!fits(&schema, &json!(vec!["word"; 10_000])));
    let numbers: Vec<_> = (0..50_000).collect();
    let schema = compile(&json!({"items": {"enum": numbers}})).expect("a schema");
    assert!(fits(&schema, &json!([1, 49_999])) && !fits(&schema, &json!([50_000])));
    assert!(fits(&schema, &json!(vec![49_999; 10_000])));
    // Others are compared one by one.
    let arrays: Vec<_> = (0..5_000).map(|number| json!([1, 2, 3, 4, 5, 6, 7, 8, number])).collect();
    let schema = compile(&json!({"items": {"enum": arrays}})).expect("a schema");
    let item = json!([1, 2, 3, 4, 5, 6, 7, 8, 4_999]);
    assert!(fits(&schema, &json!([item])));
    assert_eq!(told(&schema, &json!(vec![item; 10_000])), TOO_LONG);
}

#[test]
fn expressions_that_would_never_end_are_given_up() {
    let text = "a".repeat(40) + "!";
    for pattern in ["^(a+)+$", "^(a|a)*$", "^((a*)*)*$", "(a?){40}a{40}$"] {
        let schema = compile(&json!({"items": {"pattern": pattern}})).expect("a schema");
        // Linear in the text, whatever it is.
        let many = json!(vec![&text; 10_000]);
        assert!(!fits(&schema, &many), "{pattern}");
    }
    for pattern in ["^(?=a)((a+)+)+(?<!b)!$", "^(a|aa)+(?!a)!$", "^((a|a)*)*(?=b)$"] {
        let schema = compile(&json!({"items": {"pattern": pattern}})).expect("a schema");
        assert!(fits(&schema, &json!([])));
        for schema in [
            json!({"items": {"pattern": pattern}}),
            json!({"items": {"not": {"pattern": pattern}}}),
        ] {
            let schema = compile(&schema).expect("a schema");
            let many = json!(vec!["a".repeat(60) + "b"; 10_000]);
            assert_eq!(told(&schema, &many), TOO_LONG);
            assert_eq!(schema.repair(&many.to_string()), None);
        }
        let keys = json!({"patternProperties": {pattern: {"type": "integer"}}});
        let keys = compile(&keys).expect("a schema");
        let many: Map<_, _> =
            (0..2_000).map(|n| ("a".repeat(60) + &n.to_string(), json!("1"))).collect();
        _ = fits(&keys, &Value::Object(many));
    }
}

#[test]
fn expressions_that_look_around_work_on_ordinary_texts() {
    // As generators of schemas write addresses and texts that are not blank.
    let email = concat!(
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]",
        r"@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
    );
    let schema = compile(&json!({"pattern": email})).expect("a schema");
    assert!(fits(&schema, &json!("somebody@example.com")));
    assert!(!fits(&schema, &json!("some..body@example.com")));
    let not_blank = compile(&json!({"items": {"pattern": "^(?!\\s*$).+"}})).expect("a schema");
    assert!(fits(&not_blank, &json!(["x".repeat(1 << 20)])));
    assert!(fits(&not_blank, &json!(vec!["a text"; 100_000])));
    assert!(!fits(&not_blank, &json!([" \t"])));
    let keys = json!({"patternProperties": {"^(?!x-)": {"type": "integer"}}});
    let keys = compile(&keys).expect("a schema");
    assert!(fits(&keys, &json!({"a": 1, "x-a": "b"})) && !fits(&keys, &json!({"a": "b"})));
}

#[test]
fn expressions_have_a_size_and_a_number() {
    for pattern in [
        "^(a{1000}){1000}$".to_owned(),
        r"\p{L}{1000}".to_owned(),
        "((".to_owned(),
        "(".repeat(10_000) + &")".repeat(10_000),
    ] {
        let reason = refused(&json!({"properties": {"a": {"pattern": pattern}}}));
        assert!(reason.contains("is no regular expression, or compiles to more"), "{reason}");
        let reason = refused(&json!({"patternProperties": {pattern: {}}}));
        assert!(reason.contains("is no regular expression, or compiles to more"), "{reason}");
    }
    let many = |count: usize| {
        let all = (0..count).map(|number| json!({"pattern": format!("a{number}")}));
        json!({"anyOf": all.collect::<Vec<_>>()})
    };
    assert!(!fits(&compile(&many(256)).expect("a schema"), &json!("a")));
    assert_eq!(refused(&many(257)), "it has more than 256 regular expressions");
}

#[test]
fn anchors_and_dynamic_references_are_followed() {
    let anchored = json!({"properties": {"n": {"$ref": "#number"}},
        "$defs": {"x": {"$anchor": "number", "type": "integer"}}});
    let schema = compile(&anchored).expect("a schema");
    assert!(fits(&schema, &json!({"n": 1})) && !fits(&schema, &json!({"n": "x"})));
    let tree = json!({"$id": "https://example.com/strict", "$dynamicAnchor": "node",
        "$ref": "tree", "unevaluatedProperties": false,
        "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "type": "object",
            "properties": {"data": true, "children": {"items": {"$dynamicRef": "#node"}}}}}});
    let schema = compile(&tree).expect("a schema");
    let deep = |leaf| nest(60, leaf, |child| json!({"children": [child]}));
    assert!(fits(&schema, &deep(json!({"data": 1}))));
    assert!(!fits(&schema, &deep(json!({"daat": 1}))));
    let recursive = json!({"$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": true, "additionalProperties": {"$recursiveRef": "#"},
        "type": "object"});
    let schema = compile(&recursive).expect("a schema");
    assert!(fits(&schema, &json!({"a": {"b": {}}})) && !fits(&schema, &json!({"a": {"b": 1}})));
    let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    let schema = compile(&meta).expect("the dialects themselves are known");
    assert!(fits(&schema, &json!({"type": "string"})) && !fits(&schema, &json!({"type": "x"})));
}

#[test]
fn boolean_schemas_work_below_the_root_only() {
    assert_eq!(refused(&json!(true)), "the schema must be an object");
    assert_eq!(refused(&json!(false)), "the schema must be an object");
    let schema = json!({"properties": {"a": true, "b": false}, "items": false});
    let schema = compile(&schema).expect("a schema");
    assert!(fits(&schema, &json!({"a": 1})) && fits(&schema, &json!([])));
    assert!(!fits(&schema, &json!({"b": 1})) && !fits(&schema, &json!([1])));
}

/// Each level has alternatives that lead to the next one, so ways double with each level.
#[test]
fn alternatives_within_alternatives_do_not_take_for_ever() {
    let to_next = || json!({"properties": {"a": {"$ref": "#"}}});
    let with = |more: Value| {
        let mut schema = to_next();
        schema.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("one"));
        schema
    };
    let (x, y) = (json!({"required": ["x"]}), json!({"required": ["y"]}));
    for schema in [
        json!({"anyOf": [with(x.clone()), with(y.clone())]}),
        json!({"oneOf": [with(x.clone()), with(y.clone())]}),
        json!({"oneOf": [to_next(), with(y.clone())]}),
        json!({"allOf": [to_next(), to_next()], "unevaluatedProperties": false}),
        json!({"anyOf": [to_next(), to_next()], "unevaluatedProperties": {"$ref": "#"}}),
        json!({"if": to_next(), "then": with(x), "else": with(y)}),
        json!({"not": {"not": to_next()}, "properties": {"a": {"$ref": "#"}}, "type": "object"}),
    ] {
        let compiled = compile(&schema).expect("a schema");
        for leaf in [json!({}), json!({"z": "1"}), json!(null)] {
            let value = nest(100, leaf, |value| json!({"a": value}));
            _ = fits(&compiled, &value);
        }
    }
}

#[test]
fn very_many_bad_values_cost_no_more_than_a_few() {
    for items in [
        json!({"type": "integer", "pattern": "a"}),
        json!({"anyOf": [{"type": "integer"}, {"pattern": "a"}, {"minLength": 5}]}),
    ] {
        let list = json!({"anyOf": [{"items": items}, {"items": {"type": "null"}}]});
        let schema = compile(&json!({"properties": {"list": list}})).expect("a schema");
        let many = json!({"list": vec!["x"; 300_000]});
        // Without bounds this takes seconds and gigabytes.
        let told = schema.check(&many.to_string()).expect_err("none fits");
        assert!((1..=8).contains(&told.len()));
        assert!(told.iter().all(|told| told.to_string().len() < 1000));
    }
}

#[test]
fn a_value_may_be_too_long_for_a_schema_of_very_many_alternatives() {
    let many = |count: usize| {
        let all: Vec<_> = (0..count).map(|number| json!({"minimum": count - number})).collect();
        json!({"items": {"anyOf": all}})
    };
    let schema = compile(&many(20_000)).expect("a schema");
    assert!(fits(&schema, &json!([1, 2])));
    assert_eq!(told(&schema, &json!(vec![1; 100_000])), TOO_LONG);
    assert!(
        refused(&json!({"anyOf": vec![json!({}); 120_000]}))
            .starts_with("more than 100000 subschemas")
    );
    let twice = chain(15, |next| json!({"allOf": [next, next]}));
    assert!(refused(&twice).starts_with("more than 100000 subschemas"));
    let marked = nest(20, json!({}), |inner| json!({"anyOf": [inner], "unevaluatedItems": false}));
    assert!(refused(&marked).starts_with("more than 100000 subschemas"));
}

/// Without a circle in it, each of these leads into the value twice.
#[test]
fn definitions_that_double_at_each_step_run_out_of_steps() {
    let hops: [fn(Value) -> Value; 3] = [
        |next| json!({"allOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]}),
        |next| json!({"anyOf": [{"properties": {"a": next}}], "unevaluatedProperties": false}),
        |next| json!({"properties": {"a": next}, "patternProperties": {"a": next, "^a": next}}),
    ];
    for hop in hops {
        let schema = compile(&chain(120, hop)).expect("a schema");
        let value = |depth| nest(depth, json!({}), |value| json!({"a": value}));
        assert!(fits(&schema, &value(5)));
        assert_eq!(told(&schema, &value(110)), TOO_LONG);
        assert!(schema.repair(&value(110).to_string()).is_none());
    }
}
