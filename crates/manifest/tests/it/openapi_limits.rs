//! Each bound of documents that describe APIs, reached; those that are reached by documents that
//! want to hurt are in `openapi_bounds`.

use crate::faults_in_openapi::{KEYS, made, refused, schema};
use crate::fixture::{Desk, ask};
use crate::openapi::desk;
use serde_json::{Map, Value, json};

/// A document of one operation with one argument `q` of that schema, and of these components.
fn of_schema(schema: &Value, components: &Value) -> String {
    let parameter = json!({"name": "q", "in": "query", "schema": schema});
    json!({
        "openapi": "3.1.0",
        "paths": {"/a": {"get": {"operationId": "a", "parameters": [parameter]}}},
        "components": {"schemas": components},
    })
    .to_string()
}

/// What an argument of that schema may be.
async fn argument(written: &Value) -> Value {
    schema(&of_schema(written, &json!({}))).await["properties"]["q"].take()
}

fn to(name: impl std::fmt::Display) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[test]
fn ten_thousand_operations_become_tools_and_no_more() {
    let document = |count: usize| {
        let one =
            |at: usize| (format!("/p{at}"), json!({"get": {"operationId": format!("o{at}")}}));
        let paths: Map<String, Value> = (0..count).map(one).collect();
        json!({"openapi": "3.0.0", "paths": paths}).to_string()
    };
    assert!(haft_manifest::load(&desk(&document(10_000), KEYS).file("haft.yaml")).is_ok());
    let why = refused(&document(10_001), KEYS);
    assert_eq!(why, "more than 10000 operations become tools");
}

#[test]
fn the_schemas_of_all_tools_have_a_bound_together() {
    // Each tool has all of it, in its place.
    let names: Map<String, Value> = (0..1000).map(|at| (format!("{at:050}"), json!({}))).collect();
    let large = json!({"type": "object", "properties": names});
    let parameters = json!([{"name": "q", "in": "query", "schema": to("Large")}]);
    let one = |at: usize| (format!("/p{at}"), json!({"get": {"parameters": parameters}}));
    let paths: Map<String, Value> = (0..1400).map(one).collect();
    let schemas = json!({"Large": large});
    let document = json!({"openapi": "3.0.0", "paths": paths, "components": {"schemas": schemas}});
    let why = refused(&document.to_string(), KEYS);
    assert_eq!(why, "the schemas of the operations have more than 67108864 bytes");
}

#[test]
fn a_document_that_is_too_long_is_not_read() {
    let yaml = "server: { name: d }\nupstreams: { api: { openapi: api.yaml } }\n";
    let desk = Desk::with(yaml);
    let file = std::fs::File::create(desk.file("api.yaml")).expect("it is ours");
    file.set_len(64 * 1024 * 1024 + 1).expect("there is room for nothing");
    let fault = haft_manifest::load(&desk.file("haft.yaml")).err().expect("it is too long");
    assert_eq!(fault.problem().message(), "the document has more than 67108864 bytes");
}

#[test]
fn references_in_a_row_have_an_end() {
    let names = |count: usize| {
        let one = |at: usize| (format!("S{at}"), to(format!("S{}", at + 1)));
        let last = (format!("S{count}"), json!({"type": "string"}));
        Value::from_iter((0..count).map(one).chain([last]))
    };
    let (tools, _) = made(&of_schema(&to("S0"), &names(64)), KEYS);
    assert_eq!(tools, ["api_a"]);
    let why = refused(&of_schema(&to("S0"), &names(65)), KEYS);
    assert!(why.contains("leads to more than 64 others in a row"), "{why}");
}

#[tokio::test]
async fn what_is_put_together_of_too_many_parts_allows_anything() {
    let part = |at: usize| json!({"properties": {format!("p{at}"): {"type": "string"}}});
    let of = |count: usize| json!({"allOf": (0..count).map(part).collect::<Vec<_>>()});
    assert!(argument(&of(63)).await["properties"]["p62"].is_object());
    assert_eq!(argument(&of(64)).await, json!({}));
}

#[tokio::test]
async fn what_is_too_deep_allows_anything() {
    let nested = |levels: usize| {
        (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"not": inner}))
    };
    let innermost = async |levels: usize| {
        let mut found = argument(&nested(levels)).await;
        for _ in 0..levels {
            found = found["not"].take();
        }
        found
    };
    assert_eq!(innermost(23).await, json!({"type": "string"}));
    assert_eq!(innermost(24).await, json!({}));
}

#[tokio::test]
async fn what_is_long_within_a_schema_is_left_out_or_cut() {
    let text = |length: usize| "x".repeat(length);
    // In quotes.
    assert_eq!(argument(&json!({"default": text(254)})).await["default"], text(254));
    assert_eq!(argument(&json!({"default": text(255)})).await["default"], Value::Null);
    assert_eq!(argument(&json!({"example": text(255)})).await["examples"], Value::Null);
    let words = argument(&json!({"description": text(601)})).await["description"].take();
    let words = words.as_str().expect("a text");
    assert!(words.chars().count() <= 601 && words.ends_with("x…"), "{words}");
}

#[tokio::test]
async fn what_is_said_of_a_tool_is_cut() {
    let operation = json!({
        "operationId": "o".repeat(100),
        "summary": "s ".repeat(100),
        "description": "d ".repeat(999),
    });
    let document = json!({"openapi": "3.0.0", "paths": {"/a": {"get": operation}}});
    let served = desk(&document.to_string(), KEYS).serve();
    let listed = ask(&served, "tools/list", json!({})).await;
    let length = |key: &str| listed["tools"][0][key].as_str().expect("a text").chars().count();
    assert_eq!(length("name"), 64);
    for (key, most) in [("title", 120), ("description", 1000)] {
        assert!((most - 5..=most).contains(&length(key)), "{key}: {}", length(key));
    }
}

#[tokio::test]
async fn a_body_of_too_many_members_is_one_argument() {
    let arguments = async |count: usize| {
        let one = |at: usize| (format!("m{at}"), json!({"type": "string"}));
        let members: Map<String, Value> = (0..count).map(one).collect();
        let body = json!({"type": "object", "properties": members});
        let content = json!({"application/json": {"schema": body}});
        let operation = json!({"requestBody": {"required": true, "content": content}});
        let document = json!({"openapi": "3.0.0", "paths": {"/a": {"post": operation}}});
        let schema = schema(&document.to_string()).await;
        schema["properties"].as_object().expect("some").len()
    };
    assert_eq!(arguments(256).await, 256);
    assert_eq!(arguments(257).await, 1);
}

#[tokio::test]
async fn a_schema_is_written_in_its_place_unless_that_is_too_long() {
    let long = |at: usize| json!({"description": format!("{at:0500}"), "type": "string"});
    let of = |count: usize| {
        let one = |at: usize| (format!("p{at}"), to("L"));
        json!({"type": "object", "properties": Value::from_iter((0..count).map(one))})
    };
    let has_definitions = async |count: usize| {
        let document = of_schema(&of(count), &json!({"L": long(1)}));
        schema(&document).await.get("$defs").is_some()
    };
    // Six are within 4 KiB, though each is written out.
    assert!(!has_definitions(6).await);
    assert!(has_definitions(9).await);
}
