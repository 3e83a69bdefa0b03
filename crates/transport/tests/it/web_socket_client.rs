//! Clients over WebSocket: one by tokio-tungstenite, which keeps the rules, and one that sends
//! whatever bytes a test wants and answers nothing by itself.

use crate::pipe_client::{DEADLINE, initialize};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// One that keeps the rules.
pub(crate) struct WebSocket(WebSocketStream<TcpStream>);

impl WebSocket {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let mut request = format!("ws://{address}/mcp").into_client_request().expect("a URL");
        let protocol = "mcp".parse().expect("a header");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(address).await.expect("the server listens");
        let any = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (stream, response) =
            client_async_with_config(request, stream, Some(any)).await.expect("a handshake");
        assert_eq!(response.headers()["sec-websocket-protocol"], "mcp");
        Self(stream)
    }

    /// Begins a conversation in that revision, with a client that can do everything.
    pub(crate) async fn initialize(&mut self, version: &str) {
        let hello = self.ask(&initialize(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    pub(crate) async fn send(&mut self, message: &str) {
        let sent = timeout(DEADLINE, self.0.send(message.into())).await;
        sent.expect("the server reads in time").expect("the server reads");
    }

    /// Sends many in one write.
    pub(crate) async fn send_all(&mut self, messages: &[String]) {
        for message in messages {
            self.0.feed(message.as_str().into()).await.expect("it is buffered");
        }
        self.0.flush().await.expect("the server reads");
    }

    pub(crate) async fn ask(&mut self, message: &str) -> Value {
        self.send(message).await;
        self.read().await
    }

    pub(crate) async fn read(&mut self) -> Value {
        loop {
            match self.next().await {
                Message::Text(text) => {
                    assert!(!text.contains('\n'), "{text}");
                    return serde_json::from_str(&text).expect("a frame is a message");
                }
                Message::Ping(_) => {}
                other => panic!("no message: {other:?}"),
            }
        }
    }

    async fn next(&mut self) -> Message {
        let next = timeout(DEADLINE, self.0.next()).await.expect("an answer in time");
        next.expect("the server has more to say").expect("the server keeps the rules")
    }

    /// Says that it is over, and waits until it is.
    pub(crate) async fn close(mut self) {
        self.0.close(None).await.expect("it is open");
        while let Some(Ok(_)) = timeout(DEADLINE, self.0.next()).await.expect("in time") {}
    }

    /// How the server closes, and that it then ends the connection.
    pub(crate) async fn closing(mut self) -> (u16, String) {
        let Message::Close(Some(close)) = self.next().await else { panic!("a close") };
        let rest = timeout(DEADLINE, self.0.next()).await.expect("an end in time");
        assert!(!matches!(rest, Some(Ok(_))), "{rest:?}");
        (close.code.into(), close.reason.to_string())
    }
}

/// One that sends bytes.
pub(crate) struct RawSocket(pub(crate) TcpStream);

/// The headers of a handshake.
pub(crate) const HANDSHAKE: [(&str, &str); 6] = [
    ("host", "localhost"),
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "WebSocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-protocol", "chat, mcp"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// A handshake with other headers; an empty value leaves one out.
pub(crate) fn handshake(other: &[(&str, &str)]) -> Vec<u8> {
    let mut request = String::from("GET /mcp HTTP/1.1\r\n");
    let usual = HANDSHAKE.iter().filter(|(name, _)| !other.iter().any(|(n, _)| n == name));
    for (name, value) in usual.chain(other).filter(|(_, value)| !value.is_empty()) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// A frame as clients send it: its first byte, and a mask that changes nothing.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

impl RawSocket {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(&handshake(&[])).await.expect("the server reads");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        let head = String::from_utf8(head).expect("UTF-8").to_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        // As in RFC 6455, 1.3.
        assert!(
            head.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"),
            "{head}"
        );
        Self(stream)
    }

    /// The server may have had enough before it has read all of it.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        _ = self.0.write_all(bytes).await;
    }

    /// The next frame; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        timeout(DEADLINE, self.frame_if_any()).await.expect("a frame in time").ok()
    }

    async fn frame_if_any(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let first = self.0.read_u8().await?;
        let length = match self.0.read_u8().await? {
            126 => usize::from(self.0.read_u16().await?),
            127 => self.0.read_u64().await? as usize,
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).await?;
        Ok((first, payload))
    }

    /// How the server closes, whatever it says before, and that it then ends the connection.
    pub(crate) async fn closing(mut self) -> (u16, String) {
        loop {
            let (first, payload) = self.frame().await.expect("a close frame");
            if first == 0x88 {
                assert_eq!(self.frame().await, None, "it has ended");
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                return (code, String::from_utf8(payload[2..].to_vec()).expect("UTF-8"));
            }
        }
    }
}
