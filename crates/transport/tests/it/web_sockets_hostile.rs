//! What is not taken over WebSocket: wrong handshakes, broken frames, clients that do not come to
//! an end, and those that read nothing. Each is told why, and nobody else notices.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern, modern_body};
use crate::web_socket_client::{RawSocket, WebSocket, frame, handshake};
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const HELLO: &str = r#"{"name":"hello"}"#;

fn call(tool: &str) -> String {
    modern_body("tools/call", &json!({"name": tool}))
}

async fn is_well(client: &mut WebSocket) {
    let answer = client.ask(&call("hello")).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_wrong_handshake_is_told_what_is_wrong() {
    let fixture = Fixture::start().await;
    let key = "sec-websocket-key";
    for (other, status, message) in [
        (
            vec![("sec-websocket-protocol", "")],
            400,
            "Bad handshake: `Sec-WebSocket-Protocol` must list `mcp`",
        ),
        (
            vec![("sec-websocket-protocol", "chat, MCP")],
            400,
            "Bad handshake: `Sec-WebSocket-Protocol` must list `mcp`",
        ),
        (
            vec![("sec-websocket-version", "8")],
            426,
            "Bad handshake: `Sec-WebSocket-Version` must be 13",
        ),
        (vec![("connection", "close")], 400, "Bad handshake: `Connection` must say `Upgrade`"),
        (
            vec![(key, "")],
            400,
            "Bad handshake: `Sec-WebSocket-Key` must be 16 bytes in base64, once",
        ),
        (
            vec![(key, "AAAA")],
            400,
            "Bad handshake: `Sec-WebSocket-Key` must be 16 bytes in base64, once",
        ),
        (
            vec![("origin", "https://evil.example")],
            403,
            "Forbidden: pages of this `Origin` may not call; add it to `origins` if they should",
        ),
        (
            vec![("host", "evil.example")],
            403,
            "Forbidden: `Host` names another server; add the name to `hosts` if it is right",
        ),
    ] {
        let mut client = RawClient::connect(fixture.address).await;
        let answer = client.ask(&handshake(&other)).await;
        assert_eq!(answer.status, status, "{other:?}");
        assert_eq!(answer.json()["error"]["message"], message, "{other:?}");
    }
    RawSocket::connect(fixture.address).await;
}

#[tokio::test]
async fn bad_frames_are_closed_with_a_code_and_a_reason_and_nobody_else_notices() {
    let limits =
        Limits { message_bytes: 1000, bodies_bytes: 1 << 20, pings: 3, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut other = WebSocket::connect(fixture.address).await;
    let claims = |length: u64| [&[0x81, 0xff][..], &length.to_be_bytes(), &[0; 4]].concat();
    let long = "Message too long: it may have 1000 bytes";
    let half = [b'x'; 600];
    let pings = "Too many pings: 3 in 15 s are the most";
    for (name, bytes, code, reason) in [
        (
            "binary",
            frame(0x82, b"{}"),
            1003,
            "Binary frames are not taken: send each message as one text frame",
        ),
        ("no UTF-8", frame(0x81, b"\"\xff\""), 1007, "A text frame must be UTF-8"),
        (
            "no UTF-8 in fragments",
            [frame(0x01, b"\xc3"), frame(0x80, b"\x28")].concat(),
            1007,
            "A text frame must be UTF-8",
        ),
        ("4 GiB", claims(4 << 30), 1009, long),
        ("all there is", claims(u64::MAX), 1009, long),
        ("one byte too long", frame(0x81, &[b' '; 1001]), 1009, long),
        ("fragments", [frame(0x01, &half), frame(0x00, &half)].concat(), 1009, long),
        ("pings", frame(0x89, b"?").repeat(4), 1008, pings),
        ("pongs", frame(0x8a, b"").repeat(4), 1008, pings),
        ("not masked", b"\x81\x02{}".to_vec(), 1002, "Broken frame: "),
        ("unknown opcode", frame(0x83, b""), 1002, "Broken frame: "),
        ("unknown control", frame(0x8b, b""), 1002, "Broken frame: "),
        ("reserved bit", frame(0xc1, b"{}"), 1002, "Broken frame: "),
        ("an end without a beginning", frame(0x80, b"{}"), 1002, "Broken frame: "),
        (
            "a beginning in the middle",
            [frame(0x01, b"{"), frame(0x81, b"}")].concat(),
            1002,
            "Broken frame: ",
        ),
        ("a ping in fragments", frame(0x09, b""), 1002, "Broken frame: "),
        ("a long ping", frame(0x89, &[b'x'; 126]), 1002, "Broken frame: "),
    ] {
        let mut client = RawSocket::connect(fixture.address).await;
        client.send(&bytes).await;
        let (closed, said) = client.closing().await;
        assert_eq!(closed, code, "{name}: {said}");
        assert!(
            said.starts_with(reason) && (reason.ends_with(' ') || said == reason),
            "{name}: {said}"
        );
        is_well(&mut other).await;
    }
    let mut client = RawSocket::connect(fixture.address).await;
    client.send(&frame(0x81, &[b' '; 1000])).await;
    assert_eq!(client.frame().await.map(|(first, _)| first), Some(0x81), "not too long");
}

#[tokio::test]
async fn a_message_without_an_end_and_a_client_without_a_pulse_are_given_up() {
    let slow = Limits { body_timeout: Duration::from_millis(50), ..Limits::default() };
    let fixture = Fixture::with(slow, Options::default()).await;
    for bytes in [
        frame(0x01, b"{"),
        [frame(0x01, b"{"), frame(0x00, b"").repeat(1000), frame(0x89, b"")].concat(),
        frame(0x81, &[b' '; 1000])[..500].to_vec(),
    ] {
        let mut client = RawSocket::connect(fixture.address).await;
        client.send(&bytes).await;
        let expected = (1008, "A message must be whole in 0.05 s".to_owned());
        assert_eq!(client.closing().await, expected);
    }
    let silent = Limits {
        keep_alive: Duration::from_millis(20),
        write_stall: Duration::from_millis(40),
        ..Limits::default()
    };
    let fixture = Fixture::with(silent, Options::default()).await;
    let mut lively = WebSocket::connect(fixture.address).await;
    lively.send(&call("wait")).await;
    let mut client = RawSocket::connect(fixture.address).await;
    assert_eq!(client.frame().await, Some((0x89, Vec::new())), "a ping");
    client.send(&frame(0x8a, b"")).await;
    assert_eq!(client.frame().await, Some((0x89, Vec::new())), "another, as it was answered");
    // Who reads answers pings, and stays.
    let (closed, _) = tokio::join!(client.closing(), async {
        fixture.gate.began.notified().await;
    });
    assert_eq!(closed, (1008, "No answer to a ping in 0.04 s".to_owned()));
}

#[tokio::test]
async fn unfinished_messages_of_all_clients_together_have_a_bound() {
    let limits = Limits { bodies_bytes: 100_000, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut other = WebSocket::connect(fixture.address).await;
    let mut client = RawSocket::connect(fixture.address).await;
    client.send(&frame(0x81, &[b' '; 300_000])[..200_000]).await;
    let (code, reason) = client.closing().await;
    assert_eq!(code, 1013, "{reason}");
    is_well(&mut other).await;
    let long = format!("{}{}", " ".repeat(90_000), call("hello"));
    for _ in 0..3 {
        let answer = other.ask(&long).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hello", "all is given back");
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_not_read_from_and_then_given_up() {
    let limits = Limits {
        output_bytes: 1 << 20,
        write_stall: Duration::from_millis(200),
        ..Limits::default()
    };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut other = WebSocket::connect(fixture.address).await;
    let mut client = RawSocket::connect(fixture.address).await;
    for _ in 0..50 {
        client.send(&frame(0x81, call("large").as_bytes())).await;
        is_well(&mut other).await;
    }
    let mut bytes = Vec::new();
    // It is given up by its socket, where nothing can be said any more.
    loop {
        is_well(&mut other).await;
        if fixture.gate.begun() == 0 && client.0.writable().await.is_ok() {
            let sent = client.0.try_write(&frame(0x8a, b""));
            if sent.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock) {
                break;
            }
        }
    }
    _ = client.0.read_to_end(&mut bytes).await;
    assert!(bytes.len() < 50 << 20, "{} bytes", bytes.len());
}

#[tokio::test]
async fn requests_and_subscriptions_have_bounds() {
    let limits = Limits { requests_in_flight: 2, subscriptions: 1, ..Limits::default() };
    let fixture = Fixture::hooked(limits, Changes::default()).await;
    let (mut one, mut two) =
        (WebSocket::connect(fixture.address).await, WebSocket::connect(fixture.address).await);
    let listen = modern_body("subscriptions/listen", &json!({"notifications": {}}));
    let told = one.ask(&listen).await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    let refused: Value = two.ask(&listen).await;
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("Overloaded: 1 subscriptions are open"), "{refused}");
    one.close().await;

    for client in [&mut two, &mut WebSocket::connect(fixture.address).await] {
        client.send(&call("wait")).await;
        fixture.gate.began.notified().await;
        if fixture.gate.begun() == 2 {
            let refused = client.ask(&call("hello").replace(":1,", ":2,")).await;
            let message = refused["error"]["message"].as_str().unwrap_or_default();
            assert!(message.starts_with("Overloaded: 2 requests are in flight"), "{refused}");
            fixture.gate.open.notify_waiters();
            assert_eq!(client.read().await["result"]["content"][0]["text"], "waited");
        }
    }
}

#[tokio::test]
async fn a_web_socket_is_one_of_the_connections() {
    let fixture =
        Fixture::with(Limits { connections: 1, ..Limits::default() }, Options::default()).await;
    let mut socket = WebSocket::connect(fixture.address).await;
    let mut waiting = RawClient::connect(fixture.address).await;
    waiting.send(&modern("tools/call", HELLO)).await;
    tokio::select! {
        biased;
        _ = waiting.answer() => panic!("there is room for one"),
        () = is_well(&mut socket) => {}
    }
    socket.close().await;
    assert_eq!(waiting.answer().await.status, 200);
}
