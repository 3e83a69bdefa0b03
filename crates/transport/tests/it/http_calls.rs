//! Calls that take their time: concurrency, progress, cancellation, time limits, panics, the end.

use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern, modern_with, post};
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use haft_transport::stop::Stop;
use serde_json::json;
use std::time::Duration;

const HELLO: &str = r#"{"name":"hello"}"#;
const WAIT: &str = r#"{"name":"wait"}"#;

/// The next request of a client is answered, whatever the one before did.
async fn next_is_answered(fixture: &Fixture) {
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(&modern("tools/call", HELLO)).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_slow_call_delays_nobody() {
    let fixture = Fixture::start().await;
    let mut slow = RawClient::connect(fixture.address).await;
    slow.send(&modern("tools/call", WAIT)).await;
    fixture.gate.began.notified().await;
    next_is_answered(&fixture).await;
    fixture.gate.open.notify_one();
    assert_eq!(slow.answer().await.json()["result"]["content"][0]["text"], "waited");
}

#[tokio::test]
async fn progress_makes_a_stream_and_its_absence_plain_json() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let asked = r#"{"name":"progress","_meta":{"progressToken":"t-1"}}"#;
    let events = client.ask(&modern("tools/call", asked)).await.events();
    let (notes, answer) = events.split_at(3);
    for (step, note) in notes.iter().enumerate() {
        assert_eq!(note["method"], "notifications/progress");
        assert_eq!(note["params"]["progressToken"], "t-1");
        assert_eq!(note["params"]["progress"], json!((step + 1) as f64));
    }
    assert_eq!(answer[0]["result"]["content"][0]["text"], "done");

    let plain = client.ask(&modern("tools/call", r#"{"name":"progress"}"#)).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    let only_json = [("accept", "application/json")];
    let answer = client.ask(&modern_with(&only_json, "tools/call", asked)).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "done");
    let only_events = [("accept", "text/event-stream")];
    let answer = client.ask(&modern_with(&only_events, "tools/list", "{}")).await;
    assert_eq!(answer.events()[0]["result"]["tools"][0]["name"], "hello");
}

#[tokio::test]
async fn a_long_call_is_kept_alive_by_comments() {
    let limits = Limits { keep_alive: Duration::from_millis(20), ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", WAIT)).await;
    fixture.gate.began.notified().await;
    tokio::time::timeout(Duration::from_millis(200), fixture.gate.ended.notified())
        .await
        .expect_err("the call goes on");
    fixture.gate.open.notify_one();
    let answer = client.answer().await;
    assert!(answer.body.matches(": still working\n\n").count() >= 2, "{}", answer.body);
    assert_eq!(answer.events()[0]["result"]["content"][0]["text"], "waited");
}

#[tokio::test]
async fn a_modern_client_that_vanishes_cancels_its_call() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", WAIT)).await;
    fixture.gate.began.notified().await;
    drop(client);
    fixture.gate.ended.notified().await;
    assert_eq!(fixture.gate.cancelled(), 1);
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_legacy_client_cancels_by_saying_so_and_not_by_vanishing() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize",
        "params":{"protocolVersion":"2025-06-18"}}"#;
    let answer = client.ask(&post(&[], initialize)).await;
    let id = answer.header("mcp-session-id").expect("a session").to_owned();
    let headers = [("mcp-session-id", id.as_str())];
    let wait = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;

    client.send(&post(&headers, wait)).await;
    fixture.gate.began.notified().await;
    drop(client);
    let mut client = RawClient::connect(fixture.address).await;
    let hello = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"hello"}}"#;
    assert_eq!(client.ask(&post(&headers, hello)).await.status, 200);
    assert_eq!(fixture.gate.cancelled(), 0, "it goes on");
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#;
    assert_eq!(client.ask(&post(&headers, cancel)).await.status, 202);
    fixture.gate.ended.notified().await;
    assert_eq!(fixture.gate.cancelled(), 1);
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(&modern("tools/call", r#"{"name":"endless"}"#)).await.json();
    assert_eq!(answer["result"]["isError"], true);
    let text = "The tool `endless` was stopped: it took longer than 50ms.";
    assert_eq!(answer["result"]["content"][0]["text"], text);
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_tool_that_panics_answers_only_its_own_call_with_an_error() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(&modern("tools/call", r#"{"name":"panic"}"#)).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &json!(-32603)));
    let answer = client.ask(&modern("tools/call", HELLO)).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_try_again() {
    let limits = Limits { requests_in_flight: 1, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut first = RawClient::connect(fixture.address).await;
    first.send(&modern("tools/call", WAIT)).await;
    fixture.gate.began.notified().await;
    let mut second = RawClient::connect(fixture.address).await;
    for request in [modern("tools/call", WAIT), post(&[], INITIALIZE)] {
        let answer = second.ask(&request).await;
        if answer.status == 200 {
            let id = answer.header("mcp-session-id").expect("a session");
            let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#;
            let answer = second.ask(&post(&[("mcp-session-id", id)], call)).await;
            assert_eq!(answer.status, 503);
            continue;
        }
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
        assert_eq!(answer.json()["error"]["code"], -31003);
    }
    assert_eq!(fixture.gate.begun(), 1, "what is refused has not run");
    fixture.gate.open.notify_one();
    assert_eq!(first.answer().await.status, 200);
    next_is_answered(&fixture).await;
}

/// Begins a session.
async fn session(client: &mut RawClient) -> String {
    let answer = client.ask(&post(&[], INITIALIZE)).await;
    answer.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {answer:?}")).to_owned()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize",
    "params":{"protocolVersion":"2025-06-18"}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn a_session_too_many_takes_the_place_of_an_idle_one_but_not_of_a_busy_one() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let first = session(&mut client).await;
    let second = session(&mut client).await;
    assert_eq!(client.ask(&post(&[("mcp-session-id", &first)], PING)).await.status, 404);
    let headers = [("mcp-session-id", second.as_str())];
    assert_eq!(client.ask(&post(&headers, PING)).await.status, 200);

    let wait = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;
    let mut busy = RawClient::connect(fixture.address).await;
    busy.send(&post(&headers, wait)).await;
    fixture.gate.began.notified().await;
    let refused = client.ask(&post(&[], INITIALIZE)).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!(-31003)));
    fixture.gate.open.notify_one();
    assert_eq!(busy.answer().await.status, 200);
}

#[tokio::test]
async fn a_batch_takes_as_many_places_as_it_has_requests() {
    let limits = Limits { requests_in_flight: 2, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-03-26").await;
    let pings = |count: usize| {
        let one = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    for (count, status) in [(3, 503), (2, 200), (3, 503), (1, 200)] {
        assert_eq!(client.ask(&session.post(&pings(count))).await.status, status, "{count}");
    }
}

#[tokio::test]
async fn an_idle_session_is_forgotten() {
    let limits = Limits { session_idle: Duration::from_millis(50), ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let id = session(&mut client).await;
    // Asking would keep it: it is left alone for ten times as long as it may be idle.
    let idle = std::future::pending::<()>();
    tokio::time::timeout(Duration::from_millis(500), idle).await.expect_err("time passes");
    assert_eq!(client.ask(&post(&[("mcp-session-id", &id)], PING)).await.status, 404);
}

#[tokio::test]
async fn a_cancelled_id_can_be_used_again_at_once() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let id = session(&mut client).await;
    let headers = [("mcp-session-id", id.as_str())];
    let wait = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled",
        "params":{"requestId":"w"}}"#;
    for _ in 0..3 {
        let mut caller = RawClient::connect(fixture.address).await;
        caller.send(&post(&headers, wait)).await;
        fixture.gate.began.notified().await;
        assert_eq!(client.ask(&post(&headers, cancel)).await.status, 202);
        let ended = caller.answer().await;
        assert_eq!((ended.status, ended.body.as_str()), (200, ""), "a stream without an answer");
        fixture.gate.ended.notified().await;
    }
    assert_eq!(fixture.gate.cancelled(), 3);
}

#[tokio::test]
async fn parallel_requests_of_one_id_on_connections_of_their_own_are_all_answered() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let id = session(&mut client).await;
    let headers = [("mcp-session-id", id.as_str())];
    let wait = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;
    let quick = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"hello"}}"#;
    let mut callers = Vec::new();
    for _ in 0..3 {
        let mut caller = RawClient::connect(fixture.address).await;
        caller.send(&post(&headers, wait)).await;
        fixture.gate.began.notified().await;
        callers.push(caller);
    }
    let quick = client.ask(&post(&headers, quick)).await.json();
    assert_eq!(
        (&quick["id"], &quick["result"]["content"][0]["text"]),
        (&"w".into(), &"hello".into())
    );
    // A cancellation is of one, and which it is, is the newest.
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled",
        "params":{"requestId":"w"}}"#;
    assert_eq!(client.ask(&post(&headers, cancel)).await.status, 202);
    let cancelled = callers.pop().expect("there are three").answer().await;
    assert_eq!((cancelled.status, cancelled.body.as_str()), (200, ""));
    for mut caller in callers {
        fixture.gate.open.notify_one();
        let answer = caller.answer().await.json();
        assert_eq!(answer["id"], "w");
        assert_eq!(answer["result"]["content"][0]["text"], "waited");
    }
}

#[tokio::test]
async fn requests_in_flight_may_finish_after_the_order_to_stop() {
    let limits = Limits { shutdown_grace: Duration::from_secs(30), ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", WAIT)).await;
    let gate = std::sync::Arc::clone(&fixture.gate);
    gate.began.notified().await;
    let stopping = fixture.stop(Stop::Gracefully);
    let answer = async {
        gate.open.notify_one();
        client.answer().await
    };
    let ((), answer) = tokio::join!(stopping, answer);
    assert_eq!(answer.json()["result"]["content"][0]["text"], "waited");
}

#[tokio::test]
async fn requests_that_do_not_finish_in_time_are_cancelled_at_the_end() {
    let limits = Limits { shutdown_grace: Duration::from_millis(20), ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&modern("tools/call", WAIT)).await;
    let gate = std::sync::Arc::clone(&fixture.gate);
    gate.began.notified().await;
    fixture.stop(Stop::Gracefully).await;
    assert_eq!(gate.cancelled(), 1);
}
