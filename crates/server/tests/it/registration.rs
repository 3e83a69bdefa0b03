//! What cannot be registered, and what is said about it.

use crate::wire::{ask, call};
use haft_proto::version::Revision;
use haft_server::schema::Prepared;
use haft_server::{BuildError, Server, Tool, handler};
use serde_json::json;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

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

#[tokio::test]
async fn a_schema_that_was_checked_before_is_compiled_when_it_is_needed() {
    // It would not be built with, if it were compiled again.
    let bad = Prepared::deferred(r#"{"type":"object","minProperties":-1}"#);
    let output = Prepared::compile(r#"{"type":"string"}"#).expect("it is a schema");
    let server = Server::builder("s", "1")
        .tool(tool("bad").prepared_input(bad))
        .tool(tool("good").prepared_output(output))
        .build()
        .expect("nothing is compiled");
    let answer = call(&server, "bad", json!({})).await.to_string();
    assert!(answer.contains("cannot be compared with its schema"), "{answer}");
    let answer = call(&server, "good", json!({})).await.to_string();
    assert!(answer.contains("does not fit its own output schema"), "{answer}");
}

#[test]
fn what_is_no_schema_of_arguments_is_refused_though_it_was_checked() {
    let mark = r#"{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"a"}}}"#;
    let escaped = mark.replace("x-mcp", r"\u0078-mcp");
    for (schema, expected) in [
        (r#"{"type":"string"}"#, "its `type` must be \"object\""),
        (mark, "needs the type string, integer or boolean"),
        (&escaped, "needs the type string, integer or boolean"),
    ] {
        let error = error_of(tool("a").prepared_input(Prepared::deferred(schema)));
        assert!(error.contains(expected), "{schema}: {error}");
    }
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
fn a_type_that_describes_itself_wrongly_is_refused_however_many_tools_take_it() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[schemars(extend("minProperties" = -1))]
    struct Broken {}
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[schemars(extend("type" = "string"))]
    struct NoObject {}

    for count in 1..4 {
        let broken = |index| Tool::typed_function(format!("broken_{index}"), |Broken {}| "");
        let built = Server::builder("s", "1").tools((0..count).map(broken)).build();
        let error = built.err().map(|error| error.to_string()).unwrap_or_default();
        let expected = "the input schema of tool `broken_0` cannot be used: -1";
        assert!(error.starts_with(expected), "{count}: {error}");
        let wrong = |index| Tool::typed_function(format!("wrong_{index}"), |NoObject {}| "");
        let built = Server::builder("s", "1").tools((0..count).map(wrong)).build();
        let error = built.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.ends_with("its `type` must be \"object\""), "{count}: {error}");
    }
}

#[tokio::test]
async fn tools_that_take_the_same_type_are_each_checked_by_it() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct City {
        city: String,
    }
    let ask_for = |index| Tool::typed_function(format!("ask_{index}"), |asked: City| asked.city);
    let server = Server::builder("s", "1").tools((0..3).map(ask_for)).build().expect("right");
    server.add_tool(ask_for(3)).expect("right");
    for index in 0..4 {
        let name = format!("ask_{index}");
        let answer = call(&server, &name, json!({"city": "Bern"})).await.to_string();
        assert!(answer.contains("Bern"), "{answer}");
        let answer = call(&server, &name, json!({"city": 3})).await.to_string();
        assert!(answer.contains("`city` must be a string, not 3"), "{answer}");
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

/// Part of a handler; its end calls the server.
struct Parting {
    server: Arc<OnceLock<Server>>,
    name: &'static str,
}

impl Parting {
    fn end(&self) -> &'static str {
        self.name
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        if let Some(server) = self.server.get() {
            server.add_tool(tool(self.name)).expect("it is a tool");
        }
    }
}

#[test]
fn a_handler_may_call_the_server_when_it_goes() {
    let known = Arc::new(OnceLock::new());
    let parting = |name: &str, end: &'static str| {
        let parting = Parting { server: Arc::clone(&known), name: end };
        Tool::new(name, handler::function(move |Nothing {}| parting.end()))
    };
    let tools = [parting("a", "after_a"), parting("b", "after_b"), parting("c", "after_c")];
    let server = Server::builder("s", "1").tools(tools).build().expect("right");
    known.set(server.clone()).unwrap_or_else(|_| panic!("nobody has set it"));
    // What is not offered is refused, and goes as well.
    let refused = parting("d", "after_d").task(haft_server::TaskUse::Always);
    let (done, is_done) = mpsc::sync_channel(1);
    thread::spawn(move || {
        assert!(server.remove_tool("a"));
        server.add_tool(tool("b")).expect("it is a tool");
        assert!(server.add_tool(refused).is_err());
        server.replace_tools(vec![tool("e")]).expect("it is a tool");
        let _ = done.send(server.tool_names());
    });
    let names = is_done.recv_timeout(Duration::from_secs(20)).expect("nobody waits for himself");
    assert_eq!(names, ["e", "after_c"]);
}

#[tokio::test]
async fn the_list_has_each_change_however_many_came_before() {
    let server = Server::builder("s", "1").tool(tool("first")).build().expect("right");
    for n in 0..100 {
        server.add_tool(tool(&format!("t{n}"))).expect("it is a tool");
    }
    assert!(server.remove_tool("t50") && !server.remove_tool("t50"));
    let list = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    let listed = list["result"]["tools"].as_array().expect("tools");
    let listed: Vec<_> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(listed, server.tool_names());
    assert_eq!((listed.len(), listed[0], listed[100 - 1]), (100, "first", "t99"));
    let params = json!({"name": "t99", "arguments": {}});
    let answer = ask(&server, Revision::LATEST, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ok");
}
