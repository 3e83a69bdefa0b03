//! Servers that have forgotten a legacy session, and say so in every way that is in use; and those
//! that refuse one request with the same words and know the session well.

use crate::scripted_http::{Scripted, Turn, events, json, response, with_headers};
use haft_client::{Client, ClientError, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::time::Duration;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

/// A connection, in a session or without, to a server that says this from then on.
async fn connected(session: &str, turns: Vec<Turn>) -> (Client, Scripted) {
    let headers = format!("content-type: application/json\r\n{session}");
    let shaken = [with_headers(200, &headers, INITIALIZED), with_headers(202, "", "")];
    let mut server = Scripted::new(shaken.into_iter().chain(turns)).await;
    let timeout = Duration::from_secs(60);
    let options = Options { era: Some(Era::Legacy), timeout, ..Options::default() };
    let client = connect(&Target::Url(server.url.clone()), &options).await.expect("a connection");
    server.request().await;
    server.request().await;
    (client, server)
}

async fn call(client: &Client) -> ClientError {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    client.call_tool("tool", &arguments, &mut |_| {}).await.expect_err("it is refused")
}

const IN_SESSION: &str = "mcp-session-id: abc\r\n";

fn error(id: &str, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{message}"}}}}"#)
}

/// What refuses in an old session, whatever is asked.
fn refusals() -> Vec<(String, Turn)> {
    let mut all = Vec::new();
    for status in [400, 401, 404, 410, 500, 503] {
        let plain = response(status, "text/plain", "no");
        let said = error("null", "Bad Request: No valid session ID provided");
        all.push((format!("{status}, plain"), plain));
        all.push((format!("{status}, empty"), with_headers(status, "", "")));
        all.push((format!("{status}, JSON"), response(status, "application/json", &said)));
    }
    all.push(("200, JSON".to_owned(), json(&error("null", "Session not found"))));
    let event = format!("data: {}\n\n", error("null", "unknown session"));
    all.push(("200, event".to_owned(), Turn::Say(events(&event))));
    all
}

#[tokio::test]
async fn a_refusal_in_an_old_session_says_that_it_is_lost() {
    for (name, refusal) in refusals() {
        let (client, _server) = connected(IN_SESSION, vec![refusal.clone(), refusal]).await;
        let error = call(&client).await;
        assert!(matches!(error, ClientError::SessionLost), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_in_a_session_that_the_server_knows_is_about_the_request() {
    let pong = r#"{"jsonrpc":"2.0","id":"haft","result":{}}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":"haft","error":{"code":-32601,"message":"what?"}}"#;
    for (name, refusal) in refusals().into_iter().filter(|(name, _)| !name.starts_with("404")) {
        for knows in [json(pong), json(unknown)] {
            let (client, mut server) = connected(IN_SESSION, vec![refusal.clone(), knows]).await;
            let error = call(&client).await;
            assert!(!matches!(error, ClientError::SessionLost), "{name}: {error}");
            server.request().await;
            let tried = server.request().await;
            assert!(tried.body.contains(r#""method":"ping""#), "{name}: {}", tried.body);
            assert_eq!(tried.header("mcp-session-id"), Some("abc"), "{name}");
        }
        // Without a session there is none to be lost.
        let (client, _server) = connected("", vec![refusal]).await;
        let error = call(&client).await;
        assert!(!matches!(error, ClientError::SessionLost), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_that_says_nothing_of_the_session_is_not_looked_into() {
    for refusal in [
        json(&error("2", "no such tool")),
        response(422, "text/plain", "no session"),
        response(502, "text/plain", ""),
    ] {
        let (client, _server) = connected(IN_SESSION, vec![refusal]).await;
        let error = call(&client).await;
        assert!(!matches!(error, ClientError::SessionLost), "{error}");
    }
}
