//! A long result that is on its way: its request runs until the last piece has come, and has failed
//! if it breaks off. Made by `forward`; it looks at no piece.

use crate::forward::Forward;
use bytes::Bytes;
use haft_proto::error::Refusal;
use haft_proto::long::Said;
use haft_server::{LongResult, Pieces};
use std::borrow::Cow;
use std::task::{self, Poll, ready};
use std::time::Instant;

/// See above. One that is dropped before its end was cancelled.
pub(crate) struct Arriving {
    pub(crate) way: Forward,
    pub(crate) method: &'static str,
    pub(crate) began: Option<Instant>,
    pub(crate) failure: Option<Cow<'static, str>>,
}

struct Counted {
    rest: Box<dyn Pieces>,
    /// `None` after its end.
    arriving: Option<Arriving>,
}

impl Arriving {
    /// The result, which is counted.
    pub(crate) fn of(self, result: LongResult) -> LongResult {
        let LongResult { begun, rest } = result;
        LongResult { begun, rest: Box::new(Counted { rest, arriving: Some(self) }) }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let Forward { upstream, name, .. } = &self.way;
        upstream.over((self.method, name), self.began, self.failure.as_deref());
    }
}

impl Pieces for Counted {
    fn said(&self) -> Said {
        self.rest.said()
    }

    fn poll_piece(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        let piece = ready!(self.rest.poll_piece(cx));
        let failure = match &piece {
            Some(Ok(_)) => return Poll::Ready(piece),
            Some(Err(refusal)) => Some(refusal.message.clone()),
            None => None,
        };
        if let Some(arriving) = &mut self.arriving {
            arriving.failure = failure;
        }
        self.arriving = None;
        Poll::Ready(piece)
    }
}
