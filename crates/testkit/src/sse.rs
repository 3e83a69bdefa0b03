//! The server over HTTP+SSE of 2024-11-05: what it answers to a POST comes on the stream that a GET
//! has opened. `http` reads requests and writes responses; the moments are the same.

use crate::act::{Then, Wire, act};
use crate::healthy;
use crate::http::{Request, Response, read};
use crate::script::{Script, Step};
use serde_json::Value;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Where the stream is.
pub const STREAM: &str = "/sse";

/// What opens a stream, unless the script says otherwise.
const ENDPOINT: &str = "event: endpoint\ndata: /messages?session=1\n\n";

/// The stream that was opened last.
type Latest = Arc<Mutex<Option<TcpStream>>>;

/// Answers for ever.
///
/// # Errors
/// The listener is broken.
pub fn serve(listener: &TcpListener, script: &Arc<Script>) -> io::Result<()> {
    let latest = Latest::default();
    loop {
        let (stream, _) = listener.accept()?;
        let (script, latest) = (Arc::clone(script), Arc::clone(&latest));
        // A connection that breaks is its client's business.
        thread::spawn(move || converse(stream, &script, &latest));
    }
}

fn converse(stream: TcpStream, script: &Script, latest: &Latest) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read(&mut reader)? {
        match (&*request.verb, request.path.split('?').next() == Some(STREAM)) {
            ("GET", true) => {
                if open(&stream, script, latest)? == Then::Exit {
                    break;
                }
                // Until the client ends it.
                io::copy(&mut reader.by_ref(), &mut io::sink())?;
            }
            ("POST", false) => take(&stream, &request, script, latest)?,
            _ => {
                let mut response = Response::new(&stream);
                response.head(&Step::Status(405))?;
                response.finish()?;
            }
        }
    }
    stream.shutdown(Shutdown::Both)
}

fn open(stream: &TcpStream, script: &Script, latest: &Latest) -> io::Result<Then> {
    let mut response = Response::new(stream);
    let healthy = || vec![Step::Stream, Step::Raw(ENDPOINT.to_owned())];
    *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.try_clone()?);
    let then = act(&mut response, &script.at("GET").unwrap_or_else(healthy), &Value::Null)?;
    if !response.is_stream {
        response.finish()?;
    }
    Ok(then)
}

fn take(stream: &TcpStream, request: &Request, script: &Script, latest: &Latest) -> io::Result<()> {
    let message = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let mut response = Response::new(stream);
    response.head(&Step::Status(202))?;
    let opened = latest.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.as_ref().ok_or(io::ErrorKind::NotConnected)?.try_clone()?;
    // Answers to questions have no method.
    let method = message.get("method").and_then(Value::as_str).unwrap_or("answer");
    let (steps, answer) = (script.at(method), healthy::answer(&message));
    let steps = steps.or_else(|| answer.map(|_| vec![Step::Answer])).unwrap_or_default();
    let mut events = Events { stream: opened, response: Some(&mut response) };
    if act(&mut events, &steps, &message)? == Then::Exit {
        events.stream.shutdown(Shutdown::Both)?;
    }
    response.finish()
}

/// What is written goes on the stream; a status is that of the response.
struct Events<'a, 'b> {
    stream: TcpStream,
    response: Option<&'a mut Response<'b>>,
}

impl Wire for Events<'_, '_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = format!("{:x}\r\n", bytes.len());
        self.stream.write_all(&[size.as_bytes(), bytes, b"\r\n"].concat())
    }

    fn message(&mut self, text: &[u8]) -> io::Result<()> {
        self.put(&[b"event: message\ndata: ", text, b"\n\n"].concat())
    }

    fn head(&mut self, step: &Step) -> io::Result<()> {
        self.response.as_mut().map_or(Ok(()), |response| response.head(step))
    }

    fn beside(&self) -> Option<Box<dyn Wire + Send>> {
        let stream = self.stream.try_clone().ok()?;
        Some(Box::new(Events { stream, response: None }))
    }
}
