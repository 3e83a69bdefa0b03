//! Clients of the legacy era where the listener keeps no sessions.

use crate::fixture::Fixture;
use crate::pipe_client::DEADLINE;
use crate::raw_client::{Answer, RawClient, modern, post};
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use serde_json::json;
use tokio::time::timeout;

async fn sessionless() -> Fixture {
    let options = Options { has_sessions: false, ..Options::default() };
    Fixture::with(Limits::default(), options).await
}

async fn ask(fixture: &Fixture, headers: &[(&str, &str)], body: &str) -> Answer {
    RawClient::connect(fixture.address).await.ask(&post(headers, body)).await
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn each_request_is_answered_for_itself_whatever_came_before() {
    let fixture = sessionless().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{}},
            "clientInfo":{{"name":"t","version":"1"}}}}"#
        );
        let hello = ask(&fixture, &[], &request("initialize", &hello)).await;
        assert_eq!(hello.json()["result"]["protocolVersion"], version);
        assert_eq!(hello.header("mcp-session-id"), None);
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        for headers in [
            &[("mcp-protocol-version", version)][..],
            &[],
            // One that another server began, or this one before it was started again.
            &[("mcp-protocol-version", version), ("mcp-session-id", "8d0c")],
        ] {
            assert_eq!(ask(&fixture, headers, ready).await.status, 202);
            let list = ask(&fixture, headers, &request("tools/list", "{}")).await;
            assert_eq!(list.json()["result"]["tools"][0]["name"], "hello", "{headers:?}");
            let call = request("tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
            let call = ask(&fixture, headers, &call).await;
            assert_eq!(call.json()["result"]["content"][0]["text"], "x", "{headers:?}");
            let ping = ask(&fixture, headers, &request("ping", "null")).await;
            assert_eq!(ping.json()["result"], json!({}), "{headers:?}");
        }
    }
    let modern = modern("tools/call", r#"{"name":"hello"}"#);
    assert_eq!(RawClient::connect(fixture.address).await.ask(&modern).await.status, 200);
}

#[tokio::test]
async fn what_needs_a_session_is_refused_in_one_line() {
    let fixture = sessionless().await;
    let verb = |verb: &str| {
        format!("{verb} /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
    };
    for (what, request, status, told) in [
        ("GET", verb("GET").into_bytes(), 405, "keeps no sessions"),
        ("DELETE", verb("DELETE").into_bytes(), 405, "keeps no sessions"),
        ("a batch", post(&[], &format!("[{}]", request("ping", "{}"))), 400, "no batches"),
        (
            "a subscription",
            post(&[], &request("resources/subscribe", r#"{"uri":"a://b"}"#)),
            200,
            "Method not found",
        ),
    ] {
        let answer = RawClient::connect(fixture.address).await.ask(&request).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains(told), "{what}: {message}");
    }
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_request() {
    let fixture = sessionless().await;
    let call = request("tools/call", r#"{"name":"progress","_meta":{"progressToken":1}}"#);
    let events = ask(&fixture, &[], &call).await.events();
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(events[0]["params"]["progressToken"], 1);
    assert_eq!(events[3]["id"], 7);
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_call() {
    let fixture = sessionless().await;
    let mut client = RawClient::connect(fixture.address).await;
    client.send(&post(&[], &request("tools/call", r#"{"name":"wait"}"#))).await;
    fixture.gate.began.notified().await;
    drop(client);
    timeout(DEADLINE, fixture.gate.ended.notified()).await.expect("it ends");
    assert_eq!(fixture.gate.cancelled(), 1);
}
