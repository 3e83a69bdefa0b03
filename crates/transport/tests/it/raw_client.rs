//! An HTTP/1.1 client that sends whatever bytes a test wants and reads what comes back, so that
//! nothing is made right on the way.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

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

impl Session {
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

    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.read_until("\r\n\r\n").await;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let status = status.unwrap_or_else(|| panic!("no status in {head:?}"));
        let mut answer = Answer { status, headers, body: String::new() };
        answer.body = if answer.header("transfer-encoding") == Some("chunked") {
            self.chunks().await
        } else {
            let length = answer.header("content-length").and_then(|length| length.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            self.stream.read_exact(&mut body).await.expect("the whole body");
            String::from_utf8(body).expect("UTF-8")
        };
        answer
    }

    async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let size = self.read_until("\r\n").await;
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.expect("a whole chunk");
            body.push_str(std::str::from_utf8(&chunk[..size]).expect("UTF-8"));
            if size == 0 {
                return body;
            }
        }
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
