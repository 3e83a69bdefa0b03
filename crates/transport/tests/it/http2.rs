//! HTTP/2 without TLS, spoken from the first byte on.

use crate::fixture::Fixture;
use crate::raw_client::{RawClient, modern, modern_body};
use bytes::Bytes;
use haft_proto::limits::Limits;
use haft_transport::http::Options;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;

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
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
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
    tokio::time::timeout(Duration::from_secs(10), free).await.expect("their places are free");
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
