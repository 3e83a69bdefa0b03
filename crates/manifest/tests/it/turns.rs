//! How many calls of a tool run at once, who comes next, and who is sent away.

use crate::fixture::{Begun, Desk, begin, result_of};
use haft_manifest::limits::WAITING_MAX;
use haft_server::Server;
use serde_json::{Value, json};

/// A tool that tells the pipe of its argument when it is up, and ends when the gate of its argument
/// is opened.
fn gated(concurrency: usize) -> (Desk, Server) {
    let desk = Desk::with_tools(&format!(
        "  - name: run
    input: {{ x: string }}
    command: [sh, -c, 'echo up > \"$1\"; read go < \"gate-$1\"; echo \"$1\"', --, '{{{{ x }}}}']
    concurrency: {concurrency}
    timeout: 1h
"
    ));
    let server = desk.server();
    (desk, server)
}

fn called(server: &Server, x: &str) -> haft_proto::service::Later {
    match begin(server, "run", &json!({"x": x})) {
        Begun::Later(later) => later,
        Begun::Done(result) => panic!("it is answered already: {result}"),
    }
}

fn text_of(message: &[u8]) -> Value {
    result_of(message)["content"][0]["text"].clone()
}

#[tokio::test]
async fn calls_wait_for_their_turn_in_order() {
    let (desk, server) = gated(1);
    let mut calls = Vec::new();
    for x in ["a", "b", "c"] {
        let (started, gate) = (desk.fifo(x), desk.gate(&format!("gate-{x}")));
        calls.push((x, started, gate, tokio::spawn(called(&server, x))));
        // A task that is spawned is polled before the next one, so that they come in this order.
        tokio::task::yield_now().await;
    }
    let mut calls = calls.into_iter().peekable();
    while let Some((x, started, gate, call)) = calls.next() {
        assert_eq!(started.text().await, "up\n");
        if let Some((next, started, ..)) = calls.peek() {
            assert!(!started.has_text(), "{next} waits for {x}");
        }
        gate.open();
        let reply = call.await.expect("no call panics");
        assert_eq!(text_of(&reply.message), x);
    }
}

#[tokio::test]
async fn as_many_as_allowed_run_at_once() {
    let (desk, server) = gated(3);
    let names = ["a", "b", "c"];
    let gates = names.map(|x| desk.gate(&format!("gate-{x}")));
    let started = names.map(|x| desk.fifo(x));
    let calls = names.map(|x| tokio::spawn(called(&server, x)));
    // None ends before the gate opens, so all three run.
    for started in started {
        assert_eq!(started.text().await, "up\n");
    }
    for ((x, gate), call) in names.into_iter().zip(gates).zip(calls) {
        gate.open();
        assert_eq!(text_of(&call.await.expect("no call panics").message), x);
    }
}

#[tokio::test]
async fn the_queue_has_an_end() {
    let (_desk, server) = gated(2);
    let mut waiting: Vec<_> = (0..2 + WAITING_MAX).map(|_| called(&server, "x")).collect();
    let Begun::Done(result) = begin(&server, "run", &json!({"x": "late"})) else {
        panic!("there is no room")
    };
    assert_eq!(result["isError"], true);
    let text = "The tool `run` is busy: 2 calls run and 64 wait already. Call it again later.";
    assert_eq!(result["content"][0]["text"], text);
    // Whoever gives up makes room.
    waiting.pop();
    assert!(matches!(begin(&server, "run", &json!({"x": "late"})), Begun::Later(_)));
}

#[tokio::test]
async fn a_call_that_ends_makes_room() {
    let desk = Desk::with_tools("  - { name: run, command: [echo, done], concurrency: 1 }\n");
    let server = desk.server();
    for _ in 0..3 {
        let calls: Vec<_> = (0..=WAITING_MAX)
            .map(|_| match begin(&server, "run", &json!({})) {
                Begun::Later(later) => tokio::spawn(later),
                Begun::Done(result) => panic!("there is room: {result}"),
            })
            .collect();
        for call in calls {
            let reply = call.await.expect("no call panics");
            assert_eq!(text_of(&reply.message), "done");
        }
    }
}
