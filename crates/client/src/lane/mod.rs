//! A lane: connections of HTTP/1.1, without TLS, to one server. Whoever asks writes to a connection
//! and reads from it by itself: there is no task between. A connection is idle, being made
//! (acquiring), in use (established), left before the end of its answer (closing), or closed. What
//! is asked, and what answers mean, is not known here.

mod body;
mod connection;
mod head;
#[cfg(test)]
mod tests;

pub(crate) use body::{Body, Unread};
pub(crate) use head::Head;

use crate::limits::{LANE_IDLE, LANE_IDLE_MAX, LANE_SWEEP};
use bytes::BytesMut;
use connection::Connection;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

/// See above.
#[derive(Debug)]
pub(crate) struct Lane {
    host: String,
    port: u16,
    connect_time: Duration,
    pool: Mutex<Pool>,
    /// Of the connections whose answers are not read to the end yet, though nobody waits.
    leaving: Arc<Semaphore>,
    counts: Arc<Counts>,
}

/// Connections that nobody uses, the last used last.
#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    /// Whether somebody closes those that are too old.
    is_swept: bool,
}

/// How many connections there are, or were.
#[derive(Debug, Default)]
struct Counts {
    acquiring: AtomicUsize,
    established: AtomicUsize,
    closed: AtomicU64,
}

/// Why there is no answer, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Nothing more will come.
    #[error("the connection is closed")]
    Closed,
    /// What comes is not HTTP/1.1, or more of a head than anybody needs.
    #[error("what came is not HTTP/1.1")]
    NotHttp,
    /// The connection was closed before anything was written.
    #[error("the connection was closed")]
    Unsent,
}

/// Why no request was made.
#[derive(Debug)]
pub(crate) enum Unasked {
    Unreachable(io::Error),
    Faulty(Fault),
}

/// An answer, with its body still to come.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    text: BytesMut,
    pub(crate) body: Body,
}

impl Answer {
    /// All its headers.
    pub(crate) fn headers(&self) -> HeaderMap {
        head::headers(&self.text)
    }
}

impl Lane {
    pub(crate) fn new(host: &str, port: u16, connect_time: Duration) -> Self {
        // An address of IPv6 is in brackets within a URL, and nowhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let leaving = Arc::new(Semaphore::new(LANE_IDLE_MAX));
        Self { host, port, connect_time, pool: Mutex::default(), leaving, counts: Arc::default() }
    }

    /// Sends a request, which is a head and a body in bytes, and reads the head of its answer.
    pub(crate) async fn ask(self: &Arc<Self>, request: [&[u8]; 2]) -> Result<Answer, Unasked> {
        loop {
            let idle = self.take_idle();
            let is_fresh = idle.is_none();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect().await.map_err(Unasked::Unreachable)?,
            };
            match connection.ask(request).await {
                Ok((head, text)) => {
                    return Ok(Answer { head, text, body: Body::new(connection, self, &head) });
                }
                // It was closed while it was idle.
                Err(Fault::Unsent) if !is_fresh => {}
                Err(fault) => return Err(Unasked::Faulty(fault)),
            }
        }
    }

    /// How many connections are in which state.
    pub(crate) fn connections(&self) -> Connections {
        let in_use = self.counts.established.load(Ordering::Relaxed);
        let closing = LANE_IDLE_MAX.saturating_sub(self.leaving.available_permits()).min(in_use);
        Connections {
            idle: lock(&self.pool).idle.len(),
            acquiring: self.counts.acquiring.load(Ordering::Relaxed),
            established: in_use - closing,
            closing,
            closed: self.counts.closed.load(Ordering::Relaxed),
        }
    }

    fn take_idle(&self) -> Option<Connection> {
        let now = Instant::now();
        loop {
            let connection = lock(&self.pool).idle.pop()?;
            if let Some(awake) = connection.wake(now) {
                return Some(awake);
            }
        }
    }

    async fn connect(&self) -> io::Result<Connection> {
        let _acquiring = Acquiring::begin(&self.counts);
        let connecting = TcpStream::connect((&*self.host, self.port));
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let stream = timeout(self.connect_time, connecting).await.map_err(late)??;
        Ok(Connection::new(stream, Arc::clone(&self.counts)))
    }

    /// A connection is not used any more; so long its server keeps it.
    fn take_back(self: &Arc<Self>, mut connection: Connection, idle_max: Option<Duration>) {
        // A server that has just closed it was not told in time.
        let theirs = idle_max.map(|theirs| theirs.saturating_sub(Duration::from_secs(1)));
        connection.rest(theirs.map_or(LANE_IDLE, |theirs| theirs.min(LANE_IDLE)));
        let mut pool = lock(&self.pool);
        if pool.idle.len() == LANE_IDLE_MAX {
            let oldest = pool.idle.remove(0);
            pool.idle.push(connection);
            drop(pool);
            drop(oldest);
            return;
        }
        pool.idle.push(connection);
        if !pool.is_swept {
            pool.is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what is too old; false once nothing is left that could become it.
    fn close_stale(&self) -> bool {
        let now = Instant::now();
        let mut pool = lock(&self.pool);
        let (stale, idle) =
            std::mem::take(&mut pool.idle).into_iter().partition(|one| one.is_stale(now));
        pool.idle = idle;
        pool.is_swept = !pool.idle.is_empty();
        let goes_on = pool.is_swept;
        drop(pool);
        let stale: Vec<Connection> = stale;
        drop(stale);
        goes_on
    }
}

/// How many connections to a server there are, by their states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Open, and used by nobody.
    pub idle: usize,
    /// Being made.
    pub acquiring: usize,
    /// In use.
    pub established: usize,
    /// Used by nobody any more, while the rest of an answer is read: idle after that if it comes
    /// soon, or else closed.
    pub closing: usize,
    /// Over; so many have been.
    pub closed: u64,
}

/// The head of a request, but for the length of its body and the end.
pub(crate) fn write_common<T>(request: &Request<T>) -> Vec<u8> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut out = Vec::with_capacity(REQUEST_HEAD_BYTES);
    for part in [request.method().as_str(), " ", path, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    if !request.headers().contains_key(HOST) {
        write_line(&mut out, HOST.as_str(), authority.as_bytes());
    }
    // Where a body ends is not for the caller to say.
    let ours = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];
    for (name, value) in request.headers().iter().filter(|(name, _)| !ours.contains(name)) {
        write_line(&mut out, name.as_str(), value.as_bytes());
    }
    out
}

/// The head of a request with a body of so many bytes.
pub(crate) fn write<T>(request: &Request<T>, length: usize) -> Vec<u8> {
    let mut out = write_common(request);
    if length > 0 || request.method() == Method::POST {
        write_line(&mut out, CONTENT_LENGTH.as_str(), length.to_string().as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// Appends a header; neither name nor value has a line end.
pub(crate) fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// About how long a head is.
const REQUEST_HEAD_BYTES: usize = 512;

/// Closes connections that nobody has used for long, while there are any.
async fn sweep(lane: Weak<Lane>) {
    loop {
        sleep(LANE_SWEEP).await;
        let Some(lane) = lane.upgrade() else { return };
        if !lane.close_stale() {
            return;
        }
    }
}

/// Counts a connection that is being made.
struct Acquiring<'a>(&'a Counts);

impl<'a> Acquiring<'a> {
    fn begin(counts: &'a Counts) -> Self {
        counts.acquiring.fetch_add(1, Ordering::Relaxed);
        Self(counts)
    }
}

impl Drop for Acquiring<'_> {
    fn drop(&mut self) {
        self.0.acquiring.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that panicked left the data whole: no lock is held across anything that can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
