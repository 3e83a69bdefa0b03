//! Tools that keep state: what each does, that a file keeps it, and faults as they are drawn.

use crate::fixture::{
    Begun, Desk, begin, call, check_fault, check_fault_of_tool, failure, result_of,
};
use haft_server::Server;
use serde_json::{Value, json};

const TOOLS: &str = "tools:
  - name: remember
    input: { key: string, value: { description: Anything. } }
    state: { set: 'notes/{{ key }}', value: '{{ value }}' }
  - name: recall
    input: { key: string }
    state: { get: 'notes/{{ key }}' }
  - name: forget
    input: { key: string }
    state: { delete: 'notes/{{ key }}' }
  - name: count
    input: { key: string, 'by?': integer }
    state: { add: '{{ key }}', by: '{{ by or 1 }}', ttl: 1h }
  - name: all
    input: { 'prefix?': string }
    state: { keys: '{{ prefix }}' }
  - name: gone
    input: { key: string }
    state: { set: '{{ key }}', value: x, ttl: 1ms }
";

fn desk(state: &str) -> Desk {
    Desk::with(&format!("server: {{ name: desk }}\n{state}{TOOLS}"))
}

async fn told(server: &Server, tool: &str, arguments: Value) -> Value {
    let result = call(server, tool, arguments).await;
    assert_eq!(result.get("isError"), None, "{result}");
    result["structuredContent"].clone()
}

#[tokio::test]
async fn what_is_kept_is_found_with_its_type_until_it_is_deleted() {
    let served = desk("").serve();
    for value in [json!("text"), json!(7), json!([1, {"a": null}]), json!(true), json!("7")] {
        let kept = told(&served, "remember", json!({"key": "a", "value": value})).await;
        assert_eq!(kept, json!({"key": "notes/a"}));
        let found = told(&served, "recall", json!({"key": "a"})).await;
        assert_eq!(found, json!({"found": true, "value": value}));
    }
    assert_eq!(told(&served, "all", json!({})).await, json!({"keys": ["notes/a"], "more": false}));
    assert_eq!(told(&served, "forget", json!({"key": "a"})).await, json!({"deleted": true}));
    assert_eq!(told(&served, "forget", json!({"key": "a"})).await, json!({"deleted": false}));
    assert_eq!(told(&served, "recall", json!({"key": "a"})).await, json!({"found": false}));
}

#[tokio::test]
async fn numbers_are_added_to_and_nothing_else_is() {
    let served = desk("").serve();
    assert_eq!(told(&served, "count", json!({"key": "n"})).await, json!({"value": 1}));
    assert_eq!(told(&served, "count", json!({"key": "n", "by": 41})).await, json!({"value": 42}));
    told(&served, "remember", json!({"key": "t", "value": "text"})).await;
    let said = failure(&served, "count", json!({"key": "notes/t"})).await;
    assert!(said.contains("is no whole number that can be added to"), "{said}");
    let said = failure(&served, "recall", json!({"key": "k".repeat(2000)})).await;
    assert_eq!(said, "A key has from 1 to 1024 bytes.");
}

#[tokio::test]
async fn a_file_keeps_it_for_the_next_server_and_one_beside() {
    let desk = desk("state: { file: kept.state }\n");
    let first = desk.server();
    told(&first, "remember", json!({"key": "a", "value": 1})).await;
    // A reload has two servers of one file for a moment.
    let beside = desk.server();
    assert_eq!(told(&beside, "recall", json!({"key": "a"})).await["value"], 1);
    drop((first, beside));
    let next = desk.server();
    assert_eq!(told(&next, "recall", json!({"key": "a"})).await["value"], 1);
    assert!(desk.file("kept.state").is_file());
}

#[test]
fn a_file_that_is_only_checked_is_not_made() {
    let desk = desk("state: { file: kept.state }\n");
    assert_eq!(desk.manifest().verify().map_err(|fault| fault.to_string()), Ok(()));
    assert!(!desk.file("kept.state").exists());
}

#[tokio::test]
async fn what_reads_says_so_and_may_be_cached() {
    let desk = Desk::with_tools(
        "  - { name: recall, state: { get: a }, cache: { ttl: 1m } }
  - { name: count, state: { add: a } }
",
    );
    let server = desk.server();
    let listed = crate::fixture::ask(&server, "tools/list", json!({})).await;
    let hints = |index: usize| listed["tools"][index]["annotations"].clone();
    assert_eq!(hints(0), json!({"readOnlyHint": true, "openWorldHint": false}));
    assert_eq!(hints(1)["idempotentHint"], false);
    assert_eq!(told(&server, "recall", json!({})).await, json!({"found": false}));
    told(&server, "count", json!({})).await;
    assert_eq!(told(&server, "recall", json!({})).await, json!({"found": false}));
}

#[tokio::test]
async fn a_cache_of_all_tools_is_not_around_those_with_state() {
    let desk = Desk::with(
        "server: { name: desk }
defaults: { cache: { ttl: 1h } }
tools:
  - { name: set, input: { v: integer }, state: { set: k, value: '{{ v }}' } }
  - { name: get, state: { get: k } }
",
    );
    let server = desk.server();
    for value in [1, 2, 1] {
        told(&server, "set", json!({"v": value})).await;
        assert_eq!(told(&server, "get", json!({})).await["value"], value);
    }
}

#[test]
fn a_tool_does_one_thing_with_its_state() {
    check_fault_of_tool(
        "state: {}",
        &[
            "haft.yaml:4:12: this does nothing with the state",
            "4 |     state: {}",
            "  |            ^",
            "  = help: say one of `get`, `set`, `add`, `delete` and `keys`, with a key",
        ],
    );
    check_fault_of_tool(
        "state: { get: a, delete: b }",
        &[
            "haft.yaml:4:30: `delete` and `get` exclude each other",
            "4 |     state: { get: a, delete: b }",
            "  |                              ^",
            "  = help: keep one of them",
        ],
    );
    check_fault_of_tool(
        "state: { get: a, ttl: 1h }",
        &[
            "haft.yaml:4:27: `ttl` belongs to `state` with `set`",
            "4 |     state: { get: a, ttl: 1h }",
            "  |                           ^^",
        ],
    );
    check_fault_of_tool(
        "state: { set: a }",
        &[
            "haft.yaml:4:12: `state` with `set` needs `value`",
            "4 |     state: { set: a }",
            "  |            ^",
        ],
    );
}

#[test]
fn a_state_that_cannot_be_opened_is_a_fault_at_its_file() {
    check_fault(
        "server: { name: a }\nstate: { file: no/such/place }\n\
         tools: [{ name: t, state: { get: a } }]",
        &[
            "haft.yaml:2:16: no/such/place cannot be used: No such file or directory (os error 2)",
            "2 | state: { file: no/such/place }",
            "  |                ^^^^^^^^^^^^^",
        ],
    );
}

#[test]
fn what_is_in_a_file_is_read_elsewhere_and_what_is_in_memory_at_once() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().expect("there are threads");
    runtime.block_on(async {
        let (key, memory) = (json!({"key": "a"}), desk("").serve());
        let file = desk("state: { file: kept }\n").serve();
        told(&file, "remember", json!({"key": "a", "value": [1, "b"]})).await;
        // There is no other thread to read on until this is dropped.
        let (release, held) = std::sync::mpsc::sync_channel::<()>(1);
        let busy = tokio::task::spawn_blocking(move || held.recv().is_err());
        let Begun::Done(found) = begin(&memory, "recall", &key) else { panic!("it waits") };
        assert_eq!(found["structuredContent"], json!({"found": false}));
        let Begun::Later(later) = begin(&file, "recall", &key) else { panic!("it reads at once") };
        drop(release);
        assert!(busy.await.expect("no panic"));
        let found = result_of(&later.await.message);
        assert_eq!(found["structuredContent"], json!({"found": true, "value": [1, "b"]}));
        let found = told(&file, "recall", json!({"key": "b"})).await;
        assert_eq!(found, json!({"found": false}));
    });
}
