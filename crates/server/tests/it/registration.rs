//! What cannot be registered, and what is said about it.

use haft_server::{BuildError, Server, Tool, handler};

#[derive(serde::Deserialize)]
struct Nothing {}

fn tool(name: &str) -> Tool {
    Tool::new(name, handler::function(|Nothing {}| "ok"))
}

fn error_of(tool: Tool) -> String {
    let built = Server::builder("s", "1").tool(tool).build();
    built.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn names_are_valid_and_unique() {
    for name in ["", "a b", "ä", &"x".repeat(129)] {
        assert!(error_of(tool(name)).contains("is no name for a tool"), "{name}");
    }
    let built = Server::builder("s", "1").tool(tool("a")).tool(tool("a")).build();
    assert_eq!(built.err(), Some(BuildError::Duplicate { kind: "tools", name: "a".to_owned() }));
}

#[test]
fn schemas_that_cannot_be_checked_are_refused() {
    let cases = [
        ("{", "is not JSON"),
        ("[]", "the schema must be an object"),
        (r#"{"type":"string"}"#, "its `type` must be \"object\""),
        (r#"{"type":"objekt"}"#, "\"objekt\" is no type of JSON Schema, at \"/type\""),
        (r#"{"type":"object","minProperties":-1}"#, "-1"),
        (r#"{"type":"object","required":"a"}"#, "array"),
        (r#"{"type":"object","properties":{"a":{"minLength":1.5}}}"#, "1.5"),
        (r#"{"type":"object","properties":{"a":{"title":7}}}"#, "7"),
        (r#"{"type":"object","properties":{"a":{"enum":"x"}}}"#, "x"),
        (r#"{"type":"object","properties":{"a":{"pattern":"("}}}"#, "("),
        (r#"{"$schema":"https://example.com/mine","type":"object"}"#, "is not a known dialect"),
        (r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}"#, "example.com"),
        (r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}"##, "none"),
        (r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#, "passwd"),
    ];
    for (schema, reason) in cases {
        let error = error_of(tool("t").input_schema(schema));
        assert!(error.starts_with("the input schema of tool `t` cannot be used: "), "{error}");
        assert!(error.contains(reason) && !error.contains('\n'), "{schema}: {error}");
        if schema != r#"{"type":"string"}"# {
            let error = error_of(tool("t").output_schema(schema));
            assert!(error.starts_with("the output schema of tool `t`"), "{error}");
        }
    }
}

#[test]
fn header_marks_that_the_specification_forbids_are_refused() {
    let marked = |mark: &str, kind: &str| {
        let property = format!(r#"{{"type":"{kind}","x-mcp-header":{mark}}}"#);
        format!(r#"{{"type":"object","properties":{{"a":{property},"b":{property}}}}}"#)
    };
    for (mark, kind) in
        [("\"\"", "string"), ("\"a b\"", "string"), ("7", "string"), ("\"A\"", "number")]
    {
        let error = error_of(tool("t").input_schema(marked(mark, kind)));
        assert!(error.contains("x-mcp-header"), "{mark} {kind}: {error}");
    }
    let twice = error_of(tool("t").input_schema(marked("\"A\"", "string")));
    assert!(twice.contains("is there twice"), "{twice}");
}

#[test]
fn header_marks_that_no_client_can_follow_are_refused() {
    let mark = r#"{"type":"string","x-mcp-header":"Place"}"#;
    let hidden = [
        format!(r#"{{"type":"array","items":{mark}}}"#),
        format!(r#"{{"oneOf":[{mark},{{"type":"null"}}]}}"#),
    ];
    for property in hidden {
        let schema = format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#);
        let error = error_of(tool("t").input_schema(schema));
        assert!(error.contains("through `properties` alone"), "{error}");
    }
    let named = r#"{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}"#;
    assert_eq!(error_of(tool("t").input_schema(named)), "", "a property may have that name");
}
