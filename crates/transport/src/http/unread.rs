//! Answers that a client has not read yet, counted for each connection: over HTTP/2 it may ask on
//! many streams and read none. Wraps every answer on its way to hyper, and never looks into it.

use super::answer::{Answer, BrokenOff};
use super::timed::Departure;
use crate::bounds::{Bound, Share};
use bytes::Bytes;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A body on its way to a client.
pub(super) struct Sent {
    answer: Answer,
    /// `None` where all of it has been counted.
    unread: Option<Arc<Bound>>,
    /// `None` once HTTP has all of it, or if nobody wants to know.
    departure: Option<Departure>,
}

/// What holds less than this is not counted: HTTP holds as much for each stream.
const SMALL: usize = 4096;

impl Sent {
    pub(super) fn new(answer: Answer, unread: &Arc<Bound>, departure: Option<Departure>) -> Self {
        let (answer, unread) = match answer {
            Answer::Whole(bytes) => {
                (Answer::Whole(bytes.map(|bytes| counted(bytes, unread))), None)
            }
            Answer::Listed(start, rest) => {
                (Answer::Listed(start, rest.map(|rest| counted(rest, unread))), None)
            }
            answer => (answer, Some(Arc::clone(unread))),
        };
        let mut sent = Self { answer, unread, departure };
        sent.depart_if_over(false);
        sent
    }

    /// There is nothing more that HTTP would ask for.
    fn depart_if_over(&mut self, is_at_end: bool) {
        if is_at_end || self.answer.len() == Some(0) {
            self.departure.take().map(Departure::depart).unwrap_or_default();
        }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let sent = self.get_mut();
        let bytes = ready!(sent.answer.poll_bytes(cx)).transpose()?;
        sent.depart_if_over(bytes.is_none());
        let bytes = bytes.map(|bytes| match &sent.unread {
            Some(unread) => counted(bytes, unread),
            None => bytes,
        });
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.answer.len() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.answer.len().map_or_else(SizeHint::default, |bytes| SizeHint::with_exact(bytes as u64))
    }
}

/// Bytes that count as unread until the last of them has been sent.
fn counted(bytes: Bytes, unread: &Arc<Bound>) -> Bytes {
    if bytes.len() < SMALL {
        return bytes;
    }
    let share = unread.share_of(bytes.len());
    Bytes::from_owner(Counted { bytes, _share: share })
}

struct Counted {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a client is told that does not read its answers.
pub(super) fn unread(limits: &Limits) -> Refusal {
    let limit = limits.output_bytes;
    Refusal::new(
        Mistake::Overloaded,
        format!("Overloaded: {limit} bytes of answers wait on this connection; read them first"),
    )
}
