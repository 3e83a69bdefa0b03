//! Results that are too long to be held: they come through a gateway as they are, in whatever way
//! either side is reached, and one that breaks off is never taken for whole.

use crate::desk::Desk;
use crate::gateway::{called, gate, pipe, serve, serve_with};
use crate::gateway_admin::Door;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Lines of numbers, 350 KB of them, and a text in which JSON escapes much.
const LONG: &str = r#"
server: { name: far }
tools:
  - { name: lines, description: Counts., command: [seq, "1", "60000"] }
  - name: odd
    description: Is odd.
    command: [awk, 'BEGIN { for (i = 0; i < 9000; i++) printf "\"{}\\\t%d é€𝄞 }{\n", i }']
"#;

#[test]
fn a_long_result_comes_as_it_is_whatever_either_side_speaks() {
    let desk = Desk::with(LONG);
    let direct = serve(desk.file());
    for era in ["legacy", "modern"] {
        let gates = [
            gate(&format!("  far: {{ url: {:?}, era: {era} }}\n", direct.url)),
            gate(&format!("  far: {{ {}, era: {era} }}\n", pipe(&desk))),
        ];
        for gate in gates {
            let gate = serve(gate.file());
            for tool in ["lines", "odd"] {
                let expected = called(&direct.url, "modern", tool, &json!({}));
                assert!(expected.len() > 150_000, "{}", expected.len());
                for client in ["legacy", "modern"] {
                    let came = called(&gate.url, client, &format!("far_{tool}"), &json!({}));
                    assert!(came == expected, "{tool} of {era} for {client}: {}", came.len());
                }
            }
        }
    }
}

#[test]
fn a_long_result_that_breaks_off_is_not_taken_for_whole() {
    let far = breaking_off();
    let gate = gate(&format!("  far: {{ url: {far:?}, era: modern }}\n"));
    let gate = serve(gate.file());
    // In pieces, as the answer itself is all there is to say: HTTP has no end.
    let answer = post(&gate.url, "application/json");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let is_open = head.starts_with("HTTP/1.1 200") && head.contains("transfer-encoding: chunked");
    assert!(is_open, "{head}: {}", body.len());
    assert!(body.len() > 100_000 && body.contains(r#""id":7,"result":{  "content": ["#));
    assert!(!body.contains("{\n") && !body.contains("[\n"), "a message is one line");
    assert!(!body.ends_with("0\r\n\r\n"), "it does not end");
    // As an event it is put together first, so that the reason can be told.
    let answer = post(&gate.url, "text/event-stream");
    assert!(answer.contains("Upstream `far`: "), "{answer}");
    assert!(answer.contains("in the middle of its answer") && answer.len() < 1000, "{answer}");
    assert_eq!(called(&gate.url, "modern", "own", &json!({})), "ours", "nobody else is harmed");
}

#[test]
fn a_long_result_is_counted_at_its_end_and_measured_in_pieces() {
    let desk = Desk::with(LONG);
    let (direct, far) = (serve(desk.file()), breaking_off());
    let gate = gate(&format!("  well: {{ url: {:?} }}\n  far: {{ url: {far:?} }}\n", direct.url));
    let gate = serve_with(gate.file(), &["--admin", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let url = gate.told(&["haft: serving", " at http"]);
    let (_, url) = url.rsplit_once(" at ").expect("an address");
    let answer = post(url, "application/json");
    assert!(answer.contains("transfer-encoding: chunked") && answer.len() > 100_000, "{answer}");
    called(url, "modern", "well_lines", &json!({}));
    let door = Door::of(&gate);
    let upstreams = door.see("upstreams");
    let counts = |place: usize| ["calls", "running", "failed"].map(|key| &upstreams[place][key]);
    assert_eq!(counts(0), [&json!(1), &json!(0), &json!(0)], "{upstreams}");
    assert_eq!(counts(1), [&json!(1), &json!(0), &json!(1)], "{upstreams}");
    let metrics = get(&gate.url);
    for line in [
        r#"haft_requests_total{method="tools/call",name="far_x",outcome="refused"} 1"#,
        r#"haft_requests_total{method="tools/call",name="well_lines",outcome="ok"} 1"#,
        r#"haft_requests_running{method="tools/call"} 0"#,
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

fn get(url: &str) -> String {
    let (address, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.0\r\nhost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends");
    answer
}

/// Calls the tool, and takes what comes until the other end closes.
fn post(url: &str, accept: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"far_x",
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
                mcp-method: tools/call\r\nmcp-name: far_x\r\nconnection: close";
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\naccept: {accept}\r\n{head}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut answer = Vec::new();
    // However it ends.
    _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A modern server with one tool, of whose answer only the first half comes.
fn breaking_off() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || speak(stream));
        }
    });
    url
}

fn speak(mut stream: TcpStream) {
    while let Some(message) = message(&mut stream) {
        let is_call = message["method"] == "tools/call";
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}
            }),
            Some("tools/list") => json!({
                "resultType": "complete",
                "tools": [{"name": "x", "inputSchema": {"type": "object"}}]
            }),
            _ => json!({"content": [{"type": "text", "text": "x".repeat(300_000)}]}),
        };
        // On several lines, as people read it.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result:#}}}"#, message["id"]);
        let sent = if is_call { &answer[..answer.len() / 2] } else { &answer };
        let length = answer.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        let sent = write!(stream, "{head} {length}\r\n\r\n{sent}");
        if is_call || sent.is_err() {
            return;
        }
    }
}

/// The next message, if one comes.
fn message(stream: &mut TcpStream) -> Option<serde_json::Value> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
