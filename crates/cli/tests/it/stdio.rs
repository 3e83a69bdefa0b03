//! `haft serve --stdio` as its client sees it: what it answers to good and to hostile lines, and
//! how it ends. Every test runs the real binary over real pipes.

pub(crate) mod client;
mod ends;
mod environ;
mod hostile;
#[cfg(target_os = "linux")]
mod orphans;

use client::StdioServer;
use serde_json::{Value, json};

/// A request of the modern era.
fn modern(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The handshake of the legacy era.
fn initialize(id: u32, version: &str) -> String {
    let params = json!({"protocolVersion": version});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}).to_string()
}

/// A call of the modern era.
fn call(id: u32, tool: &str, arguments: Value) -> String {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

#[test]
fn both_eras_share_a_connection() {
    let mut server = StdioServer::start();
    let answer = server.ask(&call(1, "greet", json!({"name": "Ada"})));
    assert_eq!(
        (text_of(&answer), &answer["result"]["resultType"]),
        ("Hello, Ada!", &json!("complete"))
    );

    let early = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(early["error"]["code"], -32600);
    let message = "Invalid request: send `initialize` first, or name a version in \
                   `params._meta[\"io.modelcontextprotocol/protocolVersion\"]`";
    assert_eq!(early["error"]["message"], message);

    let hello = server.ask(&initialize(3, "2025-06-18"));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let legacy = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call",
        "params":{"name":"greet","arguments":{"name":"Ada"}}}"#;
    let answer = server.ask(&legacy.replace('\n', ""));
    assert_eq!((text_of(&answer), answer["result"].get("resultType")), ("Hello, Ada!", None));
    let answer = server.ask(&modern(5, "server/discover", json!({})));
    assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]));
}

#[test]
fn a_slow_tool_delays_nobody() {
    let mut server = StdioServer::start();
    server.send(&call(1, "sleep", json!({"seconds": 60})));
    for id in 2..10 {
        assert_eq!(server.ask(&call(id, "greet", json!({"name": "Ada"})))["id"], id);
    }
}

#[test]
fn many_calls_in_one_write_are_all_answered() {
    let mut server = StdioServer::start();
    let lines: Vec<_> =
        (0..1000).map(|id| call(id, "greet", json!({"name": id.to_string()}))).collect();
    server.send(&lines.join("\n"));
    for id in 0..1000 {
        let answer = server.read();
        assert_eq!(
            (&answer["id"], text_of(&answer)),
            (&json!(id), format!("Hello, {id}!").as_str())
        );
    }
}

#[test]
fn a_cancelled_call_is_killed_and_never_answered() {
    let mut server = StdioServer::start();
    let pids = server.pid_file();
    server.send(&call(1, "sleep_and_tell", json!({"file": pids.path()})));
    let pid = pids.wait();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1, "reason": "enough"}});
    server.send(&cancel.to_string());
    client::wait_until_gone(&pid);
    let unknown = cancel.to_string().replace("\"requestId\":1", "\"requestId\":\"no-such\"");
    server.send(&unknown);
    assert_eq!(server.ask(&call(2, "greet", json!({"name": "Ada"})))["id"], 2);
}

#[test]
fn an_id_in_flight_cannot_be_used_again() {
    let mut server = StdioServer::start();
    server.send(&call(1, "sleep", json!({"seconds": 60})));
    let again = server.ask(&call(1, "greet", json!({"name": "Ada"})));
    assert_eq!(again["error"]["code"], -32600);
    let message = "Invalid request: a request with this `id` is still in flight; use another id";
    assert_eq!(again["error"]["message"], message);
    assert_eq!(text_of(&server.ask(&call(2, "greet", json!({"name": "Ada"})))), "Hello, Ada!");
}

#[test]
fn an_id_that_is_cancelled_and_used_again_is_the_new_request() {
    let mut server = StdioServer::start();
    let pids = server.pid_file();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    let first = call(5, "sleep", json!({"seconds": 60}));
    let second = call(5, "sleep_and_tell", json!({"file": pids.path()}));
    server.send(&[&first, cancel, &second].join("\n"));
    let pid = pids.wait();
    let third = server.ask(&call(5, "greet", json!({"name": "Ada"})));
    assert_eq!(third["error"]["code"], -32600, "the second has the id: {third}");
    server.send(cancel);
    client::wait_until_gone(&pid);
    assert_eq!(text_of(&server.ask(&call(5, "greet", json!({"name": "Ada"})))), "Hello, Ada!");
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    let mut server = StdioServer::start();
    // More than pipes and buffers hold: the server has to stop reading, and to go on later.
    let large = "x".repeat(1 << 20);
    let lines: Vec<_> = (0..30).map(|id| call(id, "greet", json!({"name": large}))).collect();
    let sender = server.send_from_a_thread(lines);
    for id in 0..30 {
        let answer = server.read();
        assert_eq!((&answer["id"], text_of(&answer).len()), (&json!(id), large.len() + 8));
    }
    sender.join().expect("everything was sent");
}
