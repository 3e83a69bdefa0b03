//! HTTP/2 without TLS, spoken from the first byte on.

use crate::changes::Changes;
use crate::fixture::Fixture;
use crate::hook::{Hook, tool_of};
use crate::pipe_client::{DEADLINE, initialize};
use crate::raw_client::{RawClient, modern, modern_body, post};
use bytes::Bytes;
use haft_proto::limits::Limits;
use haft_proto::service::{Ask, BrokenOff, Outcome, Reply, Rest, Turn};
use haft_transport::http::{Options, TwoPaths};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

fn request(fixture: &Fixture, name: &str) -> Request<Full<Bytes>> {
    let body = modern_body("tools/call", &json!({"name": name}));
    Request::post(format!("http://{}/mcp", fixture.address))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", name)
        .body(Full::new(body.into()))
        .expect("a request")
}

/// A client that lets nothing of an answer's body come.
async fn connect_unreading(fixture: &Fixture) -> http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn calls_share_a_connection_and_finish_in_their_own_time() {
    let fixture = Fixture::start().await;
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let (mut first, mut second) = (sender.clone(), sender);
    let slow = tokio::spawn(first.send_request(request(&fixture, "wait")));
    fixture.gate.began.notified().await;
    let quick = second.send_request(request(&fixture, "hello")).await.expect("an answer");
    let body = quick.into_body().collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["result"]["content"][0]["text"], "hello");
    fixture.gate.open.notify_one();
    assert_eq!(slow.await.expect("it ran").expect("an answer").status(), 200);
}

#[tokio::test]
async fn clients_that_never_read_hold_no_places() {
    let keep_alive = Duration::from_millis(10);
    let limits = Limits { requests_in_flight: 2, keep_alive, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut sender = connect_unreading(&fixture).await;
    // Two answers become streams, as they take long, and can send nothing.
    let mut unread = Vec::new();
    for _ in 0..2 {
        let began = sender.send_request(request(&fixture, "wait")).await.expect("headers");
        assert_eq!(began.headers()["content-type"], "text/event-stream");
        unread.push(began);
    }
    fixture.gate.open.notify_one();
    fixture.gate.ended.notified().await;
    fixture.gate.open.notify_one();
    fixture.gate.ended.notified().await;
    let free = async {
        let mut client = RawClient::connect(fixture.address).await;
        while client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await.status != 200 {}
    };
    timeout(Duration::from_secs(10), free).await.expect("their places are free");
}

/// Words without end, as long as somebody takes them.
struct Endless(#[expect(dead_code, reason = "counted")] Arc<()>);

impl Rest for Endless {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        Poll::Ready(Some(Ok(Bytes::from_static(&[b' '; 1024]))))
    }
}

/// Answers calls with words without end.
fn endless(counted: Arc<()>) -> impl Hook {
    move |ask: &Ask<'_>, _: &mut Vec<u8>| {
        if tool_of(ask) != r#""endless""# {
            return None;
        }
        let mut reply = Reply::new(b"{".to_vec(), Outcome::Result);
        reply.rest = Some(Box::new(Endless(Arc::clone(&counted))));
        Some(Turn::Later(Box::pin(std::future::ready(reply))))
    }
}

#[tokio::test]
async fn a_long_answer_that_nobody_takes_is_given_up_with_its_place() {
    let write_stall = Duration::from_millis(50);
    let limits = Limits { requests_in_flight: 1, write_stall, ..Limits::default() };
    let counted = Arc::new(());
    let fixture = Fixture::hooked(limits, endless(Arc::clone(&counted))).await;
    let mut sender = connect_unreading(&fixture).await;
    let unread = sender.send_request(request(&fixture, "endless")).await.expect("headers");
    assert_eq!(Arc::strong_count(&counted), 3);
    let free = async {
        let mut client = RawClient::connect(fixture.address).await;
        while client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await.status != 200 {}
    };
    timeout(DEADLINE, free).await.expect("its place is free");
    assert_eq!(Arc::strong_count(&counted), 2, "and so is the rest");
    drop(unread);
}

#[tokio::test]
async fn answers_that_are_never_read_are_bounded_for_each_connection() {
    let keep_alive = Duration::from_millis(10);
    let limits = Limits { output_bytes: 1024 * 1024, keep_alive, ..Limits::default() };
    let fixture = Fixture::with(limits, Options::default()).await;
    let mut other = connect(&fixture).await;
    // Answered at once, and answered on a stream that has begun before.
    for name in ["large", "large_later"] {
        let mut sender = connect_unreading(&fixture).await;
        let unread = sender.send_request(request(&fixture, name)).await.expect("headers");
        assert_eq!(unread.status(), 200);
        let full = async {
            loop {
                let small = sender.send_request(request(&fixture, "hello")).await;
                match small.expect("headers").status().as_u16() {
                    200 => fixture.gate.open.notify_one(),
                    status => break status,
                }
            }
        };
        assert_eq!(timeout(DEADLINE, full).await.expect("it is refused"), 503, "{name}");
        let free = other.send_request(request(&fixture, "hello")).await.expect("headers");
        assert_eq!(free.status(), 200, "other connections are served");
        drop(unread);
        let served = async {
            while sender.send_request(request(&fixture, "hello")).await.expect("h").status() != 200
            {
            }
        };
        timeout(DEADLINE, served).await.expect("what was given up is forgotten");
    }
}

#[tokio::test]
async fn conversations_of_2024_11_05_on_one_connection_have_one_bound() {
    let options = Options { two_paths: Some(TwoPaths::default()), ..Options::default() };
    let limits = Limits { output_bytes: 1024 * 1024, ..Limits::default() };
    let fixture = Fixture::with(limits, options).await;
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    // A stream that is not read leaves room for the others.
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(1024)
        .initial_connection_window_size(1024 * 1024)
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let mut poster = RawClient::connect(fixture.address).await;
    let initialize = initialize("2024-11-05");
    let large = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"large"}}"#;
    let mut streams = Vec::new();
    for status in [202, 503] {
        let get = Request::get(format!("http://{}/sse", fixture.address))
            .header("accept", "text/event-stream")
            .body(Full::<Bytes>::default());
        let mut events =
            sender.send_request(get.expect("a request")).await.expect("an answer").into_body();
        let frame = timeout(DEADLINE, events.frame()).await.expect("in time").expect("an event");
        let event = frame.expect("no error").into_data().expect("data");
        let event = std::str::from_utf8(&event).expect("UTF-8");
        let path = event.lines().find_map(|line| line.strip_prefix("data: ")).expect("a path");
        let send = |body: &str| {
            let request = String::from_utf8(post(&[], body)).expect("ASCII");
            request.replacen("/mcp", &format!("/{path}"), 1).into_bytes()
        };
        assert_eq!(poster.ask(&send(&initialize)).await.status, status);
        assert_eq!(poster.ask(&send(large)).await.status, status);
        streams.push(events);
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_cancels_its_call() {
    let fixture = Fixture::start().await;
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let slow = tokio::spawn(sender.send_request(request(&fixture, "wait")));
    fixture.gate.began.notified().await;
    slow.abort();
    fixture.gate.ended.notified().await;
    assert_eq!(fixture.gate.cancelled(), 1);
}

async fn connect(fixture: &Fixture) -> http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    sender
}

/// The next message of a stream of events, with its id.
async fn next(events: &mut Incoming) -> (Option<String>, Value) {
    loop {
        let frame = timeout(DEADLINE, events.frame()).await.expect("in time").expect("it goes on");
        let data = frame.expect("no error").into_data().expect("data");
        let event = std::str::from_utf8(&data).expect("UTF-8");
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
            let id = field("id: ").map(str::to_owned);
            return (id, serde_json::from_str(data).expect("JSON"));
        }
    }
}

#[tokio::test]
async fn a_subscription_lasts_until_its_stream_is_reset() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let mut sender = connect(&fixture).await;
    let body = modern_body("subscriptions/listen", &json!({}));
    let (mut parts, _) = request(&fixture, "none").into_parts();
    parts.headers.insert("mcp-method", "subscriptions/listen".parse().expect("a value"));
    parts.headers.remove("mcp-name");
    let listen = Request::from_parts(parts, Full::new(body.into()));
    let mut events = sender.send_request(listen).await.expect("an answer").into_body();
    let acknowledged = next(&mut events).await.1;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    changes.rise(5);
    assert_eq!(next(&mut events).await.1["params"]["number"], 5);
    drop(events);
    timeout(DEADLINE, changes.are_open(0)).await.expect("the feed is dropped");
    assert_eq!(sender.send_request(request(&fixture, "hello")).await.expect("alive").status(), 200);
}

#[tokio::test]
async fn a_listener_is_told_comes_back_and_is_sent_away() {
    let changes = Changes::default();
    let fixture = Fixture::hooked(Limits::default(), changes.clone()).await;
    let session = RawClient::connect(fixture.address).await.session("2025-06-18").await;
    let mut sender = connect(&fixture).await;
    let get = |last: Option<&str>| {
        let request = Request::get(format!("http://{}/mcp", fixture.address))
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session.id);
        let request = last.into_iter().fold(request, |it, last| it.header("last-event-id", last));
        request.body(Full::default()).expect("a request")
    };
    let mut first = sender.send_request(get(None)).await.expect("an answer").into_body();
    changes.rise(1);
    let (id, told) = next(&mut first).await;
    assert_eq!(told["params"]["number"], 1);
    changes.rise(1);
    assert_eq!(next(&mut first).await.1["params"]["number"], 2);
    let mut second = sender.send_request(get(id.as_deref())).await.expect("an answer").into_body();
    assert_eq!(next(&mut second).await.1["params"]["number"], 2, "it may not have come");
    let rest = timeout(DEADLINE, first.collect()).await.expect("there is one listener at a time");
    assert_eq!(rest.expect("no error").to_bytes(), "");
    let delete = Request::delete(format!("http://{}/mcp", fixture.address))
        .header("mcp-session-id", &session.id)
        .body(Full::default());
    let deleted = sender.send_request(delete.expect("a request")).await.expect("an answer");
    assert_eq!(deleted.status(), 204);
    let rest = timeout(DEADLINE, second.collect()).await.expect("the session has ended");
    assert_eq!(rest.expect("no error").to_bytes(), "");
}
