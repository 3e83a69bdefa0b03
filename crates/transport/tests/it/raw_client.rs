//! An HTTP/1.1 client that sends whatever bytes a test wants and reads what comes back, so that
//! nothing is made right on the way.

use crate::pipe_client::DEADLINE;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// One connection.
pub(crate) struct RawClient {
    pub(crate) stream: BufStream<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The messages of an event stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).expect("an event is JSON")).collect()
    }
}

/// A POST of `body` with the headers that every client sends, and more.
pub(crate) fn post(more: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut request = String::from("POST /mcp HTTP/1.1\r\n");
    let usual = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for (name, value) in usual.iter().filter(|(name, _)| !more.iter().any(|(n, _)| n == name)) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    for (name, value) in more.iter().filter(|(_, value)| !value.is_empty()) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    request.into_bytes()
}

/// A modern request with its mirrored headers.
pub(crate) fn modern(method: &str, params: &str) -> Vec<u8> {
    modern_with(&[], method, params)
}

/// The same with more or other headers; an empty value leaves a header out.
pub(crate) fn modern_with(more: &[(&str, &str)], method: &str, params: &str) -> Vec<u8> {
    let params: Value = serde_json::from_str(params).expect("a test writes JSON");
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.push(("mcp-name", name.as_str()));
    headers.retain(|(name, _)| !more.iter().any(|(n, _)| n == name));
    headers.extend_from_slice(more);
    post(&headers, &modern_body(method, &params))
}

/// The body of a modern request.
pub(crate) fn modern_body(method: &str, params: &Value) -> String {
    let mut params = params.clone();
    let meta = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in meta.as_object().expect("an object") {
        params["_meta"][key] = value.clone();
    }
    serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// A legacy session of a client that can do everything.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) version: String,
}

/// A stream of events that is open.
pub(crate) struct EventReader {
    client: RawClient,
    /// What came before it.
    pub(crate) head: Answer,
    unread: String,
    has_ended: bool,
}

/// One event, or one comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) comment: Option<String>,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        let data = self.data.as_deref().unwrap_or_else(|| panic!("no data: {self:?}"));
        serde_json::from_str(data).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    fn read(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            let (field, value) = line.split_once(':').expect("a line is a field");
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            let before = match field {
                "" => event.comment.replace(value),
                "id" => event.id.replace(value),
                "event" => event.name.replace(value),
                "data" => event.data.replace(value),
                "retry" => event.retry.replace(value.parse().expect("a number")).map(|_| value),
                _ => panic!("no field of an event: {line}"),
            };
            assert_eq!(before, None, "a field comes once");
        }
        event
    }
}

impl EventReader {
    /// The next event or comment; `None` at the end.
    pub(crate) async fn next_if_any(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let event = Event::read(event);
                self.unread = rest.to_owned();
                return Some(event);
            }
            if self.has_ended {
                assert_eq!(self.unread, "", "a stream ends with an event");
                return None;
            }
            let chunk = timeout(DEADLINE, self.client.chunk()).await.expect("an event in time");
            self.has_ended = chunk.is_empty();
            self.unread.push_str(&chunk);
        }
    }

    pub(crate) async fn next(&mut self) -> Event {
        self.next_if_any().await.expect("the stream goes on")
    }

    /// The next event with a message in it.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let event = self.next().await;
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return event.json();
            }
        }
    }

    /// Reads to the end, which the server makes.
    pub(crate) async fn end(mut self) -> Vec<Event> {
        let mut rest = Vec::new();
        while let Some(event) = self.next_if_any().await {
            rest.push(event);
        }
        rest
    }
}

impl Session {
    /// A GET in this session, with more headers.
    pub(crate) fn get(&self, more: &[(&str, &str)]) -> Vec<u8> {
        let mut request = format!(
            "GET /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {}\r\n\
             mcp-protocol-version: {}\r\n",
            self.id, self.version
        );
        if !more.iter().any(|(name, _)| *name == "accept") {
            request.push_str("accept: text/event-stream\r\n");
        }
        for (name, value) in more {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.into_bytes()
    }

    /// The end of this session.
    pub(crate) fn delete(&self) -> Vec<u8> {
        let id = &self.id;
        format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {id}\r\n\r\n")
            .into_bytes()
    }

    /// A POST in this session.
    pub(crate) fn post(&self, body: &str) -> Vec<u8> {
        post(&[("mcp-session-id", &self.id), ("mcp-protocol-version", &self.version)], body)
    }

    /// A call of a tool.
    pub(crate) fn call(&self, id: u64, params: &str) -> Vec<u8> {
        let (start, end) = (r#"{"jsonrpc":"2.0","id":"#, r#","method":"tools/call","params":"#);
        self.post(&format!("{start}{id}{end}{params}}}"))
    }
}

impl RawClient {
    /// Begins a legacy session.
    pub(crate) async fn session(&mut self, version: &str) -> Session {
        let answer = self.ask(&post(&[], &crate::pipe_client::initialize(version))).await;
        let id = answer.header("mcp-session-id").unwrap_or_else(|| panic!("none: {answer:?}"));
        let session = Session { id: id.to_owned(), version: version.to_owned() };
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.ask(&session.post(ready)).await.status, 202);
        session
    }

    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        Self { stream: BufStream::new(stream) }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server reads");
        self.stream.flush().await.expect("the server reads");
    }

    pub(crate) async fn ask(&mut self, request: &[u8]) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// Sends a request whose answer is read event by event.
    pub(crate) async fn open(mut self, request: &[u8]) -> EventReader {
        self.send(request).await;
        let head = timeout(DEADLINE, self.head()).await.expect("a head in time");
        if head.header("transfer-encoding") == Some("chunked") {
            return EventReader { client: self, head, unread: String::new(), has_ended: false };
        }
        let unread = self.rest(&head).await;
        EventReader { client: self, head, unread, has_ended: true }
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.head().await;
        answer.body = if answer.header("transfer-encoding") == Some("chunked") {
            self.chunks().await
        } else {
            self.rest(&answer).await
        };
        answer
    }

    /// A body that says how long it is.
    async fn rest(&mut self, head: &Answer) -> String {
        let length = head.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).await.expect("the whole body");
        String::from_utf8(body).expect("UTF-8")
    }

    /// An answer without its body.
    async fn head(&mut self) -> Answer {
        let head = self.read_until("\r\n\r\n").await;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let status = status.unwrap_or_else(|| panic!("no status in {head:?}"));
        Answer { status, headers, body: String::new() }
    }

    async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let chunk = self.chunk().await;
            if chunk.is_empty() {
                return body;
            }
            body.push_str(&chunk);
        }
    }

    /// The next piece of a body; the last is empty.
    async fn chunk(&mut self) -> String {
        let size = self.read_until("\r\n").await;
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).await.expect("a whole chunk");
        chunk.truncate(size);
        String::from_utf8(chunk).expect("UTF-8")
    }

    async fn read_until(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            match self.stream.read_u8().await {
                Ok(byte) => read.push(byte),
                Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&read)),
            }
        }
        String::from_utf8(read).expect("UTF-8")
    }
}
