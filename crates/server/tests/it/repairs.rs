//! What a repair mends, what it leaves alone, and that what it gives fits.

use crate::wire::call;
use haft_server::schema::Schema;
use haft_server::schema::repair::{RepairKind, Repaired};
use haft_server::{Server, Tool, handler};
use serde_json::{Value, json};

fn compile(schema: &str) -> Schema {
    Schema::compile(schema).expect("it is a schema")
}

/// `expected` is the mended text; `None` if there is none.
fn check(schema: &str, value: &str, expected: Option<&str>) {
    let schema = compile(schema);
    assert!(schema.check(value).is_err(), "it fits as it is: {value}");
    let mended = schema.repair(value);
    assert_eq!(mended.as_ref().map(|mended| &*mended.text), expected);
    if let Some(Repaired { text, count, repairs, .. }) = mended {
        assert_eq!(schema.check(&text), Ok(()));
        assert_eq!(repairs.len(), count.min(8));
    }
}

/// A property `x` of that schema, in an object that is checked directly if that schema is, and in
/// one that is not.
fn check_property(schema: &str, value: &str, expected: Option<&str>) {
    let around = |value: &str| format!("{{\"x\":{value}}}");
    let mended = expected.map(around);
    for more in ["", r#","minProperties":1"#] {
        let schema = format!(r#"{{"type":"object","properties":{{"x":{schema}}}{more}}}"#);
        check(&schema, &around(value), mended.as_deref());
    }
}

#[test]
fn values_are_taken_out_of_quotes() {
    for (schema, value, expected) in [
        (r#"{"type":"integer"}"#, r#""5""#, "5"),
        (r#"{"type":"integer"}"#, r#""-0""#, "-0"),
        (r#"{"type":"integer"}"#, r#""5.0""#, "5.0"),
        (r#"{"type":"integer"}"#, r#""1e3""#, "1e3"),
        (r#"{"type":"integer"}"#, r#""12345678901234567890123""#, "12345678901234567890123"),
        (r#"{"type":"integer"}"#, r#""\u0035""#, "5"),
        (r#"{"type":"number"}"#, r#""1.50""#, "1.50"),
        (r#"{"type":"number","minimum":2}"#, r#""2""#, "2"),
        (r#"{"type":"boolean"}"#, r#""true""#, "true"),
        (r#"{"type":["boolean","null"]}"#, r#""false""#, "false"),
        (r#"{"type":["integer","null"]}"#, r#""null""#, "null"),
        (r#"{"type":"array","items":{"type":"integer"}}"#, r#""[1, 2]""#, "[1, 2]"),
        (r#"{"type":"array","items":{"type":"integer"}}"#, r#"" [1,\n2]\n""#, " [1,\n2]\n"),
        (r#"{"type":"object"}"#, r#""{\"a\":\"5\"}""#, r#"{"a":"5"}"#),
        (r#"{"enum":[1,2,3]}"#, r#""2""#, "2"),
        (r#"{"enum":["auto",1]}"#, r#""1""#, "1"),
        (r#"{"const":true}"#, r#""true""#, "true"),
        (r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#, r#""7""#, "7"),
        (r#"{"anyOf":[{"type":"integer"},{"const":"auto"}]}"#, r#""7""#, "7"),
        (r#"{"oneOf":[{"type":"integer"},{"type":"boolean"}]}"#, r#""true""#, "true"),
        (r#"{"allOf":[{"minimum":1},{"type":"integer"}]}"#, r#""7""#, "7"),
        (r#"{"if":{"minimum":5},"then":{"type":"integer"},"else":{"type":"null"}}"#, r#""7""#, "7"),
    ] {
        check_property(schema, value, Some(expected));
    }
}

#[test]
fn what_is_not_exactly_a_value_stays_wrong() {
    let texts = [
        "NaN",
        " 5 ",
        "5 ",
        " 5",
        "5abc",
        "0x5",
        "+5",
        "05",
        "5.",
        ".5",
        "1_000",
        "1,000",
        "٥",
        "1e999",
        "Infinity",
        "five",
        "\\\"5\\\"",
        "[5",
        "5.5",
        "true",
        "null",
        "[5]",
        "{}",
    ];
    for text in texts {
        check_property(r#"{"type":"integer"}"#, &format!("\"{text}\""), None);
    }
    for text in ["True", "TRUE", " true", "yes", "1", "0", "truefalse"] {
        check_property(r#"{"type":"boolean"}"#, &format!("\"{text}\""), None);
    }
    for text in ["[1,]", "[1", "1,2", "[1] [2]", "{}", "['a']"] {
        check_property(r#"{"type":"array"}"#, &format!("\"{text}\""), None);
    }
}

#[test]
fn nothing_else_is_ever_guessed() {
    check_property(r#"{"type":"string"}"#, "5", None);
    check_property(r#"{"type":"array","items":{"type":"integer"}}"#, "5", None);
    check_property(r#"{"type":"array","items":{"type":"integer"}}"#, r#""5""#, None);
    check_property(r#"{"type":"integer"}"#, r#"["5"]"#, None);
    check_property(r#"{"type":"integer","maximum":3}"#, r#""5""#, None);
    check_property(r#"{"type":"boolean"}"#, "1", None);
}

#[test]
fn a_string_stays_where_a_string_may_be() {
    for schema in [
        r#"{"type":"string","maxLength":0}"#,
        r#"{"type":["string","integer"],"maxLength":0}"#,
        r#"{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^[a-z]$"}]}"#,
        r#"{"oneOf":[{"type":"integer"},{"minLength":9}]}"#,
        r#"{"maxLength":0}"#,
        r#"{"not":{"const":"5"}}"#,
        r#"{"enum":["a","b"]}"#,
    ] {
        check_property(schema, r#""5""#, None);
    }
}

#[test]
fn null_is_left_out_where_nothing_needs_it() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},
        "c":{"enum":["x"]},"d":{"type":["string","null"]},"e":{}},"required":["a"],
        "additionalProperties":false}"#;
    for (value, expected) in [
        (r#"{"a":1,"b":null}"#, Some(r#"{"a":1}"#)),
        (r#"{"b":null,"a":1}"#, Some(r#"{"a":1}"#)),
        (r#"{ "b" : null , "a" : 1 }"#, Some(r#"{ "a" : 1 }"#)),
        (r#"{"b":null,"c":null,"a":1}"#, Some(r#"{"a":1}"#)),
        (r#"{"b":null,"a":1,"c":null}"#, Some(r#"{"a":1}"#)),
        (r#"{"a":1,"b":null , "c":null}"#, Some(r#"{"a":1 }"#)),
        (r#"{"a":1,"b":null,"d":null,"e":null}"#, Some(r#"{"a":1,"d":null,"e":null}"#)),
        (r#"{"a":"1","b":null}"#, Some(r#"{"a":1}"#)),
        // Needed, or unknown: somebody has to look at it.
        (r#"{"a":null}"#, None),
        (r#"{"a":1,"z":null}"#, None),
    ] {
        check(schema, value, expected);
    }
    let optional = r#"{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}"#;
    check(optional, r#"{ "a" : null }"#, Some("{ }"));
    check(optional, r#"{"a":null, "b":null}"#, Some("{}"));
    let map = r#"{"additionalProperties":{"type":"integer"}}"#;
    check(map, r#"{"a":null}"#, None);
    check(r#"{"items":{"type":"integer"}}"#, "[1,null]", None);
    let either = r#"{"properties":{"a":{"type":"integer"}},
        "anyOf":[{"required":["a"]},{"required":["b"]}]}"#;
    check(either, r#"{"a":null,"b":1}"#, None);
}

#[test]
fn an_empty_string_is_left_out_where_no_string_can_be_meant() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"n":{"type":"number"},
        "b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"e":{"enum":[1,2]},
        "s":{"type":"string"},"w":{"enum":["x"]},"m":{"type":["string","null"]},
        "u":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["a"],
        "additionalProperties":false}"#;
    for (value, expected) in [
        (r#"{"a":1,"n":""}"#, Some(r#"{"a":1}"#)),
        (r#"{"b":"","a":1}"#, Some(r#"{"a":1}"#)),
        (r#"{"a":1,"l":"","o":""}"#, Some(r#"{"a":1}"#)),
        (r#"{"a":1,"e":""}"#, Some(r#"{"a":1}"#)),
        (r#"{"a":1,"u":""}"#, Some(r#"{"a":1}"#)),
        (r#"{"a":1,"b":"","s":"","m":""}"#, Some(r#"{"a":1,"s":"","m":""}"#)),
        (r#"{"a":"1","b":"","n":null}"#, Some(r#"{"a":1}"#)),
        // Needed, unknown, more than nothing, or meant as a string.
        (r#"{"a":""}"#, None),
        (r#"{"a":1,"z":""}"#, None),
        (r#"{"a":1,"b":" "}"#, None),
        (r#"{"a":1,"w":""}"#, None),
    ] {
        check(schema, value, expected);
    }
    check(r#"{"items":{"type":"integer"}}"#, r#"[1,""]"#, None);
    let tagged = r#"{"anyOf":[
        {"properties":{"k":{"const":"a"},"n":{"type":"integer"}},"required":["k"]},
        {"properties":{"k":{"const":"b"}},"required":["k"]}]}"#;
    check(tagged, r#"{"k":"a","n":""}"#, Some(r#"{"k":"a"}"#));
}

#[test]
fn quotes_within_quotes_are_taken_off_together() {
    let schema = r##"{"type":"object",
        "properties":{"list":{"type":"array","items":{"$ref":"#/$defs/row"}}},
        "$defs":{"row":{"type":"object",
            "properties":{"n":{"type":"integer"},"s":{"type":"string"}}}}}"##;
    let value =
        r#"{"list":"[{\"n\":\"1\",\"s\":\"2\"},\"{\\\"n\\\":\\\"3\\\",\\\"s\\\":null}\"]"}"#;
    check(schema, value, Some(r#"{"list":[{"n":1,"s":"2"},{"n":3}]}"#));
    check(schema, r#""{\"list\":[]}""#, Some(r#"{"list":[]}"#));
}

#[test]
fn every_way_into_a_value_is_followed() {
    let integer = r#"{"type":"integer"}"#;
    for (schema, value, expected) in [
        (r#"{"items":INT}"#, r#"["1",2]"#, "[1,2]"),
        (
            r#"{"prefixItems":[{},INT],"items":{"type":"boolean"}}"#,
            r#"["1","2","true"]"#,
            r#"["1",2,true]"#,
        ),
        (r#"{"patternProperties":{"^n_":INT}}"#, r#"{"n_a":"1","a":"1"}"#, r#"{"n_a":1,"a":"1"}"#),
        (
            r#"{"properties":{"s":{}},"additionalProperties":INT}"#,
            r#"{"s":"1","t":"1"}"#,
            r#"{"s":"1","t":1}"#,
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/i"}},"$defs":{"i":INT}}"##,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
        ),
        (
            r##"{"properties":{"a":{"$ref":"#i"}},
                "$defs":{"x":{"$anchor":"i","type":"integer"}}}"##,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
        ),
        (
            r#"{"properties":{"a":{"$ref":"i.json"}},
                "$defs":{"x":{"$id":"i.json","type":"integer"}}}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
        ),
        (
            r#"{"allOf":[{"properties":{"a":INT}},{"required":["a"]}]}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
        ),
        (
            r##"{"properties":{"n":INT,"next":{"$ref":"#"}}}"##,
            r#"{"next":{"next":{"n":"1"}}}"#,
            r#"{"next":{"next":{"n":1}}}"#,
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[INT],
                "additionalItems":{"type":"boolean"}}"#,
            r#"["1","true"]"#,
            "[1,true]",
        ),
        (
            r##"{"$schema":"http://json-schema.org/draft-07/schema#",
                "properties":{"a":{"$ref":"#/definitions/i","type":"string"}},
                "definitions":{"i":INT}}"##,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
        ),
    ] {
        check(&schema.replace("INT", integer), value, Some(expected));
    }
}

#[test]
fn an_alternative_that_cannot_be_meant_allows_nothing() {
    let tagged = r#"{"oneOf":[
        {"properties":{"kind":{"const":"count"},"value":{"type":"integer"}},"required":["kind"]},
        {"properties":{"kind":{"const":"text"},"value":{"type":"string"}},"required":["kind"]}]}"#;
    check(tagged, r#"{"value":"5","kind":"count"}"#, Some(r#"{"value":5,"kind":"count"}"#));
    check(tagged, r#"{"kind":"other","value":"5"}"#, None);
    let closed = r#"{"anyOf":[
        {"properties":{"a":{"type":"integer"}},"additionalProperties":false},
        {"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}]}"#;
    check(closed, r#"{"a":"5"}"#, Some(r#"{"a":5}"#));
    check(closed, r#"{"a":"5","b":"6"}"#, Some(r#"{"a":"5","b":6}"#));
    let by_kind = r#"{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"object"}]}"#;
    check(by_kind, r#""[\"1\"]""#, Some("[1]"));
    // `required` says nothing of an array.
    let array_too = r#"{"properties":{"y":{"type":"integer"},"x":{"anyOf":[
        {"required":["a"],"items":{"type":"string"}},
        {"type":"array","items":{"type":"integer"}}]}}}"#;
    check(array_too, r#"{"x":["1"],"y":"5"}"#, Some(r#"{"x":["1"],"y":5}"#));
}

#[test]
fn bytes_outside_of_the_mended_spots_stay() {
    let schema = r#"{"properties":{"n":{"type":"integer"}}}"#;
    let value =
        "{ \"big\": 12345678901234567890123,\t\"n\" :\"5\",\r\n \"e\":1.0E+2, \"s\":\"\\u0041é\" }";
    check(schema, value, Some(&value.replace("\"5\"", "5")));
}

#[test]
fn repairs_are_counted_and_the_first_are_told() {
    let schema = compile(
        r#"{"properties":{"n":{"type":"integer"},"m":{"items":{"type":"boolean"}},
            "o":{"type":"string"}}}"#,
    );
    let mended = schema.repair(r#"{"m":["true",false,"false"],"n":"5","o":null}"#).expect("mended");
    let told: Vec<_> = mended.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`m[0]` was true or false in quotes",
            "`m[2]` was true or false in quotes",
            "`n` was a number in quotes",
            "`o` was null and is left out",
        ]
    );
    assert_eq!(mended.repairs[3].kind, RepairKind::NullForAbsent);
    assert_eq!(mended.repairs[3].kind.name(), "null_for_absent");
    let many = json!({"m": vec!["true"; 1000]}).to_string();
    let mended = schema.repair(&many).expect("mended");
    assert_eq!((mended.count, mended.repairs.len()), (1000, 8));
}

#[test]
fn a_repair_has_bounds() {
    let schema = compile(r#"{"items":{"type":"integer"}}"#);
    let at_the_limit = json!(vec!["1"; 50_000]).to_string();
    assert_eq!(schema.repair(&at_the_limit).map(|mended| mended.count), Some(50_000));
    assert_eq!(schema.repair(&json!(vec!["1"; 50_001]).to_string()), None);
    // Quotes within quotes, as deep as escapes can be doubled, around brackets.
    let schema = compile(
        r##"{"$ref":"#/$defs/l","$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}"##,
    );
    let nest = |levels: usize, brackets: usize| {
        (0..levels).fold("[]".to_owned(), |inner, _| {
            let quoted = Value::from(inner).to_string();
            format!("{}{quoted}{}", "[".repeat(brackets), "]".repeat(brackets))
        })
    };
    assert_eq!(schema.repair(&nest(12, 10)).map(|mended| mended.count), Some(12));
    assert_eq!(schema.repair(&nest(13, 10)), None);
    assert_eq!(schema.repair(&nest(15, 127)), None);
    // Each level doubles what the alternatives could be.
    let twice = r##"{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
        {"properties":{"a":{"$ref":"#/$defs/n"},"b":{}}},
        {"properties":{"a":{"$ref":"#/$defs/n"},"c":{}}}],
        "properties":{"z":{"type":"integer"}}}}}"##;
    let deep = (0..100).fold(r#"{"z":"1"}"#.to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
    _ = compile(twice).repair(&deep);
}

#[tokio::test]
async fn a_call_is_mended_and_counted_unless_the_server_is_strict() {
    let echo = || {
        let schema = r#"{"type":"object","required":["n"],
            "properties":{"n":{"type":"integer"},"o":{"type":"string"}}}"#;
        let echo = handler::function(|all: Value| all.to_string());
        Tool::new("echo", echo).input_schema(schema)
    };
    let server = Server::builder("s", "1").tool(echo()).build().expect("right");
    let answer = call(&server, "echo", json!({"n": "5", "o": null})).await;
    assert_eq!(answer["content"][0]["text"], r#"{"n":5}"#);
    assert_eq!(server.repairs(), 2);
    let strict = Server::builder("s", "1").tool(echo()).strict_arguments().build().expect("right");
    let answer = call(&strict, "echo", json!({"n": "5"})).await;
    assert_eq!(answer["isError"], true);
    assert_eq!(strict.repairs(), 0);
}
