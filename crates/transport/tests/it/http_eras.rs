//! Both eras on one endpoint: what each request is answered, with its HTTP status.

use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern, modern_body, modern_with, post};
use haft_transport::http::Options;
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// A legacy session: a client and the header of its session.
async fn session(fixture: &Fixture, version: &str) -> (RawClient, String) {
    let mut client = RawClient::connect(fixture.address).await;
    let answer = client.ask(&post(&[], &INITIALIZE.replace("2025-11-25", version))).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], version);
    let id = answer.header("mcp-session-id").expect("a session").to_owned();
    (client, id)
}

#[tokio::test]
async fn a_modern_client_needs_no_handshake() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let hello = client.ask(&modern("server/discover", "{}")).await;
    assert_eq!((hello.status, hello.header("mcp-session-id")), (200, None));
    let hello = &hello.json()["result"];
    assert_eq!(hello["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(hello["resultType"], "complete");
    assert_eq!(hello["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fixture");

    let list = client.ask(&modern("tools/list", "{}")).await.json();
    assert_eq!(list["result"]["tools"][0]["name"], "hello");
    assert!(list["result"]["ttlMs"].is_u64() && list["result"]["cacheScope"] == "public");

    let call = client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await.json();
    assert_eq!(call["result"]["content"], json!([{"type": "text", "text": "hello"}]));
    assert_eq!(call["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_legacy_client_has_a_session_until_it_ends_it() {
    let fixture = Fixture::start().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (mut client, id) = session(&fixture, version).await;
        let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", version)];
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let noted = client.ask(&post(&headers, ready)).await;
        assert_eq!((noted.status, noted.body.as_str()), (202, ""));
        let ping = post(&headers, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        assert_eq!(client.ask(&ping).await.body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let tools = client.ask(&post(&headers, list)).await.json();
        assert_eq!(tools["result"]["tools"][1]["name"], "echo");
        assert_eq!(tools["result"]["ttlMs"], Value::Null, "no field of a later era");

        let end =
            format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {id}\r\n\r\n");
        assert_eq!(client.ask(end.as_bytes()).await.status, 204);
        assert_eq!(client.ask(&post(&headers, list)).await.status, 404);
    }
}

#[tokio::test]
async fn checks_of_a_modern_request_come_in_the_specified_order() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let version = "io.modelcontextprotocol/protocolVersion";
    let body = |meta: Value, method: &str| {
        json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": {"_meta": meta}}).to_string()
    };
    let caps = "io.modelcontextprotocol/clientCapabilities";
    let ask = |header: &'static str, method: &str, body: String| {
        let headers = [("mcp-protocol-version", header), ("mcp-method", method)];
        post(&headers, &body)
    };
    let discover = "server/discover";
    let cases = [
        // Missing keys come first, even with a header that would not match.
        (ask("v999.0.0", discover, body(json!({}), discover)), 400, -32602),
        (ask("2026-07-28", discover, body(json!({caps: {}}), discover)), 400, -32602),
        (ask("2026-07-28", discover, body(json!({version: "2026-07-28"}), discover)), 400, -32602),
        // Then headers against the body, before the version is looked at.
        (
            ask("2026-07-28", discover, body(json!({version: "v999.0.0", caps: {}}), discover)),
            400,
            -32020,
        ),
        (ask("", discover, body(json!({version: "2026-07-28", caps: {}}), discover)), 400, -32020),
        (
            ask(
                "2026-07-28",
                "tools/list",
                body(json!({version: "2026-07-28", caps: {}}), discover),
            ),
            400,
            -32020,
        ),
        // Then the version.
        (
            ask("v999.0.0", discover, body(json!({version: "v999.0.0", caps: {}}), discover)),
            400,
            -32022,
        ),
        // Then the method: those of the handshake are gone.
        (modern("initialize", "{}"), 404, -32601),
        (modern("ping", "{}"), 404, -32601),
        (modern("logging/setLevel", "{}"), 404, -32601),
        (modern("prompts/list", "{}"), 404, -32601),
        (modern("unknown/method", "{}"), 404, -32601),
    ];
    for (index, (request, status, code)) in cases.into_iter().enumerate() {
        let answer = client.ask(&request).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code)),
            "{index}"
        );
        assert!(answer.json()["id"].is_i64(), "the id comes back: {index}");
    }
    let refused = client
        .ask(&ask("v999.0.0", discover, body(json!({version: "v999.0.0", caps: {}}), discover)))
        .await
        .json();
    let data = &refused["error"]["data"];
    assert_eq!(data, &json!({"supported": ["2026-07-28"], "requested": "v999.0.0"}));
}

#[tokio::test]
async fn headers_that_lie_about_the_body_are_refused() {
    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let echo = r#"{"name":"echo","arguments":{"text":"Hello"}}"#;
    let text = |value| [("mcp-param-text", value)];
    let cases: [(&[(&str, &str)], u16); 9] = [
        (&text("Hello"), 200),
        (&text("=?base64?SGVsbG8=?="), 200),
        (&text("=?base64?SGVsbG8?="), 400),
        (&text("hello"), 400),
        (&text(""), 400),
        (&[("mcp-param-text", "Hello"), ("mcp-name", "hello")], 400),
        (&[("mcp-param-text", "Hello"), ("mcp-name", "")], 400),
        (&[("mcp-param-text", "Hello"), ("mcp-method", "TOOLS/CALL")], 400),
        (&[("mcp-param-text", "Hello"), ("mcp-name", "  echo ")], 200),
    ];
    for (headers, status) in cases {
        let answer = client.ask(&modern_with(headers, "tools/call", echo)).await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        if status == 400 {
            assert_eq!(answer.json()["error"]["code"], -32020);
        }
    }
}

#[tokio::test]
async fn only_2025_03_26_has_batches() {
    let fixture = Fixture::start().await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},
        {"jsonrpc":"2.0","method":"notifications/initialized"},7,
        {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hello"}},
        {"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}]"#;
    let (mut client, id) = session(&fixture, "2025-03-26").await;
    let answer = client.ask(&post(&[("mcp-session-id", &id)], batch)).await;
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(4));
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "hello");
    assert_eq!(answers[3]["error"]["code"], -32600);

    let modern = modern_body("tools/list", &json!({}));
    let with_modern = format!("[{modern},{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}]");
    let answers = client.ask(&post(&[("mcp-session-id", &id)], &with_modern)).await.json();
    assert_eq!(answers[0]["error"]["code"], -32600, "headers would not be checked: {answers}");
    let refused = client.ask(&post(&[], &format!("[{modern}]"))).await;
    let message = "Invalid request: only protocol version 2025-03-26 has batches; send one message \
                   at a time";
    assert_eq!((refused.status, &refused.json()["error"]["message"]), (400, &json!(message)));

    let (mut client, id) = session(&fixture, "2025-06-18").await;
    let refused = client.ask(&post(&[("mcp-session-id", &id)], batch)).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32600)));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(client.ask(&post(&[("mcp-session-id", &id)], ping)).await.status, 200);
}

#[tokio::test]
async fn a_listed_origin_may_read_the_answers_and_others_may_not_ask() {
    let options = Options { origins: vec!["https://app.example".to_owned()], ..Options::default() };
    let fixture = Fixture::with(Default::default(), options).await;
    let mut client = RawClient::connect(fixture.address).await;
    let preflight = "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: https://app.example\r\n\
        access-control-request-method: POST\r\n\
        access-control-request-headers: content-type,mcp-method\r\n\r\n";
    let answer = client.ask(preflight.as_bytes()).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("content-type,mcp-method"));
    let other = modern_with(&[("origin", "https://evil.example")], "tools/list", "{}");
    let refused = client.ask(&other).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
    let local = modern_with(&[("origin", "http://localhost:5173")], "tools/list", "{}");
    let answer = client.ask(&local).await;
    let allowed = answer.header("access-control-allow-origin");
    assert_eq!((answer.status, allowed), (200, Some("http://localhost:5173")));
}
