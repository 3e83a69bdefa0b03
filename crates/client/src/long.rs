//! A long result, handed over in the pieces in which it comes: nothing of it is kept, and the
//! server is read only as fast as somebody wants the next piece. Made by `express` and `carried`.

use crate::carried::{Rest, uncarried};
use crate::error::ClientError;
use crate::lane::Body;
use crate::limits::{LANE_SILENCE_MAX, TAIL_BYTES_MAX};
use bytes::Bytes;
use bytestring::ByteString;
use haft_proto::long::{Passing, Said};
use serde_json::value::RawValue;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// A result of which only the beginning has come. Dropping it takes the request back.
#[derive(Debug)]
pub struct LongResult {
    begun: Bytes,
    source: Source,
    passing: Passing,
    /// How many bytes may stand behind the result.
    tail_left: usize,
    silence: Pin<Box<Sleep>>,
    method: &'static str,
    /// How long the server may be waited for in all.
    limit: Duration,
    /// How long it was.
    waited: Duration,
    /// Since when it is waited for.
    waiting: Option<Instant>,
}

/// Where its pieces come from.
#[derive(Debug)]
pub(crate) enum Source {
    Lane(Box<Body>),
    Carried(Box<dyn Rest>),
}

impl Source {
    /// The next piece; without a reason, if the server closed before the end.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
        method: &'static str,
    ) -> Poll<Option<Result<Bytes, ClientError>>> {
        match self {
            Self::Lane(body) => {
                let closed = |_| ClientError::ClosedMidAnswer { method };
                body.poll_piece(cx).map(|piece| piece.map(|piece| piece.map_err(closed)))
            }
            Self::Carried(rest) => {
                let lost = |why| uncarried(method, why);
                rest.poll_piece(cx).map(|piece| piece.map(|piece| piece.map_err(lost)))
            }
        }
    }
}

/// What answers a request that is passed on.
#[derive(Debug)]
pub enum Passed {
    /// JSON text of an object.
    Whole(ByteString),
    /// The same, while it comes.
    Long(Box<LongResult>),
}

impl From<Box<RawValue>> for Passed {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Whole(String::from(Box::<str>::from(raw)).into())
    }
}

impl Passed {
    /// All of it; `method` is what was asked.
    ///
    /// # Errors
    /// See [`LongResult::poll_piece`].
    pub(crate) async fn whole(self, method: &'static str) -> Result<ByteString, ClientError> {
        let mut long = match self {
            Self::Whole(text) => return Ok(text),
            Self::Long(long) => long,
        };
        let mut all = Vec::from(long.begun());
        while let Some(piece) = poll_fn(|cx| long.poll_piece(cx)).await {
            all.extend_from_slice(&piece?);
        }
        all.push(END);
        let not_text = |_| ClientError::NotJsonRpc { method, reason: NOT_TEXT.to_owned() };
        ByteString::try_from(all).map_err(not_text)
    }
}

const NOT_TEXT: &str = "it is not UTF-8";
/// What a result ends with.
const END: u8 = b'}';

impl LongResult {
    /// `begun` is how the result begins; one that is no text, or over, is given back.
    pub(crate) fn new(
        begun: Bytes,
        source: Source,
        (method, limit): (&'static str, Duration),
    ) -> Result<Self, Source> {
        let mut passing = Passing::default();
        if passing.take(&begun).is_err() || passing.is_over() {
            return Err(source);
        }
        let (silence, tail_left) = (Box::pin(sleep(LANE_SILENCE_MAX.min(limit))), TAIL_BYTES_MAX);
        let (waited, waiting) = (Duration::ZERO, None);
        Ok(Self { begun, source, passing, tail_left, silence, method, limit, waited, waiting })
    }

    /// How it begins: JSON text from its `{` on.
    #[must_use]
    pub fn begun(&self) -> Bytes {
        self.begun.clone()
    }

    /// Which members have come so far.
    #[must_use]
    pub fn said(&self) -> Said {
        self.passing.said()
    }

    /// The next piece; `None` at the end. The last `}` is in none of them, so that more can be
    /// said before it.
    ///
    /// # Errors
    /// The server closed before the end, was silent for a minute, had to be waited for as long as
    /// the options say, all in all, or sent what is no text. Nothing comes after that.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        let closed = ClientError::ClosedMidAnswer { method: self.method };
        loop {
            let Poll::Ready(piece) = self.source.poll_piece(cx, self.method) else {
                self.wait();
                ready!(self.silence.as_mut().poll(cx));
                let after = LANE_SILENCE_MAX.min(self.limit);
                return Poll::Ready(Some(Err(ClientError::TimedOut {
                    method: self.method,
                    after,
                })));
            };
            let over = self.passing.is_over();
            let mut piece = match piece {
                Some(Ok(piece)) => piece,
                Some(Err(_)) | None if over => return Poll::Ready(None),
                broken => return Poll::Ready(Some(broken.unwrap_or(Err(closed)))),
            };
            if over {
                // Behind the result there is no more than the end of the message.
                match self.tail_left.checked_sub(piece.len()) {
                    Some(left) => self.tail_left = left,
                    None => return Poll::Ready(None),
                }
                continue;
            }
            let waiting = self.waiting.take();
            self.waited += waiting.map_or(Duration::ZERO, |since| since.elapsed());
            let Ok(count) = self.passing.take(&piece) else {
                return Poll::Ready(Some(Err(ClientError::NotJsonRpc {
                    method: self.method,
                    reason: NOT_TEXT.to_owned(),
                })));
            };
            self.tail_left = self.tail_left.saturating_sub(piece.len() - count);
            piece.truncate(count - usize::from(self.passing.is_over()));
            if piece.is_empty() {
                continue;
            }
            return Poll::Ready(Some(Ok(piece)));
        }
    }

    /// From now on the server is waited for, unless it was before. How long somebody takes for a
    /// piece does not count.
    fn wait(&mut self) {
        if self.waiting.is_none() {
            let now = Instant::now();
            let left = self.limit.saturating_sub(self.waited);
            self.silence.as_mut().reset(now + left.min(LANE_SILENCE_MAX));
            self.waiting = Some(now);
        }
    }
}
