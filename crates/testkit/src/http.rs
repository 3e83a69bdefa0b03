//! The server over HTTP/1.1, by hand, so that it can break what HTTP has rules for: a thread for
//! each connection, a request after the other, bodies in chunks.

use crate::act::{Then, Wire, act};
use crate::healthy;
use crate::script::{Script, Step};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Answers for ever.
///
/// # Errors
/// The listener is broken.
pub fn serve(listener: &TcpListener, script: &Arc<Script>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        let script = Arc::clone(script);
        // A connection that breaks is its client's business.
        thread::spawn(move || converse(stream, &script));
    }
}

/// A request, as far as it matters here.
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

fn converse(stream: TcpStream, script: &Script) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read(&mut reader)? {
        let message = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str);
        let moment = method.unwrap_or(&request.verb);
        let mut response = Response::new(&stream);
        let steps = script.at(moment).unwrap_or_else(|| healthy(&request.verb, &message));
        if act(&mut response, &steps, &message)? == Then::Exit {
            break;
        }
        response.finish()?;
    }
    stream.shutdown(std::net::Shutdown::Both)
}

/// What a server without faults does.
fn healthy(verb: &str, message: &Value) -> Vec<Step> {
    match (verb, healthy::answer(message)) {
        ("POST", Some(_)) => vec![Step::Answer],
        ("POST", None) => vec![Step::Status(202)],
        ("DELETE", _) => Vec::new(),
        _ => vec![Step::Status(405)],
    }
}

/// Reads a request; `None` at the end.
pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { verb, path, body }))
}

/// A response while it is written.
pub(crate) struct Response<'a> {
    stream: &'a TcpStream,
    status: u16,
    headers: Vec<String>,
    pub(crate) is_stream: bool,
    has_begun: bool,
}

impl<'a> Response<'a> {
    pub(crate) fn new(stream: &'a TcpStream) -> Self {
        let headers = Vec::new();
        Self { stream, status: 200, headers, is_stream: false, has_begun: false }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        let is_typed = |header: &String| header.to_ascii_lowercase().starts_with("content-type");
        if !self.headers.iter().any(is_typed) {
            let kind = if self.is_stream { "text/event-stream" } else { "application/json" };
            self.headers.push(format!("content-type: {kind}"));
        }
        self.headers.push("transfer-encoding: chunked".to_owned());
        let headers = self.headers.join("\r\n");
        write!(self.stream, "HTTP/1.1 {} Whatever\r\n{headers}\r\n\r\n", self.status)
    }

    /// A response that is whole.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.begin()?;
        self.stream.write_all(b"0\r\n\r\n")
    }
}

impl Wire for Response<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.begin()?;
        let size = format!("{:x}\r\n", bytes.len());
        self.stream.write_all(&[size.as_bytes(), bytes, b"\r\n"].concat())
    }

    fn message(&mut self, text: &[u8]) -> io::Result<()> {
        match self.is_stream {
            true => self.put(&[b"data: ", text, b"\n\n"].concat()),
            false => self.put(text),
        }
    }

    fn head(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Status(status) => self.status = *status,
            Step::Header(header) => self.headers.push(header.clone()),
            Step::Stream => {
                self.is_stream = true;
                self.begin()?;
            }
            _ => {}
        }
        Ok(())
    }
}
