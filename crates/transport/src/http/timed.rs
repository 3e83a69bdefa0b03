//! When requests are timed: looks at the clock where a connection is read, and ends the trips of
//! answers once all that was written is with the system. Else it hands on, and nothing more.

use haft_stages::{Reads, Trip, is_on};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The trips of a connection: when it was read, and whose answers HTTP has and the system may not
/// have yet, as many as streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    reads: Reads,
    answered: Arc<Mutex<Vec<Trip>>>,
}

/// A trip whose answer is not with HTTP yet. One that is dropped before that is not counted: its
/// client has gone.
#[derive(Debug)]
pub(super) struct Departure {
    trip: Trip,
    departures: Departures,
}

impl Departures {
    /// A trip of what was read last.
    pub(super) fn begin(&self) -> Trip {
        Trip::begin(&self.reads)
    }

    /// How a trip ends here; `None` if it is not timed.
    pub(super) fn of(&self, trip: Trip) -> Option<Departure> {
        trip.is_timed().then(|| Departure { trip, departures: self.clone() })
    }

    /// When the connection was read last.
    pub(super) fn reads(&self) -> Reads {
        self.reads.clone()
    }

    /// What HTTP has been given is with the system.
    pub(super) fn end(&self) {
        if is_on() {
            let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            answered.drain(..).for_each(|trip| trip.end());
        }
    }
}

impl Departure {
    /// HTTP has all of the answer.
    pub(super) fn depart(self) {
        let Self { trip, departures } = self;
        departures.answered.lock().unwrap_or_else(PoisonError::into_inner).push(trip);
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
        let Self { stream, departures } = &mut *self;
        departures.reads.reading(|| Pin::new(stream).poll_read(cx, buffer), Poll::is_ready)
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

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::super::unread::Sent;
    use super::*;
    use crate::bounds::Bound;
    use bytes::Bytes;
    use http_body::Body;
    use std::task::Waker;

    #[test]
    fn an_answer_that_http_has_not_taken_does_not_depart() {
        let (departures, unread) = (Departures::default(), Bound::new(1));
        let departed = || departures.answered.lock().expect("no test panics with it").len();
        let sent = |bytes| {
            let departure = Departure { trip: Trip::default(), departures: departures.clone() };
            Sent::new(Answer::Whole(bytes), &unread, Some(departure))
        };
        drop(sent(Some(Bytes::from_static(b"{}"))));
        assert_eq!(departed(), 0, "the client has gone");
        let mut taken = sent(Some(Bytes::from_static(b"{}")));
        let frame = Pin::new(&mut taken).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(frame.is_ready());
        assert_eq!(departed(), 1, "HTTP asks for no more");
        drop(taken);
        drop(sent(None));
        assert_eq!(departed(), 2, "each once, and one without a body at once");
    }
}
