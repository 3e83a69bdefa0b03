//! Listening for changes over both wires in both eras: what is sent, what is heard, how it ends and
//! how it goes on.

use crate::answering::{Agreeable, answered_by};
use crate::scripted_http::{Request, Scripted, Turn, events, json, response, with_headers};
use haft_client::{Change, Client, ClientError, Interest, Launch, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::{Value, json as value};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MODERN: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
const LEGACY: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{
    "tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"s"}}"#;

fn answer(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn accepted() -> Turn {
    with_headers(202, "", "")
}

fn note(method: &str, params: &str) -> String {
    let note =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#);
    format!("data: {note}\n\n")
}

/// A notification of the subscription 2.
fn tagged(method: &str, members: &str) -> String {
    note(method, &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":2}}{members}}}"#))
}

fn acknowledged() -> String {
    tagged("subscriptions/acknowledged", r#","notifications":{"toolsListChanged":true}"#)
}

async fn connected(era: Era, turns: Vec<Turn>) -> (Client, Scripted) {
    let first = match era {
        Era::Modern => vec![json(&answer(1, MODERN))],
        Era::Legacy => {
            let headers = "content-type: application/json\r\nmcp-session-id: abc\r\n";
            let none = response(405, "text/plain", "");
            vec![with_headers(200, headers, &answer(1, LEGACY)), accepted(), none]
        }
    };
    let handshake = first.len();
    let mut server = Scripted::new(first.into_iter().chain(turns)).await;
    let target = Target::Url(server.url.clone());
    let options = Options { era: Some(era), ..Options::default() };
    let options = answered_by(&Arc::new(Agreeable::default()), options);
    let client = connect(&target, &options).await.expect("a connection");
    for _ in 0..handshake {
        server.request().await;
    }
    (client, server)
}

fn everything() -> Interest {
    let uris = vec!["x:1".to_owned()];
    Interest { tools: true, prompts: true, resources: true, uris }
}

fn tools() -> Interest {
    Interest { tools: true, ..Interest::default() }
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

#[tokio::test]
async fn a_modern_server_tells_until_it_says_that_it_is_over() {
    let said = acknowledged()
        + &tagged("tools/list_changed", "")
        + &tagged("tools/list_changed", "")
        + &tagged("resources/updated", r#","uri":"x:1""#)
        + &format!("data: {}\n\n", answer(2, "{}"));
    let (client, mut server) = connected(Era::Modern, vec![Turn::Say(events(&said))]).await;
    let mut changes = client.listen(everything()).await.expect("a stream");
    assert_eq!(*changes.honoured(), tools());
    let mut heard = Vec::new();
    while let Some(change) = changes.next().await {
        heard.push(change.expect("a clean end"));
    }
    let expected = [Change::Tools, Change::Resource("x:1".to_owned())];
    // Two may have become one before anybody looked.
    heard.dedup();
    assert_eq!(heard, expected);
    assert!(changes.next().await.is_none());
    let request = server.request().await;
    assert_eq!(request.header("mcp-method"), Some("subscriptions/listen"));
    let filter = value!({"toolsListChanged": true, "promptsListChanged": true,
        "resourcesListChanged": true, "resourceSubscriptions": ["x:1"]});
    assert_eq!(body(&request)["params"]["notifications"], filter);
}

#[tokio::test]
async fn dropping_the_changes_closes_the_modern_stream() {
    let turn = Turn::Hold(events(&acknowledged()));
    let (client, mut server) = connected(Era::Modern, vec![turn]).await;
    let changes = client.listen(tools()).await.expect("a stream");
    drop(changes);
    server.hang_up().await;
}

#[tokio::test]
async fn a_modern_stream_that_breaks_is_an_error_and_then_over() {
    let turn = Turn::Say(events(&(acknowledged() + &tagged("tools/list_changed", ""))));
    let (client, _server) = connected(Era::Modern, vec![turn]).await;
    let mut changes = client.listen(tools()).await.expect("a stream");
    assert_eq!(changes.next().await.expect("a change").expect("no error"), Change::Tools);
    let error = changes.next().await.expect("an end").expect_err("broken");
    assert!(matches!(error, ClientError::ClosedMidAnswer { .. }), "{error}");
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn a_server_that_nobody_may_listen_to_says_so() {
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}"#;
    let turn = response(404, "application/json", error);
    let (client, _server) = connected(Era::Modern, vec![turn]).await;
    let error = client.listen(tools()).await.expect_err("refused");
    assert!(matches!(error, ClientError::Refused { .. }), "{error}");
    let (client, _server) = connected(Era::Legacy, vec![response(405, "text/plain", "")]).await;
    let error = client.listen(tools()).await.expect_err("no stream");
    assert!(matches!(error, ClientError::NoStandingStream { status: 405 }), "{error}");
}

#[tokio::test]
async fn a_legacy_server_tells_on_a_stream_of_its_own() {
    let said = events(
        &(note("tools/list_changed", "{}")
            + &note("prompts/list_changed", "{}")
            + &note("resources/updated", r#"{"uri":"x:1/a"}"#)),
    );
    let empty = || json(&answer(2, "{}"));
    let turns = vec![Turn::Hold(said), empty(), json(&answer(3, "{}"))];
    let (client, mut server) = connected(Era::Legacy, turns).await;
    let mut changes = client.listen(everything()).await.expect("a stream");
    let honoured = Interest { prompts: false, resources: false, ..everything() };
    assert_eq!(*changes.honoured(), honoured, "what the server did not promise is not expected");
    for expected in [Change::Tools, Change::Resource("x:1/a".to_owned())] {
        assert_eq!(changes.next().await.expect("a change").expect("no error"), expected);
    }
    let stream = server.request().await;
    assert!(stream.head.starts_with("GET "), "{}", stream.head);
    assert_eq!(stream.header("accept"), Some("text/event-stream"));
    assert_eq!(stream.header("mcp-session-id"), Some("abc"));
    let subscribe = body(&server.request().await);
    assert_eq!(subscribe["method"], "resources/subscribe");
    assert_eq!(subscribe["params"]["uri"], "x:1");
    drop(changes);
    server.hang_up().await;
    assert_eq!(body(&server.request().await)["method"], "resources/unsubscribe");
}

#[tokio::test]
async fn two_listeners_share_one_stream_and_one_subscription() {
    let (stream, goes_on) = Turn::in_two(events(""), note("resources/updated", r#"{"uri":"x:1"}"#));
    let turns = vec![stream, json(&answer(2, "{}")), json(&answer(3, "{}"))];
    let (client, mut server) = connected(Era::Legacy, turns).await;
    let mut one = client.listen(everything()).await.expect("a stream");
    let mut two = client.listen(everything()).await.expect("the same stream");
    goes_on.try_send(()).expect("the server waits");
    for changes in [&mut one, &mut two] {
        let change = changes.next().await.expect("a change").expect("no error");
        assert_eq!(change, Change::Resource("x:1".to_owned()));
    }
    drop(one);
    drop(two);
    client.close().await;
    let mut heads = Vec::new();
    for _ in 0..4 {
        let request = server.request().await;
        let method = request.body.split('"').find(|word| word.contains('/')).map(str::to_owned);
        heads.push(method.unwrap_or_else(|| request.head[..3].to_owned()));
    }
    assert_eq!(heads, ["GET", "resources/subscribe", "resources/unsubscribe", "DEL"]);
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_where_it_broke_and_not_before_the_server_wants() {
    let turns = vec![
        Turn::Say(events(&format!("id: e7\nretry: 700\n{}", note("tools/list_changed", "{}")))),
        Turn::Hold(events(&note("tools/list_changed", "{}"))),
    ];
    let (client, mut server) = connected(Era::Legacy, turns).await;
    let began = Instant::now();
    let mut changes = client.listen(tools()).await.expect("a stream");
    for _ in 0..2 {
        assert_eq!(changes.next().await.expect("a change").expect("no error"), Change::Tools);
    }
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
    assert_eq!(server.request().await.header("last-event-id"), None);
    assert_eq!(server.request().await.header("last-event-id"), Some("e7"));
}

#[tokio::test]
async fn what_a_stream_without_ids_did_not_tell_is_missed() {
    let turns = vec![
        Turn::Say(events(&format!("retry: 1\n{}", note("tools/list_changed", "{}")))),
        Turn::Hold(events("")),
    ];
    let (client, _server) = connected(Era::Legacy, turns).await;
    let mut changes = client.listen(tools()).await.expect("a stream");
    for expected in [Change::Tools, Change::Missed] {
        assert_eq!(changes.next().await.expect("a change").expect("no error"), expected);
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_had_any_more_is_given_up() {
    let (stream, goes_on) = Turn::in_two(events("id: 1\nretry: 1\ndata:\n\n"), String::new());
    let (client, mut server) = connected(Era::Legacy, vec![stream]).await;
    let mut changes = client.listen(tools()).await.expect("a stream");
    server.request().await;
    // The pauses grow; a clock that runs by itself makes them short.
    tokio::time::pause();
    goes_on.try_send(()).expect("the server waits");
    let error = changes.next().await.expect("an end").expect_err("no stream");
    assert!(matches!(error, ClientError::ChangesEnded { .. }), "{error}");
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn an_answer_in_many_pieces_is_waited_for_as_long_as_the_request_may_take() {
    let poll = |n: u32| Turn::Say(events(&format!("id: {n}\nretry: 1\ndata:\n\n")));
    let ok = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let mut turns: Vec<Turn> = (0..12).map(poll).collect();
    turns.push(Turn::Say(events(&format!("data: {}\n\n", answer(2, ok)))));
    let (client, _server) = connected(Era::Legacy, turns).await;
    let none = serde_json::value::RawValue::from_string("{}".to_owned()).expect("JSON");
    client.call_tool("tool", &none, &mut |_| {}).await.expect("an answer");
}

#[tokio::test]
async fn a_visit_that_a_legacy_server_wants_first_ends_by_its_word_over_http_too() {
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"not yet","data":
        {"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x/","message":"m"}]}}}"#;
    let ended = note("elicitation/complete", r#"{"elicitationId":"e"}"#);
    let ok = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let turns = vec![json(error), Turn::Hold(events(&ended)), json(&answer(3, ok))];
    let (client, mut server) = connected(Era::Legacy, turns).await;
    let none = serde_json::value::RawValue::from_string("{}".to_owned()).expect("JSON");
    client.call_tool("tool", &none, &mut |_| {}).await.expect("an answer");
    server.hang_up().await;
}

const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
note() { printf '{"jsonrpc":"2.0","method":"notifications/%s","params":{%s}}\n' "$1" "$2"; }
keep() { while read -r line; do printf '%s\n' "$line"; done > "$1"; }
ID='"_meta":{"io.modelcontextprotocol/subscriptionId"'
"#;

async fn process(era: Era, body: &str) -> Client {
    let script =
        format!("{PRELUDE}\nMODERN='{MODERN}'\nLEGACY='{}'\n{body}", LEGACY.replace('\n', ""));
    let target = Target::Command(Launch::new("sh", ["-c", &script]));
    let options = Options { era: Some(era), ..Options::default() };
    connect(&target, &options).await.expect("a connection")
}

#[tokio::test]
async fn over_stdio_a_modern_change_belongs_to_its_subscription() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("heard");
    let body = format!(
        r#"read -r line; answer 1 "$MODERN"; read -r line
        note subscriptions/acknowledged "$ID:2}},\"notifications\":{{\"toolsListChanged\":true}}"
        note tools/list_changed "$ID:3}}"; note tools/list_changed ''
        note prompts/list_changed "$ID:2}}"; note tools/list_changed "$ID:2}}"
        keep '{}'"#,
        file.display()
    );
    let client = process(Era::Modern, &body).await;
    let mut changes = client.listen(tools()).await.expect("a subscription");
    assert_eq!(changes.next().await.expect("a change").expect("no error"), Change::Tools);
    drop(changes);
    // The task that asked ends before the connection is closed.
    tokio::task::yield_now().await;
    client.close().await;
    let heard = std::fs::read_to_string(file).expect("what the server heard");
    assert!(heard.contains("notifications/cancelled"), "{heard}");
    assert!(heard.contains(r#""requestId":2"#), "{heard}");
}

#[tokio::test]
async fn over_stdio_a_legacy_server_tells_unasked() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("heard");
    let body = format!(
        r#"read -r line; answer 1 "$LEGACY"; read -r line
        read -r line; answer 2 '{{}}'
        note tools/list_changed ''; note resources/updated '"uri":"x:1"'
        keep '{}'"#,
        file.display()
    );
    let client = process(Era::Legacy, &body).await;
    let mut changes = client.listen(everything()).await.expect("subscribed");
    for expected in [Change::Tools, Change::Resource("x:1".to_owned())] {
        assert_eq!(changes.next().await.expect("a change").expect("no error"), expected);
    }
    drop(changes);
    client.close().await;
    let heard = std::fs::read_to_string(file).expect("what the server heard");
    assert!(heard.contains("resources/unsubscribe"), "{heard}");
}

#[tokio::test]
async fn changes_end_with_the_process_in_both_eras() {
    let body = r#"read -r line; answer 1 "$LEGACY"; read -r line; read -r line; answer 2 '{}'"#;
    let client = process(Era::Legacy, body).await;
    let mut changes = client.listen(everything()).await.expect("subscribed");
    let error = changes.next().await.expect("an end").expect_err("gone");
    assert!(matches!(error, ClientError::ChangesEnded { .. }), "{error}");
    let body = r#"read -r line; answer 1 "$MODERN"; read -r line
        note subscriptions/acknowledged "$ID:2},\"notifications\":{}""#;
    let client = process(Era::Modern, body).await;
    let mut changes = client.listen(tools()).await.expect("subscribed");
    let error = changes.next().await.expect("an end").expect_err("gone");
    assert!(matches!(error, ClientError::ServerExited { .. }), "{error}");
}
