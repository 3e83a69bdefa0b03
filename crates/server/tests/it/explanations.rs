//! What the general check says is wrong: as short and as helpful as what the direct one says.

use haft_server::schema::Schema;

fn check(schema: &str, value: &str, expected: &[&str]) {
    let schema = Schema::compile(schema).expect("it is a schema");
    assert!(!schema.is_direct());
    let wrong = schema.check(value).expect_err("it does not fit");
    let told: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(told, expected);
}

/// A property `x` of that schema.
fn check_property(schema: &str, value: &str, expected: &str) {
    let schema = format!(r#"{{"properties":{{"x":{schema}}},"minProperties":1}}"#);
    check(&schema, &format!("{{\"x\":{value}}}"), &[expected]);
}

#[test]
fn it_says_what_the_direct_check_says() {
    let properties = r#"{"type":"object","properties":{
        "mode":{"enum":["fast","slow"]},
        "tags":{"type":"array","items":{"type":"string","maxLength":3},"maxItems":2},
        "page":{"type":"object","properties":{"size":{"type":"integer","maximum":50}}},
        "unit":{"enum":["celsius","kelvin"]},
        "n":{"type":["integer","null"],"exclusiveMinimum":0}},
        "required":["mode"],"additionalProperties":false"#;
    let value = r#"{"mod":"x","tags":["a","long",3],"page":{"size":51},"n":0,"unit":"celcius"}"#;
    let told = |end: &str| {
        let schema = Schema::compile(&format!("{properties}{end}")).expect("a schema");
        let wrong = schema.check(value).expect_err("it does not fit");
        let mut told: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        told.sort();
        (schema.is_direct(), told)
    };
    let (direct, general) = (told("}"), told(r#","minProperties":1}"#));
    assert_eq!((direct.0, general.0), (true, false));
    assert_eq!(direct.1, general.1);
}

/// A schema, a value that does not fit, and what is said.
const CASES: &[(&str, &str, &str)] = &[
    (r#"{"pattern":"^a+$"}"#, r#""b""#, "`x` must match the pattern `^a+$`, not \"b\""),
    (r#"{"pattern":"^(?!b)"}"#, r#""b""#, "`x` must match the pattern `^(?!b)`, not \"b\""),
    (r#"{"multipleOf":0.1}"#, "0.25", "`x` must be a multiple of 0.1, not 0.25"),
    (r#"{"uniqueItems":true}"#, "[1,2,1]", "`x[2]` is there twice; send it once"),
    (r#"{"const":{"a":1}}"#, "{}", "`x` must be {\"a\":1}, not {}"),
    (
        r#"{"enum":["north","south"]}"#,
        r#""nort""#,
        "`x` must be one of \"north\", \"south\", not \"nort\"; did you mean \"north\"?",
    ),
    (r#"{"minProperties":2}"#, "{}", "`x` must have at least 2 properties, not 0"),
    (r#"{"contains":{"type":"null"}}"#, "[1]", "`x` must have at least 1 of this: null; it has 0"),
    (
        r#"{"propertyNames":{"maxLength":1}}"#,
        r#"{"ab":1}"#,
        "`x.ab` is no allowed name of a property",
    ),
    (r#"{"dependentRequired":{"a":["b"]}}"#, r#"{"a":1}"#, "`x.b` is missing; it belongs to `a`"),
    (
        r#"{"dependentSchemas":{"a":{"required":["c"]}}}"#,
        r#"{"a":1}"#,
        "`x.c` is missing; it must be given",
    ),
    (r#"{"not":{"type":"string"}}"#, r#""a""#, "`x` must not be a string"),
    (r#"{"not":{"required":["a","b"]}}"#, r#"{"a":1,"b":2}"#, "`x` must not have `a` and `b`"),
    ("false", "1", "`x` is not allowed here"),
    (r#"{"prefixItems":[{}],"items":false}"#, "[1,2]", "`x[1]` is one too many; send 1 at most"),
    (
        r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#,
        r#""a""#,
        "`x` must be an integer or null, not \"a\"",
    ),
    (
        r#"{"anyOf":[{"type":"integer"},{"enum":["a","b"]}]}"#,
        r#""c""#,
        "`x` must be an integer or one of \"a\", \"b\", not \"c\"",
    ),
    (
        r#"{"oneOf":[{"minimum":1},{"maximum":5}]}"#,
        "3",
        "`x` fits 2 of the 2 forms it may have; make it fit just one",
    ),
    (
        r#"{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}"#,
        "{}",
        "`x.a` is missing; it must be given",
    ),
    (
        r#"{"unevaluatedProperties":false,"allOf":[{"properties":{"name":{}}}]}"#,
        r#"{"nam":1}"#,
        "`x.nam` is not known; did you mean `name`?",
    ),
    (
        r#"{"if":{"type":"string"},"then":{"minLength":2}}"#,
        r#""a""#,
        "`x` must have at least 2 characters, not 1",
    ),
];

#[test]
fn each_keyword_says_what_to_send() {
    for (schema, value, expected) in CASES {
        check_property(schema, value, expected);
    }
}

#[test]
fn a_name_in_a_schema_breaks_no_line() {
    const NAMES: &str = r#""properties":{"na\nme":{}},"additionalProperties":false"#;
    let check = |rest: &str, value: &str, expected: &str| {
        let schema = Schema::compile(&format!("{{{NAMES}{rest}}}")).expect("a schema");
        let told: Vec<_> =
            schema.check(value).expect_err("wrong").iter().map(ToString::to_string).collect();
        assert_eq!(told, [expected], "{rest}");
    };
    for rest in ["", r#","minProperties":0,"if":{}"#] {
        check(rest, r#"{"namee":1}"#, "`namee` is not known; did you mean `na me`?");
        check(rest, r#"{"zzzzzzzz":1}"#, "`zzzzzzzz` is not known; known are na me");
    }
    check(
        r#","dependentRequired":{"na\nme":["b"]}"#,
        r#"{"na\nme":1}"#,
        "`b` is missing; it belongs to `na me`",
    );
}

#[test]
fn what_is_required_is_described_through_references() {
    let schema = r##"{"properties":{"a":{"$ref":"#/$defs/size"},
        "b":{"anyOf":[{"type":"integer"},{"type":"null"}]}},
        "required":["a","b"],"$defs":{"size":{"enum":["S","M"]}}}"##;
    check(
        schema,
        "{}",
        &[
            "`a` is missing; it must be one of \"S\", \"M\"",
            "`b` is missing; it must be an integer or null",
        ],
    );
}

#[test]
fn the_alternative_that_is_meant_says_what_is_wrong() {
    let tagged = r#"{"oneOf":[
        {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},
         "required":["kind","radius"]},
        {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},
         "required":["kind","side"]}]}"#;
    check(tagged, r#"{"kind":"circle"}"#, &["`radius` is missing; it must be a number"]);
    check(tagged, r#"{"kind":"square","side":"x"}"#, &["`side` must be a number, not \"x\""]);
    check(
        tagged,
        r#"{"kind":"cube"}"#,
        &["`kind` must be one of \"circle\", \"square\", not \"cube\""],
    );
    check(tagged, "3", &["must be an object, not 3"]);
    let untagged = r#"{"anyOf":[{"required":["a"],"properties":{"a":{"type":"integer"}}},
        {"required":["b","c"]}]}"#;
    check(
        untagged,
        r#"{"a":"x"}"#,
        &["fits none of the 2 forms it may have; the nearest one says: \
             `a` must be an integer, not \"x\""],
    );
}

#[test]
fn long_lists_and_values_are_cut() {
    let words: Vec<_> = (0..1000).map(|number| format!("w{number:04}")).collect();
    let schema = serde_json::json!({"properties": {"x": {"enum": words}}}).to_string();
    let schema = Schema::compile(&schema).expect("a schema");
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20));
    let told = schema.check(&long).expect_err("it is none of them")[0].to_string();
    assert!(told.len() < 500 && told.contains("and 976 more"), "{told}");
}
