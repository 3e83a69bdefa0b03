//! HTTP/3 frame by frame, as no client library sends it: what a request is, and when it is begun,
//! does not hang on how it is cut, and what the two sides say of their end is kept.

use crate::fixture::Fixture;
use crate::http3_client::{Http3Client, parsed, quic};
use crate::http3_hostile::between;
use crate::pipe_client::DEADLINE;
use crate::raw_client::{modern, post};
use futures_util::future::select_all;
use h3::error::Code;
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use haft_transport::stop::Stop;
use quinn::{Connection, ReadError, RecvStream, SendStream, TransportConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const DATA: u8 = 0;
const HEADERS: u8 = 1;

async fn secured() -> Fixture {
    secured_with(Limits::default()).await
}

async fn secured_with(limits: Limits) -> Fixture {
    Fixture::secured(limits, Options::default()).await
}

async fn raw(fixture: &Fixture) -> Connection {
    let client = quic(fixture, b"h3", TransportConfig::default());
    let connecting = client.connect(fixture.address, "localhost").expect("an address");
    timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC")
}

fn call(name: &str) -> Vec<u8> {
    modern("tools/call", &format!("{{\"name\":\"{name}\"}}"))
}

/// The control stream of a client, on which it has said its settings.
async fn control(connection: &Connection) -> SendStream {
    let mut control = connection.open_uni().await.expect("a stream");
    control.write_all(&[0, 4, 0]).await.expect("it is taken");
    control
}

/// A number with a prefix of so many bits (RFC 9204, 4.1.1).
fn prefixed(first: u8, bits: u32, length: usize, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if length < most {
        return out.push(first | length as u8);
    }
    out.push(first | most as u8);
    let mut rest = length - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A frame, with a length of four bytes.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("it is short") | 0x8000_0000;
    [&[kind][..], &length.to_be_bytes(), payload].concat()
}

/// A request of HTTP/1.1 as a HEADERS frame, with these headers in place of its length, and its
/// body.
fn framed(request: &[u8], more: &[(&str, &str)]) -> (Vec<u8>, Vec<u8>) {
    let (head, body) = parsed(request);
    let target = head.uri();
    let mut lines = vec![
        (":method", head.method().as_str()),
        (":scheme", "https"),
        (":authority", target.authority().expect("there is one").as_str()),
        (":path", target.path()),
    ];
    let own = head.headers().iter().filter(|(name, _)| *name != "content-length");
    lines.extend(own.map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII"))));
    lines.extend(more);
    let mut block = vec![0, 0];
    for (name, value) in lines {
        prefixed(0x20, 3, name.len(), &mut block);
        block.extend_from_slice(name.as_bytes());
        prefixed(0, 7, value.len(), &mut block);
        block.extend_from_slice(value.as_bytes());
    }
    (frame(HEADERS, &block), body.to_vec())
}

async fn ask(connection: &Connection, bytes: &[u8]) -> RecvStream {
    let (mut send, receive) = connection.open_bi().await.expect("a stream");
    // It may be refused before all is there.
    _ = send.write_all(bytes).await;
    _ = send.finish();
    receive
}

/// What comes as an answer, or the code that it is broken off with.
async fn answer(mut receive: RecvStream) -> Result<String, Code> {
    let read = timeout(DEADLINE, receive.read_to_end(1 << 22)).await.expect("in time");
    read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| match error {
        quinn::ReadToEndError::Read(ReadError::Reset(code)) => Code::from(code.into_inner()),
        error => panic!("{error}"),
    })
}

#[tokio::test]
async fn a_request_is_the_same_however_it_is_cut() {
    let fixture = secured().await;
    let connection = raw(&fixture).await;
    let (head, body) = framed(&call("hello"), &[]);
    let (one, two) = body.split_at(20);
    let empty = frame(DATA, b"");
    let whole = [head.clone(), frame(DATA, &body)].concat();
    let in_two = [head.clone(), frame(DATA, one), frame(DATA, two)].concat();
    let pauses: Vec<Vec<u8>> = vec![empty; 300];
    let with_pauses =
        [head.clone(), frame(DATA, one), pauses.concat(), frame(DATA, two), pauses.concat()];
    let bytes = body.iter().flat_map(|byte| frame(DATA, &[*byte]));
    let byte_by_byte = head.iter().copied().chain(bytes).collect();
    for request in [whole.clone(), in_two, with_pauses.concat(), byte_by_byte] {
        let said = answer(ask(&connection, &request).await).await.expect("an answer");
        assert!(said.contains("\"text\":\"hello\""), "{said}");
    }
    // In packets of a byte each.
    let (mut send, receive) = connection.open_bi().await.expect("a stream");
    for byte in &whole {
        send.write_all(&[*byte]).await.expect("it is taken");
        tokio::task::yield_now().await;
    }
    send.finish().expect("it is open");
    assert!(answer(receive).await.expect("an answer").contains("\"text\":\"hello\""));
}

#[tokio::test]
async fn what_is_no_request_is_not_begun() {
    let fixture = secured().await;
    let connection = raw(&fixture).await;
    let (head, body) = framed(&call("wait"), &[]);
    let mut cut = frame(DATA, &[&body[..], &[b' '; 1000]].concat());
    cut.truncate(cut.len() - 1000);
    let said = answer(ask(&connection, &[head, cut].concat()).await).await;
    assert!(said.as_ref().is_ok_and(|said| !said.contains("waited")), "{said:?}");
    let length = body.len().to_string();
    for lengths in [vec!["abc"], vec!["+1"], vec![""], vec![&length, "9"]] {
        let lengths: Vec<(&str, &str)> =
            lengths.into_iter().map(|length| ("content-length", length)).collect();
        let (head, body) = framed(&call("wait"), &lengths);
        let refused = answer(ask(&connection, &[head, frame(DATA, &body)].concat()).await).await;
        assert_eq!(refused, Err(Code::H3_MESSAGE_ERROR), "{lengths:?}");
    }
    assert_eq!(fixture.gate.begun(), 0);
    // Twice the same is once.
    let twice = [("content-length", &*length), ("content-length", &*length)];
    let (head, body) = framed(&call("wait"), &twice);
    let receive = ask(&connection, &[head, frame(DATA, &body)].concat()).await;
    timeout(DEADLINE, fixture.gate.began.notified()).await.expect("it is begun");
    fixture.gate.open.notify_one();
    assert!(answer(receive).await.expect("an answer").contains("waited"));
}

#[tokio::test]
async fn what_a_server_that_stops_has_not_begun_may_be_asked_elsewhere() {
    let limits = Limits { shutdown_grace: DEADLINE, ..Limits::default() };
    let fixture = secured_with(limits).await;
    let (connection, idle) = (raw(&fixture).await, raw(&fixture).await);
    let _controls = (control(&connection).await, control(&idle).await);
    let (head, body) = framed(&call("wait"), &[]);
    let request = [head, frame(DATA, &body)].concat();
    let begun = ask(&connection, &request).await;
    fixture.gate.began.notified().await;
    let mut ours = connection.accept_uni().await.expect("its control stream");
    let gate = Arc::clone(&fixture.gate);
    let stopping = tokio::spawn(fixture.stop(Stop::Gracefully));
    // GOAWAY: 4 is the first that is not begun.
    let mut said = Vec::new();
    while !said.ends_with(&[7, 1, 4]) {
        let chunk = timeout(DEADLINE, ours.read_chunk(64, true)).await.expect("in time");
        said.extend_from_slice(&chunk.expect("it goes on").expect("it goes on").bytes);
    }
    for _ in 0..3 {
        let refused = answer(ask(&connection, &request).await).await;
        assert_eq!(refused, Err(Code::H3_REQUEST_REJECTED));
    }
    assert_eq!(gate.begun(), 1);
    gate.open.notify_one();
    assert!(answer(begun).await.expect("an answer").contains("waited"));
    timeout(DEADLINE, stopping).await.expect("in time").expect("no panic");
    timeout(DEADLINE, idle.closed()).await.expect("in time");
}

#[tokio::test]
async fn a_client_that_says_goodbye_has_its_answers_first() {
    let fixture = secured().await;
    let connection = raw(&fixture).await;
    let mut control = control(&connection).await;
    let (head, body) = framed(&call("wait"), &[]);
    let receive = ask(&connection, &[head, frame(DATA, &body)].concat()).await;
    timeout(DEADLINE, fixture.gate.began.notified()).await.expect("it is begun");
    let mut ours = connection.accept_uni().await.expect("its control stream");
    control.write_all(&[7, 1, 0]).await.expect("it is taken");
    tokio::task::yield_now().await;
    fixture.gate.open.notify_one();
    // What was begun is not said to be none before its answer has come.
    let (mut receive, mut first) = (receive, [0; 1]);
    let read = timeout(DEADLINE, receive.read_exact(&mut first)).await.expect("in time");
    read.expect("it goes on");
    let mut said = Vec::new();
    while let Ok(Ok(Some(chunk))) =
        timeout(Duration::from_millis(200), ours.read_chunk(64, true)).await
    {
        said.extend_from_slice(&chunk.bytes);
    }
    assert!(!said.ends_with(&[7, 1, 0]), "{said:?}");
    assert!(answer(receive).await.expect("an answer").contains("waited"));
    let closed = timeout(DEADLINE, connection.closed()).await.expect("in time").to_string();
    assert!(closed.contains("256") || closed.contains("closed by peer"), "{closed}");
}

#[tokio::test]
async fn a_connection_on_which_nothing_is_asked_is_let_go_and_a_slow_call_is_not() {
    let soon = Duration::from_millis(300);
    let limits = Limits { header_timeout: soon, ..Limits::default() };
    let fixture = secured_with(limits).await;
    let mut client = Http3Client::connect(&fixture).await;
    let mut slow = client.send(&call("wait")).await.expect("it is taken");
    fixture.gate.began.notified().await;
    let idle = raw(&fixture).await;
    let _control = control(&idle).await;
    let closed = timeout(DEADLINE, idle.closed()).await.expect("it is let go");
    assert!(closed.to_string().contains("closed by peer"), "{closed}");
    fixture.gate.open.notify_one();
    let answered = timeout(DEADLINE, slow.recv_response()).await.expect("in time");
    assert_eq!(answered.expect("an answer").status(), 200);
}

#[tokio::test]
async fn who_asks_nothing_hears_that_what_comes_now_is_not_begun() {
    let soon = Duration::from_millis(300);
    let limits = Limits { header_timeout: soon, ..Limits::default() };
    let fixture = secured_with(limits).await;
    let idle = raw(&fixture).await;
    let _control = control(&idle).await;
    let mut ours = idle.accept_uni().await.expect("its control stream");
    let mut said = Vec::new();
    while let Ok(Some(chunk)) = ours.read_chunk(64, true).await {
        said.extend_from_slice(&chunk.bytes);
    }
    // GOAWAY: 0 is the first.
    assert!(said.ends_with(&[7, 1, 0]), "{said:?}");
}

#[tokio::test]
async fn headers_that_are_not_whole_have_so_much_room_in_all() {
    const ALL: usize = 32 * 1024 * 1024;
    let limits = Limits { streams_per_connection: 1000, ..Limits::default() };
    let (one, fixture) = (limits.header_bytes - 1024, secured_with(limits).await);
    // The beginning of a HEADERS frame that goes on.
    let mut beginning = vec![HEADERS, 0x80, 0, 0x7f, 0xff];
    beginning.resize(one, 0);
    let (mut begun, mut connections) = (Vec::new(), Vec::new());
    for number in 0..ALL / one + 8 {
        if number % 200 == 0 {
            connections.push(raw(&fixture).await);
        }
        let connection = connections.last().expect("there is one");
        let (mut send, receive) = connection.open_bi().await.expect("a stream");
        if send.write_all(&beginning).await.is_err() {
            break;
        }
        begun.push((send, receive));
    }
    let refused = begun.iter_mut().map(|(send, _)| Box::pin(send.stopped()));
    let (refused, ..) = timeout(DEADLINE, select_all(refused)).await.expect("one is refused");
    let code = refused.expect("the connection goes on").expect("it was not taken");
    assert_eq!(Code::from(code.into_inner()), Code::H3_EXCESSIVE_LOAD);
    assert!(begun.len() >= ALL / (one + 8192), "{}", begun.len());
    drop((begun, connections));
    Http3Client::connect(&fixture).await.next_is_answered().await;
}

#[tokio::test]
async fn half_a_handshake_does_not_hold_up_a_stop() {
    let fixture = secured().await;
    let client = quic(&fixture, b"h3", TransportConfig::default());
    // What the server says to it is lost.
    let (address, first) = between(fixture.address, false).await;
    let half = client.connect(address, "localhost").expect("an address");
    timeout(DEADLINE, first).await.expect("in time").expect("the server has heard of it");
    let stopped = timeout(Duration::from_secs(5), fixture.stop(Stop::Gracefully)).await;
    stopped.expect("long before the time of a handshake is over");
    drop(half);
}

#[tokio::test]
async fn head_has_no_body_and_whoever_asks_first_is_told_to_go_on() {
    let fixture = secured().await;
    let connection = raw(&fixture).await;
    let head = String::from_utf8(post(&[], "")).expect("text").replace("POST", "HEAD");
    let (head, _) = framed(head.as_bytes(), &[]);
    let mut receive = ask(&connection, &head).await;
    let said = timeout(DEADLINE, receive.read_to_end(1 << 16)).await.expect("in time");
    let said = said.expect("an answer");
    let length = usize::from(said[1] & 0x3f) << 8 | usize::from(said[2]);
    let short = usize::from(said[1]);
    let whole = if said[1] >> 6 == 1 { 3 + length } else { 2 + short };
    assert_eq!((said[0], said.len()), (HEADERS, whole), "headers, and nothing else");
    let (head, body) = framed(&call("hello"), &[("expect", "100-continue")]);
    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
    send.write_all(&head).await.expect("it is taken");
    let mut first = [0; 1];
    let read = timeout(DEADLINE, receive.read_exact(&mut first)).await.expect("it is told");
    read.expect("it goes on");
    assert_eq!(first, [HEADERS]);
    send.write_all(&frame(DATA, &body)).await.expect("it is taken");
    send.finish().expect("it is open");
    assert!(answer(receive).await.expect("an answer").contains("\"text\":\"hello\""));
}
