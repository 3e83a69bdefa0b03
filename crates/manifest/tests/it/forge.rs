//! Files of pforge, in both of its grammars, run as they are.

mod faults;
mod names;
mod notes;
mod pipelines;
mod programs;
mod requests;
mod words;

use crate::fixture::{Desk, Served};
use crate::origin::{Origin, Reply};
use haft_server::Server;
use serde_json::Value;

/// Every key that pforge's parser reads.
const PARSER: &str = include_str!("../forge/parser.yaml");
/// The keys that only its documents show.
const DOCUMENTS: &str = include_str!("../forge/documents.yaml");

/// A file of these lines below `tools`.
fn tools(lines: &str) -> Desk {
    Desk::with(&format!("forge: {{ name: desk, version: 1.0.0 }}\ntools:\n{lines}"))
}

/// The parser's file before a server.
async fn of_parser(
    answer: impl Fn(&crate::origin::Seen) -> Reply + Send + Sync + 'static,
) -> (Served, Origin) {
    let origin = Origin::serve(answer).await;
    let desk = Desk::with(&PARSER.replace("BASE", &origin.url("")));
    desk.write("below/file", "");
    (desk.serve(), origin)
}

/// The documents' file before a server.
async fn of_documents(
    answer: impl Fn(&crate::origin::Seen) -> Reply + Send + Sync + 'static,
) -> (Served, Origin) {
    let origin = Origin::serve(answer).await;
    let desk = Desk::with(&DOCUMENTS.replace("BASE", &origin.url("")));
    desk.write("notes.md", "# Notes\n");
    (desk.serve(), origin)
}

/// The structured result of a call that did what was asked.
async fn done(server: &Server, tool: &str, arguments: Value) -> Value {
    let result = crate::fixture::call(server, tool, arguments).await;
    assert_eq!(result.get("isError"), None, "{result}");
    same(&result)
}

/// The structured result of a call that failed.
async fn failed(server: &Server, tool: &str, arguments: Value) -> Value {
    let result = crate::fixture::call(server, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    same(&result)
}

/// What programs read, which models read too.
fn same(result: &Value) -> Value {
    let structured = result["structuredContent"].clone();
    let text = result["content"][0]["text"].as_str().expect("a text");
    let read: Value = serde_json::from_str(text).expect("the text is JSON");
    assert_eq!(read, structured, "{result}");
    structured
}

/// A tool as clients see it.
async fn listed(server: &Server, name: &str) -> Value {
    let list = crate::fixture::ask(server, "tools/list", serde_json::json!({})).await;
    let tools = list["tools"].as_array().expect("a list").clone();
    tools.into_iter().find(|tool| tool["name"] == name).expect("it is served")
}
