//! Questions to a legacy client while its call runs: asked on the call's own way back, answered by
//! whoever was asked and nobody else, and forgotten when nobody waits any more.

use crate::fixture::Fixture;
use crate::hook::{reply, tool_of};
use crate::pipe_client::PipeClient;
use crate::raw_client::{RawClient, modern, modern_body, post};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Turn, Unanswered};
use haft_transport::http::Options;
use serde_json::{Value, json};

fn call(id: u64, tool: &str) -> String {
    let params = json!({"name": tool});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// What a person who is called Ada answers to a question.
fn ada(question: &Value) -> String {
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn assert_is_question(message: &Value) {
    assert_eq!(message["method"], "elicitation/create", "{message}");
    assert_eq!(message["params"]["message"], "Who are you?");
    let id = message["id"].as_str().expect("a string");
    assert!(id.starts_with("haft-"), "{id}");
}

#[tokio::test]
async fn over_pipes_an_answer_finds_the_call_that_asked() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = PipeClient::start();
        client.initialize(version).await;
        let first = client.ask(&call(1, "ask")).await;
        let second = client.ask(&call(2, "ask")).await;
        assert_is_question(&first);
        assert_is_question(&second);
        assert_ne!(first["id"], second["id"]);
        let bob = ada(&second).replace("Ada", "Bob");
        let answer = client.ask(&bob).await;
        assert_eq!((&answer["id"], text(&answer)), (&json!(2), "Bob"));
        // Answers to nothing that is asked: late, unknown, not even an id of ours.
        for stray in [&bob, &bob.replace("haft-", "haft-0"), &bob.replace("haft-2", "7")] {
            client.send(stray).await;
        }
        let answer = client.ask(&ada(&first)).await;
        assert_eq!((&answer["id"], text(&answer)), (&json!(1), "Ada"));
    }
    let mut client = PipeClient::start();
    client.initialize("2024-11-05").await;
    let question = client.ask(&call(1, "roots")).await;
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": roots});
    assert_eq!(text(&client.ask(&answer.to_string()).await), "2 roots");
}

/// What a person says who is asked to visit an address.
fn visit(question: &Value, action: &str) -> String {
    assert_eq!(question["params"]["url"], "https://x.example/", "{question}");
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}}).to_string()
}

fn assert_is_end(message: &Value, question: &Value) {
    assert_eq!(message["method"], "notifications/elicitation/complete", "{message}");
    assert_eq!(message["params"], json!({"elicitationId": question["params"]["elicitationId"]}));
    assert!(message["params"]["elicitationId"].is_string());
}

#[tokio::test]
async fn the_end_of_a_visit_to_an_address_is_told_once_by_the_id_that_the_client_knows() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    let question = client.ask(&call(1, "visit")).await;
    assert_is_end(&client.ask(&visit(&question, "accept")).await, &question);
    assert_eq!(text(&client.read().await), "accept");
    let question = client.ask(&call(2, "visit")).await;
    let answer = client.ask(&visit(&question, "decline")).await;
    assert_eq!(text(&answer), "decline", "there is no visit that could end");

    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let call = session.call(1, r#"{"name":"visit"}"#);
    let mut stream = RawClient::connect(fixture.address).await.open(&call).await;
    assert_eq!(stream.next().await.data.as_deref(), Some(""), "the first event");
    let question = stream.message().await;
    assert_eq!(client.ask(&session.post(&visit(&question, "accept"))).await.status, 202);
    assert_is_end(&stream.message().await, &question);
    assert_eq!(text(&stream.message().await), "accept");
}

#[tokio::test]
async fn a_revision_without_ids_of_visits_is_not_told_of_their_end() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let request = |params: Value| {
        let capabilities = json!({"elicitation": {"url": {}}});
        modern_body("tools/call", &params).replace(
            r#""io.modelcontextprotocol/clientCapabilities":{}"#,
            &format!(r#""io.modelcontextprotocol/clientCapabilities":{capabilities}"#),
        )
    };
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")];
    let headers = [&headers[..], &[("mcp-name", "visit")]].concat();
    let asked = client.ask(&post(&headers, &request(json!({"name": "visit"})))).await.json();
    assert!(!asked["result"]["inputRequests"]["login"].is_null(), "{asked}");
    let again = json!({"name": "visit", "inputResponses": {"login": {"action": "accept"}},
        "requestState": asked["result"]["requestState"]});
    let answer = client.ask(&post(&headers, &request(again))).await.json();
    assert_eq!(text(&answer), "accept", "a plain answer, with nothing before it");
}

#[tokio::test]
async fn a_refusal_is_told_to_the_handler() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    let question = client.ask(&call(1, "ask")).await;
    let error = json!({"code": -1, "message": "not today"});
    let refusal = json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
    let answer = client.ask(&refusal.to_string()).await;
    assert_eq!(text(&answer), "the client refused: not today");
}

#[tokio::test]
async fn a_question_too_many_is_not_asked() {
    let mut client = PipeClient::hooked(
        Limits { questions: 2, ..Limits::default() },
        |_: &Ask<'_>, _: &mut Vec<u8>| None,
    );
    client.initialize("2025-11-25").await;
    let first = client.ask(&call(1, "three_questions")).await;
    let second = client.read().await;
    client.send(&ada(&first)).await;
    let answer = client.ask(&ada(&second)).await;
    let too_many = "Ada; Ada; the client has too many questions to answer already";
    assert_eq!(text(&answer), too_many);
    assert_is_question(&client.ask(&call(2, "ask")).await);
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_is_taken_back_before_the_answer() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    let question = client.ask(&call(1, "give_up")).await;
    assert_is_question(&question);
    client.gate.open.notify_one();
    let cancelled = client.read().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    let answer = client.read().await;
    assert_eq!(text(&answer), "gave up");
    client.send(&ada(&question)).await;

    // The same when the client cancels the call.
    let question = client.ask(&call(2, "ask")).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2}});
    let cancelled = client.ask(&cancel.to_string()).await;
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    client.close_input();
    assert_eq!(client.end().await, Vec::<Value>::new(), "nothing more is said");
}

#[tokio::test]
async fn whoever_asks_a_client_that_has_closed_its_end_is_told() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    assert_is_question(&client.ask(&call(1, "ask")).await);
    client.close_input();
    let rest = client.end().await;
    assert_eq!(text(&rest[0]), "the client cannot be asked: it has gone");
    assert_eq!(rest.len(), 1);
}

#[tokio::test]
async fn over_http_a_question_comes_on_the_stream_of_its_call() {
    let limits = Limits { requests_in_flight: 1, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = RawClient::connect(fixture.address).await;
        let session = client.session(version).await;
        let ask = RawClient::connect(fixture.address).await;
        let mut stream = ask.open(&session.call(1, r#"{"name":"ask"}"#)).await;
        assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
        let question = stream.message().await;
        assert_is_question(&question);
        // There is no room for another call, but for the answer there is.
        assert_eq!(client.ask(&session.call(2, r#"{"name":"hello"}"#)).await.status, 503);
        let taken = client.ask(&session.post(&ada(&question))).await;
        assert_eq!((taken.status, taken.body.as_str()), (202, ""));
        assert_eq!(text(&stream.message().await), "Ada");
        assert_eq!(stream.end().await, []);
        assert_eq!(client.ask(&session.post(&ada(&question))).await.status, 202, "late");
    }
}

#[tokio::test]
async fn an_answer_from_another_session_is_not_heard() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let (mine, other) = (client.session("2025-11-25").await, client.session("2025-11-25").await);
    let ask = RawClient::connect(fixture.address).await;
    let mut stream = ask.open(&mine.call(1, r#"{"name":"ask"}"#)).await;
    let question = stream.message().await;
    let eve = ada(&question).replace("Ada", "Eve");
    assert_eq!(client.ask(&other.post(&eve)).await.status, 202);
    let nowhere = post(&[], &eve);
    assert_eq!(client.ask(&nowhere).await.status, 400);
    assert_eq!(client.ask(&mine.post(&ada(&question))).await.status, 202);
    assert_eq!(text(&stream.message().await), "Ada");
}

#[tokio::test]
async fn a_session_that_ends_in_mid_question_ends_the_call() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let ask = RawClient::connect(fixture.address).await;
    let mut stream = ask.open(&session.call(1, r#"{"name":"ask"}"#)).await;
    let question = stream.message().await;
    assert_eq!(client.ask(&session.delete()).await.status, 204);
    let rest = stream.end().await;
    assert!(rest.iter().all(|event| event.json()["id"] != 1), "no answer: {rest:?}");
    assert_eq!(client.ask(&session.post(&ada(&question))).await.status, 404);
}

/// Asks with a full queue, whatever the era, and answers what became of it.
fn asking_with_a_full_queue(ask: &Ask<'_>, _: &mut Vec<u8>) -> Option<Turn> {
    if tool_of(ask) != r#""full""# {
        return None;
    }
    let (outlet, id) = (ask.wire.outlet(), ask.id.raw().to_owned());
    let note = br#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    while outlet.send(note.to_vec()) {}
    let asked = outlet.ask(Method::RootsList, "{\n}".to_owned());
    Some(Turn::Later(Box::pin(async move {
        reply(
            &id,
            &match asked.await {
                Ok(raw) => raw.into_string(),
                Err(Unanswered::Gone) => "gone".to_owned(),
                Err(other) => format!("{other:?}"),
            },
        )
    })))
}

#[tokio::test]
async fn a_question_needs_no_room_among_notifications() {
    let mut client = PipeClient::hooked(Limits::default(), asking_with_a_full_queue);
    client.initialize("2025-06-18").await;
    client.send(&call(1, "full")).await;
    let mut question = client.read().await;
    while question["id"].is_null() {
        question = client.read().await;
    }
    assert_eq!((&question["method"], &question["params"]), (&json!("roots/list"), &json!({})));
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    assert_eq!(text(&client.ask(&answer.to_string()).await), r#"{"roots":[]}"#);
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_gone() {
    let fixture = Fixture::hooked(Limits::default(), asking_with_a_full_queue).await;
    let mut client = RawClient::connect(fixture.address).await;
    let full = r#"{"name":"full"}"#;
    let events = client.ask(&modern("tools/call", full)).await.events();
    assert_eq!(text(events.last().expect("an answer")), "gone", "the modern era has no questions");
    let session = client.session("2025-11-25").await;
    let json_only = String::from_utf8(session.call(1, full)).expect("ASCII");
    let json_only = json_only.replace(", text/event-stream", "");
    let answer = client.ask(json_only.as_bytes()).await;
    assert_eq!(text(&answer.json()), "gone", "a client that takes no stream");

    let mut client = PipeClient::hooked(Limits::default(), asking_with_a_full_queue);
    client.initialize("2025-11-25").await;
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let meta = json!({version: "2026-07-28", capabilities: {"roots": {}}});
    let modern = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "full", "_meta": meta}});
    client.send(&modern.to_string()).await;
    client.close_input();
    let all = client.end().await;
    assert_eq!(text(all.last().expect("an answer")), "gone");
}
