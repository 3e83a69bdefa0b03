//! An upstream over HTTP that forgets its session, or answers what cannot be read: calls are
//! repeated in a new session, and every other failure is told with its reason and the upstream's
//! name.

use super::bed::{Bed, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a server does, as its test says meanwhile.
#[derive(Debug, Default)]
struct Upstream {
    /// How often hands were shaken; the last session is called so.
    shaken: u32,
    /// The sessions up to this one are forgotten.
    forgotten: u32,
    /// How a request in such a session is refused: status and body.
    refusal: (u16, &'static str),
    /// Hands are not shaken any more.
    is_closed: bool,
    /// What answers a call in place of a result, after the id.
    answer: Option<Vec<u8>>,
    calls: u32,
}

type Shared = Arc<Mutex<Upstream>>;

/// Begins to serve; the server's address, and what it does.
fn serve() -> (String, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let upstream = Shared::default();
    let shared = Arc::clone(&upstream);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || answer(stream, &shared));
        }
    });
    (url, upstream)
}

/// Answers one request; whoever is gone is not answered.
fn answer(stream: TcpStream, upstream: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).ok()? > 2 {
        head.push_str(&line.to_lowercase());
        line.clear();
    }
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let length = field("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let session = field("mcp-session-id: s").and_then(|session| session.parse::<u32>().ok());
    let (status, more, body) = said(&message, session, &mut upstream.lock().expect("free"));
    let head = format!(
        "HTTP/1.1 {status} X\r\n{more}content-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    reader.get_mut().write_all(&[head.as_bytes(), &body].concat()).ok()
}

fn said(message: &Value, session: Option<u32>, of: &mut Upstream) -> (u16, String, Vec<u8>) {
    let id = &message["id"];
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let plain = |value: Value| (200, String::new(), value.to_string().into_bytes());
    match message["method"].as_str().unwrap_or_default() {
        "" => (405, String::new(), Vec::new()),
        "initialize" if of.is_closed => (503, String::new(), Vec::new()),
        "initialize" => {
            of.shaken += 1;
            let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "far", "version": "1" } });
            let header = format!("mcp-session-id: s{}\r\n", of.shaken);
            (200, header, result(hello).to_string().into_bytes())
        }
        _ if session.is_none_or(|session| session <= of.forgotten) => {
            let (status, body) = of.refusal;
            (status, String::new(), body.as_bytes().to_vec())
        }
        _ if id.is_null() => (202, String::new(), Vec::new()),
        "tools/list" => plain(result(json!({ "tools": [
            { "name": "try", "inputSchema": { "type": "object" } }] }))),
        "tools/call" => {
            of.calls += 1;
            match &of.answer {
                None => plain(result(json!({ "content": [{ "type": "text", "text": "tried" }] }))),
                Some(rest) => {
                    let begun = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
                    (200, String::new(), [begun.as_bytes(), rest].concat())
                }
            }
        }
        _ => plain(result(json!({}))),
    }
}

#[test]
fn a_session_that_is_forgotten_in_any_way_is_begun_anew_and_the_call_repeated() {
    let (url, upstream) = serve();
    upstream.lock().expect("free").refusal = (400, "no session");
    let bed = Bed::of(&json!({ "url": url, "timeout": "20s" }), None);
    assert_eq!(bed.call("bad_try").said(), "tried");
    let null =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session"}}"#;
    let first = upstream.lock().expect("free").shaken;
    let refusals = [
        (400, null),
        (400, ""),
        (401, ""),
        (404, ""),
        (410, "gone"),
        (500, "<html>"),
        (503, ""),
        (200, null),
    ];
    for (before, refusal) in (first..).zip(refusals) {
        assert!(wait_until(|| bed.see("upstreams")[0]["state"] == "ready"));
        let calls = {
            let mut upstream = upstream.lock().expect("free");
            (upstream.refusal, upstream.forgotten) = (refusal, upstream.shaken);
            upstream.calls
        };
        assert_eq!(bed.call("bad_try").said(), "tried", "{refusal:?}");
        let upstream = upstream.lock().expect("free");
        let now = (upstream.shaken, upstream.calls);
        assert_eq!(now, (before + 1, calls + 1), "{refusal:?}: once anew, and called once");
    }
    // Where that fails, it is down, which is told, and had again when it is back.
    {
        let mut upstream = upstream.lock().expect("free");
        (upstream.is_closed, upstream.forgotten) = (true, upstream.shaken);
    }
    assert!(wait_until(|| bed.call("bad_try").said().starts_with("Upstream `bad`: down")));
    bed.gate.told(&["`bad`", "503"]);
    upstream.lock().expect("free").is_closed = false;
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
}

#[test]
fn an_answer_that_cannot_be_read_is_told_with_the_reason_and_logged() {
    let (url, upstream) = serve();
    upstream.lock().expect("free").refusal = (400, "no session");
    let bed = Bed::of(&json!({ "url": url, "timeout": "60s" }), None);
    assert_eq!(bed.call("bad_try").said(), "tried");
    for (rest, reason) in [
        (&br#""result":{"v":NaN}}"#[..], "expected a value"),
        (b"\"result\":{\"v\":\"caf\xe9\"}}", "UTF-8"),
        (b"\"result\":{\"v\":\"a\tb\"}}", "control character"),
    ] {
        upstream.lock().expect("free").answer = Some(rest.to_vec());
        let answer = bed.call("bad_try");
        let told = answer.said();
        let is_right =
            told.starts_with("Upstream `bad`: its answer to `tools/call` cannot be read");
        assert!(is_right && told.contains(reason), "{told}");
        bed.gate.told(&["bad", "not a JSON-RPC message", reason]);
    }
    let half = br#""result":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    upstream.lock().expect("free").answer = Some(half.to_vec());
    assert_eq!(bed.call("bad_try").said(), "cut \u{fffd}");
}
