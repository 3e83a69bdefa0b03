//! What hostile or broken clients of HTTP/3 send: each is told so or let go, and others are served
//! as if nothing had been.

use crate::fixture::Fixture;
use crate::http3_client::{Http3Client, parsed, quic, rest};
use crate::pipe_client::DEADLINE;
use crate::raw_client::{modern, modern_with, post};
use bytes::Bytes;
use h3::error::Code;
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use quinn::{ConnectionError, ReadError, TransportConfig, VarInt};
use serde_json::json;
use std::net::SocketAddr;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

async fn limited(limits: Limits) -> Fixture {
    Fixture::secured(limits, Options::default()).await
}

fn call(name: &str) -> Vec<u8> {
    modern("tools/call", &json!({ "name": name }).to_string())
}

/// A connection on which a test says whatever it likes.
async fn raw(fixture: &Fixture) -> quinn::Connection {
    let client = quic(fixture, b"h3", TransportConfig::default());
    let connecting = client.connect(fixture.address, "localhost").expect("an address");
    timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC")
}

async fn next_is_answered(fixture: &Fixture) {
    Http3Client::connect(fixture).await.next_is_answered().await;
}

/// A request whose body is not there yet, and does not say how long it will be.
fn endless() -> http::Request<()> {
    let (mut head, _) = parsed(&post(&[], ""));
    head.headers_mut().remove("content-length");
    head
}

#[tokio::test]
async fn a_body_over_the_limit_is_told_so_and_not_read_to_its_end() {
    let fixture = limited(Limits::default()).await;
    let mut client = Http3Client::connect(&fixture).await;
    // By its own word, without a byte of it.
    let (head, _) = parsed(&post(&[("content-length", "1073741824")], ""));
    let mut head = head;
    head.headers_mut().remove("content-length");
    head.headers_mut().insert("content-length", "1073741824".parse().expect("a header"));
    let mut announced = client.sender.send_request(head).await.expect("it is taken");
    let response = timeout(DEADLINE, announced.recv_response()).await.expect("in time");
    let answer = rest(response.expect("an answer"), &mut announced).await.expect("the whole");
    let too_large = "Invalid request: the message is larger than 4194304 bytes";
    assert_eq!((answer.status, answer.json()["error"]["message"].as_str()), (413, Some(too_large)));
    // By count.
    let mut sent = client.sender.send_request(endless()).await.expect("it is taken");
    let piece = Bytes::from(vec![b' '; 0x10000]);
    let mut count = 0usize;
    let stopped = async {
        while sent.send_data(piece.clone()).await.is_ok() {
            count += piece.len();
        }
    };
    timeout(DEADLINE, stopped).await.expect("the server stops reading");
    assert!(count < 64 << 20, "long before: {count}");
    let response = sent.recv_response().await.expect("an answer");
    assert_eq!(response.status(), 413);
    client.next_is_answered().await;
}

#[tokio::test]
async fn bodies_that_are_slow_broken_off_or_of_another_length_free_their_room() {
    let body_timeout = Duration::from_millis(200);
    let limits = Limits { body_timeout, bodies_bytes: 1000, ..Limits::default() };
    let fixture = limited(limits).await;
    let mut client = Http3Client::connect(&fixture).await;
    let half = Bytes::from(vec![b' '; 600]);
    // One that stops in the middle.
    let mut slow = client.sender.send_request(endless()).await.expect("it is taken");
    slow.send_data(half.clone()).await.expect("it is taken");
    let response = timeout(DEADLINE, slow.recv_response()).await.expect("in time");
    let answer = rest(response.expect("an answer"), &mut slow).await.expect("the whole");
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (408, Some(-31004)));
    // One that is taken back there.
    let mut broken = client.sender.send_request(endless()).await.expect("it is taken");
    broken.send_data(half.clone()).await.expect("it is taken");
    broken.stop_stream(Code::H3_REQUEST_CANCELLED);
    // Those that are not as long as they say.
    for length in ["599", "601"] {
        let mut head = endless();
        head.headers_mut().insert("content-length", length.parse().expect("a header"));
        let mut other = client.sender.send_request(head).await.expect("it is taken");
        other.send_data(half.clone()).await.expect("it is taken");
        other.finish().await.expect("it is taken");
        let response = timeout(DEADLINE, other.recv_response()).await.expect("in time");
        assert_eq!(response.expect("an answer").status(), 400, "{length}");
    }
    let answer = client.ask(&post(&[], &" ".repeat(600))).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    client.next_is_answered().await;
}

#[tokio::test]
async fn headers_over_the_limit_or_too_slow_are_refused() {
    let header_timeout = Duration::from_millis(200);
    let limits = Limits { header_timeout, ..Limits::default() };
    let (bytes, fixture) = (limits.header_bytes, limited(limits).await);
    let mut client = Http3Client::connect(&fixture).await;
    let large = "x".repeat(bytes - 1024);
    let fitting = modern_with(&[("x-large", &large)], "tools/list", "{}");
    assert_eq!(client.ask(&fitting).await.status, 200);
    // Of a client that has heard no limit.
    let connection = raw(&fixture).await;
    let mut unheard = Http3Client::over(connection).await;
    let (mut head, _) = parsed(&modern("tools/list", "{}"));
    for name in ["x-one", "x-other"] {
        let half = "x".repeat(bytes / 2);
        head.headers_mut().insert(name, half.parse().expect("a header"));
    }
    match unheard.sender.send_request(head).await {
        Ok(mut stream) => {
            let response = timeout(DEADLINE, stream.recv_response()).await.expect("in time");
            assert_eq!(response.expect("an answer").status(), 431);
        }
        // It had heard of it by then.
        Err(error) => assert!(error.to_string().contains("too big"), "{error}"),
    }
    let connection = raw(&fixture).await;
    for beginning in [b"".as_slice(), &[1], &[1, 60, 0, 0]] {
        let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
        // Unless something comes, the server does not know of the stream.
        send.write_all(&[&[0x21, 0], beginning].concat()).await.expect("it is taken");
        let stopped = timeout(DEADLINE, send.stopped()).await.expect("the server stops reading");
        assert!(stopped.expect("the connection goes on").is_some());
        let Err(ReadError::Reset(code)) = receive.read(&mut [0; 8]).await else {
            panic!("no answer is none that is whole")
        };
        assert_eq!(Code::from(code.into_inner()), Code::H3_REQUEST_INCOMPLETE);
    }
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_frame_that_claims_four_gibibytes_is_refused() {
    let fixture = limited(Limits::default()).await;
    let connection = raw(&fixture).await;
    let too_much = VarInt::from_u64(Code::H3_EXCESSIVE_LOAD.value()).expect("short");
    // Headers, something unknown, and something else that is to be put together first.
    for kind in [1, 0x21, 4] {
        let (mut send, _receive) = connection.open_bi().await.expect("a stream");
        send.write_all(&[kind, 0xc0, 0, 0, 1, 0, 0, 0, 0]).await.expect("it is taken");
        let stopped = timeout(DEADLINE, send.stopped()).await.expect("in time");
        assert_eq!(stopped.expect("the connection goes on"), Some(too_much), "{kind}");
    }
    let mut client = Http3Client::over(connection.clone()).await;
    client.next_is_answered().await;
    // Where a connection is spoken about, it cannot go on.
    let connection = raw(&fixture).await;
    let mut control = connection.open_uni().await.expect("a stream");
    control.write_all(&[0, 4, 0xc0, 0, 0, 1, 0, 0, 0, 0]).await.expect("it is taken");
    let closed = timeout(DEADLINE, connection.closed()).await.expect("in time");
    let ConnectionError::ApplicationClosed(closed) = closed else { panic!("{closed}") };
    assert_eq!(Code::from(closed.error_code.into_inner()), Code::H3_EXCESSIVE_LOAD);
    assert_eq!(closed.reason, "a frame is longer than it may be");
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn a_client_has_so_many_requests_at_once_and_the_next_waits() {
    let limits = Limits { streams_per_connection: 2, ..Limits::default() };
    let fixture = limited(limits).await;
    let mut client = Http3Client::connect(&fixture).await;
    let first = client.send(&call("wait")).await.expect("it is taken");
    let second = client.send(&call("wait")).await.expect("it is taken");
    while fixture.gate.begun() < 2 {
        fixture.gate.began.notified().await;
    }
    let mut third = Box::pin(client.connection.open_bi());
    assert!(timeout(Duration::from_millis(50), &mut third).await.is_err(), "there is no room");
    drop(first);
    timeout(DEADLINE, third).await.expect("there is room").expect("it goes on");
    drop(second);
}

#[tokio::test]
async fn requests_that_are_begun_and_dropped_over_and_over_leave_nothing_behind() {
    let limits = Limits { requests_in_flight: 512, ..Limits::default() };
    let fixture = limited(limits).await;
    let mut client = Http3Client::connect(&fixture).await;
    for _ in 0..3000 {
        drop(client.send(&call("wait")).await.expect("it is taken"));
    }
    client.next_is_answered().await;
    // All that have begun are over soon.
    let over = async {
        while fixture.gate.begun() != fixture.gate.cancelled() {
            fixture.gate.ended.notified().await;
        }
    };
    timeout(DEADLINE, over).await.expect("they are cancelled");
    // Streams on which only the client speaks are ignored, however many there are.
    for number in 0..2000_u32 {
        let mut stream = client.connection.open_uni().await.expect("there is room again");
        // Some end before they say what they are for, and some are of QPACK, or say more.
        let said = [b"".as_slice(), b"\x21", b"\x40\x21hello", b"\x21\0\0\0"][number as usize % 4];
        _ = stream.write_all(said).await;
        match number % 3 {
            0 => _ = stream.finish(),
            1 => _ = stream.reset(0_u32.into()),
            _ => drop(stream),
        }
    }
    client.next_is_answered().await;
    // A second stream of control ends the connection.
    let closed = async {
        while let Ok(mut stream) = client.connection.open_uni().await {
            _ = stream.write_all(b"\0").await;
        }
    };
    timeout(DEADLINE, closed).await.expect("it ends");
    next_is_answered(&fixture).await;
}

#[tokio::test]
async fn what_nobody_reads_is_not_sent_without_end() {
    let fixture = limited(Limits::default()).await;
    let connection = raw(&fixture).await;
    // Of QPACK, which needs to say nothing to us.
    let mut encoder = connection.open_uni().await.expect("a stream");
    encoder.write_all(b"\x02").await.expect("it is taken");
    let mut sent = 1;
    let piece = [0; 4096];
    while let Ok(written) = timeout(Duration::from_millis(500), encoder.write(&piece)).await {
        sent += written.expect("the connection goes on");
        assert!(sent <= 512 * 1024, "what has come before it was looked at may be on top");
    }
    assert!(sent >= 256 * 1024, "{sent}");
    // With that, there may be eight of these.
    let mut others = Vec::new();
    for _ in 1..8 {
        others.push(connection.open_uni().await.expect("a stream"));
    }
    assert!(timeout(Duration::from_millis(50), connection.open_uni()).await.is_err());
    next_is_answered(&fixture).await;
}

/// A client that takes a little of each answer, and no more.
async fn unreading(fixture: &Fixture) -> Http3Client {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(1024_u32.into());
    Http3Client::connect_with(fixture, transport).await
}

#[tokio::test]
async fn answers_that_are_never_read_are_bounded_and_given_up() {
    let write_stall = Duration::from_secs(1);
    let limits = Limits { output_bytes: 1024 * 1024, write_stall, ..Limits::default() };
    let fixture = limited(limits).await;
    let mut client = unreading(&fixture).await;
    let mut unread = client.send(&call("large")).await.expect("it is taken");
    let head = timeout(DEADLINE, unread.recv_response()).await.expect("in time");
    assert_eq!(head.expect("an answer").status(), 200);
    let small = modern("tools/call", r#"{"name":"hello"}"#);
    let refused = client.ask(&small).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    next_is_answered(&fixture).await;
    // The stream alone is given up, and what it held is there again.
    let served = async { while client.ask(&small).await.status != 200 {} };
    timeout(DEADLINE, served).await.expect("what was given up is forgotten");
    let broken = async { while unread.recv_data().await.is_ok_and(|data| data.is_some()) {} };
    timeout(DEADLINE, broken).await.expect("it is broken off");
}

#[tokio::test]
async fn connections_over_the_limit_are_refused_until_there_is_room() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let fixture = limited(limits).await;
    let mut first = Http3Client::connect(&fixture).await;
    first.next_is_answered().await;
    let client = quic(&fixture, b"h3", TransportConfig::default());
    let refused = client.connect(fixture.address, "localhost").expect("an address").await;
    let Err(ConnectionError::ConnectionClosed(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.error_code, quinn::TransportErrorCode::CONNECTION_REFUSED);
    first.connection.close(0_u32.into(), b"");
    let served = async {
        loop {
            let connecting = client.connect(fixture.address, "localhost").expect("an address");
            if let Ok(connection) = connecting.await {
                break Http3Client::over(connection).await.next_is_answered().await;
            }
        }
    };
    timeout(DEADLINE, served).await.expect("there is room again");
}

#[tokio::test]
async fn whoever_speaks_another_protocol_is_refused() {
    let fixture = limited(Limits::default()).await;
    let client = quic(&fixture, b"h2", TransportConfig::default());
    let refused = client.connect(fixture.address, "localhost").expect("an address").await;
    assert!(refused.is_err(), "{refused:?}");
    next_is_answered(&fixture).await;
}

/// Stands between a client and the server: what the client says is passed on, and what the server
/// says as well if it is to be. Tells of the first byte that the server says.
pub(crate) async fn between(
    server: SocketAddr,
    passes_back: bool,
) -> (SocketAddr, tokio::sync::oneshot::Receiver<u8>) {
    let front = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let back = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    back.connect(server).await.expect("an address");
    let address = front.local_addr().expect("it is bound");
    let (sender, first) = tokio::sync::oneshot::channel();
    let mut sender = Some(sender);
    tokio::spawn(async move {
        let (mut up, mut down) = ([0; 2048], [0; 2048]);
        let mut client = None;
        loop {
            tokio::select! {
                Ok((length, from)) = front.recv_from(&mut up) => {
                    client = Some(from);
                    _ = back.send(&up[..length]).await;
                }
                Ok(length) = back.recv(&mut down) => {
                    _ = sender.take().map(|sender| sender.send(down[0]));
                    if let (true, Some(client)) = (passes_back, client) {
                        _ = front.send_to(&down[..length], client).await;
                    }
                }
            }
        }
    });
    (address, first)
}

/// Whether the first byte of a packet is that of a Retry (RFC 9000, 17.2).
fn is_retry(first: u8) -> bool {
    first & 0b1011_0000 == 0b1011_0000
}

#[tokio::test]
async fn in_a_flood_of_handshakes_a_client_must_show_its_address() {
    let fixture = limited(Limits::default()).await;
    let client = quic(&fixture, b"h3", TransportConfig::default());
    let mut waiting = Vec::new();
    for number in 0..70 {
        // As if its address were another's.
        let (address, first) = between(fixture.address, false).await;
        waiting.push(client.connect(address, "localhost").expect("an address"));
        let first = timeout(DEADLINE, first).await.expect("in time").expect("it is told");
        assert_eq!(is_retry(first), number >= 64, "{number}: {first:#x}");
    }
    let (address, first) = between(fixture.address, true).await;
    let connecting = client.connect(address, "localhost").expect("an address");
    let connection = timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC");
    assert!(is_retry(first.await.expect("it is told")));
    Http3Client::over(connection).await.next_is_answered().await;
}

/// Numbers that look like chance, the same each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        // Small numbers, so that some are types and lengths of frames.
        (0..length).map(|_| (self.next() % [256, 8, 80][self.0 as usize % 3]) as u8).collect()
    }
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn bytes_without_sense_panic_nowhere() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Other tests have tools that panic on purpose.
        let is_of_http3 =
            |file: &str| ["/h3-", "/quinn", "/http3/"].iter().any(|it| file.contains(it));
        if info.location().is_some_and(|at| is_of_http3(at.file())) {
            PANICS.fetch_add(1, Ordering::SeqCst);
        }
        before(info);
    }));
    let fixture = limited(Limits::default()).await;
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    for round in 0..200 {
        _ = socket.send_to(&chance.bytes(1400), fixture.address).await;
        let connection = raw(&fixture).await;
        for _ in 0..8 {
            // Some begin as they should.
            let beginning = [b"".as_slice(), b"\x01\x03\0\0\xd1", b"\0", b"\x21\0"];
            let said = [beginning[chance.next() as usize % 4], &chance.bytes(300)].concat();
            let Ok((mut send, mut receive)) = connection.open_bi().await else { break };
            _ = send.write_all(&said).await;
            match chance.next() % 4 {
                0 => _ = send.finish(),
                1 => _ = send.reset(0_u32.into()),
                2 => _ = receive.stop(0_u32.into()),
                _ => {}
            }
            let Ok(mut send) = connection.open_uni().await else { break };
            _ = send.write_all(&chance.bytes(300)).await;
            if let Ok(Err(error)) = timeout(Duration::ZERO, receive.read(&mut [0; 64])).await {
                assert!(!matches!(error, ReadError::IllegalOrderedRead), "{round}");
            }
        }
        connection.close(0_u32.into(), b"");
    }
    next_is_answered(&fixture).await;
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "of the seed in this test");
}
