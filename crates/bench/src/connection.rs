//! One connection that carries bytes: opened, greeted in the era's way, and with its requests
//! written. `drive` sends and reads; what is counted is not known here.

use crate::error::BenchError;
use crate::flight::Flight;
use crate::greeting::Greeting;
use crate::http1::Answers;
use crate::limits::{ANSWER_BYTES_MAX, FAREWELL};
use crate::plan::{Ask, Plan, Target};
use crate::request::{FIRST_ID, Message, head, headers};
use crate::stream::{Door, Stream};
use crate::wrong::{Wrong, excerpt};
use haft_proto::framing::{Line, Lines};
use haft_proto::method::Method;
use haft_proto::sse;
use haft_proto::version::Era;
use http::HeaderValue;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) bytes: Bytes,
    pub(crate) flight: Flight,
    /// One for each kind of request.
    pub(crate) requests: Vec<Request>,
    /// How many requests have been made of it.
    pub(crate) asked: u64,
    /// What ends the session of a legacy client over HTTP, or nothing.
    farewell: Arc<[u8]>,
}

/// Bytes on their way.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) stream: Stream,
    pub(crate) framing: Framing,
    pub(crate) out: Vec<u8>,
    pub(crate) written: usize,
}

/// Where messages begin and end.
#[derive(Debug)]
pub(crate) enum Framing {
    Lines(Lines),
    Http(Answers),
}

/// A request in bytes, but for its id.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The head of HTTP, or nothing.
    head: Arc<[u8]>,
    message: Message,
    /// A line's end, or nothing.
    tail: &'static [u8],
}

/// What moved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) sent: usize,
    /// Nothing means that nothing more will come.
    pub(crate) received: usize,
}

impl Request {
    pub(crate) fn write(&self, id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        self.message.write(id, out);
        out.extend_from_slice(self.tail);
    }
}

/// From how many sent bytes on they are removed from before those that wait.
const COMPACT_FROM: usize = 64 * 1024;

impl Bytes {
    /// How many bytes wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.out.len() - self.written
    }

    /// Writes what can be written and reads what can be read; ready once something was read, or
    /// never will be.
    pub(crate) fn poll_move(
        &mut self,
        moved: &mut Moved,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.written < self.out.len() {
            let rest = &self.out[self.written..];
            match Pin::new(&mut self.stream).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    moved.sent += count;
                }
                // There may be an answer all the same: the reason why nothing more is taken.
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
        if self.written >= COMPACT_FROM && self.written * 2 >= self.out.len() {
            // Of a server that reads slowly, there may never be nothing that waits.
            self.out.drain(..self.written);
            self.written = 0;
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            // Of TLS alone something may wait for this.
            if let Poll::Ready(Err(error)) = Pin::new(&mut self.stream).poll_flush(context) {
                return Poll::Ready(Err(error));
            }
        }
        let room = match &mut self.framing {
            Framing::Lines(lines) => lines.room(),
            Framing::Http(answers) => answers.room(),
        };
        let mut buffer = ReadBuf::new(room);
        match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                let count = buffer.filled().len();
                moved.received += count;
                match &mut self.framing {
                    Framing::Lines(lines) => lines.filled(count),
                    Framing::Http(answers) => answers.filled(count),
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Sends what is in `out` and takes the next whole answer to it.
    pub(crate) async fn exchange(&mut self) -> Result<Reply, Wrong> {
        loop {
            if let Some(reply) = self.next_reply()? {
                return Ok(reply);
            }
            let mut moved = Moved::default();
            let done = poll_fn(|context| self.poll_move(&mut moved, context)).await;
            let ended = match done {
                Ok(()) if moved.received > 0 => continue,
                Ok(()) => String::new(),
                Err(error) => format!(": {error}"),
            };
            let words = self.stream.last_words().await;
            return Err(Wrong::Closed(if words.is_empty() { ended } else { words }));
        }
    }

    fn next_reply(&mut self) -> Result<Option<Reply>, Wrong> {
        match &mut self.framing {
            Framing::Lines(lines) => match lines.next_line() {
                Line::NeedMore => Ok(None),
                Line::TooLong => Err(Wrong::NoAnswer("a line without an end".to_owned())),
                Line::Complete(line) => {
                    Ok(Some(Reply { status: 200, messages: vec![line.to_vec()], session: None }))
                }
            },
            Framing::Http(answers) => {
                let Some(answer) = answers.next(false)? else { return Ok(None) };
                let messages = if answer.is_events {
                    events(answer.body)?
                } else {
                    vec![answer.body.to_vec()]
                };
                Ok(Some(Reply { status: answer.status, messages, session: answer.session }))
            }
        }
    }
}

/// An answer that is waited for before anything else happens.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) session: Option<HeaderValue>,
}

impl Reply {
    /// # Errors
    /// [`Wrong::Status`] if it is no success.
    pub(crate) fn check_status(&self) -> Result<(), Wrong> {
        if self.status < 300 {
            return Ok(());
        }
        let body = self.messages.first().map_or(&[][..], |body| body);
        Err(Wrong::Status { status: self.status, excerpt: excerpt(body) })
    }

    /// That what was waited for is not in it.
    pub(crate) fn no_answer(&self) -> Wrong {
        Wrong::NoAnswer(excerpt(&self.messages.concat()))
    }
}

/// The messages in a stream of events.
///
/// # Errors
/// [`Wrong::NoAnswer`] for one that is too long.
pub(crate) fn events(body: &[u8]) -> Result<Vec<Vec<u8>>, Wrong> {
    let mut reader = sse::Reader::new(ANSWER_BYTES_MAX);
    let too_long = |_| Wrong::NoAnswer("an event longer than a bench reads".to_owned());
    reader.feed(body).map_err(too_long)?;
    let events = std::iter::from_fn(|| reader.next());
    // An event to come back with has no data.
    Ok(events.map(|event| event.data).filter(|data| !data.is_empty()).collect())
}

impl Connection {
    /// Opens a connection and greets the server, if the era wants that.
    ///
    /// # Errors
    /// [`BenchError::Unreachable`] or [`BenchError::Greeting`].
    pub(crate) async fn open(plan: &Plan, door: &Door) -> Result<Self, BenchError> {
        Self::open_timed(plan, door).await.map(|(connection, _)| connection)
    }

    /// The same, with the time until it was open and not yet greeted.
    pub(crate) async fn open_timed(
        plan: &Plan,
        door: &Door,
    ) -> Result<(Self, Duration), BenchError> {
        let began = Instant::now();
        let stream = door.open(plan.timeout).await?;
        let opened = began.elapsed();
        let framing = match plan.target {
            Target::Command(_) => Framing::Lines(Lines::new(ANSWER_BYTES_MAX)),
            Target::Url { .. } => Framing::Http(Answers::default()),
        };
        let mut bytes = Bytes { stream, framing, out: Vec::new(), written: 0 };
        let greeted = match plan.revision.era() {
            Era::Modern => Ok(None),
            Era::Legacy => {
                let greeting = greet(&mut bytes, plan);
                timeout(plan.timeout, greeting).await.unwrap_or(Err(Wrong::TimedOut))
            }
        };
        let method = Method::Initialize.name();
        let session = greeted.map_err(|wrong| BenchError::Greeting { method, wrong })?;
        let requests = plan.asks.iter().map(|ask| request(plan, ask, session.as_ref())).collect();
        let farewell = session.as_ref().map(|session| farewell(plan, session)).unwrap_or_default();
        let flight = Flight::new(plan.load.in_flight);
        Ok((Self { bytes, flight, requests, asked: 0, farewell }, opened))
    }

    /// What is read from now on is no answer to what is asked: there is nothing more to say.
    pub(crate) fn has_lost_answers(&mut self) {
        self.farewell = Arc::default();
    }

    /// Ends it in an orderly way, and its session first: a server would keep that for long. Where
    /// answers are still to come there is no place for it.
    pub(crate) async fn close(mut self) {
        if !self.farewell.is_empty() && self.flight.is_empty() && self.bytes.unsent() == 0 {
            self.bytes.out.extend_from_slice(&self.farewell);
            // Whatever it is answered with, the connection ends.
            _ = timeout(FAREWELL, self.bytes.exchange()).await;
        }
        self.bytes.stream.close().await;
    }
}

/// Shakes hands in the way of the legacy era; the session, if the server names one.
async fn greet(bytes: &mut Bytes, plan: &Plan) -> Result<Option<HeaderValue>, Wrong> {
    let mut greeting = Greeting::new();
    let message = Greeting::message(plan.revision);
    framed(plan, &greeting.hello, None, message).write(FIRST_ID, &mut bytes.out);
    let session = loop {
        let reply = bytes.exchange().await?;
        if greeting.is_answered_by(&reply)? {
            break reply.session;
        }
        // Lines may say something else first; over HTTP there is no more to come.
        if let Framing::Http(_) = bytes.framing {
            return Err(reply.no_answer());
        }
    };
    initialized(bytes, plan, session.as_ref()).await?;
    Ok(session)
}

/// Says that the greeting is over, which nothing answers but HTTP.
async fn initialized(
    bytes: &mut Bytes,
    plan: &Plan,
    session: Option<&HeaderValue>,
) -> Result<(), Wrong> {
    let (ask, message) = Greeting::end();
    let Target::Url { uri, headers: own, .. } = &plan.target else {
        bytes.out.extend_from_slice(&message);
        bytes.out.push(b'\n');
        return Ok(());
    };
    let headers = headers(&ask, plan.revision, session, own);
    bytes.out.extend_from_slice(&head("POST", uri, &headers, message.len()));
    bytes.out.extend_from_slice(&message);
    bytes.exchange().await?.check_status()
}

/// What ends a session (2025-11-25, Streamable HTTP, "Session Management").
fn farewell(plan: &Plan, session: &HeaderValue) -> Arc<[u8]> {
    let Target::Url { uri, headers: own, .. } = &plan.target else { return Arc::default() };
    let headers = headers(&Greeting::end().0, plan.revision, Some(session), own);
    head("DELETE", uri, &headers, 0)
}

fn request(plan: &Plan, ask: &Ask, session: Option<&HeaderValue>) -> Request {
    let message = match ask.method {
        Method::Initialize => Message::initialize(plan.revision),
        _ => Message::of(ask, plan.revision),
    };
    framed(plan, ask, session, message)
}

fn framed(plan: &Plan, ask: &Ask, session: Option<&HeaderValue>, message: Message) -> Request {
    match &plan.target {
        Target::Command(_) => Request { head: Arc::default(), message, tail: b"\n" },
        Target::Url { uri, headers: own, .. } => {
            // A session is begun without one.
            let session = session.filter(|_| ask.method != Method::Initialize);
            let headers = headers(ask, plan.revision, session, own);
            Request { head: head("POST", uri, &headers, message.len()), message, tail: b"" }
        }
    }
}
