//! Entries of lists as servers write them, and what clients are told of each.

use haft_server::normal::{Listed, Normal, entry};

/// What becomes of entries: `None` where one stays as it came.
fn check(listed: Listed, rows: &[(&str, Option<&str>)]) {
    for (text, expected) in rows {
        let normal = entry(listed, text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(normal.text.as_deref(), *expected, "{text}");
        // What was mended once is fit.
        if let Some(mended) = &normal.text {
            let again = entry(listed, mended).expect("it is fit");
            assert_eq!(again.text, None, "{text}: {mended}");
        }
    }
}

/// The same for schemas of arguments.
fn check_schemas(rows: &[(&str, &str)]) {
    for (schema, expected) in rows {
        let tool = |schema: &str| format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
        check(
            Listed::Tool,
            &[(&tool(schema), (schema != expected).then(|| tool(expected)).as_deref())],
        );
    }
}

/// The same for schemas of one argument.
fn check_arguments(rows: &[(&str, &str)]) {
    let around = |schema: &str| format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#);
    for (schema, expected) in rows {
        check_schemas(&[(&around(schema), &around(expected))]);
    }
}

#[test]
fn what_is_fit_stays_as_it_came() {
    check(
        Listed::Tool,
        &[
            (r#"{"name":"t","inputSchema":{"type":"object"}}"#, None),
            (
                r##"{ "name" : "t", "title":"T", "description":"té\n", "x-mine":[1.50,null],
                "inputSchema":{"type":"object","additionalProperties":false,"required":["a"],
                "properties":{"a":{"type":["string","null"],"default":null,"x":true,"const":null},
                "b":{"anyOf":[{"type":"integer","minimum":1e400},{"enum":[1,"1",null]}]},
                "c":{"$ref":"#/$defs/c"},"d":{"pattern":"^\\w+$","format":"uri"}},
                "$defs":{"c":{"type":"array","items":{}}}},"outputSchema":{"type":"array"},
                "annotations":{"readOnlyHint":true,"x":1},"execution":{"taskSupport":"optional"},
                "icons":[{"src":"data:,","sizes":["1x1"],"theme":"dark"}],"_meta":{"a":null}}"##,
                None,
            ),
            (
                r##"{"name":"t","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#",
                "type":"object","definitions":{"A":{"type":"string"}},"properties":{
                "s":{"$ref":"#/definitions/A"},"t":{"items":[{"type":"string"}]}}}}"##,
                None,
            ),
        ],
    );
    check(
        Listed::Resource,
        &[(
            r#"{"uri":"a:b","name":"b","size":7,"annotations":{"priority":0.5,
        "audience":["user"],"lastModified":"2025-01-12T15:00:58.1+02:00"}}"#,
            None,
        )],
    );
    check(Listed::Template, &[(r#"{"uriTemplate":"a:{b}","name":"b"}"#, None)]);
    check(Listed::Prompt, &[(r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#, None)]);
}

#[test]
fn members_of_tools_are_what_they_must_be() {
    let told = |more: &str| format!(r#"{{"name":"t","inputSchema":{{"type":"object"}}{more}}}"#);
    for (more, expected) in [
        (r#","title":null,"description":null,"annotations":null,"icons":null,"_meta":null"#, ""),
        (r#","outputSchema":null,"execution":null"#, ""),
        (r#","title":["T"],"description":7"#, ""),
        (r#","annotations":"none""#, ""),
        (r#","annotations":{"readOnlyHint":"yes","title":5}"#, r#","annotations":{}"#),
        (
            r#","annotations":{"readOnlyHint":"True","idempotentHint":1}"#,
            r#","annotations":{"readOnlyHint":true}"#,
        ),
        (r#","icons":[{"src":7}]"#, ""),
        (r#","icons":{"src":"a"}"#, ""),
        (
            r#","icons":[{"src":"a","sizes":"48x48","theme":"blue"},null]"#,
            r#","icons":[{"src":"a","sizes":["48x48"]}]"#,
        ),
        (r#","_meta":[]"#, ""),
        (r#","execution":{"taskSupport":"maybe"}"#, r#","execution":{}"#),
        (r#","outputSchema":true"#, ""),
        (r#","outputSchema":{}"#, ""),
        (r#","outputSchema":"object""#, ""),
        (
            r#","outputSchema":{"properties":{"a":true}}"#,
            r#","outputSchema":{"type":"object","properties":{"a":{}}}"#,
        ),
        (r#","description":"a","description":"b""#, r#","description":"b""#),
        (
            r#","description":"a\u001b[31m\u0000b\u202ec\udb40\udc41""#,
            r#","description":"a[31mbc""#,
        ),
    ] {
        check(Listed::Tool, &[(&told(more), Some(&told(expected)))]);
    }
}

#[test]
fn a_schema_of_arguments_is_one_of_an_object() {
    let tool = |schema: &str| format!(r#"{{"name":"t"{schema}}}"#);
    for (schema, expected) in [
        ("", r#","inputSchema":{"type":"object"}"#),
        (r#","inputSchema":null"#, r#","inputSchema":{"type":"object"}"#),
        (r#","inputSchema":true"#, r#","inputSchema":{"type":"object"}"#),
        (r#","inputSchema":false"#, r#","inputSchema":{"type":"object","not":{}}"#),
        (r#","inputSchema":[]"#, r#","inputSchema":{"type":"object"}"#),
    ] {
        check(Listed::Tool, &[(&tool(schema), Some(&tool(expected)))]);
    }
    check_schemas(&[
        ("{}", r#"{"type":"object"}"#),
        (r#"{"properties":{"a":{}}}"#, r#"{"type":"object","properties":{"a":{}}}"#),
        (r#"{"type":null}"#, r#"{"type":"object"}"#),
        (r#"{"type":["object"]}"#, r#"{"type":"object"}"#),
        (r#"{"type":["null","object"]}"#, r#"{"type":"object"}"#),
        (r#"{"type":"object","properties":null}"#, r#"{"type":"object"}"#),
        (r#"{"type":"object","properties":[]}"#, r#"{"type":"object","properties":{}}"#),
        (r#"{"type":"object","properties":7}"#, r#"{"type":"object"}"#),
        (r#"{"type":"object","required":null}"#, r#"{"type":"object"}"#),
        (r#"{"type":"object","required":"a"}"#, r#"{"type":"object","required":["a"]}"#),
        (r#"{"type":"object","required":["a",7,"a"]}"#, r#"{"type":"object","required":["a"]}"#),
        (r#"{"type":"object","required":true}"#, r#"{"type":"object"}"#),
        (
            r#"{"type":"object","properties":{"a":{"required":true},"b":{"required":false}}}"#,
            r#"{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}"#,
        ),
        (r#"{"type":"object","$schema":"https://example.com/mine"}"#, r#"{"type":"object"}"#),
        (
            r#"{"type":"object","$schema":"http://json-schema.org/draft-04/schema#","id":"x"}"#,
            r#"{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}"#,
        ),
        (
            r#"{"type":"object","properties":{"a\u202eb":{}},"required":["a\u202eb"]}"#,
            r#"{"type":"object","properties":{},"required":[]}"#,
        ),
    ]);
}

#[test]
fn keywords_are_what_they_must_be() {
    check_arguments(&[
        ("true", "{}"),
        ("false", r#"{"not":{}}"#),
        ("null", "{}"),
        ("[]", "{}"),
        (r#""string""#, r#"{"type":"string"}"#),
        ("7", "{}"),
        (r#"{"items":true}"#, r#"{"items":{}}"#),
        (r#"{"anyOf":[true,null,{"not":false}]}"#, r#"{"anyOf":[{},{"not":{"not":{}}}]}"#),
        (r#"{"anyOf":[]}"#, "{}"),
        (r#"{"allOf":{"type":"string"}}"#, r#"{"allOf":[{"type":"string"}]}"#),
        (
            r#"{"additionalProperties":false,"unevaluatedProperties":true,"contains":true}"#,
            r#"{"additionalProperties":false,"unevaluatedProperties":true,"contains":{}}"#,
        ),
        (r#"{"patternProperties":{"^a":true,"(":{}}}"#, r#"{"patternProperties":{"^a":{}}}"#),
        (r#"{"enum":[1,1.0,"a","a",null]}"#, r#"{"enum":[1,"a",null]}"#),
        (r#"{"enum":[]}"#, "{}"),
        (r#"{"enum":"a"}"#, "{}"),
        (r#"{"enum":["a","b\u200b"]}"#, r#"{"enum":["a"]}"#),
        (r#"{"pattern":"("}"#, "{}"),
        (r#"{"pattern":7}"#, "{}"),
        (r#"{"type":"str"}"#, r#"{"type":"string"}"#),
        (r#"{"type":"STRING"}"#, r#"{"type":"string"}"#),
        (r#"{"type":"any"}"#, "{}"),
        (r#"{"type":["int","null","int"]}"#, r#"{"type":["integer","null"]}"#),
        (r#"{"type":[]}"#, "{}"),
        (r#"{"minimum":"1","maxLength":"x"}"#, r#"{"minimum":1}"#),
        (r#"{"minLength":3.0,"maxLength":-1}"#, r#"{"minLength":3}"#),
        (r#"{"multipleOf":0}"#, "{}"),
        (r#"{"uniqueItems":"true","readOnly":1}"#, r#"{"uniqueItems":true}"#),
        (r#"{"minimum":0,"exclusiveMinimum":true}"#, r#"{"exclusiveMinimum":0}"#),
        (r#"{"maximum":9,"exclusiveMaximum":false}"#, r#"{"maximum":9}"#),
        (r#"{"nullable":true}"#, "{}"),
        (r#"{"type":"string","nullable":false}"#, r#"{"type":"string"}"#),
        (
            r#"{"items":[{},true],"additionalItems":false}"#,
            r#"{"prefixItems":[{},{}],"items":{"not":{}}}"#,
        ),
        (r#"{"description":null,"title":["x"],"format":7,"default":null}"#, r#"{"default":null}"#),
        (
            r#"{"description":"a\u0007b","x":{"y":"c\u2066"}}"#,
            r#"{"description":"ab","x":{"y":"c"}}"#,
        ),
        (r#"{"default":"a\udb40\udc41"}"#, "{}"),
        (r##"{"$ref":"#/$defs/gone"}"##, "{}"),
        (r#"{"$ref":"https://example.com/schema.json"}"#, "{}"),
        (r#"{"$ref":7}"#, "{}"),
        (r#"{"dependencies":{"b":["c","c"],"d":true}}"#, r#"{"dependencies":{"b":["c"],"d":{}}}"#),
        (r#"{"dependentRequired":{"b":"c"}}"#, r#"{"dependentRequired":{"b":["c"]}}"#),
        (r##"{"$ref":"#"}"##, r##"{"$ref":"#"}"##),
        (r##"{"$ref":"#/properties/a"}"##, r##"{"$ref":"#/properties/a"}"##),
    ]);
}

#[test]
fn members_of_resources_and_prompts_are_what_they_must_be() {
    check(
        Listed::Resource,
        &[
            (r#"{"uri":"a://b/c.txt?d=/e"}"#, Some(r#"{"uri":"a://b/c.txt?d=/e","name":"c.txt"}"#)),
            (r#"{"uri":"a:b","name":null,"mimeType":null}"#, Some(r#"{"uri":"a:b","name":"b"}"#)),
            (r#"{"uri":"a:b","name":"x","size":"large"}"#, Some(r#"{"uri":"a:b","name":"x"}"#)),
            (
                r#"{"uri":"a:b","name":"x","size":"12"}"#,
                Some(r#"{"uri":"a:b","name":"x","size":12}"#),
            ),
            (r#"{"uri":"a:b","name":"x","size":1.5}"#, Some(r#"{"uri":"a:b","name":"x"}"#)),
            (
                r#"{"uri":"a:b","name":"x","annotations":{"priority":7,"audience":"user"}}"#,
                Some(
                    r#"{"uri":"a:b","name":"x","annotations":{"priority":1,"audience":["user"]}}"#,
                ),
            ),
            (
                r#"{"uri":"a:b","name":"x","annotations":{"priority":-1,"audience":["all"]}}"#,
                Some(r#"{"uri":"a:b","name":"x","annotations":{"priority":0}}"#),
            ),
            (
                r#"{"uri":"a:b","name":"x","annotations":{"lastModified":"2025-02-30T00:00:00Z"}}"#,
                Some(r#"{"uri":"a:b","name":"x","annotations":{}}"#),
            ),
        ],
    );
    check(
        Listed::Template,
        &[(
            r#"{"uriTemplate":"x:{x}","name":null,"mimeType":null}"#,
            Some(r#"{"uriTemplate":"x:{x}","name":"{x}"}"#),
        )],
    );
    check(
        Listed::Prompt,
        &[
            (r#"{"name":"p","arguments":null,"description":null}"#, Some(r#"{"name":"p"}"#)),
            (
                r#"{"name":"p","arguments":[{"name":"a","required":"yes"},{"required":true},7]}"#,
                Some(r#"{"name":"p","arguments":[{"name":"a"}]}"#),
            ),
        ],
    );
}

#[test]
fn what_cannot_be_mended_says_why() {
    for (listed, text, why) in [
        (Listed::Tool, "null", "it is null, and no object"),
        (Listed::Tool, r#""x""#, "it is a string, and no object"),
        (Listed::Tool, "{}", "it has no `name`"),
        (Listed::Tool, r#"{"name":null}"#, "its `name` is null, and no text"),
        (Listed::Tool, r#"{"name":"t","inputSchema":"object"}"#, "`inputSchema` is a string"),
        (Listed::Tool, r#"{"name":"t","inputSchema":{"type":"array"}}"#, "the `type` \"array\""),
        (Listed::Resource, r#"{"uri":7}"#, "its `uri` is a number, and no text"),
        (Listed::Resource, r#"{"uri":"a:\u202eb"}"#, "its `uri` has hidden characters"),
        (Listed::Template, r#"{"uriTemplate":null}"#, "its `uriTemplate` is null, and no text"),
        (Listed::Prompt, r#"{"name":{}}"#, "its `name` is an object, and no text"),
    ] {
        let refused = entry(listed, text).expect_err(text);
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

#[test]
fn mends_are_told_with_their_place_and_no_more_than_some() {
    let told = |schema: &str| -> Normal {
        let text = format!(r#"{{"name":"t","title":null,"inputSchema":{schema}}}"#);
        entry(Listed::Tool, &text).expect("a tool")
    };
    let mends = told(r#"{"type":"object","properties":{"a":{"items":true}}}"#).mends;
    let expected = "`inputSchema.properties.a.items` was a boolean, and is written as an object";
    assert_eq!((mends.told.as_slice(), mends.more), ([expected.to_owned()].as_slice(), 0));
    let silent = told(r#"{"type":"object"}"#);
    assert!(silent.text.is_some() && silent.mends.told.is_empty(), "{silent:?}");
    let many: Vec<String> = (0..20).map(|number| format!("\"a{number}\":true")).collect();
    let mends = told(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(","))).mends;
    assert_eq!((mends.told.len(), mends.more), (8, 12));
}
