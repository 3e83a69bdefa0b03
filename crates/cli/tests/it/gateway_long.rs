//! Results that are too long to be held: they come through a gateway as they are, in whatever way
//! either side is reached, and one that breaks off is never taken for whole.

use crate::desk::Desk;
use crate::gateway::{called, gate, pipe, serve, serve_with};
use crate::gateway_admin::Door;
use crate::gateway_faults::bed::{Answer, ask, exchange, modern, posted};
use serde_json::{Value, json};
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
    let url = &gate.url;
    let answer = post(url, "application/json");
    assert!(answer.contains("transfer-encoding: chunked") && answer.len() > 100_000, "{answer}");
    called(url, "modern", "well_lines", &json!({}));
    let door = Door::of(&gate);
    let upstreams = door.see("upstreams");
    let counts = |place: usize| ["calls", "running", "failed"].map(|key| &upstreams[place][key]);
    assert_eq!(counts(0), [&json!(1), &json!(0), &json!(0)], "{upstreams}");
    assert_eq!(counts(1), [&json!(1), &json!(0), &json!(1)], "{upstreams}");
    let told = gate.told(&["haft: metrics at "]);
    let (_, metrics) = told.rsplit_once(" at ").expect("an address");
    let metrics = get(metrics);
    for line in [
        r#"haft_requests_total{method="tools/call",name="far_x",outcome="refused"} 1"#,
        r#"haft_requests_total{method="tools/call",name="well_lines",outcome="ok"} 1"#,
        r#"haft_requests_running{method="tools/call"} 0"#,
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

/// What else a result has than its content, in its own order.
const BESIDE: [&str; 4] = [
    "",
    r#","resultType":"complete""#,
    r#","_meta":{"resultType":"a"},"isError":false"#,
    r#","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"1"}},
        "resultType":"complete""#,
];

#[test]
fn a_long_result_says_what_a_short_one_says() {
    for beside in BESIDE {
        for era in ["legacy", "modern"] {
            let gate = gate(&format!("  far: {{ url: {:?}, era: {era} }}\n", saying(beside)));
            let gate = serve(gate.file());
            for asked in [asked_modern, asked_legacy] {
                let [short, long] = [10, 300_000].map(|length| asked(&gate.url, length));
                assert_eq!(short, long, "{beside} of a {era} server");
                assert!(short["content"].is_null(), "{short}");
            }
            let told = asked_modern(&gate.url, 300_000);
            let says = |key: &str| !told[key].is_null();
            assert!(says("_meta") || beside.contains("resultType"), "{told}");
            assert_eq!(told["resultType"], "complete", "{beside} of a {era} server");
        }
    }
}

/// What is answered, but for the content, which is as long as it was asked for.
fn beside_content(answer: &Answer, length: usize) -> Value {
    let mut result = answer.message["result"].clone();
    let content = result.as_object_mut().and_then(|result| result.remove("content"));
    let text = content.as_ref().and_then(|content| content[0]["text"].as_str());
    assert_eq!(text.map(str::len), Some(length), "{result}");
    result
}

fn asked_modern(url: &str, length: usize) -> Value {
    let params = json!({"name": "far_x", "arguments": {"length": length}});
    beside_content(&exchange(url, &modern(url, ("tools/call", "far_x"), params)), length)
}

fn asked_legacy(url: &str, length: usize) -> Value {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"}}});
    let told = ask(url, "", &hello.to_string());
    let id = told.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let id = id.unwrap_or_else(|| panic!("{told}"));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "far_x", "arguments": {"length": length}}});
    let headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
    beside_content(&exchange(url, &posted(url, &headers, &call.to_string())), length)
}

/// A server of either era with one tool, whose results have this beside their content.
fn saying(beside: &'static str) -> String {
    serving(move |stream, message| {
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"}
            })
            .to_string(),
            Some("tools/call") => {
                let length = message["params"]["arguments"]["length"].as_u64().unwrap_or_default();
                let text = "x".repeat(usize::try_from(length).expect("it is short"));
                let content = json!([{"type": "text", "text": text, "resultType": ["_meta"]}]);
                format!(r#"{{"content":{content}{beside}}}"#)
            }
            _ => described(message).to_string(),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, message["id"]);
        answered(stream, &answer, answer.len()).is_ok()
    })
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
    serving(|stream, message| {
        let is_call = message["method"] == "tools/call";
        let result = match is_call {
            true => json!({"content": [{"type": "text", "text": "x".repeat(300_000)}]}),
            false => described(message),
        };
        // On several lines, as people read it.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result:#}}}"#, message["id"]);
        let sent = if is_call { answer.len() / 2 } else { answer.len() };
        answered(stream, &answer, sent).is_ok() && !is_call
    })
}

/// What a modern server says of itself and its tool.
fn described(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}
        }),
        _ => json!({
            "resultType": "complete",
            "tools": [{"name": "x", "inputSchema": {"type": "object"}}]
        }),
    }
}

/// Sends so many bytes of an answer.
fn answered(stream: &mut TcpStream, answer: &str, sent: usize) -> std::io::Result<()> {
    let (length, sent) = (answer.len(), &answer[..sent]);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
    write!(stream, "{head} {length}\r\n\r\n{sent}")
}

/// A server that answers each message of a connection until it says that this is over.
fn serving(answer: impl Fn(&mut TcpStream, &Value) -> bool + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (mut stream, answer) = (stream, answer.clone());
            thread::spawn(move || {
                while let Some(message) = message(&mut stream) {
                    if !answer(&mut stream, &message) {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// The next message, if one comes.
fn message(stream: &mut TcpStream) -> Option<Value> {
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
