//! One connection of a lane: bytes are written to it and read from it by whoever has it. It knows
//! where the head of an answer ends; where the body does, `body` knows.

use super::head::Head;
use super::{Counts, Fault};
use crate::limits::{LANE_BUFFER_MAX, LANE_LIFE, LANE_READ_BYTES, TCP_KEEP_ALIVE, TCP_SILENCE_MAX};
use bytes::BytesMut;
use rustix::net::sockopt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// See above. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// What was read and not taken.
    pub(super) unread: BytesMut,
    established: Instant,
    /// Not to be used from then on, if nothing is asked until then.
    stale: Instant,
    is_in_use: bool,
    counts: Arc<Counts>,
}

impl Connection {
    /// Takes a connection into use.
    pub(super) fn new(stream: TcpStream, counts: Arc<Counts>) -> Self {
        // Without these options it still works.
        _ = stream.set_nodelay(true);
        _ = sockopt::set_socket_keepalive(&stream, true);
        _ = sockopt::set_tcp_keepidle(&stream, TCP_KEEP_ALIVE);
        #[cfg(target_os = "linux")]
        {
            let silence = u32::try_from(TCP_SILENCE_MAX.as_millis()).unwrap_or(u32::MAX);
            _ = sockopt::set_tcp_user_timeout(&stream, silence);
        }
        counts.established.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let unread = BytesMut::new();
        Self { stream, unread, established: now, stale: now, is_in_use: true, counts }
    }

    /// Takes it into use again, unless it is too old, or the server has closed it or said
    /// something unasked.
    pub(super) fn wake(mut self, now: Instant) -> Option<Self> {
        let is_quiet = || match self.stream.try_read(&mut [0]) {
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            Ok(_) => false,
        };
        if self.is_stale(now) || !is_quiet() {
            return None;
        }
        self.is_in_use = true;
        self.counts.established.fetch_add(1, Ordering::Relaxed);
        Some(self)
    }

    /// Nobody uses it any more; for so long it may wait.
    pub(super) fn rest(&mut self, idle_max: Duration) {
        let now = Instant::now();
        self.is_in_use = false;
        self.stale = (now + idle_max).min(self.established + LANE_LIFE);
        self.counts.established.fetch_sub(1, Ordering::Relaxed);
        if self.unread.capacity() > LANE_BUFFER_MAX {
            self.unread = BytesMut::new();
        }
    }

    pub(super) fn is_stale(&self, now: Instant) -> bool {
        self.stale <= now
    }

    /// Writes a request, and reads the head of its answer; its text is what comes with it.
    pub(super) async fn ask(&mut self, request: [&[u8]; 2]) -> Result<(Head, BytesMut), Fault> {
        let rest = request.iter().map(|part| part.len()).sum();
        let mut writing = Writing { request, written: 0, rest, has_failed: false };
        poll_fn(|cx| self.poll_ask(&mut writing, cx)).await
    }

    fn poll_ask(
        &mut self,
        writing: &mut Writing<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(Head, BytesMut), Fault>> {
        loop {
            if writing.rest > 0
                && let Poll::Ready(Err(_)) = writing.poll(&mut self.stream, cx)
            {
                if writing.written == 0 {
                    return Poll::Ready(Err(Fault::Unsent));
                }
                // Why it takes no more may have been said before.
                (writing.rest, writing.has_failed) = (0, true);
            }
            let is_over = ready!(self.poll_fill(LANE_READ_BYTES, cx)).is_err();
            while let Some(head) = Head::read(&self.unread)? {
                let text = self.unread.split_to(head.bytes);
                if !head.is_interim() {
                    // What is left of the request is nothing that a server waits for.
                    let is_unsent = writing.rest > 0 || writing.has_failed;
                    let is_last = head.is_last || is_unsent;
                    return Poll::Ready(Ok((Head { is_last, ..head }, text)));
                }
            }
            if is_over {
                return Poll::Ready(Err(Fault::Closed));
            }
        }
    }

    /// Reads what there is, into at least so much room.
    ///
    /// # Errors
    /// [`Fault::Closed`] if nothing more will come.
    pub(super) fn poll_fill(
        &mut self,
        room: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        self.unread.reserve(room);
        let reading = pin!(self.stream.read_buf(&mut self.unread));
        match ready!(reading.poll(cx)) {
            Ok(0) | Err(_) => Poll::Ready(Err(Fault::Closed)),
            Ok(_) => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_in_use {
            self.counts.established.fetch_sub(1, Ordering::Relaxed);
        }
        self.counts.closed.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request on its way out: head and body.
struct Writing<'a> {
    request: [&'a [u8]; 2],
    written: usize,
    rest: usize,
    has_failed: bool,
}

impl Writing<'_> {
    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let [head, body] = self.request;
        while self.rest > 0 {
            let slices = match self.written.checked_sub(head.len()) {
                None => [&head[self.written..], body],
                Some(of_body) => [&body[of_body..], &[]],
            };
            let slices = slices.map(IoSlice::new);
            let count = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &slices))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.rest -= count;
        }
        Poll::Ready(Ok(()))
    }
}
