//! Clients that others wrote, against the built binary: what they list and what their calls give,
//! over stdio and over HTTP, in both eras. Cargo runs it; it never looks at haft's own types.

mod client;
pub(crate) mod fixture;
mod install;
mod machine;
mod page;
pub(crate) mod process;
mod report;
mod unable;
mod walk;

use std::thread;

use serde_json::{Value, json};

pub(crate) use self::client::{Client, Era};
use self::process::{Target, Wire, quickstart};
use self::report::{details, steps};

/// The official tool for `.mcpb` bundles.
pub(crate) fn mcpb() -> std::process::Command {
    install::script(install::Kit::Javascript, "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js")
}

/// What a client gets of the server at a URL: the names of its tools, and the result of each call.
pub(crate) fn asked(client: Client, era: Era, calls: &[(&str, &str)], url: &str) -> Vec<Value> {
    let said = details(steps(client.command(era, calls, &Target::At(url.to_owned()))));
    said.into_iter().skip(1).map(|(_, detail)| detail).collect()
}

/// The names in each list of the server at a URL, as a client of JavaScript or Python reads it.
pub(crate) fn everything_listed(client: Client, era: Era, url: &str) -> Value {
    let mut command = client.command(era, &[], &Target::At(url.to_owned()));
    command.arg("--lists");
    let said = details(steps(command));
    said.into_iter().filter(|(name, _)| name != "connect").collect::<serde_json::Map<_, _>>().into()
}

/// The server on the official package for Go, which wants to know over which wire.
pub(crate) fn go_server() -> std::path::PathBuf {
    install::go_server()
}

/// A Python that has the official package and FastMCP.
pub(crate) fn python() -> std::path::PathBuf {
    install::python_of_kit()
}

/// A browser of Chromium's kind.
pub(crate) fn browser() -> std::process::Command {
    std::process::Command::new(machine::browser().unwrap_or_else(|advice| panic!("{advice}")))
}

/// What the quickstart calls itself.
const SERVER_NAME: &str = "quickstart";

/// Calls, and what each has to answer. The second space and the line break are not words.
const CALLS: [(&str, &str); 3] = [
    ("word_count", r#"{"text":"one  two\nthree four"}"#),
    ("greet", r#"{"name":"Zoë"}"#),
    ("greet", "{}"),
];
const ANSWERS: [&str; 2] = ["4", "Hello, Zoë!"];

#[test]
fn typescript_v2_lists_and_calls() {
    lists_and_calls_everywhere(Client::TypescriptV2);
}

#[test]
fn typescript_v1_lists_and_calls() {
    lists_and_calls_everywhere(Client::TypescriptV1);
}

#[test]
fn python_lists_and_calls() {
    lists_and_calls_everywhere(Client::Python);
}

#[test]
fn go_lists_and_calls() {
    lists_and_calls_everywhere(Client::Go);
}

#[test]
fn rust_lists_and_calls() {
    lists_and_calls_everywhere(Client::Rust);
}

#[test]
fn the_inspector_lists_and_calls() {
    lists_and_calls_everywhere(Client::Inspector);
}

/// Over each wire, in each era that the client can be told, and in the one that it finds itself.
fn lists_and_calls_everywhere(client: Client) {
    thread::scope(|scope| {
        for wire in Wire::ALL {
            for &era in client.wishes() {
                thread::Builder::new()
                    .name(format!("{client:?} over {wire:?}, {era:?}"))
                    .spawn_scoped(scope, move || lists_and_calls(client, wire, era))
                    .expect("a thread starts");
            }
        }
    });
}

/// Checks everything that the client says.
fn lists_and_calls(client: Client, wire: Wire, era: Era) {
    let target = wire.target(quickstart());
    let said = details(steps(client.command(era, &CALLS, &target)));
    let names: Vec<&str> = said.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["connect", "list_tools", "call_tool", "call_tool", "call_tool"]);

    let connected = &said[0].1;
    assert_eq!(json!([connected["era"], connected["protocolVersion"]]), json!(era.spoken()));
    assert_eq!(connected["server"]["name"], SERVER_NAME, "{connected}");
    assert_ne!(connected["server"]["version"].as_str().unwrap_or_default(), "", "{connected}");

    let tools = said[1].1.as_array().expect("the client prints a list");
    assert!(tools.contains(&json!("word_count")) && tools.contains(&json!("greet")), "{tools:?}");

    assert_answers(&said[2].1, ANSWERS[0]);
    assert_answers(&said[3].1, ANSWERS[1]);
    assert_eq!(said[4].1["isError"], true, "a missing argument is the tool's error: {said:?}");
}

fn assert_answers(result: &Value, text: &str) {
    assert_eq!(result["content"], json!([{ "type": "text", "text": text }]), "{result:#}");
    assert_ne!(result["isError"], true, "{result:#}");
}
