//! HTTP servers that break off, fall silent, redirect, forget or mislabel: what the client makes of
//! each, and what it sends.

use crate::scripted_http::{Scripted, Turn, events, json, response, with_headers};
use haft_client::{Client, ClientError, Notice, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::time::Duration;

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
    "supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,
    "cacheScope":"public"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

fn options(era: impl Into<Option<Era>>, timeout_ms: u64) -> Options {
    let timeout = Duration::from_millis(timeout_ms);
    Options { era: era.into(), timeout, ..Options::default() }
}

/// Long enough for a loaded machine; only servers that answer are waited for like this.
const PATIENT_MS: u64 = 30_000;

fn answer(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn accepted() -> Turn {
    with_headers(202, "", "")
}

fn session() -> Turn {
    let headers = "content-type: application/json\r\nmcp-session-id: abc\r\n";
    with_headers(200, headers, INITIALIZED)
}

async fn refused(turns: impl IntoIterator<Item = Turn>, options: &Options) -> ClientError {
    let server = Scripted::new(turns).await;
    let target = Target::Url(server.url.clone());
    connect(&target, options).await.expect_err("no connection")
}

/// A connection whose handshake is over, with the server; `turns` come after it.
async fn connected(
    era: Era,
    timeout_ms: u64,
    turns: impl IntoIterator<Item = Turn>,
) -> (Client, Scripted) {
    let (first, handshake) = match era {
        Era::Modern => (vec![json(DISCOVERED)], 1),
        Era::Legacy => (vec![session(), accepted()], 2),
    };
    let mut server = Scripted::new(first.into_iter().chain(turns)).await;
    let target = Target::Url(server.url.clone());
    let client = connect(&target, &options(era, timeout_ms)).await.expect("a connection");
    for _ in 0..handshake {
        server.request().await;
    }
    (client, server)
}

async fn call(client: &Client, arguments: &str) -> Result<String, ClientError> {
    let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
    let result = client.call_tool("tool", &arguments, &mut |_| {}).await?;
    Ok(result.raw.get().to_owned())
}

#[tokio::test]
async fn a_port_without_a_server_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    drop(listener);
    let error = connect(&Target::Url(url), &Options::default()).await.expect_err("nobody");
    let ClientError::Unreachable { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("refused"), "{reason}");
}

#[tokio::test]
async fn a_server_that_wants_credentials_is_not_asked_in_another_era() {
    for status in [401, 403] {
        let error = refused([response(status, "text/plain", "no")], &Options::default()).await;
        let is_expected =
            matches!(error, ClientError::AuthenticationNeeded { status: s, .. } if s == status);
        assert!(is_expected, "{error}");
    }
}

#[tokio::test]
async fn an_address_without_mcp_is_called_that() {
    let page = || response(404, "text/html", "<html>");
    let error = refused([page(), page(), page()], &Options::default()).await;
    assert!(matches!(error, ClientError::NotAnEndpoint { status: 404, .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_understand_discovery_is_asked_to_shake_hands() {
    let initialized = INITIALIZED.replace("\"id\":1", "\"id\":2");
    for (status, body) in [
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#),
        (404, ""),
        (200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}"#),
        (500, "oops"),
    ] {
        let first = response(status, "application/json", body);
        let mut server = Scripted::new([first, json(&initialized), accepted()]).await;
        let target = Target::Url(server.url.clone());
        let client = connect(&target, &options(None, PATIENT_MS)).await.expect("a connection");
        assert_eq!(client.handshake().era, Era::Legacy, "{status} {body}");
        let discover = server.request().await;
        assert_eq!(discover.header("mcp-protocol-version"), Some("2026-07-28"));
        let initialize = server.request().await;
        assert_eq!(initialize.header("mcp-protocol-version"), None);
        assert!(initialize.body.contains("2025-11-25"), "{}", initialize.body);
        let initialized = server.request().await;
        assert_eq!(initialized.header("mcp-protocol-version"), Some("2025-11-25"));
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_revision_is_asked_again_in_one_that_it_names() {
    let refusal = |id: u32, date: &str| {
        let error = format!(
            r#"{{"code":-32022,"message":"no","data":{{"supported":["{date}"],"requested":"x"}}}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        response(400, "application/json", &body)
    };
    let discovered = DISCOVERED.replace("\"id\":1", "\"id\":2");
    let turns = [refusal(1, "2026-07-28"), json(&discovered)];
    let server = Scripted::new(turns).await;
    let target = Target::Url(server.url.clone());
    let client = connect(&target, &options(None, PATIENT_MS)).await.expect("a connection");
    assert_eq!(client.handshake().era, Era::Modern);
    let again = [refusal(1, "2026-07-28"), refusal(2, "2026-07-28")];
    let error = refused(again, &options(None, PATIENT_MS)).await;
    assert!(matches!(error, ClientError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn a_modern_server_that_is_slow_to_describe_itself_is_waited_for() {
    // It leaves the first question open, and refuses to shake hands meanwhile.
    let described = events(&format!(": patience\n\ndata: {DISCOVERED}\n\n").replace("\n    ", ""));
    let (held, release) = Turn::held(described);
    let mut server = Scripted::new([held, response(400, "text/plain", "no")]).await;
    let target = Target::Url(server.url.clone());
    let discover_timeout = Duration::from_millis(50);
    let options = Options { discover_timeout, ..options(None, PATIENT_MS) };
    let refuse = async {
        server.request().await;
        assert!(server.request().await.body.contains("initialize"));
        release.try_send(()).expect("the server holds its answer");
    };
    let (client, ()) = tokio::join!(connect(&target, &options), refuse);
    assert_eq!(client.expect("a connection").handshake().era, Era::Modern);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_told_from_one_that_never_began() {
    let cut =
        "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{\"js";
    for turn in [Turn::Say(cut.to_owned()), Turn::Say(String::new()), Turn::Say(events("data: {"))]
    {
        let (client, _server) = connected(Era::Modern, PATIENT_MS, [turn.clone()]).await;
        let error = call(&client, "{}").await.expect_err("half an answer");
        assert!(matches!(error, ClientError::ClosedMidAnswer { .. }), "{turn:?}: {error}");
    }
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    let check = async |turn: Turn, is_expected: fn(&ClientError) -> bool| {
        let (client, _server) = connected(Era::Modern, PATIENT_MS, [turn.clone()]).await;
        let error = call(&client, "{}").await.expect_err("no answer");
        assert!(is_expected(&error), "{turn:?}: {error}");
    };
    let stranger = answer(99, OK);
    check(json(&stranger), |e| matches!(e, ClientError::AnsweredAnotherId { .. })).await;
    let stream = Turn::Say(events(&format!("data: {stranger}\n\n")));
    check(stream, |e| matches!(e, ClientError::AnsweredAnotherId { .. })).await;
    check(json("<html>"), |e| matches!(e, ClientError::NotJsonRpc { .. })).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    check(json(note), |e| matches!(e, ClientError::NotJsonRpc { .. })).await;
    let page = response(200, "text/html", "<html>");
    check(page, |e| matches!(e, ClientError::UnknownContentType { .. })).await;
    check(accepted(), |e| matches!(e, ClientError::UnknownContentType { .. })).await;
    let status = response(502, "text/html", "<html>");
    check(status, |e| matches!(e, ClientError::HttpStatus { status: 502, .. })).await;
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused_as_json_and_as_an_event() {
    let long = answer(2, &format!(r#"{{"content":[],"x":"{}"}}"#, "x".repeat(5000)));
    for turn in [json(&long), Turn::Say(events(&format!("data: {long}\n\n")))] {
        let server = Scripted::new([json(DISCOVERED), turn]).await;
        let mut options = options(Era::Modern, PATIENT_MS);
        options.limits.message_bytes = 1000;
        let client = connect(&Target::Url(server.url.clone()), &options).await.expect("connected");
        let error = call(&client, "{}").await.expect_err("too long");
        assert!(matches!(error, ClientError::MessageTooLarge { limit: 1000 }), "{error}");
    }
}

#[tokio::test]
async fn giving_up_closes_the_stream_in_the_modern_era_and_says_nothing_more() {
    let turn = Turn::Hold(events(": patience\n\n"));
    let (client, mut server) = connected(Era::Modern, 1000, [turn]).await;
    let error = call(&client, "{}").await.expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    server.hang_up().await;
}

#[tokio::test]
async fn giving_up_is_told_to_a_legacy_server() {
    let turns = [Turn::Hold(events(": patience\n\n")), accepted()];
    let (client, mut server) = connected(Era::Legacy, 1000, turns).await;
    let error = call(&client, "{}").await.expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    assert!(server.request().await.body.contains("tools/call"));
    let cancelled = server.request().await;
    assert!(cancelled.body.contains("notifications/cancelled"), "{}", cancelled.body);
    assert!(cancelled.body.contains("\"requestId\":2"), "{}", cancelled.body);
    assert_eq!(cancelled.header("mcp-session-id"), Some("abc"));
}

#[tokio::test]
async fn a_legacy_stream_that_breaks_is_taken_up_where_it_broke() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#.to_owned()
        + r#"{"progressToken":2,"progress":1}}"#;
    let turns = [
        Turn::Say(events(&format!("id: e1\nretry: 1\ndata:\n\nid: e2\ndata: {notice}\n\n"))),
        Turn::Say(events(&format!("id: e3\ndata: {}\n\n", answer(2, OK)))),
    ];
    let (client, mut server) = connected(Era::Legacy, PATIENT_MS, turns).await;
    let mut heard = 0;
    let none = RawValue::from_string("{}".to_owned()).expect("JSON");
    let mut listener = |notice| heard += usize::from(matches!(notice, Notice::Progress { .. }));
    client.call_tool("tool", &none, &mut listener).await.expect("an answer");
    assert_eq!(heard, 1);
    server.request().await;
    let back = server.request().await;
    assert!(back.head.starts_with("GET "), "{}", back.head);
    assert_eq!(back.header("last-event-id"), Some("e2"));
}

#[tokio::test]
async fn a_legacy_session_is_named_until_it_is_ended() {
    let turns = [json(&answer(2, r#"{"tools":[]}"#)), response(405, "text/plain", "")];
    let (client, mut server) = connected(Era::Legacy, PATIENT_MS, turns).await;
    client.list_tools().await.expect("a list");
    client.close().await;
    let list = server.request().await;
    assert_eq!(list.header("mcp-session-id"), Some("abc"));
    assert_eq!(list.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(list.header("mcp-method"), None);
    let end = server.request().await;
    assert!(end.head.starts_with("DELETE "), "{}", end.head);
    assert_eq!(end.header("mcp-session-id"), Some("abc"));
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_lost() {
    let turns = [response(404, "application/json", "{}")];
    let (client, _server) = connected(Era::Legacy, PATIENT_MS, turns).await;
    let error = client.list_tools().await.expect_err("forgotten");
    assert!(matches!(error, ClientError::SessionLost), "{error}");
}

#[tokio::test]
async fn a_legacy_server_that_asks_back_on_its_stream_gets_an_answer() {
    let ask = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let stream = events(&format!("data: {ask}\n\ndata: {}\n\n", answer(2, OK)));
    let (client, mut server) =
        connected(Era::Legacy, PATIENT_MS, [Turn::Say(stream), accepted()]).await;
    call(&client, "{}").await.expect("an answer");
    server.request().await;
    let pong = server.request().await;
    assert_eq!(pong.body, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert_eq!(pong.header("mcp-session-id"), Some("abc"));
}

#[tokio::test]
async fn modern_requests_mirror_what_they_say() {
    let tools = r#"{"tools":[{"name":"tool","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"}}}},
        {"name":"bad","inputSchema":{"properties":{"x":{"type":"number","x-mcp-header":"X"}}}}]}"#;
    let turns = [json(&answer(2, tools)), json(&answer(3, OK))];
    let (client, mut server) = connected(Era::Modern, PATIENT_MS, turns).await;
    let list = client.list_tools().await.expect("a list");
    assert_eq!((list.tools.len(), list.dropped.len()), (1, 1));
    call(&client, r#"{"region":"Zürich","n":1}"#).await.expect("an answer");
    let request = server.request().await;
    assert_eq!(request.header("mcp-method"), Some("tools/list"));
    let request = server.request().await;
    assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(request.header("mcp-method"), Some("tools/call"));
    assert_eq!(request.header("mcp-name"), Some("tool"));
    assert_eq!(request.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
    let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], serde_json::json!({}));
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "haft");
}

#[tokio::test]
async fn a_header_that_the_server_misses_is_looked_up_and_sent() {
    let mismatch =
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32020,"message":"Header mismatch"}}"#;
    let tools = r#"{"tools":[{"name":"tool","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"}}}}]}"#;
    let turns = [
        response(400, "application/json", mismatch),
        json(&answer(3, tools)),
        json(&answer(4, OK)),
    ];
    let (client, mut server) = connected(Era::Modern, PATIENT_MS, turns).await;
    call(&client, r#"{"region":"a"}"#).await.expect("an answer");
    assert_eq!(server.request().await.header("mcp-param-region"), None);
    server.request().await;
    assert_eq!(server.request().await.header("mcp-param-region"), Some("a"));
}

#[tokio::test]
async fn our_headers_do_not_follow_a_redirect_to_another_server() {
    let elsewhere = with_headers(307, "location: http://127.0.0.1:1/mcp\r\n", "");
    let mut secret = options(Era::Modern, PATIENT_MS);
    let value = http::HeaderValue::from_static("Bearer hunter2");
    secret.headers.insert(http::header::AUTHORIZATION, value);
    let error = refused([elsewhere], &secret).await;
    assert!(matches!(error, ClientError::Redirected { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));

    let mut server =
        Scripted::new([with_headers(308, "location: /mcp/\r\n", ""), json(DISCOVERED)]).await;
    let target = Target::Url(server.url.clone());
    connect(&target, &secret).await.expect("a connection");
    server.request().await;
    let request = server.request().await;
    assert!(request.head.starts_with("POST /mcp/ "), "{}", request.head);
    assert_eq!(request.header("authorization"), Some("Bearer hunter2"));
}
