//! Conversations over WebSocket: both eras, what is said before answers, questions, cancelling,
//! subscriptions, and the end.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::pipe_client::{DEADLINE, PipeClient};
use crate::raw_client::modern_body;
use crate::web_socket_client::WebSocket;
use haft_proto::limits::Limits;
use haft_transport::http::{Options, Threads};
use haft_transport::stop::Stop;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::time::timeout;

fn call(id: u64, tool: &str) -> String {
    let params = json!({"name": tool, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn modern_call(id: u64, tool: &str) -> String {
    let params = json!({"name": tool, "_meta": {"progressToken": id}});
    with_id(id, &modern_body("tools/call", &params))
}

fn with_id(id: u64, message: &str) -> String {
    let mut message: Value = serde_json::from_str(message).expect("a message");
    message["id"] = json!(id);
    message.to_string()
}

fn cancel(id: u64) -> String {
    let params = json!({"requestId": id});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn all_is_said_as_over_pipes_in_both_eras() {
    let fixture = Fixture::start().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let (mut socket, mut pipe) =
            (WebSocket::connect(fixture.address).await, PipeClient::start());
        let is_modern = version == "2026-07-28";
        if !is_modern {
            socket.initialize(version).await;
            pipe.initialize(version).await;
        }
        let call = if is_modern { modern_call } else { call };
        let bad = [r#"{"jsonrpc":"2.0"}"#, "no JSON", "[]", r#"{"jsonrpc":"2.0","id":1}"#];
        let tools = ["hello", "echo", "progress", "say", "far", "panic", "endless", "nobody"];
        let calls = tools.iter().zip(1..).map(|(tool, id)| call(id, tool));
        let lists = ["tools/list", "ping", "what/is"].map(|method| match is_modern {
            true => modern_body(method, &json!({})),
            false => json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string(),
        });
        for message in calls.chain(lists).chain(bad.map(str::to_owned)) {
            socket.send(&message).await;
            pipe.send(&message).await;
            loop {
                let (heard, expected) = (socket.read().await, pipe.read().await);
                assert_eq!(heard, expected, "{version}: {message}");
                if heard.get("method").is_none() {
                    break;
                }
            }
        }
        socket.close().await;
    }
}

#[tokio::test]
async fn a_question_is_answered_on_the_same_socket() {
    let fixture = Fixture::start().await;
    let mut client = WebSocket::connect(fixture.address).await;
    client.initialize("2025-11-25").await;
    let first = client.ask(&call(1, "ask")).await;
    let second = client.ask(&call(2, "ask")).await;
    assert_eq!(first["method"], "elicitation/create");
    for (question, id, name) in [(&second, 2, "Bob"), (&first, 1, "Ada")] {
        let result = json!({"action": "accept", "content": {"name": name}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        let answer = client.ask(&answer.to_string()).await;
        assert_eq!((&answer["id"], text(&answer)), (&json!(id), name));
    }
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered_and_so_is_one_whose_client_goes() {
    let fixture = Fixture::start().await;
    let mut client = WebSocket::connect(fixture.address).await;
    for (id, call) in [(1, call as fn(u64, &str) -> String), (2, modern_call)] {
        if id == 1 {
            client.initialize("2025-06-18").await;
        }
        client.send(&call(id, "wait")).await;
        fixture.gate.began.notified().await;
        client.send(&cancel(id)).await;
        fixture.gate.ended.notified().await;
        assert_eq!(text(&client.ask(&modern_call(3, "hello")).await), "hello");
    }
    client.send(&modern_call(4, "wait")).await;
    fixture.gate.began.notified().await;
    client.close().await;
    timeout(DEADLINE, fixture.gate.ended.notified()).await.expect("it is cancelled");
    let mut client = WebSocket::connect(fixture.address).await;
    client.send(&modern_call(5, "wait")).await;
    fixture.gate.began.notified().await;
    drop(client);
    timeout(DEADLINE, fixture.gate.ended.notified()).await.expect("it is cancelled");
    assert_eq!(fixture.gate.cancelled(), 4);
}

#[tokio::test]
async fn changes_are_told_until_the_subscription_is_cancelled() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut client = WebSocket::connect(fixture.address).await;
    let listen = modern_body("subscriptions/listen", &json!({"notifications": {}}));
    let told = client.ask(&listen).await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    changes.rise(3);
    assert_eq!(client.read().await["params"]["number"], 3);
    client.send(&cancel(1)).await;
    timeout(DEADLINE, changes.are_open(0)).await.expect("the feed is dropped");
    assert_eq!(text(&client.ask(&modern_call(2, "hello")).await), "hello");
}

#[tokio::test]
async fn many_messages_of_one_write_are_answered_each_and_batches_together() {
    let fixture = Fixture::start().await;
    let mut client = WebSocket::connect(fixture.address).await;
    client.send_all(&(0..1000).map(|id| modern_call(id, "hello")).collect::<Vec<_>>()).await;
    for id in 0..1000 {
        assert_eq!(client.read().await["id"], id);
    }
    client.initialize("2025-03-26").await;
    let answers = client.ask(&format!("[{},{}]", call(1, "hello"), call(2, "progress"))).await;
    // What is said before comes alone.
    let mut answers = answers;
    while answers.get("method").is_some() {
        answers = client.read().await;
    }
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    let long = client.ask(&call(3, "large")).await;
    assert_eq!(text(&long).len(), 16 * 1024 * 1024);
}

#[tokio::test]
async fn a_graceful_stop_answers_what_is_in_flight_and_closes_with_1001() {
    for threads in [
        Threads::Shared,
        Threads::Own {
            count: NonZeroUsize::new(2).expect("not 0"),
            is_pinned: false,
            is_accepting: false,
        },
    ] {
        let options = Options { threads, ..Options::default() };
        let limits = Limits { shutdown_grace: Duration::from_secs(60), ..Limits::default() };
        let fixture = Fixture::with(limits, options.clone()).await;
        let mut client = WebSocket::connect(fixture.address).await;
        let idle = WebSocket::connect(fixture.address).await;
        client.send(&modern_call(1, "wait")).await;
        fixture.gate.began.notified().await;
        let gate = std::sync::Arc::clone(&fixture.gate);
        let ended = async {
            assert_eq!(idle.closing().await.0, 1001, "nobody waits for it");
            gate.open.notify_one();
            assert_eq!(text(&client.read().await), "waited");
            assert_eq!(client.closing().await, (1001, "The server is stopping".to_owned()));
        };
        let stopped = fixture.stop(Stop::Gracefully);
        timeout(DEADLINE, async { tokio::join!(stopped, ended) }).await.expect("before the grace");

        let limits = Limits { shutdown_grace: Duration::from_millis(20), ..Limits::default() };
        let fixture = Fixture::with(limits, options).await;
        let mut client = WebSocket::connect(fixture.address).await;
        client.send(&modern_call(1, "wait")).await;
        fixture.gate.began.notified().await;
        let ended = async {
            let refused = client.read().await;
            assert_eq!(refused["error"]["message"], "Cancelled: the server is stopping");
            assert_eq!(client.closing().await.0, 1001);
        };
        tokio::join!(fixture.stop(Stop::Gracefully), ended);
    }
}
