//! Who the server is, its resources and its prompts.

use super::{of_documents, of_parser, tools};
use crate::fixture::{Desk, ask};
use crate::origin::Reply;
use haft_server::Server;
use serde_json::{Value, json};

async fn said(server: &Server, arguments: Value) -> String {
    let params = json!({"name": "review", "arguments": arguments});
    let result = ask(server, "prompts/get", params).await;
    result["messages"][0]["content"]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn the_server_is_who_the_file_says() {
    let (server, _origin) = of_documents(|_| Reply::text("")).await;
    let manifest = server.desk.manifest();
    assert_eq!(manifest.name(), "desk");
    assert_eq!(manifest.listeners()[0].address.to_string(), "127.0.0.1:0");
    let found = ask(&server, "server/discover", json!({})).await;
    let who = &found["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(who["version"], "1.0", "{found}");
    assert_eq!(who["description"], "Tools of a desk.");
}

#[tokio::test]
async fn arguments_of_prompts_have_defaults() {
    let (server, _origin) = of_parser(|_| Reply::text("")).await;
    assert_eq!(said(&server, json!({"code": "fn {{x}}"})).await, "Review this Rust: fn {{x}}");
    let given = json!({"code": "x", "language": "Go"});
    assert_eq!(said(&server, given).await, "Review this Go: x");
    let list = ask(&server, "prompts/list", json!({})).await;
    let arguments = list["prompts"][0]["arguments"].clone();
    let needed: Vec<_> =
        arguments.as_array().expect("a list").iter().map(|one| &one["required"]).collect();
    assert_eq!(needed, [&json!(true), &Value::Null], "{arguments}");
}

#[tokio::test]
async fn blocks_of_handlebars_are_understood() {
    let (server, _origin) = of_documents(|_| Reply::text("")).await;
    let given = json!({"code": "x", "raw": "<y>"});
    let expected = "Review with focus on:\n- Nothing.\n\nx <y>";
    assert_eq!(said(&server, given).await, expected);
    let given = json!({"code": "x", "raw": "y", "grade": "B"});
    assert_eq!(said(&server, given).await, "Review with focus on:\n- Grade: B\n\nx y");
}

#[tokio::test]
async fn a_resource_that_is_a_file_is_read() {
    let (server, _origin) = of_documents(|_| Reply::text("")).await;
    let read = ask(&server, "resources/read", json!({"uri": "file://./notes.md"})).await;
    assert_eq!(read["contents"][0]["text"], "# Notes\n");
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
}

#[tokio::test]
async fn what_is_left_out_leaves_the_rest() {
    let (server, _origin) = of_parser(|_| Reply::text("")).await;
    assert_eq!(server.tool_names(), ["say", "where", "look", "store", "both"]);
    let empty = tools("  - { type: native, name: t, handler: { path: a::b }, params: {} }").serve();
    assert_eq!(empty.tool_names(), Vec::<&str>::new());
}

#[tokio::test]
async fn branches_and_defaults_within_blocks_are_understood() {
    let text = "{{#if a}}A{{else if b}}B{{else}}C{{/if}} {{#with d}}{{x}}{{/with}} ${{price}}";
    let desk = Desk::with(&format!(
        "forge: {{ name: a, version: 1 }}
prompts:
  - name: review
    template: '{text}'
    arguments: [{{ name: d, default: y }}]
"
    ));
    let server = desk.serve();
    assert_eq!(said(&server, json!({"b": "1", "price": "5"})).await, "B  $5");
    assert_eq!(said(&server, json!({"price": "5"})).await, "C  $5");
}
