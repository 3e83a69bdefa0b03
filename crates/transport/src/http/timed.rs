//! When requests are timed: looks at the clock where a connection is read, and ends the trips of
//! answers once all that was written is with the system. Else it hands on, and nothing more.

use haft_stages::{Trip, is_on, reading};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The answers of a connection that HTTP has, and the system may not have yet: as many as streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures(Arc<Mutex<Vec<Trip>>>);

/// A trip whose answer is not with HTTP yet. It is when this is dropped.
#[derive(Debug)]
pub(super) struct Departure {
    trip: Trip,
    departures: Departures,
}

impl Departures {
    /// How a trip ends here; `None` if it is not timed.
    pub(super) fn of(&self, trip: Trip) -> Option<Departure> {
        trip.is_timed().then(|| Departure { trip, departures: self.clone() })
    }

    fn end(&self) {
        if is_on() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(|it| it.end());
        }
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        let mut trips = self.departures.0.lock().unwrap_or_else(PoisonError::into_inner);
        trips.push(std::mem::take(&mut self.trip));
    }
}

/// A connection.
pub(super) struct Timed<S> {
    stream: S,
    departures: Departures,
}

impl<S> Timed<S> {
    pub(super) fn new(stream: S, departures: Departures) -> Self {
        Self { stream, departures }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        reading(|| Pin::new(&mut self.stream).poll_read(cx, buffer), Poll::is_ready)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// HTTP flushes once it has written all that it holds.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.departures.end();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
