//! Middleware that only looks on, at requests that another server answers: nothing is put together
//! or read for it, and a long result is seen to its last piece. Used by `calls` and `relay`, where
//! all that stands around a request is of this kind.

use crate::handler::Made;
use crate::middleware::{Middleware, Onlooker, Request, Seen};
use crate::reading::Answering;
use crate::relay::{LongResult, Pieces, Relayed};
use bytes::Bytes;
use haft_proto::error::Refusal;
use haft_proto::json::member;
use haft_proto::long::Said;
use std::sync::Arc;
use std::task::{self, Poll, ready};

/// All who look on at one request. Dropped before its end, it was stopped.
pub(crate) struct Onlookers(Vec<Box<dyn Onlooker>>);

impl Onlookers {
    /// Nothing, if one of these does more than to look on.
    pub(crate) fn of(layers: &[Arc<dyn Middleware>], request: &Request) -> Option<Self> {
        let is_one = |layer: &Arc<dyn Middleware>| layer.only_looks_on();
        layers.iter().all(is_one).then(|| {
            // The outermost looks last.
            Self(layers.iter().rev().filter_map(|layer| layer.look_on(request)).collect())
        })
    }

    fn end(self, seen: Seen) {
        self.0.into_iter().for_each(|one| one.end(seen));
    }

    /// They look on at what a handler made.
    pub(crate) fn around(self, made: Made) -> Made {
        match made {
            // It is written already.
            Made::Now => {
                self.end(Seen::Answered);
                Made::Now
            }
            Made::Later(work) => Made::Later(Box::pin(async move {
                let ended = work.await;
                self.end(match &ended {
                    Ok(result) if result.is_error => Seen::Failed,
                    Ok(_) => Seen::Answered,
                    Err(_) => Seen::Refused,
                });
                ended
            })),
            Made::Relayed(work) => Made::Relayed(self.around_relayed(work)),
        }
    }

    /// The same of what another server answers.
    pub(crate) fn around_relayed(self, work: Answering<Relayed>) -> Answering<Relayed> {
        Box::pin(async move {
            match work.await {
                Ok(Relayed::Long(LongResult { begun, rest })) => {
                    let rest = Box::new(Watched { rest, by: Some(self) });
                    Ok(Relayed::Long(LongResult { begun, rest }))
                }
                Ok(Relayed::Whole(result)) => {
                    let has_failed = member(&result, "isError") == Some("true");
                    self.end(if has_failed { Seen::Failed } else { Seen::Answered });
                    Ok(Relayed::Whole(result))
                }
                Err(refusal) => {
                    self.end(Seen::Refused);
                    Err(refusal)
                }
            }
        })
    }
}

/// A long result that is looked at.
struct Watched {
    rest: Box<dyn Pieces>,
    /// `None` after its end.
    by: Option<Onlookers>,
}

impl Pieces for Watched {
    fn said(&self) -> Said {
        self.rest.said()
    }

    fn poll_piece(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        let piece = ready!(self.rest.poll_piece(cx));
        let seen = match &piece {
            Some(Ok(_)) => None,
            Some(Err(_)) => Some(Seen::Refused),
            None => Some(Seen::Answered),
        };
        if let Some(seen) = seen
            && let Some(by) = self.by.take()
        {
            by.end(seen);
        }
        Poll::Ready(piece)
    }
}
