//! HTTP/1.1 and HTTP/2 over TLS: what is other than without, and what becomes of clients that do
//! not get as far as HTTP.

use crate::fixture::Fixture;
use crate::http3_client::{Http3Client, trusting};
use crate::pipe_client::DEADLINE;
use crate::raw_client::modern_body;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use haft_proto::limits::Limits;
use haft_transport::http::{Listener, Options, Tls, TlsError};
use haft_transport::stop::Stop;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

async fn connect(fixture: &Fixture, protocol: &str) -> TlsStream<TcpStream> {
    let mut tls = trusting(fixture);
    tls.alpn_protocols = vec![protocol.into()];
    let stream = TcpStream::connect(fixture.address).await.expect("the server listens");
    stream.set_nodelay(true).expect("a socket has options");
    let name = "localhost".try_into().expect("a name");
    let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.expect("TLS");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    stream
}

fn request(name: &str) -> Request<Full<Bytes>> {
    let body = modern_body("tools/call", &json!({"name": name}));
    Request::post("https://localhost/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", name)
        .body(Full::new(body.into()))
        .expect("a request")
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    body["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

/// Asks over TLS, in both kinds of HTTP.
pub(crate) async fn next_is_answered(fixture: &Fixture) {
    let stream = TokioIo::new(connect(fixture, "h2").await);
    let (mut second, connection) =
        http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    let stream = TokioIo::new(connect(fixture, "http/1.1").await);
    let (mut first, connection) = http1::handshake(stream).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    let asked =
        [first.send_request(request("hello")).await, second.send_request(request("hello")).await];
    for answer in asked {
        let answer = answer.expect("an answer");
        let port = fixture.address.port();
        assert_eq!(answer.headers()["alt-svc"], format!("h3=\":{port}\"; ma=86400"));
        assert_eq!(text(answer).await, "hello");
    }
}

#[tokio::test]
async fn both_kinds_are_answered_and_told_where_the_third_is() {
    let fixture = Fixture::secured(Limits::default(), Options::default()).await;
    next_is_answered(&fixture).await;
    let plain = Fixture::start().await;
    let mut client = crate::raw_client::RawClient::connect(plain.address).await;
    let list = crate::raw_client::modern("tools/list", "{}");
    assert_eq!(client.ask(&list).await.header("alt-svc"), None, "where there is none");
}

#[tokio::test]
async fn a_web_socket_is_spoken_over_tls() {
    let fixture = Fixture::secured(Limits::default(), Options::default()).await;
    let mut request = "wss://localhost/mcp".into_client_request().expect("a URL");
    request.headers_mut().insert("sec-websocket-protocol", "mcp".parse().expect("a header"));
    let stream = connect(&fixture, "http/1.1").await;
    let (mut socket, _) =
        tokio_tungstenite::client_async(request, stream).await.expect("a handshake");
    let call = modern_body("tools/call", &json!({"name": "hello"}));
    socket.send(call.into()).await.expect("it is taken");
    let answer = timeout(DEADLINE, socket.next()).await.expect("in time").expect("one");
    let answer = answer.expect("a message").into_text().expect("text");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn clients_that_do_not_get_as_far_as_http_are_let_go() {
    let soon = Duration::from_millis(300);
    let limits = Limits { header_timeout: soon, connections: 1, ..Limits::default() };
    let fixture = Fixture::secured(limits, Options::default()).await;
    // Nothing, half of a handshake, and no TLS at all.
    let beginnings = [b"".as_slice(), b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"];
    for beginning in beginnings {
        let mut stream = TcpStream::connect(fixture.address).await.expect("it listens");
        stream.write_all(beginning).await.expect("it is taken");
        let mut rest = Vec::new();
        let closed = timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
        // It may be reset, as what was said is not read.
        _ = closed.expect("the server closes");
    }
    // A handshake, and nothing after it.
    let mut silent = connect(&fixture, "http/1.1").await;
    let closed = timeout(DEADLINE, silent.read(&mut [0; 8])).await.expect("the server closes");
    assert!(!matches!(closed, Ok(1..)), "{closed:?}");
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_let_go() {
    let write_stall = Duration::from_millis(100);
    let limits = Limits { write_stall, connections: 1, ..Limits::default() };
    let fixture = Fixture::secured(limits, Options::default()).await;
    let stream = connect(&fixture, "http/1.1").await;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
    // Not driven once the head is there.
    let mut connection = Box::pin(connection);
    let asked = sender.send_request(request("large"));
    let head = tokio::select! {
        head = asked => head.expect("a head"),
        _ = &mut connection => panic!("it goes on"),
    };
    assert_eq!(head.status(), 200);
    // There is room for one connection only.
    timeout(DEADLINE, async {
        let stream = TokioIo::new(connect(&fixture, "http/1.1").await);
        let (mut other, driver) = http1::handshake(stream).await.expect("HTTP/1.1");
        tokio::spawn(driver);
        assert_eq!(other.send_request(request("hello")).await.expect("an answer").status(), 200);
    })
    .await
    .expect("there is room again");
    drop((head, connection));
}

#[tokio::test]
async fn a_handshake_that_goes_on_holds_up_no_stop() {
    let limits = Limits { shutdown_grace: DEADLINE, ..Limits::default() };
    let fixture = Fixture::secured(limits, Options::default()).await;
    let mut silent = TcpStream::connect(fixture.address).await.expect("it listens");
    // It is there, as those who come after it are served.
    next_is_answered(&fixture).await;
    let began = Instant::now();
    fixture.stop(Stop::Gracefully).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    _ = silent.read(&mut [0; 1]).await;
}

#[tokio::test]
async fn a_certificate_is_renewed_for_those_who_come_later() {
    let mut fixture = Fixture::secured(Limits::default(), Options::default()).await;
    let mut before = Http3Client::connect(&fixture).await;
    let names = ["localhost".to_owned()];
    let other = rcgen::generate_simple_self_signed(names).expect("a certificate is made");
    let (certificate, key) = (other.cert.pem(), other.signing_key.serialize_pem());
    let tls = fixture.tls.clone().expect("it speaks TLS");
    let wrong = tls.renew(certificate.as_bytes(), b"");
    assert_eq!(wrong, Err(TlsError::NoKey));
    next_is_answered(&fixture).await;
    tls.renew(certificate.as_bytes(), key.as_bytes()).expect("they belong together");
    fixture.certificate = Some(other.cert.der().clone());
    next_is_answered(&fixture).await;
    Http3Client::connect(&fixture).await.next_is_answered().await;
    before.next_is_answered().await;
}

#[tokio::test]
async fn a_port_that_is_in_use_for_udp_is_refused_or_replaced() {
    let fixture = Fixture::secured(Limits::default(), Options::default()).await;
    let tls = fixture.tls.clone().expect("it speaks TLS");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let taken = UdpSocket::bind(any).expect("a free port");
    let address = taken.local_addr().expect("it is bound");
    let listener = Listener::bind(address, Options::default()).await.expect("few are in use");
    let refused = listener.over_tls(tls.clone()).await.map(|listener| listener.url());
    assert_eq!(refused.expect_err("it was asked for").kind(), ErrorKind::AddrInUse);
    let listener = Listener::bind(any, Options::default()).await.expect("a free port");
    let before = listener.url();
    let place = before.split('/').nth(2).expect("a place");
    let _taken = UdpSocket::bind(place).expect("few are in use");
    let listener = listener.over_tls(tls).await.expect("another is free");
    assert_ne!(listener.url().strip_prefix("https"), before.strip_prefix("http"));
}

#[test]
fn what_is_wrong_with_a_certificate_or_a_key_is_said() {
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("one");
    let (one, other) = (made(), made());
    let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let bad = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (certificate, key, expected) in [
        ("", &*key, TlsError::NoCertificate),
        (&*key, &*key, TlsError::NoCertificate),
        (empty, &*key, TlsError::BadCertificate),
        (&*certificate, "", TlsError::NoKey),
        (&*certificate, &*certificate, TlsError::NoKey),
        (&*certificate, bad, TlsError::BadKey),
        (&*certificate, &*other.signing_key.serialize_pem(), TlsError::Mismatch),
    ] {
        let found = Tls::from_pem(certificate.as_bytes(), key.as_bytes());
        assert_eq!(found.err(), Some(expected));
        assert!(!expected.to_string().contains('\n'));
    }
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).expect("they fit");
    assert_eq!(format!("{tls:?}"), "Tls { .. }", "secrets are not printed");
}
