//! Clients that are told without end and never read, on each wire: what they are told is not made,
//! what they hold is bounded, and the others are served.

use crate::Counter;
use crate::service::{Nothing, Pulls, ask, modern, post, serve_as};
use bytes::Bytes;
use haft_proto::limits::Limits;
use haft_transport::stdio;
use haft_transport::stop::Stop;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::pipe::pipe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::unix::pipe::Sender;
use tokio::time::timeout;

/// What one such client may hold: hyper's buffers, and ours.
const HELD: usize = 512 * 1024;

struct Server {
    counter: Counter,
    address: String,
    pulls: Pulls,
    before: usize,
}

impl Server {
    async fn start() -> Self {
        let counter = Counter::start();
        let pulls = Pulls::default();
        let service = Nothing { is_endless: true, pulls: Arc::clone(&pulls) };
        let address = serve_as(service, Limits::default()).await;
        let mut server = Self { counter, address, pulls, before: 0 };
        server.others_are_served().await;
        server.before = server.counter.live_bytes();
        server
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.expect("the server listens")
    }

    async fn others_are_served(&self) {
        let mut other = self.connect().await;
        for _ in 0..10 {
            ask(&mut other, &modern("server/discover"), "{}}").await;
        }
    }

    /// Waits until nothing more is made for whoever does not read.
    async fn is_quiet(&self) {
        let (mut seen, mut quiet) = (0, 0);
        let stops = async {
            while quiet < 20 {
                self.others_are_served().await;
                let pulls = self.pulls.load(Ordering::SeqCst);
                quiet = if pulls > 0 && pulls == seen { quiet + 1 } else { 0 };
                seen = pulls;
            }
        };
        timeout(Duration::from_secs(20), stops).await.expect("it is not asked for ever");
        let held = self.counter.live_bytes().saturating_sub(self.before);
        assert!(held < HELD, "{held} bytes");
    }
}

/// A session; returns its header.
pub(crate) async fn session(client: &mut TcpStream) -> String {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = ask(client, &post("", initialize), "{}}").await;
    let id = answer.lines().find(|line| line.starts_with("mcp-session-id: ")).expect("a session");
    format!("{id}\r\n")
}

#[tokio::test]
async fn a_subscriber_over_http_1() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.write_all(modern("subscriptions/listen").as_bytes()).await.expect("it is read");
    server.is_quiet().await;
}

#[tokio::test]
async fn a_subscriber_over_http_2() {
    let server = Server::start().await;
    let stream = TokioIo::new(server.connect().await);
    // The least window, as this client too holds what has come and is not read.
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(64 * 1024 - 1)
        .initial_connection_window_size(64 * 1024 - 1)
        .handshake(stream)
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let text = modern("subscriptions/listen");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut request = Request::post(format!("http://{}/mcp", server.address));
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(body.to_owned()));
    let request = request.body(body).expect("a request");
    let answer = sender.send_request(request).await.expect("a head");
    assert_eq!(answer.status(), 200);
    server.is_quiet().await;
    drop(answer);
}

#[tokio::test]
async fn a_session_that_is_told_unasked() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let session = session(&mut client).await;
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{session}\r\n"
    );
    client.write_all(get.as_bytes()).await.expect("it is read");
    // Beside what HTTP holds, what was sent may be asked for again.
    server.is_quiet().await;
}

#[tokio::test]
async fn a_client_of_2024_11_05() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    let get = "GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    let first = ask(&mut stream, get, "\n\n\r\n").await;
    let path = first.lines().find_map(|line| line.strip_prefix("data: ")).expect("a path");
    let mut poster = server.connect().await;
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
            "protocolVersion":"2024-11-05","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ] {
        let post = post("", body).replacen("/mcp", &format!("/{path}"), 1);
        ask(&mut poster, &post, "\r\n\r\n").await;
    }
    server.is_quiet().await;
}

#[tokio::test]
async fn a_subscriber_on_a_pipe() {
    let server = Server::start().await;
    let (input, requests) = pipe().expect("a pipe");
    let (answers, output) = pipe().expect("a pipe");
    let service = Nothing { is_endless: true, pulls: Arc::clone(&server.pulls) };
    tokio::spawn(async move {
        let stop = std::future::pending::<Stop>();
        let limits = Limits::default();
        stdio::serve_pipes(Arc::new(service), &limits, (input, output), stop).await
    });
    let listen = modern("subscriptions/listen");
    let (_, listen) = listen.split_once("\r\n\r\n").expect("a body");
    let mut requests = Sender::from_owned_fd(requests).expect("a pipe");
    let line = format!("{}\n", listen.replace('\n', " "));
    requests.write_all(line.as_bytes()).await.expect("it is read");
    server.is_quiet().await;
    drop(answers);
}

#[tokio::test]
async fn a_client_that_is_away_while_thirty_megabytes_are_said_to_it() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let session = session(&mut client).await;
    let before = server.counter.live_bytes();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk"}}"#;
    let sent_away = ask(&mut client, &post(&session, call), "\r\n0\r\n\r\n").await;
    assert!(sent_away.contains("retry: 0\n\n"), "{sent_away}");
    let last = sent_away.lines().rfind(|line| line.starts_with("id: ")).expect("an id");
    let resume = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{session}\
         last-event-{last}\r\n\r\n"
    );
    let rest = ask(&mut client, &resume, "\"result\":{}}\n\n").await;
    let limits = Limits::default();
    assert!(rest.len() < limits.replay_bytes * 2);
    drop(rest);
    let held = server.counter.live_bytes().saturating_sub(before);
    println!("{held} bytes held");
    assert!(held < limits.replay_bytes + HELD, "{held} bytes");
}
