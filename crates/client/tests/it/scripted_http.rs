//! A raw HTTP server that answers as a test says, byte for byte, and remembers what it was asked.
//! One request a connection. Used by the tests of hostile HTTP servers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What it does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// Writes these bytes and hangs up.
    Say(String),
    /// Writes these bytes, then waits for the client to hang up.
    Hold(String),
    /// Writes the first bytes, then the others once it is told to, and hangs up.
    Later(String, String, Release),
}

/// What a [`Turn::Later`] waits for.
pub(crate) type Release = Arc<tokio::sync::Mutex<mpsc::Receiver<()>>>;

impl Turn {
    /// A turn that waits for a word of the test.
    pub(crate) fn held(bytes: String) -> (Self, mpsc::Sender<()>) {
        Self::in_two(String::new(), bytes)
    }

    /// A turn that says something first, and more after a word of the test.
    pub(crate) fn in_two(first: String, then: String) -> (Self, mpsc::Sender<()>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self::Later(first, then, Arc::new(tokio::sync::Mutex::new(receiver))), sender)
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The first line and the headers, in lower case but for values.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The server.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) url: String,
    requests: mpsc::Receiver<Request>,
    hang_ups: mpsc::Receiver<()>,
}

impl Scripted {
    /// Serves the turns in order, a request each.
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let turns = Arc::new(Mutex::new(turns.into_iter().collect::<VecDeque<_>>()));
        let (seen, requests) = mpsc::channel(REQUESTS_MAX);
        let (gone, hang_ups) = mpsc::channel(REQUESTS_MAX);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&turns), seen.clone(), gone.clone()));
            }
        });
        Self { url, requests, hang_ups }
    }

    /// The next request.
    pub(crate) async fn request(&mut self) -> Request {
        self.requests.recv().await.expect("a request")
    }

    /// The client hangs up on a [`Turn::Hold`].
    pub(crate) async fn hang_up(&mut self) {
        self.hang_ups.recv().await.expect("a client");
    }
}

/// More than any test asks.
const REQUESTS_MAX: usize = 64;

/// A whole response.
pub(crate) fn response(status: u16, kind: &str, body: &str) -> Turn {
    with_headers(status, &format!("content-type: {kind}\r\n"), body)
}

/// A whole response with these headers, each with its line end.
pub(crate) fn with_headers(status: u16, headers: &str, body: &str) -> Turn {
    let ends = format!("connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    Turn::Say(format!("HTTP/1.1 {status} X\r\n{headers}{ends}{body}"))
}

/// A JSON response.
pub(crate) fn json(body: &str) -> Turn {
    response(200, "application/json", body)
}

/// The beginning of a stream of events.
pub(crate) fn events(body: &str) -> String {
    format!("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

async fn serve(
    mut stream: TcpStream,
    turns: Arc<Mutex<VecDeque<Turn>>>,
    seen: mpsc::Sender<Request>,
    gone: mpsc::Sender<()>,
) {
    let Some(request) = read(&mut stream).await else { return };
    let turn = turns.lock().expect("no panics").pop_front();
    // The test may have ended.
    _ = seen.try_send(request);
    let bytes = match &turn {
        None => return,
        Some(Turn::Say(bytes) | Turn::Hold(bytes)) => bytes,
        Some(Turn::Later(first, then, release)) => {
            // The client may be gone, which the next write finds out.
            _ = stream.write_all(first.as_bytes()).await;
            release.lock().await.recv().await;
            then
        }
    };
    let written = stream.write_all(bytes.as_bytes()).await;
    if written.is_ok() && matches!(turn, Some(Turn::Hold(_))) {
        _ = stream.read(&mut [0; 1]).await;
        _ = gone.try_send(());
    }
}

/// Reads one request; `None` if the client hangs up before.
pub(crate) async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { head, body: String::from_utf8(bytes.split_off(head_end + 4)).ok()? })
}
