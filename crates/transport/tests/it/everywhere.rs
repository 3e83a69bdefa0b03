//! One client of the legacy era on each wire that there is, which sends any bytes as a message and
//! reads what answers it: what holds for one wire is to hold for all.

use crate::fixture::{Fixture, Gate};
use crate::http3_client::Http3Client;
use crate::pipe_client::{PipeClient, initialize};
use crate::raw_client::{EventReader, RawClient, Session, post};
use crate::web_socket_client::{RawSocket, frame};
use haft_proto::limits::Limits;
use haft_transport::http::{Options, TwoPaths};
use serde_json::Value;
use std::sync::Arc;

/// A client in a conversation.
pub(crate) enum Anybody {
    Pipe(PipeClient),
    Socket(RawSocket, Fixture),
    Session(RawClient, Session, Fixture),
    Sessionless(Fixture),
    TwoPaths(EventReader, String, Fixture),
    Http3(Http3Client, Session, Fixture),
}

/// One on each.
pub(crate) async fn everybody(version: &str) -> Vec<(&'static str, Anybody)> {
    let plain = async |options| Fixture::with(Limits::default(), options).await;
    let mut pipe = PipeClient::start();
    pipe.initialize(version).await;
    let fixture = plain(Options::default()).await;
    let mut socket = RawSocket::connect(fixture.address).await;
    socket.send(&frame(0x81, initialize(version).as_bytes())).await;
    socket.frame().await.expect("an answer");
    let socket = Anybody::Socket(socket, fixture);
    let fixture = plain(Options::default()).await;
    let mut client = RawClient::connect(fixture.address).await;
    let session = client.session(version).await;
    let session = Anybody::Session(client, session, fixture);
    let options = Options { has_sessions: false, ..Options::default() };
    let sessionless = Anybody::Sessionless(plain(options).await);
    let options = Options { two_paths: Some(TwoPaths::default()), ..Options::default() };
    let fixture = plain(options).await;
    let get = b"GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    let mut events = RawClient::connect(fixture.address).await.open(get).await;
    let path = format!("/{}", events.next().await.data.expect("a path"));
    let mut two_paths = Anybody::TwoPaths(events, path, fixture);
    two_paths.ask(initialize(version).as_bytes()).await;
    let fixture = Fixture::secured(Limits::default(), Options::default()).await;
    let mut client = Http3Client::connect(&fixture).await;
    let hello = client.ask(&post(&[], &initialize(version))).await;
    let id = hello.header("mcp-session-id").expect("a session").to_owned();
    let session_of_3 = Session { id, version: version.to_owned() };
    vec![
        ("a pipe", Anybody::Pipe(pipe)),
        ("a WebSocket", socket),
        ("a session", session),
        ("no session", sessionless),
        ("two paths", two_paths),
        ("HTTP/3", Anybody::Http3(client, session_of_3, fixture)),
    ]
}

impl Anybody {
    /// What the tool `wait` waits for.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        match self {
            Self::Pipe(client) => Arc::clone(&client.gate),
            Self::Socket(_, fixture)
            | Self::Session(.., fixture)
            | Self::Sessionless(fixture)
            | Self::TwoPaths(.., fixture)
            | Self::Http3(.., fixture) => Arc::clone(&fixture.gate),
        }
    }

    /// Sends a message, and reads one.
    pub(crate) async fn ask(&mut self, message: &[u8]) -> Value {
        match self {
            Self::Pipe(client) => client.ask_bytes(message).await,
            Self::Socket(socket, _) => {
                socket.send(&frame(0x81, message)).await;
                let (first, payload) = socket.frame().await.expect("an answer");
                assert_eq!(first, 0x81, "{}", String::from_utf8_lossy(&payload));
                serde_json::from_slice(&payload).expect("JSON")
            }
            Self::Session(client, session, _) => {
                client.ask(&with_body(&session.post(""), message)).await.json()
            }
            Self::Sessionless(fixture) => {
                let mut client = RawClient::connect(fixture.address).await;
                client.ask(&with_body(&post(&[], ""), message)).await.json()
            }
            Self::TwoPaths(events, path, fixture) => {
                let head = String::from_utf8(post(&[], "")).expect("ASCII");
                let head = head.replacen("/mcp", path, 1);
                let mut client = RawClient::connect(fixture.address).await;
                let answer = client.ask(&with_body(head.as_bytes(), message)).await;
                // What nobody can be told on the stream is the answer itself.
                if answer.status == 202 { events.message().await } else { answer.json() }
            }
            Self::Http3(client, session, _) => {
                client.ask(&with_body(&session.post(""), message)).await.json()
            }
        }
    }
}

/// A POST with another body.
pub(crate) fn with_body(post: &[u8], body: &[u8]) -> Vec<u8> {
    let head = std::str::from_utf8(post).expect("ASCII");
    let length = format!("content-length: {}", body.len());
    [head.replace("content-length: 0", &length).as_bytes(), body].concat()
}
