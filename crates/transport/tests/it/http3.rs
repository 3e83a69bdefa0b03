//! HTTP/3: what clients get over it is what they get over HTTP/1.1, in both eras, until they or the
//! server go.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::http_hostile::BROKEN;
use crate::http3_client::{Http3Client, next_event, parsed, quic, rest};
use crate::pipe_client::{DEADLINE, initialize};
use crate::raw_client::{Answer, RawClient, Session, modern, modern_body, modern_with, post};
use bytes::Bytes;
use h3::error::Code;
use haft_proto::limits::Limits;
use haft_transport::http::{Options, Threads, TwoPaths};
use haft_transport::stop::Stop;
use quinn::TransportConfig;
use serde_json::json;
use std::net::UdpSocket;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use tokio::time::timeout;

async fn secured() -> Fixture {
    Fixture::secured(Limits::default(), Options::default()).await
}

fn call(name: &str) -> Vec<u8> {
    modern("tools/call", &json!({ "name": name }).to_string())
}

#[tokio::test]
async fn a_call_is_answered_with_all_that_http_has_to_say() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    let answer = client.ask(&call("hello")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
    assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")), "{answer:?}");
    assert_eq!(answer.header("alt-svc"), None, "it is there already");
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
}

/// An answer without what differs from one kind of HTTP to the other, or each time.
fn told(mut answer: Answer) -> (u16, Vec<(String, String)>, String) {
    let other = ["date", "connection", "content-length", "transfer-encoding"];
    answer.headers.retain(|(name, _)| !other.contains(&&**name));
    answer.headers.sort();
    (answer.status, answer.headers, answer.body)
}

#[tokio::test]
async fn every_request_has_the_answer_that_it_has_over_the_first_http() {
    let (fixture, plain) = (secured().await, Fixture::start().await);
    let mut client = Http3Client::connect(&fixture).await;
    let list = |name: &str, value: &str| modern_with(&[(name, value)], "tools/list", "{}");
    let preflight = "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost:5173\r\n\
                     access-control-request-method: POST\r\n\
                     access-control-request-headers: mcp-method\r\n\r\n";
    let socket = "GET /mcp HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n\r\n";
    let mut requests: Vec<Vec<u8>> = vec![
        modern("server/discover", "{}"),
        modern("tools/list", "{}"),
        call("hello"),
        call("progress"),
        call("ecco"),
        modern("no/such", "{}"),
        list("host", "evil.example"),
        list("origin", "https://evil.example"),
        list("origin", "http://localhost:5173"),
        list("content-type", "text/plain"),
        list("accept", "text/html"),
        list("mcp-method", "tools/call"),
        post(&[("mcp-session-id", "no-such")], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        b"PUT /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"POST /etc/passwd HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".to_vec(),
        preflight.into(),
        socket.into(),
    ];
    requests.extend(BROKEN.iter().map(|(body, ..)| post(&[], body)));
    for request in requests {
        let expected = RawClient::connect(plain.address).await.ask(&request).await;
        let answer = client.ask(&request).await;
        assert_eq!(told(answer), told(expected), "{}", String::from_utf8_lossy(&request));
    }
}

#[tokio::test]
async fn a_body_may_come_in_pieces_and_an_answer_may_be_long() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    let text = "words ".repeat(100_000);
    let arguments = json!({"name": "echo", "arguments": {"text": text}});
    let request =
        modern_with(&[("mcp-param-text", &text[..5])], "tools/call", &arguments.to_string());
    // The header that mirrors the argument would be too long.
    let body = modern_body("tools/call", &arguments);
    let (mut head, _) = parsed(&request);
    head.headers_mut().remove("content-length");
    let mut stream = client.sender.send_request(head).await.expect("it is taken");
    for piece in body.as_bytes().chunks(50_000) {
        stream.send_data(Bytes::copy_from_slice(piece)).await.expect("it is taken");
        // One without any bytes is not the end.
        stream.send_data(Bytes::new()).await.expect("it is taken");
    }
    stream.finish().await.expect("it is taken");
    let response = timeout(DEADLINE, stream.recv_response()).await.expect("in time").expect("one");
    let answer = rest(response, &mut stream).await.expect("the whole");
    // All of it was read: what is wrong is found behind it.
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], -32020, "{answer:?}");
    let large = client.ask(&call("large")).await.json();
    let text = large["result"]["content"][0]["text"].as_str().expect("a text");
    assert_eq!(text.len(), 16 * 1024 * 1024);
}

#[tokio::test]
async fn calls_share_a_connection_and_finish_in_their_own_time() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    let mut slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    client.next_is_answered().await;
    fixture.gate.open.notify_one();
    let response = slow.recv_response().await.expect("an answer");
    assert_eq!(rest(response, &mut slow).await.expect("the whole").status, 200);
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_call() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    // By the stream.
    let slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    drop(slow);
    fixture.gate.ended.notified().await;
    assert_eq!(fixture.gate.cancelled(), 1);
    client.next_is_answered().await;
    // By the connection.
    let _slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    client.connection.close(0_u32.into(), b"");
    fixture.gate.ended.notified().await;
    assert_eq!(fixture.gate.cancelled(), 2);
}

#[tokio::test]
async fn a_subscription_lasts_until_its_stream_is_dropped() {
    let changes = Changes::default();
    let (limits, options) = (Limits::default(), Options::default());
    let fixture = Fixture::secured_hooked(limits, changes.clone(), options).await;
    let mut client = Http3Client::connect(&fixture).await;
    let listen = modern("subscriptions/listen", "{}");
    let mut stream = client.send(&listen).await.expect("it is taken");
    let head = stream.recv_response().await.expect("an answer");
    assert_eq!(head.headers()["content-type"], "text/event-stream");
    let mut unread = String::new();
    let (_, first) = next_event(&mut stream, &mut unread).await.expect("an event");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    changes.rise(5);
    let (_, second) = next_event(&mut stream, &mut unread).await.expect("an event");
    assert_eq!(second["params"]["number"], 5);
    drop(stream);
    timeout(DEADLINE, changes.are_open(0)).await.expect("the feed is dropped");
    client.next_is_answered().await;
}

#[tokio::test]
async fn a_legacy_session_listens_comes_back_and_ends() {
    let changes = Changes::default();
    let (limits, options) = (Limits::default(), Options::default());
    let fixture = Fixture::secured_hooked(limits, changes.clone(), options).await;
    let mut client = Http3Client::connect(&fixture).await;
    let answer = client.ask(&post(&[], &initialize("2025-06-18"))).await;
    let id = answer.header("mcp-session-id").expect("a session").to_owned();
    let session = Session { id, version: "2025-06-18".to_owned() };
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(client.ask(&session.post(ready)).await.status, 202);
    let mut first = client.send(&session.get(&[])).await.expect("it is taken");
    assert_eq!(first.recv_response().await.expect("an answer").status(), 200);
    let mut unread = String::new();
    changes.rise(1);
    let (id, told) = next_event(&mut first, &mut unread).await.expect("an event");
    assert_eq!(told["params"]["number"], 1);
    changes.rise(1);
    let (_, told) = next_event(&mut first, &mut unread).await.expect("an event");
    assert_eq!(told["params"]["number"], 2);
    // On another connection, as a client does whose own has broken.
    let mut other = Http3Client::connect(&fixture).await;
    let again = session.get(&[("last-event-id", &id.expect("an id"))]);
    let mut second = other.send(&again).await.expect("it is taken");
    assert_eq!(second.recv_response().await.expect("an answer").status(), 200);
    let (_, told) = next_event(&mut second, &mut String::new()).await.expect("an event");
    assert_eq!(told["params"]["number"], 2, "it may not have come");
    assert_eq!(next_event(&mut first, &mut unread).await, None, "one listener at a time");
    assert_eq!(client.ask(&session.call(7, r#"{"name":"hello"}"#)).await.status, 200);
    assert_eq!(client.ask(&session.delete()).await.status, 204);
    assert_eq!(next_event(&mut second, &mut String::new()).await, None, "it has ended");
}

#[tokio::test]
async fn clients_of_2024_11_05_are_served_on_two_paths() {
    let options = Options { two_paths: Some(TwoPaths::default()), ..Options::default() };
    let fixture = Fixture::secured(Limits::default(), options).await;
    let mut client = Http3Client::connect(&fixture).await;
    let get = b"GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    let mut stream = client.send(get).await.expect("it is taken");
    assert_eq!(stream.recv_response().await.expect("an answer").status(), 200);
    let mut first = timeout(DEADLINE, stream.recv_data()).await.expect("in time").expect("data");
    let first = first.as_mut().map(|data| {
        let length = bytes::Buf::remaining(data);
        bytes::Buf::copy_to_bytes(data, length)
    });
    let first = String::from_utf8(first.expect("an event").to_vec()).expect("UTF-8");
    let path = first.lines().find_map(|line| line.strip_prefix("data: ")).expect("a path");
    let request = String::from_utf8(post(&[], &initialize("2024-11-05"))).expect("ASCII");
    let taken = client.ask(request.replacen("/mcp", &format!("/{path}"), 1).as_bytes()).await;
    assert_eq!(taken.status, 202);
    let (_, answer) = next_event(&mut stream, &mut String::new()).await.expect("an event");
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn calls_in_flight_are_answered_when_the_server_stops_and_others_are_not_begun() {
    let limits = Limits { shutdown_grace: DEADLINE, ..Limits::default() };
    let fixture = Fixture::secured(limits, Options::default()).await;
    let mut client = Http3Client::connect(&fixture).await;
    let mut idle = Http3Client::connect(&fixture).await;
    idle.next_is_answered().await;
    let mut slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    let gate = std::sync::Arc::clone(&fixture.gate);
    let stopping = tokio::spawn(fixture.stop(Stop::Gracefully));
    // Whoever asks nothing is told and let go at once.
    let ended = timeout(DEADLINE, idle.driver).await.expect("in time").expect("no panic");
    assert!(ended.is_h3_no_error(), "{ended}");
    let refused = async {
        // As soon as the client has heard of it.
        while client.try_ask(&call("hello")).await.is_ok() {}
    };
    timeout(DEADLINE, refused).await.expect("no more is taken");
    gate.open.notify_one();
    let response = slow.recv_response().await.expect("an answer");
    let answer = rest(response, &mut slow).await.expect("the whole");
    assert!(answer.body.contains("waited"), "{answer:?}");
    timeout(DEADLINE, stopping).await.expect("in time").expect("no panic");
    let ended = timeout(DEADLINE, client.driver).await.expect("in time").expect("no panic");
    assert!(ended.is_h3_no_error(), "{ended}");
}

#[tokio::test]
async fn a_server_that_stops_at_once_tells_its_clients() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    let _slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    let (gate, began) = (std::sync::Arc::clone(&fixture.gate), Instant::now());
    fixture.stop(Stop::AtOnce).await;
    assert_eq!(gate.cancelled(), 1);
    let ended = timeout(DEADLINE, client.driver).await.expect("in time").expect("no panic");
    assert!(ended.is_h3_no_error(), "{ended}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_client_whose_address_changes_keeps_its_connection() {
    let fixture = secured().await;
    let endpoint = quic(&fixture, b"h3", TransportConfig::default());
    let connecting = endpoint.connect(fixture.address, "localhost").expect("an address");
    let connection = timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC");
    let mut client = Http3Client::over(connection).await;
    let mut slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    let elsewhere = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    endpoint.rebind(elsewhere).expect("a socket");
    client.next_is_answered().await;
    fixture.gate.open.notify_one();
    let response = timeout(DEADLINE, slow.recv_response()).await.expect("in time");
    assert_eq!(response.expect("an answer").status(), 200);
}

#[tokio::test]
async fn http3_is_there_whatever_threads_tcp_has() {
    for is_accepting in [false, true] {
        let count = NonZeroUsize::new(2).expect("some");
        let threads = Threads::Own { count, is_pinned: false, is_accepting };
        let options = Options { threads, ..Options::default() };
        let fixture = Fixture::secured(Limits::default(), options).await;
        let mut client = Http3Client::connect(&fixture).await;
        client.next_is_answered().await;
        crate::https::next_is_answered(&fixture).await;
        fixture.stop(Stop::Gracefully).await;
    }
}

#[tokio::test]
async fn nothing_is_heard_before_the_handshake_has_ended() {
    let fixture = secured().await;
    // Whose settings would say more if they were let.
    let client = quic(&fixture, b"h3", TransportConfig::default());
    for _ in 0..2 {
        let connecting = client.connect(fixture.address, "localhost").expect("an address");
        let Err(connecting) = connecting.into_0rtt() else { panic!("it takes early data") };
        let connection = timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC");
        let mut client = Http3Client::over(connection).await;
        client.next_is_answered().await;
        client.connection.close(Code::H3_NO_ERROR.value().try_into().expect("short"), b"");
    }
}
