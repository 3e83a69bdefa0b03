//! HTTP servers that ask back: in a result in the modern era, on the stream of the answer in the
//! legacy one. What they are sent, byte for byte.

use crate::answering::{Agreeable, Thinker, answered_by};
use crate::scripted_http::{Request, Scripted, Turn, events, json, response, with_headers};
use haft_client::{CallResult, Client, ClientError, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use serde_json::{Value, json as value};
use std::sync::Arc;
use std::time::Duration;

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
    "supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

fn answer(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn needs(id: u32, members: &str) -> Turn {
    json(&answer(id, &format!(r#"{{"resultType":"input_required",{members}}}"#)))
}

fn accepted() -> Turn {
    with_headers(202, "", "")
}

async fn connected(era: Era, options: Options, turns: Vec<Turn>) -> (Client, Scripted) {
    connected_with(era, options, response(405, "text/plain", ""), turns).await
}

/// In the legacy era the client asks for the stream that belongs to no request.
async fn connected_with(
    era: Era,
    options: Options,
    standing: Turn,
    turns: Vec<Turn>,
) -> (Client, Scripted) {
    let first = match era {
        Era::Modern => vec![json(DISCOVERED)],
        Era::Legacy => {
            let headers = "content-type: application/json\r\nmcp-session-id: abc\r\n";
            vec![with_headers(200, headers, INITIALIZED), accepted(), standing]
        }
    };
    let handshake = first.len();
    let mut server = Scripted::new(first.into_iter().chain(turns)).await;
    let target = Target::Url(server.url.clone());
    let options = Options { era: Some(era), ..options };
    let client = connect(&target, &options).await.expect("a connection");
    for _ in 0..handshake {
        server.request().await;
    }
    (client, server)
}

async fn call(client: &Client) -> Result<CallResult, ClientError> {
    let arguments = RawValue::from_string(r#"{"a":1.50}"#.to_owned()).expect("JSON");
    client.call_tool("tool", &arguments, &mut |_| {}).await
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

#[tokio::test]
async fn a_modern_request_is_sent_again_with_answers_and_the_exact_state() {
    let state = r#""\u00e9\/\"\\ =?""#;
    let answerer = Arc::new(Agreeable::default());
    let turns = vec![
        needs(2, &format!(r#""inputRequests":{{"b":{ROOTS},"a":{ROOTS}}},"requestState":{state}"#)),
        needs(3, r#""requestState":"second""#),
        needs(4, &format!(r#""inputRequests":{{"c":{ROOTS}}}"#)),
        json(&answer(5, OK)),
    ];
    let options = answered_by(&answerer, Options::default());
    let (client, mut server) = connected(Era::Modern, options, turns).await;
    call(&client).await.expect("an answer");
    let first = server.request().await;
    assert_eq!(body(&first)["params"].get("inputResponses"), None);
    assert_eq!(body(&first)["params"].get("requestState"), None);
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let meta = &body(&first)["params"]["_meta"];
    assert_eq!(meta[capabilities]["elicitation"], value!({"form": {}, "url": {}}));

    let second = server.request().await;
    assert!(second.body.contains(&format!(r#""requestState":{state}"#)), "{}", second.body);
    assert!(second.body.contains(r#""arguments":{"a":1.50}"#), "{}", second.body);
    let (method, name) = (second.header("mcp-method"), second.header("mcp-name"));
    assert_eq!((method, name), (Some("tools/call"), Some("tool")));
    let said = body(&second);
    assert_eq!((&said["id"], &said["method"]), (&value!(3), &value!("tools/call")));
    let roots = value!({"roots": [{"uri": "file:///x"}]});
    assert_eq!(said["params"]["inputResponses"], value!({"b": roots, "a": roots}));

    let third = body(&server.request().await);
    assert_eq!(third["params"]["requestState"], "second");
    assert_eq!(third["params"].get("inputResponses"), None, "answers are for one round");
    let fourth = body(&server.request().await);
    assert_eq!(fourth["params"].get("requestState"), None, "none came, so none goes");
    assert_eq!(fourth["params"]["inputResponses"], value!({"c": roots}));
    assert_eq!(answerer.count(), 3);
}

#[tokio::test]
async fn a_legacy_server_asks_on_the_stream_and_is_answered_by_a_request_of_its_own() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let begun = events(&format!("id: 1\ndata:\n\ndata: {ask}\n\n"));
    let (stream, goes_on) = Turn::in_two(begun, format!("data: {}\n\n", answer(2, OK)));
    let options = answered_by(&Arc::new(Agreeable::default()), Options::default());
    let (client, mut server) = connected(Era::Legacy, options, vec![stream, accepted()]).await;
    let serve = async {
        server.request().await;
        let answered = server.request().await;
        goes_on.try_send(()).expect("the server holds the rest");
        answered
    };
    let (result, answered) = tokio::join!(call(&client), serve);
    result.expect("an answer");
    assert_eq!(answered.header("mcp-session-id"), Some("abc"));
    assert_eq!(answered.header("mcp-protocol-version"), Some("2025-11-25"));
    let roots = value!({"roots": [{"uri": "file:///x"}]});
    assert_eq!(body(&answered), value!({"jsonrpc": "2.0", "id": "q", "result": roots}));
}

#[tokio::test]
async fn an_answer_that_a_legacy_server_does_not_take_ends_the_call() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let stream = Turn::Hold(events(&format!("data: {ask}\n\n")));
    let options = answered_by(&Arc::new(Agreeable::default()), Options::default());
    let refused = with_headers(400, "", "who asked you?");
    let (client, _server) = connected(Era::Legacy, options, vec![stream, refused]).await;
    let error = call(&client).await.expect_err("no answer");
    assert!(matches!(error, ClientError::HttpStatus { status: 400, .. }), "{error}");
}

#[tokio::test]
async fn time_runs_again_once_a_question_is_answered() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let stream = Turn::Hold(events(&format!("data: {ask}\n\n")));
    // It takes the answer and says nothing.
    let silent = Turn::Hold(String::new());
    let options = answered_by(&Arc::new(Agreeable::default()), Options::default());
    let options = Options { timeout: Duration::from_secs(1), ..options };
    let (client, _server) = connected(Era::Legacy, options, vec![stream, silent]).await;
    let error = call(&client).await.expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
}

#[tokio::test]
async fn a_question_ends_with_the_call_that_it_belongs_to() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    for then in ["", &format!("data: {}\n\n", answer(2, OK))] {
        let begun = events(&format!("data: {ask}\n\n"));
        let (stream, goes_on) = Turn::in_two(begun, then.to_owned());
        let thinker = Arc::new(Thinker::default());
        let options = answered_by(&thinker, Options::default());
        let (client, _server) = connected(Era::Legacy, options, vec![stream, accepted()]).await;
        let serve = async {
            thinker.begins.notified().await;
            goes_on.try_send(()).expect("the server holds the rest");
        };
        let (result, ()) = tokio::join!(call(&client), serve);
        assert_eq!(result.is_ok(), !then.is_empty());
        thinker.is_interrupted.notified().await;
    }
}

#[tokio::test]
async fn a_modern_stream_that_asks_back_is_not_answered() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let stream = Turn::Say(events(&format!("data: {ask}\n\ndata: {}\n\n", answer(2, OK))));
    let answerer = Arc::new(Agreeable::default());
    let options = answered_by(&answerer, Options::default());
    let (client, _server) = connected(Era::Modern, options, vec![stream]).await;
    call(&client).await.expect("an answer");
    assert_eq!(answerer.count(), 0);
}

#[tokio::test]
async fn a_legacy_server_may_ask_and_tell_on_the_stream_that_belongs_to_no_request() {
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#.to_owned()
        + r#"{"progressToken":2,"progress":1}}"#;
    let said = events(&format!("data: {progress}\n\ndata: {ask}\n\n"));
    let (standing, begins) = Turn::in_two(events(""), said[events("").len()..].to_owned());
    let (held, goes_on) = Turn::held(events(&format!("data: {}\n\n", answer(2, OK))));
    let options = answered_by(&Arc::new(Agreeable::default()), Options::default());
    let turns = vec![held, accepted()];
    let (client, mut server) = connected_with(Era::Legacy, options, standing, turns).await;
    let serve = async {
        assert!(server.request().await.body.contains("tools/call"));
        begins.try_send(()).expect("the server holds what it asks");
        let answered = server.request().await;
        goes_on.try_send(()).expect("the server holds the answer");
        answered
    };
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let mut heard = 0;
    let mut listener = |_| heard += 1;
    let calling = client.call_tool("tool", &arguments, &mut listener);
    let (result, answered) = tokio::join!(calling, serve);
    result.expect("an answer");
    assert_eq!(body(&answered)["result"]["roots"][0]["uri"], "file:///x");
    assert_eq!(heard, 1);
}

#[tokio::test]
async fn a_legacy_server_that_never_begins_that_stream_is_called_all_the_same() {
    let options = answered_by(&Arc::new(Agreeable::default()), Options::default());
    let silent = Turn::Hold(String::new());
    let turns = vec![json(&answer(2, OK))];
    let (client, mut server) = connected_with(Era::Legacy, options, silent, turns).await;
    server.hang_up().await;
    call(&client).await.expect("an answer");
}
