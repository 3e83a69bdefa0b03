//! Lines that no good client sends: each has its exact answer, and the next request is answered.

use super::client::StdioServer;
use super::{call, initialize, modern, text_of};
use serde_json::{Value, json};

/// Sends bytes as a line; the answer must be this error, and the next call must work.
fn check(server: &mut StdioServer, line: &[u8], id: Value, code: i64, message: &str) {
    server.send_bytes(line);
    server.send_bytes(b"\n");
    let answer = server.read();
    let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
    assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    assert_eq!(answer["error"]["message"], message, "{shown}");
    assert_eq!(answer["id"], id, "{shown}");
    next_is_answered(server);
}

fn next_is_answered(server: &mut StdioServer) {
    let answer = server.ask(&call(77, "greet", json!({"name": "next"})));
    assert_eq!((&answer["id"], text_of(&answer)), (&json!(77), "Hello, next!"));
}

#[test]
fn broken_lines_are_named_and_harm_nobody() {
    let mut server = StdioServer::start();
    let none = Value::Null;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}"#, "[".repeat(10_000));
    let wrong_id = "Invalid request: `id` must be a string or an integer";
    let cases: [(&[u8], Value, i64, &str); 13] = [
        (b"{\"jsonrpc\":", none.clone(), -32700, "Parse error: expected a value at byte 11"),
        (b"", none.clone(), -32700, "Parse error: the message is empty"),
        (b" \t", none.clone(), -32700, "Parse error: the message is empty"),
        (b"hello", none.clone(), -32700, "Parse error: expected a value at byte 0"),
        (b"{\"a\":\"\xff\"}", none.clone(), -32700, "Parse error: not UTF-8 at byte 6"),
        (b"\"text\"", none.clone(), -32600, "Invalid request: `message` must be an object"),
        (
            deep.as_bytes(),
            none.clone(),
            -32700,
            "Parse error: arrays and objects nest deeper than 128",
        ),
        (
            br#"{"jsonrpc":"2.0","method":"ping","method":"ping","id":5}"#,
            json!(5),
            -32600,
            "Invalid request: `method` is there twice; send it once",
        ),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, none.clone(), -32600, wrong_id),
        (br#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, none.clone(), -32600, wrong_id),
        (br#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#, none.clone(), -32600, wrong_id),
        (
            br#"{"jsonrpc":"2.0","id":6,"method":7}"#,
            json!(6),
            -32600,
            "Invalid request: `method` must be a string",
        ),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            none,
            -32600,
            "Invalid request: only protocol version 2025-03-26 has batches; send one message at a \
             time",
        ),
    ];
    for (line, id, code, message) in cases {
        check(&mut server, line, id, code, message);
    }
    let unknown = modern(8, "no/such", json!({}));
    let message = "Method not found: \"no/such\" (2026-07-28)";
    check(&mut server, unknown.as_bytes(), json!(8), -32601, message);
    let shouting = modern(9, "x\u{1b}[2J", json!({}));
    let message = "Method not found: \"x\\u{1b}[2J\" (2026-07-28)";
    check(&mut server, shouting.as_bytes(), json!(9), -32601, message);
}

#[test]
fn unknown_notifications_and_stray_answers_are_taken_in_silence() {
    let mut server = StdioServer::start();
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/no-such","params":{"x":1}}"#);
    server.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    server.send(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}"#);
    next_is_answered(&mut server);
}

#[test]
fn a_line_without_end_is_cut_off_and_told_once() {
    let mut server = StdioServer::start();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..32 {
        server.send_bytes(&piece);
    }
    let answer = server.read();
    assert_eq!(answer["error"]["code"], -32600);
    let message = "Invalid request: the message is larger than 4194304 bytes";
    assert_eq!(answer["error"]["message"], message);
    let peak = server.peak_kib();
    assert!(peak < 64 * 1024, "32 MiB of one line took {peak} KiB");
    server.send_bytes(b"\n");
    next_is_answered(&mut server);
}

#[test]
fn batches_are_answered_where_the_revision_has_them() {
    let mut server = StdioServer::start();
    server.ask(&initialize(0, "2025-03-26"));
    let call = |id| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "sleep", "arguments": {"seconds": 0}}})
    };
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    let answers = server.ask(&json!([call(1), note, ping, 7, call(2)]).to_string());
    let mut ids: Vec<_> = answers
        .as_array()
        .expect("an array")
        .iter()
        .map(|answer| answer["id"].to_string())
        .collect();
    ids.sort();
    assert_eq!(ids, ["\"p\"", "1", "2", "null"]);
    server.send(&json!([note]).to_string());
    next_is_answered(&mut server);
    check(&mut server, b"[]", Value::Null, -32600, "Invalid request: the batch is empty");
    let many = json!(vec![ping; 65]).to_string();
    let message = "Invalid request: a batch has at most 64 messages";
    check(&mut server, many.as_bytes(), Value::Null, -32600, message);
}

#[test]
fn small_requests_with_large_answers_take_bounded_memory() {
    let mut manifest = String::from("server: { name: many }\ntools:\n");
    for number in 0..1000 {
        let said = "A tool among a thousand that is described at length. ".repeat(4);
        manifest.push_str(&format!("  - {{ name: t{number}, description: {said}, text: ok }}\n"));
    }
    let mut server = StdioServer::start_with(&manifest);
    server.ask(&modern(0, "server/discover", json!({})));
    let before = server.peak_kib();
    // All fit into one read of the server; their answers are a hundred times as large as its bound.
    let lines: Vec<_> = (1..300).map(|id| modern(id, "tools/list", json!({}))).collect();
    let sender = server.send_from_a_thread(lines);
    let mut grown = 0;
    for id in 1..300 {
        assert_eq!(server.read()["id"], id);
        if id == 200 {
            grown = server.peak_kib() - before;
        }
    }
    sender.join().expect("everything was sent");
    assert!(grown < 24 * 1024, "answers took {grown} KiB");
}
