//! Messages that cannot be read, or only with some good will, on every wire: their senders hear of
//! it by the id that they wait for.

use crate::everywhere::everybody;
use crate::fixture::Fixture;
use crate::pipe_client::PipeClient;
use crate::raw_client::RawClient;
use serde_json::{Value, json};

/// A call of `echo`, with its id at the end.
fn echo(text: &[u8]) -> Vec<u8> {
    let before =
        br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"#;
    [before, text, br#"}},"id":"r"}"#].concat()
}

#[tokio::test]
async fn what_can_be_read_is_and_else_the_error_has_the_id() {
    let deep = [&b"[".repeat(200)[..], &b"]".repeat(200)[..]].concat();
    let mut with_mark = b"\xef\xbb\xbf".to_vec();
    with_mark.extend(echo(b"\"x\""));
    let error = |told: &'static str| (json!("r"), Err(told));
    let echoed = |text: &'static str| (json!("r"), Ok(text));
    let rows = [
        ("half a pair", echo(br#""cut \ud83d""#), echoed("cut \u{fffd}")),
        ("the other half", echo(br#""\ude00!""#), echoed("\u{fffd}!")),
        ("a whole pair", echo(br#""\ud83d\ude00""#), echoed("\u{1f600}")),
        ("a byte order mark", with_mark, echoed("x")),
        ("NaN", echo(b"NaN"), error("Parse error")),
        ("a raw control character", echo(b"\"a\x01b\""), error("Parse error")),
        ("too deep", echo(&deep), error("deeper")),
        ("a comma too many", echo(b"\"x\","), error("Parse error")),
        (
            "cut short",
            br#"{"jsonrpc":"2.0","id":"r","method":"ping"#.to_vec(),
            (Value::Null, Err("Parse error")),
        ),
        (
            "the wrong version",
            br#"{"jsonrpc":"1.0","id":"r","method":"ping"}"#.to_vec(),
            error("jsonrpc"),
        ),
        ("no id", br#"{"jsonrpc":"2.0","method":NaN}"#.to_vec(), (Value::Null, Err("Parse error"))),
        ("no object", b"NaN".to_vec(), (Value::Null, Err("Parse error"))),
        ("not UTF-8", echo(b"\"caf\xe9\""), error("UTF-8")),
    ];
    for (wire, mut client) in everybody("2025-06-18").await {
        for (what, message, (id, expected)) in &rows {
            if *what == "not UTF-8" && wire == "a WebSocket" {
                // RFC 6455, section 8.1, ends the connection.
                continue;
            }
            let answer = client.ask(message).await;
            assert_eq!(answer["id"], *id, "{wire}, {what}: {answer}");
            match expected {
                Ok(text) => {
                    assert_eq!(answer["result"]["content"][0]["text"], *text, "{wire}, {what}");
                }
                Err(told) => {
                    let message = answer["error"]["message"].to_string();
                    assert!(message.contains(told), "{wire}, {what}: {message}");
                }
            }
        }
    }
}

/// A call that asks, and the answer to it that cannot be read.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#;

fn broken(question: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"a":NaN}}}}"#, question["id"])
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_question() {
    let mut client = PipeClient::start();
    client.initialize("2025-11-25").await;
    let question = client.ask(CALL).await;
    let told = client.ask(&broken(&question)).await;
    assert_eq!((&told["id"], &told["error"]["code"]), (&Value::Null, &json!(-32700)));
    assert_eq!(client.read().await["id"], 1);

    let fixture = Fixture::start().await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session("2025-11-25").await;
    let mut stream = RawClient::connect(fixture.address).await.open(&session.post(CALL)).await;
    let question = stream.message().await;
    let told = client.ask(&session.post(&broken(&question))).await;
    assert_eq!((told.status, &told.json()["id"]), (400, &Value::Null));
    assert_eq!(stream.message().await["id"], 1);
}
