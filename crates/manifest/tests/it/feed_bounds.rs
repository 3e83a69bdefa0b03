//! Programs and servers behind resources, prompts and suggestions that say too much, or never end:
//! each is ended with all that it started, and told.

use crate::fixture::{Desk, Fifo, Served, ask, refusal, turn};
use crate::origin::{Origin, Reply};
use serde_json::json;

/// A program and a process that it started, neither of which ends by itself, as YAML.
const ENDLESS: &str = "[sh, -c, 'exec 9>held; sleep 1000 & wait']";

/// A server with these lines in its file, and a pipe that its programs hold open.
fn holding(lines: &str) -> (Served, Fifo) {
    let lines = lines.replace("ENDLESS", ENDLESS);
    let desk = Desk::with(&format!("server: {{ name: desk }}\n{lines}\n"));
    let held = desk.fifo("held");
    (desk.serve(), held)
}

#[tokio::test]
async fn a_program_behind_a_resource_ends_with_all_that_it_started() {
    let (server, held) = holding("resources: [{ uri: app://x, command: ENDLESS, timeout: 1s }]");
    let refused = refusal(&server, "resources/read", json!({"uri": "app://x"})).await;
    let expected = "Timed out: the resource took longer than 1s";
    assert_eq!(refused, (-31004, expected.to_owned()));
    held.text().await;
}

#[tokio::test]
async fn a_program_ends_when_nobody_waits_for_it_any_more() {
    let (server, held) = holding(
        "resources:
  - uri: app://x
    command: [sh, -c, 'exec 9>held; echo up > ready; sleep 1000 & wait']",
    );
    let ready = server.desk.fifo("ready");
    let begun = turn(&server, "resources/read", json!({"uri": "app://x"}));
    let mut later = begun.expect("it does not end by itself");
    tokio::select! {
        _ = &mut later => panic!("it does not end by itself"),
        text = ready.text() => assert_eq!(text, "up\n"),
    }
    drop(later);
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn a_program_behind_a_prompt_ends_with_all_that_it_started() {
    let (server, held) =
        holding("prompts: [{ name: p, messages: [{ command: ENDLESS, timeout: 1s }] }]");
    let refused = refusal(&server, "prompts/get", json!({"name": "p"})).await;
    assert_eq!(refused, (-31004, "Timed out: the message took longer than 1s".to_owned()));
    held.text().await;
}

#[tokio::test]
async fn a_program_behind_suggestions_ends_with_all_that_it_started() {
    let (server, held) = holding(
        "prompts:
  - name: p
    arguments: { a: { complete: { command: ENDLESS, timeout: 1s } } }
    text: '{{ a }}'",
    );
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""},
    });
    let refused = refusal(&server, "completion/complete", params).await;
    assert_eq!(refused, (-31004, "Timed out: the suggestion took longer than 1s".to_owned()));
    held.text().await;
}

#[tokio::test]
async fn a_program_that_prints_without_end_is_stopped() {
    let (server, held) = holding(
        "resources:
  - { uri: app://x, command: [sh, -c, 'exec 9>held; yes'], limit: 1KiB }",
    );
    let refused = refusal(&server, "resources/read", json!({"uri": "app://x"})).await;
    let expected = "`sh` was stopped: it printed more than 1024 bytes. Ask for less at once.";
    assert_eq!(refused, (-32603, expected.to_owned()));
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn a_server_that_answers_without_end_or_never_is_given_up() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/endless" => Reply::endless(),
        "/silent" => Reply::silent(),
        "/never" => Reply::never(),
        _ => Reply::text("12345678901"),
    })
    .await;
    let url = origin.url("");
    let server = Desk::with(&format!(
        "server: {{ name: desk }}
resources:
  - uri: app://{{a}}
    http: {{ get: '{url}/{{{{ a }}}}', allow_private: true }}
    limit: 10
  - uri: slow://{{a}}
    http: {{ get: '{url}/{{{{ a }}}}', allow_private: true }}
    timeout: 300ms
"
    ))
    .serve();
    for (uri, code, expected) in [
        ("app://endless", -32603, "than 10 bytes. Ask for less at once."),
        ("app://long", -32603, "than 10 bytes. Ask for less at once."),
        ("slow://silent", -31004, "Timed out: the resource took longer than 300ms"),
        ("slow://never", -31004, "Timed out: the resource took longer than 300ms"),
    ] {
        let refused = refusal(&server, "resources/read", json!({ "uri": uri })).await;
        assert_eq!((refused.0, refused.1.ends_with(expected)), (code, true), "{refused:?}");
    }
}

#[tokio::test]
async fn a_megabyte_is_one_argument_of_a_prompt_or_refused() {
    let desk = Desk::with(
        "server: { name: desk }
prompts:
  - name: stdin
    arguments: [a]
    messages: [{ command: [wc, -c], stdin: '{{ a }}' }]
  - name: argument
    arguments: [a]
    messages: [{ command: [printf, '%s', '{{ a }}'] }]
  - name: query
    arguments: [a]
    messages: [{ http: { get: 'http://127.0.0.1:1/', query: { a: '{{ a }}' } } }]
",
    );
    let server = desk.serve();
    let params = |name: &str| json!({"name": name, "arguments": {"a": "y".repeat(1_000_000)}});
    let got = ask(&server, "prompts/get", params("stdin")).await;
    let text = got["messages"][0]["content"]["text"].as_str().expect("a text");
    assert_eq!(text.trim(), "1000000");
    let (code, why) = refusal(&server, "prompts/get", params("argument")).await;
    let too_long = "`printf` cannot be started: its arguments are too long. Send shorter ones.";
    assert_eq!((code, &*why), (-32603, too_long));
    let (code, why) = refusal(&server, "prompts/get", params("query")).await;
    assert_eq!((code, why.contains("it is too long")), (-32602, true), "{why}");
}
