//! Clients that others wrote, against the built binary: what they list and what their calls give,
//! over stdio and over HTTP, in both eras. Cargo runs it; it never looks at haft's own types.

mod install;
mod process;

use std::process::Command;

use serde_json::{Value, json};

use self::install::Clients;
use self::process::{Finished, HAFT, Server, finish, quickstart};

/// What the quickstart calls itself.
const SERVER_NAME: &str = "quickstart";

/// Calls, and what each has to answer. The second space and the line break are not words.
const COUNT: (&str, &str) = (r#"{"text":"one  two\nthree four"}"#, "4");
const GREET: (&str, &str) = (r#"{"name":"Zoë"}"#, "Hello, Zoë!");

#[derive(Clone, Copy)]
enum Script {
    PythonV2,
    TypescriptV1,
    TypescriptV2,
}

#[derive(Clone, Copy)]
enum Era {
    Auto,
    Legacy,
    Modern,
}

impl Era {
    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// What a client that asks for this era has to end up with: haft speaks both, so a client
    /// that may choose has to find the newer one.
    const fn spoken(self) -> Spoken {
        match self {
            Self::Legacy => Spoken { era: "legacy", revision: "2025-11-25" },
            Self::Auto | Self::Modern => Spoken { era: "modern", revision: "2026-07-28" },
        }
    }
}

struct Spoken {
    era: &'static str,
    revision: &'static str,
}

/// Where the client finds the server.
enum Target {
    Http(Server),
    Stdio,
}

use Target::Stdio;

fn http() -> Target {
    Target::Http(Server::start())
}

#[test]
fn typescript_v2_lists_and_calls_over_stdio_in_the_modern_era() {
    lists_and_calls(Script::TypescriptV2, Era::Modern, &Stdio);
}

#[test]
fn typescript_v2_lists_and_calls_over_http_in_the_modern_era() {
    lists_and_calls(Script::TypescriptV2, Era::Modern, &http());
}

#[test]
fn typescript_v2_lists_and_calls_over_stdio_in_the_legacy_era() {
    lists_and_calls(Script::TypescriptV2, Era::Legacy, &Stdio);
}

#[test]
fn typescript_v2_lists_and_calls_over_http_in_the_legacy_era() {
    lists_and_calls(Script::TypescriptV2, Era::Legacy, &http());
}

#[test]
fn typescript_v2_finds_the_modern_era_over_stdio_by_itself() {
    lists_and_calls(Script::TypescriptV2, Era::Auto, &Stdio);
}

#[test]
fn typescript_v2_finds_the_modern_era_over_http_by_itself() {
    lists_and_calls(Script::TypescriptV2, Era::Auto, &http());
}

#[test]
fn typescript_v1_lists_and_calls_over_stdio_in_the_legacy_era() {
    lists_and_calls(Script::TypescriptV1, Era::Legacy, &Stdio);
}

#[test]
fn typescript_v1_lists_and_calls_over_http_in_the_legacy_era() {
    lists_and_calls(Script::TypescriptV1, Era::Legacy, &http());
}

#[test]
fn python_v2_lists_and_calls_over_stdio_in_the_modern_era() {
    lists_and_calls(Script::PythonV2, Era::Modern, &Stdio);
}

#[test]
fn python_v2_lists_and_calls_over_http_in_the_modern_era() {
    lists_and_calls(Script::PythonV2, Era::Modern, &http());
}

#[test]
fn python_v2_lists_and_calls_over_stdio_in_the_legacy_era() {
    lists_and_calls(Script::PythonV2, Era::Legacy, &Stdio);
}

#[test]
fn python_v2_lists_and_calls_over_http_in_the_legacy_era() {
    lists_and_calls(Script::PythonV2, Era::Legacy, &http());
}

#[test]
fn python_v2_finds_the_modern_era_over_stdio_by_itself() {
    lists_and_calls(Script::PythonV2, Era::Auto, &Stdio);
}

#[test]
fn python_v2_finds_the_modern_era_over_http_by_itself() {
    lists_and_calls(Script::PythonV2, Era::Auto, &http());
}

#[test]
fn inspector_lists_and_calls_over_stdio_in_the_modern_era() {
    inspector_lists_and_calls(Era::Modern, &Stdio);
}

#[test]
fn inspector_lists_and_calls_over_http_in_the_modern_era() {
    inspector_lists_and_calls(Era::Modern, &http());
}

#[test]
fn inspector_lists_and_calls_over_stdio_in_the_legacy_era() {
    inspector_lists_and_calls(Era::Legacy, &Stdio);
}

#[test]
fn inspector_lists_and_calls_over_http_in_the_legacy_era() {
    inspector_lists_and_calls(Era::Legacy, &http());
}

#[test]
fn inspector_finds_the_modern_era_over_stdio_by_itself() {
    inspector_agrees_on(Era::Auto, &Stdio);
}

#[test]
fn inspector_finds_the_modern_era_over_http_by_itself() {
    inspector_agrees_on(Era::Auto, &http());
}

/// Runs one of our scripts, and checks every part of the document that it prints.
fn lists_and_calls(script: Script, era: Era, target: &Target) {
    let document = succeed(script_command(script, era, target));
    let Spoken { era, revision } = era.spoken();
    assert_eq!(document["era"], era, "{document:#}");
    assert_eq!(document["protocolVersion"], revision, "{document:#}");
    assert_eq!(document["server"]["name"], SERVER_NAME, "{document:#}");
    assert_ne!(document["server"]["version"].as_str().unwrap_or_default(), "", "{document:#}");

    let tools: Vec<&str> = strings(&document["tools"]);
    assert!(tools.contains(&"word_count") && tools.contains(&"greet"), "{tools:?}");

    let results = document["results"].as_array().expect("the script prints a list");
    assert_eq!(results.len(), 3, "{document:#}");
    assert_answers(&results[0], COUNT.1);
    assert_answers(&results[1], GREET.1);
    assert_eq!(results[2]["isError"], true, "a missing argument is the tool's error: {document:#}");
}

fn script_command(script: Script, era: Era, target: &Target) -> Command {
    let clients = Clients::installed();
    let mut command = match script {
        Script::PythonV2 => clients.python_script("python_v2.py"),
        Script::TypescriptV1 => clients.node_script("typescript-v1.mjs"),
        Script::TypescriptV2 => clients.node_script("typescript-v2.mjs"),
    };
    command.args(["--era", era.name()]);
    command.args(["--call", &format!("word_count={}", COUNT.0)]);
    command.args(["--call", &format!("greet={}", GREET.0)]);
    command.args(["--call", "greet={}"]);
    match target {
        Target::Http(server) => command.args(["--url", &server.url]),
        Stdio => command.args(["--stdio", "--", HAFT, "serve"]).arg(quickstart()).arg("--stdio"),
    };
    command
}

/// The inspector does one thing a run, so it is run once for each.
fn inspector_lists_and_calls(era: Era, target: &Target) {
    inspector_agrees_on(era, target);

    let listed = succeed(inspector(era, &["--method", "tools/list"], target));
    let names = listed["result"]["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&Value> = names.iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("word_count")) && names.contains(&&json!("greet")), "{names:?}");

    for (tool, (arguments, answer)) in [("word_count", COUNT), ("greet", GREET)] {
        let called = succeed(inspector(era, &call(tool, arguments), target));
        assert_answers(&called["result"], answer);
    }

    let failed = finish(inspector(era, &call("greet", "{}"), target));
    assert_eq!(failed.status.code(), Some(5), "{}", failed.stderr);
    let said: Value = serde_json::from_str(&failed.stderr).expect("the error is one JSON document");
    assert_eq!(said["error"]["code"], "tool_is_error", "{said:#}");
}

/// The inspector's `initialize` connects, in whichever era, and tells what came of it.
fn inspector_agrees_on(era: Era, target: &Target) {
    let met = succeed(inspector(era, &["--method", "initialize"], target));
    assert_eq!(met["result"]["protocolVersion"], era.spoken().revision, "{met:#}");
    assert_eq!(met["result"]["serverInfo"]["name"], SERVER_NAME, "{met:#}");
}

const fn call<'a>(tool: &'a str, arguments: &'a str) -> [&'a str; 6] {
    ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments]
}

fn inspector(era: Era, request: &[&str], target: &Target) -> Command {
    let mut command = Clients::installed().inspector();
    command.args(["--protocol-era", era.name(), "--format", "json", "--quiet"]).args(request);
    match target {
        Target::Http(server) => command.args(["--transport", "http", "--server-url", &server.url]),
        Stdio => command.args(["--", HAFT, "serve"]).arg(quickstart()).arg("--stdio"),
    };
    command
}

/// Runs a client that has to end well, and reads the one document that it prints.
fn succeed(command: Command) -> Value {
    let line = format!("{command:?}");
    let Finished { status, stdout, stderr } = finish(command);
    assert!(status.success(), "{line} ended with {status}: {stderr}");
    serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{line} printed no JSON document ({error}): {stdout}"))
}

fn assert_answers(result: &Value, text: &str) {
    assert_eq!(result["content"], json!([{ "type": "text", "text": text }]), "{result:#}");
    assert_ne!(result["isError"], true, "{result:#}");
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
