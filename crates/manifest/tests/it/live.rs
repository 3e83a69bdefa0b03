//! Files that are read again while they are served: what counts as an edit, what outlives one, and
//! what clients are told may change.

use crate::fixture::{Begun, Desk, ask, begin, call, result_of, text};
use crate::origin::{Origin, Reply};
use haft_manifest::{Edit, Live, Reading};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A tool of each kind that is made of more than its own lines.
const FILE: &str = "server: { name: desk }
defaults: { timeout: 5s }
upstreams:
  api:
    openapi: api.yaml
    base_url: https://api.example.com
    auth: { bearer: '${file:key}' }
tools:
  - { name: say, input: { word: string }, text: 'old {{ word }}' }
";

const DOCUMENT: &str = "openapi: 3.0.3
info: { title: t, version: '1' }
paths: { /a: { get: { operationId: ask, summary: Ask } } }
";

fn desk(yaml: &str) -> Desk {
    let desk = Desk::with(yaml);
    desk.write("api.yaml", DOCUMENT);
    desk.write("key", "secret");
    desk
}

fn live(desk: &Desk, reading: Reading) -> Live {
    Live::new(&desk.file("haft.yaml"), reading, false).unwrap_or_else(|fault| panic!("{fault}"))
}

fn reload(live: &Live) -> Edit {
    live.reload().unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn whatever_a_tool_is_made_of_is_a_part_of_it() {
    let desk = desk(FILE);
    let live = live(&desk, Reading::Edits);
    let check = |what: &str, expected: &str| {
        let edit = reload(&live);
        assert_eq!(edit.tools.to_string(), expected, "{what}");
        assert!(reload(&live).is_empty(), "{what}");
    };
    let edits = [
        ("a comment", FILE.replace("tools:", "# Many.\ntools:"), ""),
        ("defaults", FILE.replace("5s", "6s"), "~ say, api_ask"),
        ("an upstream", FILE.replace("5s", "6s").replace(".com", ".org"), "~ api_ask"),
        (
            "a prefix",
            FILE.replace("    auth", "    prefix: a_\n    auth"),
            "+ a_ask; ~ say; - api_ask",
        ),
    ];
    for (what, yaml, expected) in edits {
        desk.write("haft.yaml", yaml);
        check(what, expected);
    }
    desk.write("key", "another");
    check("a key", "~ a_ask");
    desk.write("api.yaml", DOCUMENT.replace("/a", "/b"));
    check("a document", "~ a_ask");
}

const KEEPS: &str = "server: { name: desk }
state: { max_size: 1MiB }
tools:
  - { name: put, input: { value: string }, state: { set: k, value: '{{ value }}' } }
  - { name: take, state: { get: k } }
";

#[tokio::test]
async fn state_outlives_every_edit() {
    let desk = desk(KEEPS);
    let live = live(&desk, Reading::Edits);
    call(live.server(), "put", json!({"value": "v"})).await;
    let kept = json!({"found": true, "value": "v"});
    let found = async || call(live.server(), "take", json!({})).await["structuredContent"].clone();
    for yaml in [KEEPS.replace("desk", "table"), KEEPS.replace("1MiB", "2MiB")] {
        desk.write("haft.yaml", &yaml);
        assert_eq!(reload(&live).state, yaml.contains("2MiB"));
        assert_eq!(found().await, kept);
    }
    // Nobody keeps any, and then somebody does again.
    desk.write("haft.yaml", FILE);
    assert!(!reload(&live).is_empty());
    desk.write("haft.yaml", KEEPS);
    reload(&live);
    assert_eq!(found().await, kept);
}

#[test]
fn what_is_said_of_state_is_compared_with_the_state_that_there_is() {
    let desk = desk(KEEPS);
    let live = live(&desk, Reading::Edits);
    let edit = |yaml: &str| {
        desk.write("haft.yaml", yaml);
        reload(&live)
    };
    let other = KEEPS.replace("1MiB", "2MiB");
    assert!(edit(&other).state);
    assert!(edit(&other.replace("desk", "table")).state, "it still is elsewhere");
    assert!(edit(&other.replace("desk", "table")).is_empty());
    let back = edit(&KEEPS.replace("desk", "table"));
    assert!(!back.state && !back.is_empty());
}

#[test]
fn a_file_that_cannot_be_used_makes_no_file_for_state() {
    let desk = desk(FILE);
    let live = live(&desk, Reading::Edits);
    let keeps = KEEPS.replace("max_size: 1MiB", "file: kept");
    // The server refuses it, not the reading.
    let bad = format!("{keeps}  - {{ name: bad, text: x, input_schema: {{ type: 7 }} }}\n");
    desk.write("haft.yaml", &bad);
    live.reload().expect_err("that is no schema");
    Live::new(&desk.file("haft.yaml"), Reading::Edits, false)
        .map(drop)
        .expect_err("nor is it here");
    assert!(!desk.file("kept").exists());
    desk.write("haft.yaml", &keeps);
    reload(&live);
    assert!(desk.file("kept").exists());
}

const CALLS: &str = "server: { name: desk }
tools:
  - { name: say, text: old }
  - name: count
    annotations: { readOnly: true }
    cache: { ttl: 1h }
    command: [sh, -c, 'echo x >> ran; wc -l < ran']
  - name: both
    annotations: { readOnly: true }
    cache: { ttl: 1h }
    pipeline: [{ call: count }, { call: say }]
  - { name: wait, concurrency: 1, command: [cat, gate] }
";

#[tokio::test]
async fn what_is_known_of_calls_outlives_edits_of_other_tools() {
    let desk = desk(CALLS);
    let live = live(&desk, Reading::Edits);
    let say = async |tool: &str| text(live.server(), tool, json!({})).await.trim().to_owned();
    assert_eq!((say("count").await, say("both").await), ("1".to_owned(), "old".to_owned()));
    let other = CALLS.replace("text: old", "text: new");
    desk.write("haft.yaml", &other);
    assert_eq!(reload(&live).tools.to_string(), "~ say");
    assert_eq!(say("count").await, "1", "it is the same tool");
    assert_eq!(say("both").await, "new", "it calls another tool");
    desk.write("haft.yaml", other.replace("echo x", "echo y"));
    assert_eq!(reload(&live).tools.to_string(), "~ count");
    assert_eq!(say("count").await, "2", "it is another tool");
}

#[tokio::test]
async fn calls_that_run_count_after_an_edit() {
    let desk = desk(CALLS);
    let gate = desk.gate("gate");
    let live = live(&desk, Reading::Edits);
    let mut calls = Vec::new();
    for _ in 0..=haft_manifest::limits::WAITING_MAX {
        let Begun::Later(mut call) = begin(live.server(), "wait", &json!({})) else {
            panic!("it waits at the gate")
        };
        // It begins when it is polled.
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
        calls.push(call);
    }
    desk.write("haft.yaml", CALLS.replace("[cat, gate]", "[cat, ./gate]"));
    assert_eq!(reload(&live).tools.to_string(), "~ wait");
    let busy = call(live.server(), "wait", json!({})).await;
    assert!(busy["content"][0]["text"].to_string().contains("is busy"), "{busy}");
    let first = calls.swap_remove(0);
    drop(calls);
    gate.open();
    assert_eq!(result_of(&first.await.message)["content"][0]["text"], "go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_the_web_is_not_asked_for_at_each_edit() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let origin = Origin::serve(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::json(format!("{{\"openapi\": \"3.0.3\", {JSON}")),
        _ => Reply::status(503),
    })
    .await;
    let yaml = format!(
        "server: {{ name: d }}\nupstreams:\n  api: {{ openapi: '{}', allow_private: true }}\n\
         tools:\n  - {{ name: say, text: old }}\n",
        origin.url("/api.json")
    );
    let desk = desk(&yaml);
    let live = live(&desk, Reading::Edits);
    for word in ["new", "newer"] {
        desk.write("haft.yaml", yaml.replace("old", word));
        assert_eq!(reload(&live).tools.to_string(), "~ say");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    // Who is told to read it again does.
    let told = self::live(&desk, Reading::Orders);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    told.reload().expect_err("nobody has it any more");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

const JSON: &str = r#""info": {"title": "t", "version": "1"}, "servers": [{"url": "/"}],
"paths": {"/a": {"get": {"operationId": "ask", "summary": "Ask"}}}}"#;

#[tokio::test]
async fn a_pipeline_ends_with_the_tools_that_it_began_with() {
    let yaml = "server: { name: desk }
tools:
  - { name: wait, command: [cat, gate] }
  - { name: say, text: old }
  - name: both
    pipeline:
      - { call: wait }
      - { call: say }
";
    let desk = Desk::with(yaml);
    let gate = desk.gate("gate");
    let live = live(&desk, Reading::Edits);
    let Begun::Later(mut running) = begin(live.server(), "both", &json!({})) else {
        panic!("it waits at the gate")
    };
    // It begins when it is polled.
    let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(running.as_mut().poll(cx)));
    assert!(polled.await.is_pending());
    desk.write("haft.yaml", "server: { name: desk }\ntools:\n  - { name: other, text: new }\n");
    assert_eq!(reload(&live).tools.to_string(), "+ other; - wait, say, both");
    gate.open();
    let result = result_of(&running.await.message);
    assert_eq!(result["content"][0]["text"], "old", "{result}");
    assert_eq!(text(live.server(), "other", json!({})).await, "new");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_leaves_all_as_it_was() {
    let desk = desk(FILE);
    let live = live(&desk, Reading::Orders);
    desk.write("haft.yaml", FILE.replace("old {{ word }}", "new {{ wrd }}"));
    live.reload().expect_err("there is no such argument");
    desk.write("haft.yaml", FILE);
    desk.write("api.yaml", "{");
    live.reload().expect_err("that is no document");
    assert_eq!(text(live.server(), "say", json!({"word": "x"})).await, "old x");
}

const TEXT: &str = "resources:\n  - { uri: 'a:1', text: One }\n";
const FEED: &str = "resources:\n  - { uri: 'a:1', command: [ls] }\n";
const ONE: &str = "resources:\n  - { uri: 'a:1', file: key }\n";
const ALL: &str = "resources:\n  - { uri: 'a:{+path}', directory: ., list: true }\n";

async fn offered(resources: &str, reading: Reading) -> Value {
    let desk = desk(&format!("{FILE}{resources}"));
    let live = live(&desk, reading);
    let hello = ask(live.server(), "server/discover", json!({})).await;
    let part = |name: &str| hello["capabilities"][name].clone();
    json!([part("tools"), part("resources")])
}

#[tokio::test]
async fn clients_are_told_of_what_may_change_and_of_nothing_else() {
    let (changes, never) = (json!({"listChanged": true}), json!({}));
    let both = json!({"listChanged": true, "subscribe": true});
    let contents = json!({"subscribe": true});
    assert_eq!(offered("", Reading::Edits).await, json!([changes, both]));
    assert_eq!(offered("", Reading::Orders).await, json!([changes, null]));
    assert_eq!(offered(TEXT, Reading::Orders).await, json!([changes, both]));
    assert_eq!(offered(TEXT, Reading::Never).await, json!([never, never]));
    assert_eq!(offered(FEED, Reading::Never).await, json!([never, never]));
    assert_eq!(offered(ONE, Reading::Never).await, json!([never, contents]));
    assert_eq!(offered(ALL, Reading::Never).await, json!([never, both]));
}
