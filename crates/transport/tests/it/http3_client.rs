//! An HTTP/3 client that others wrote (`h3` over `h3-quinn`), given requests as an HTTP/1.1 client
//! would send them.

use crate::fixture::Fixture;
use crate::pipe_client::DEADLINE;
use crate::raw_client::Answer;
use bytes::{Buf, Bytes, BytesMut};
use h3::client::{RequestStream, SendRequest};
use h3::error::{ConnectionError, StreamError};
use http::{Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig};
use rustls::RootCertStore;
use serde_json::Value;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// One connection.
pub(crate) struct Http3Client {
    pub(crate) sender: SendRequest<h3_quinn::OpenStreams, Bytes>,
    /// Ends with the connection.
    pub(crate) driver: JoinHandle<ConnectionError>,
    pub(crate) connection: quinn::Connection,
}

/// A way to the server of a fixture, which speaks this.
pub(crate) fn quic(fixture: &Fixture, protocol: &[u8], transport: TransportConfig) -> Endpoint {
    let mut client = Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a free port");
    let mut tls = trusting(fixture);
    tls.alpn_protocols = vec![protocol.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).expect("TLS 1.3");
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    client.set_default_client_config(config);
    client
}

/// TLS that trusts the server of a fixture.
pub(crate) fn trusting(fixture: &Fixture) -> rustls::ClientConfig {
    let mut roots = RootCertStore::empty();
    let certificate = fixture.certificate.clone().expect("it speaks TLS");
    roots.add(certificate).expect("it is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers")
        .with_root_certificates(roots)
        .with_no_client_auth();
    // What it may say early is for the server to decide.
    config.enable_early_data = true;
    config
}

impl Http3Client {
    pub(crate) async fn connect(fixture: &Fixture) -> Self {
        Self::connect_with(fixture, TransportConfig::default()).await
    }

    pub(crate) async fn connect_with(fixture: &Fixture, transport: TransportConfig) -> Self {
        let client = quic(fixture, b"h3", transport);
        let connecting = client.connect(fixture.address, "localhost").expect("an address");
        Self::over(timeout(DEADLINE, connecting).await.expect("in time").expect("QUIC")).await
    }

    pub(crate) async fn over(connection: quinn::Connection) -> Self {
        let quic = h3_quinn::Connection::new(connection.clone());
        let (mut driver, sender) = h3::client::new(quic).await.expect("HTTP/3");
        let driver =
            tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
        Self { sender, driver, connection }
    }

    /// Sends a request and reads all of its answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Answer {
        timeout(DEADLINE, self.try_ask(request)).await.expect("in time").expect("an answer")
    }

    pub(crate) async fn try_ask(&mut self, request: &[u8]) -> Result<Answer, StreamError> {
        let mut stream = self.send(request).await?;
        let response = stream.recv_response().await?;
        rest(response, &mut stream).await
    }

    /// Sends a request, whole.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Stream, StreamError> {
        let (head, body) = parsed(request);
        let mut stream = self.sender.send_request(head).await?;
        if !body.is_empty() {
            stream.send_data(body).await?;
        }
        stream.finish().await?;
        Ok(stream)
    }

    /// Whether a call of a tool is answered as it should be.
    pub(crate) async fn next_is_answered(&mut self) {
        let request = crate::raw_client::modern("tools/call", r#"{"name":"hello"}"#);
        let answer = self.ask(&request).await;
        assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
    }
}

/// What has come of an answer, and all that is still to come.
pub(crate) async fn rest(
    response: Response<()>,
    stream: &mut Stream,
) -> Result<Answer, StreamError> {
    let text = |value: &http::HeaderValue| value.to_str().expect("ASCII").to_owned();
    let headers = response.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
    let mut body = BytesMut::new();
    while let Some(mut data) = stream.recv_data().await? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    let body = String::from_utf8(body.to_vec()).expect("UTF-8");
    Ok(Answer { status: response.status().as_u16(), headers, body })
}

/// The next message of a stream of events, with its id.
pub(crate) async fn next_event(
    stream: &mut Stream,
    unread: &mut String,
) -> Option<(Option<String>, Value)> {
    loop {
        while let Some((event, rest)) = unread.split_once("\n\n") {
            let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
            let (id, data) = (field("id: ").map(str::to_owned), field("data: "));
            let message = data.filter(|data| !data.is_empty());
            let message = message.map(|data| serde_json::from_str(data).expect("JSON"));
            *unread = rest.to_owned();
            if let Some(message) = message {
                return Some((id, message));
            }
        }
        let data = timeout(DEADLINE, stream.recv_data()).await.expect("an event in time");
        let mut data = data.expect("the stream goes on")?;
        let data = data.copy_to_bytes(data.remaining());
        unread.push_str(std::str::from_utf8(&data).expect("UTF-8"));
    }
}

/// A request of HTTP/1.1 as one of HTTP/3: `Host` is part of its address there.
pub(crate) fn parsed(request: &[u8]) -> (Request<()>, Bytes) {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n").expect("a head ends");
    let head = std::str::from_utf8(&request[..end]).expect("ASCII");
    let mut lines = head.split("\r\n");
    let mut first = lines.next().expect("a line").split(' ');
    let (verb, path) = (first.next().expect("a verb"), first.next().expect("a path"));
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let host = fields.iter().find(|(name, _)| *name == "host").expect("a host").1;
    let mut builder = Request::builder().method(verb).uri(format!("https://{host}{path}"));
    for (name, value) in fields.iter().filter(|(name, _)| *name != "host") {
        builder = builder.header(*name, *value);
    }
    let body = Bytes::copy_from_slice(&request[end + 4..]);
    (builder.body(()).expect("a request"), body)
}
