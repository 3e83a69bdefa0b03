//! Files that are read again while they are served: what counts as an edit, what outlives one, and
//! what clients are told may change.

use crate::fixture::{Begun, Desk, ask, begin, call, result_of, text};
use haft_manifest::{Edit, Live, Reading};
use serde_json::{Value, json};

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
    assert_eq!(offered(ONE, Reading::Never).await, json!([never, contents]));
    assert_eq!(offered(ALL, Reading::Never).await, json!([never, both]));
}
