//! Answers that cannot be read as they are, over stdio, as JSON over HTTP, and as events: what can
//! be mended is, and everything else ends its own call at once, with the reason.

use crate::hostile_process::PRELUDE;
use crate::scripted_http::read;
use haft_client::{Client, ClientError, Launch, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::io::Write;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
    "capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

fn legacy() -> Options {
    // Longer than any test may take: who waits for it fails.
    let timeout = std::time::Duration::from_secs(120);
    Options { era: Some(Era::Legacy), timeout, ..Options::default() }
}

/// What comes, and what becomes of it: text that the result holds, or a part of the reason.
fn rows() -> Vec<(Vec<u8>, Result<&'static str, &'static str>)> {
    let answer = |text: &str| {
        let content = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{content}}}"#).into_bytes()
    };
    let with = |member: &str| format!(r#"{{"jsonrpc":"2.0","id":2,{member}}}"#).into_bytes();
    let mut latin = answer("caf@");
    latin.iter_mut().filter(|byte| **byte == b'@').for_each(|byte| *byte = 0xe9);
    let deep = format!(r#""result":{{"a":{}{}}}"#, "[".repeat(2000), "]".repeat(2000));
    vec![
        (answer("fine"), Ok("fine")),
        // Half of a surrogate pair, alone, at the end and twice, beside a whole one.
        (answer(r"cut \ud83d"), Ok("cut \u{fffd}")),
        (answer(r"\uDE00 \ud83d\ud83d\ude00"), Ok("\u{fffd} \u{fffd}\u{1f600}")),
        (answer(r"\\ud83d"), Ok(r"\ud83d")),
        ([&b"\xef\xbb\xbf"[..], &answer("marked")].concat(), Ok("marked")),
        (with(r#""result":{"content":[]},"error":null"#), Ok("[]")),
        (with(r#""result":{"v":NaN}"#), Err("expected a value")),
        (with(r#""result":{"v":-Infinity}"#), Err("expected")),
        (with(r#""result":{"v":1,}"#), Err("expected")),
        (with(&deep), Err("deep")),
        (answer("a\tb"), Err("control character")),
        (latin, Err("UTF-8")),
        (with(r#""result":{"a":"\x"}"#), Err("expected")),
        (with(r#""result":{"a":1}"#)[..40].to_vec(), Err("expected")),
        // What does not say to what it is an answer is one to the only call.
        (br#"{"jsonrpc":"2.0","result":{"v":NaN}}"#.to_vec(), Err("expected a value")),
        (br#"{"jsonrpc":"2.0","result":{}}"#.to_vec(), Err("id")),
        (br#"[{"jsonrpc":"1.0","id":2,"result":{}}]"#.to_vec(), Err("jsonrpc")),
    ]
}

/// What is no answer, before one.
const STRAYS: [&[u8]; 7] = [
    b"ping",
    b"[DONE]",
    b"INFO starting {not json}",
    b"\xff\xfe latin \xe9",
    b"{\"level\":\"info\",\"msg\":\"hello\"}",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":NaN}}",
    b"\xef\xbb\xbf",
];

async fn call(client: &Client) -> Result<String, ClientError> {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    client.call_tool("tool", &arguments, &mut |_| {}).await.map(|result| {
        let value: serde_json::Value = serde_json::from_str(result.raw.get()).expect("JSON");
        let text = value["content"][0]["text"].as_str().map(str::to_owned);
        text.unwrap_or_else(|| value["content"].to_string())
    })
}

fn check(wire: &str, sent: &[u8], came: Result<String, ClientError>, right: Result<&str, &str>) {
    let sent = String::from_utf8_lossy(&sent[..sent.len().min(90)]).into_owned();
    match (came, right) {
        (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{wire}: {sent}"),
        (Err(error @ ClientError::NotJsonRpc { .. }), Err(reason)) => {
            assert!(error.to_string().contains(reason), "{wire}: {sent}: {error}");
        }
        (came, right) => panic!("{wire}: {sent}: {came:?} in place of {right:?}"),
    }
}

/// A connection to a child process that answers the call with these bytes.
async fn over_stdio(bytes: &[u8]) -> (Client, NamedTempFile) {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(&[bytes, b"\n"].concat()).expect("it is written");
    let body = format!("{PRELUDE}\nshake; read -r line; cat {}; silent", file.path().display());
    let target = Target::Command(Launch::new("sh", ["-c", &body]));
    (connect(&target, &legacy()).await.expect("a connection"), file)
}

/// The same over HTTP.
async fn over_http(kind: &'static str, bytes: Vec<u8>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let json = "application/json";
        for (status, kind, body) in [
            ("200 OK", json, INITIALIZED.as_bytes().to_vec()),
            ("202 Accepted", json, Vec::new()),
            ("200 OK", kind, bytes),
        ] {
            let (mut stream, _) = listener.accept().await.expect("a client");
            read(&mut stream).await.expect("a request");
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n"
            );
            stream.write_all(&[head.as_bytes(), &body].concat()).await.expect("it is read");
        }
    });
    connect(&Target::Url(url), &legacy()).await.expect("a connection")
}

fn event(data: &[u8]) -> Vec<u8> {
    [b"data: ", data, b"\n\n"].concat()
}

#[tokio::test]
async fn each_answer_ends_its_call_at_once_over_every_wire() {
    for (bytes, right) in rows() {
        let (client, _file) = over_stdio(&bytes).await;
        check("stdio", &bytes, call(&client).await, right);
        let client = over_http("application/json", bytes.clone()).await;
        check("JSON", &bytes, call(&client).await, right);
        let client = over_http("text/event-stream", event(&bytes)).await;
        check("events", &bytes, call(&client).await, right);
    }
}

#[tokio::test]
async fn what_is_no_answer_is_skipped() {
    let answer = br#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"ok"}]}}"#;
    for stray in STRAYS {
        let (client, _file) = over_stdio(&[stray, b"\n", answer].concat()).await;
        check("stdio", stray, call(&client).await, Ok("ok"));
        let body = [event(stray), event(answer)].concat();
        let client = over_http("text/event-stream", body).await;
        check("events", stray, call(&client).await, Ok("ok"));
    }
}

#[tokio::test]
async fn only_the_call_ends_whose_answer_cannot_be_read() {
    let body = r#"shake; read -r one; read -r other
        printf '{"jsonrpc":"2.0","id":%s,"result":{"v":NaN}}\n' "$(id_of "$one")"
        answer "$(id_of "$other")" "$OK"; silent"#;
    let target = Target::Command(Launch::new("sh", ["-c", &format!("{PRELUDE}\n{body}")]));
    let client = connect(&target, &legacy()).await.expect("a connection");
    let both = tokio::join!(call(&client), call(&client));
    let (Err(ClientError::NotJsonRpc { .. }), Ok(text)) = both else { panic!("{both:?}") };
    assert_eq!(text, "ok");
}
