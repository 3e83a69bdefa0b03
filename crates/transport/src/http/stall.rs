//! A connection that gives up on a client that says nothing, or that stops reading: it fails when
//! the first bytes do not come in time, and when a write makes no progress for a time. Costs
//! nothing in between.

use haft_proto::limits::Limits;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose beginning and whose writes may not stall.
pub(super) struct StallGuard<S> {
    stream: S,
    patience: Duration,
    /// Running while a write waits.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Running until it is known which HTTP the client speaks; hyper's own limits begin after that.
    opening: Option<Pin<Box<Sleep>>>,
    /// How much of [`PREFACE`] has come so far.
    preface: usize,
}

/// What an HTTP/2 connection begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl<S> StallGuard<S> {
    pub(super) fn new(stream: S, limits: &Limits) -> Self {
        Self {
            stream,
            patience: limits.write_stall,
            alarm: None,
            opening: Some(Box::pin(sleep(limits.header_timeout))),
            preface: 0,
        }
    }

    /// Looks at the first bytes until they are an HTTP/2 preface or can no longer be one.
    fn open(&mut self, read: &[u8]) {
        let rest = &PREFACE[self.preface..];
        let length = rest.len().min(read.len());
        self.preface += length;
        if self.preface == PREFACE.len() || rest[..length] != read[..length] {
            self.opening = None;
        }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.alarm = None;
            return written;
        }
        let patience = self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(patience)));
        match alarm.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                alarm.as_mut().reset(Instant::now() + patience);
                Poll::Ready(Err(too_slow("the client has stopped reading")))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(opening) = &mut self.opening else { return read };
        if read.is_pending() {
            return opening.as_mut().poll(cx).map(|()| Err(too_slow("the client says nothing")));
        }
        let read_now = buffer.filled().get(before..).unwrap_or_default();
        self.open(read_now);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn too_slow(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}
