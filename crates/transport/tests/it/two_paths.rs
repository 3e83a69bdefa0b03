//! HTTP as 2024-11-05 had it: a stream says where to POST, and everything comes on the stream.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::pipe_client::{DEADLINE, initialize};
use crate::raw_client::{Answer, EventReader, RawClient, modern_body, post};
use haft_proto::limits::Limits;
use haft_transport::http::{Options, TwoPaths};
use haft_transport::stop::Stop;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

fn options() -> Options {
    Options { two_paths: Some(TwoPaths::default()), ..Options::default() }
}

async fn start(limits: Limits) -> Fixture {
    Fixture::with(limits, options()).await
}

const GET: &[u8] = b"GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";

/// A client of that time.
struct Old {
    stream: EventReader,
    poster: RawClient,
    messages: String,
}

impl Old {
    async fn connect(fixture: &Fixture) -> Self {
        let mut stream = RawClient::connect(fixture.address).await.open(GET).await;
        assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
        let first = stream.next().await;
        assert_eq!(first.name.as_deref(), Some("endpoint"));
        let messages = first.data.expect("a path");
        assert!(messages.starts_with("messages?sessionId="), "{messages}");
        // Seen from `/sse`.
        let messages = format!("/{messages}");
        Self { stream, poster: RawClient::connect(fixture.address).await, messages }
    }

    async fn initialize(&mut self, version: &str) {
        let hello = self.ask(&initialize(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn post(&mut self, body: &str) -> Answer {
        let request = String::from_utf8(post(&[], body)).expect("ASCII");
        let request = request.replacen("/mcp", &self.messages, 1);
        self.poster.ask(request.as_bytes()).await
    }

    async fn send(&mut self, body: &str) {
        let answer = self.post(body).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    }

    async fn read(&mut self) -> Value {
        let event = self.stream.next().await;
        assert_eq!((event.name.as_deref(), &event.id), (Some("message"), &None));
        event.json()
    }

    async fn ask(&mut self, body: &str) -> Value {
        self.send(body).await;
        self.read().await
    }
}

fn call(id: u64, tool: &str) -> String {
    let params = json!({"name": tool, "_meta": {"progressToken": "t"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[tokio::test]
async fn everything_that_is_said_comes_on_the_stream() {
    let fixture = start(Limits::default()).await;
    let mut client = Old::connect(&fixture).await;
    client.initialize("2024-11-05").await;
    let answer = client.ask(&call(1, "hello")).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
    client.send(&call(2, "say")).await;
    for step in 1..=3 {
        assert_eq!(client.read().await["params"]["progress"], json!(f64::from(step)));
    }
    assert_eq!(client.read().await["id"], 2);
    let question = client.ask(&call(3, "roots")).await;
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    let answer = client.ask(&roots.to_string()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "0 roots");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 4}});
    client.send(&call(4, "wait")).await;
    fixture.gate.began.notified().await;
    client.send(&cancel.to_string()).await;
    fixture.gate.ended.notified().await;
    assert_eq!(client.ask(&call(5, "hello")).await["id"], 5);
}

#[tokio::test]
async fn who_speaks_a_later_revision_gets_what_it_has() {
    let fixture = start(Limits::default()).await;
    let mut client = Old::connect(&fixture).await;
    client.initialize("2025-03-26").await;
    let batch = format!("[{},{}]", call(1, "hello"), call(2, "say"));
    client.send(&batch).await;
    for _ in 0..3 {
        assert_eq!(client.read().await["method"], "notifications/progress");
    }
    let answers = client.read().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");

    let mut client = Old::connect(&fixture).await;
    client.initialize("2025-06-18").await;
    assert_eq!(client.post(&batch).await.status, 400);
    let modern = client.post(&modern_body("tools/list", &json!({}))).await;
    assert_eq!((modern.status, &modern.json()["error"]["code"]), (400, &json!(-32600)));
}

#[tokio::test]
async fn changes_are_told_on_the_same_stream() {
    let changes = Changes::default();
    let fixture = Fixture::hooked_with(Limits::default(), changes.clone(), options()).await;
    let mut client = Old::connect(&fixture).await;
    client.initialize("2024-11-05").await;
    changes.rise(7);
    assert_eq!(client.read().await["params"]["number"], 7);
    drop(client);
    timeout(DEADLINE, changes.are_open(0)).await.expect("it is given up");
}

#[tokio::test]
async fn a_conversation_ends_with_its_stream() {
    let fixture = start(Limits::default()).await;
    let mut client = Old::connect(&fixture).await;
    client.initialize("2024-11-05").await;
    client.send(&call(1, "wait")).await;
    fixture.gate.began.notified().await;
    let Old { stream, poster, messages } = client;
    drop(stream);
    timeout(DEADLINE, fixture.gate.ended.notified()).await.expect("its calls end");
    assert_eq!(fixture.gate.cancelled(), 1);
    let stream = RawClient::connect(fixture.address).await.open(GET).await;
    let mut late = Old { stream, poster, messages };
    assert_eq!(late.post(&call(2, "hello")).await.status, 404);
}

#[tokio::test]
async fn nobody_is_served_who_should_not_be() {
    let plain = Fixture::start().await;
    let mut client = RawClient::connect(plain.address).await;
    assert_eq!(client.ask(GET).await.status, 404, "it has to be asked for");

    let limits = Limits { sessions: 1, ..Limits::default() };
    let fixture = start(limits).await;
    let mut client = RawClient::connect(fixture.address).await;
    let get = |more: &str| {
        let accept = "accept: text/event-stream\r\n";
        format!(
            "GET /sse HTTP/1.1\r\n{}{more}\r\n",
            if more.contains("accept") { "" } else { accept }
        )
    };
    for (status, request) in [
        (403, get("host: evil.example\r\n")),
        (403, get("host: localhost\r\norigin: https://evil.example\r\n")),
        (406, get("host: localhost\r\naccept: application/json\r\n")),
        (405, get("host: localhost\r\n").replace("/sse", "/messages")),
        (405, String::from_utf8(post(&[], "")).expect("ASCII").replace("/mcp", "/sse")),
        (404, String::from_utf8(post(&[], "{}")).expect("ASCII").replace("/mcp", "/messages")),
    ] {
        let refused = client.ask(request.as_bytes()).await;
        assert_eq!(refused.status, status, "{request}: {refused:?}");
        assert!(refused.json()["error"]["message"].is_string());
    }
    let mut first = Old::connect(&fixture).await;
    let refused = client.ask(GET).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(first.post("{").await.status, 400);
    let form = first.messages.clone();
    let form = String::from_utf8(post(&[("content-type", "text/plain")], "{}"))
        .expect("ASCII")
        .replace("/mcp", &form);
    assert_eq!(client.ask(form.as_bytes()).await.status, 415);
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answers_is_told_to_wait() {
    let limits = Limits { output_bytes: 1 << 20, ..Limits::default() };
    let fixture = start(limits).await;
    let mut client = Old::connect(&fixture).await;
    client.initialize("2024-11-05").await;
    let refused = async {
        loop {
            let answer = client.post(&call(1, "large")).await;
            if answer.status != 202 {
                return answer;
            }
        }
    };
    let refused = timeout(DEADLINE, refused).await.expect("there is a bound");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    // What is no request gets through.
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await;
}

#[tokio::test]
async fn a_stop_lets_calls_finish_and_ends_the_stream() {
    let limits = Limits { shutdown_grace: Duration::from_secs(60), ..Limits::default() };
    let fixture = start(limits).await;
    let mut client = Old::connect(&fixture).await;
    let idle = Old::connect(&fixture).await;
    client.initialize("2024-11-05").await;
    client.send(&call(1, "wait")).await;
    let gate = std::sync::Arc::clone(&fixture.gate);
    gate.began.notified().await;
    let ended = async {
        assert_eq!(idle.stream.end().await, [], "it has nothing to wait for");
        gate.open.notify_one();
        assert_eq!(client.read().await["result"]["content"][0]["text"], "waited");
        assert_eq!(client.stream.end().await, []);
    };
    let stopped = fixture.stop(Stop::Gracefully);
    timeout(DEADLINE, async { tokio::join!(stopped, ended) }).await.expect("before the grace");
}
