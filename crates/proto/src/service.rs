//! The seam between the wires and whatever answers: a wire admits a message and asks; a service
//! answers at once, into the wire's buffer, or later, or with a stream of messages. Cancelling is
//! dropping.

use crate::envelope::{Envelope, Id};
use crate::error::Mistake;
use crate::method::Method;
use crate::mirror::Headers;
use crate::session::Session;
use crate::version::Revision;
use bytes::Bytes;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Whatever answers requests. One service serves all wires and both eras at once.
pub trait Service: Send + Sync + 'static {
    /// Answers a request: appends a whole message to `out`, or nothing and answers later.
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn;

    /// What a legacy client is told without asking: that lists and resources have changed. A wire
    /// opens one at a time for a session, and may drop it and open another; what changes in between
    /// is told by the next.
    fn news(&self, session: &Arc<Session>) -> Option<Box<dyn Feed>> {
        let _ = session;
        None
    }
}

/// A request that has been admitted.
pub struct Ask<'a> {
    /// The message.
    pub message: &'a Envelope<'a>,
    /// Its id.
    pub id: Id<'a>,
    /// Its method, which the revision has.
    pub method: Method,
    /// The revision that it speaks; for `initialize`, the one that was agreed on.
    pub revision: Revision,
    /// The legacy conversation that it belongs to.
    pub session: Option<&'a Arc<Session>>,
    /// Who asks.
    pub principal: &'a Principal,
    /// The headers it came with, where the wire has headers.
    pub headers: Option<&'a dyn Headers>,
    /// The way back to the asker while the answer is being made.
    pub wire: &'a dyn Wire,
}

/// Who asks. Nothing that the client says about itself counts; only what a wire has verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Principal {
    /// Nobody has said.
    #[default]
    Anonymous,
    /// Whoever started this process.
    Local,
    /// Somebody whose credentials were checked; unique among all who may ask.
    Named(Arc<str>),
}

impl Principal {
    /// A text that differs for any two principals.
    #[must_use]
    pub fn key(&self) -> (&'static str, &str) {
        match self {
            Self::Anonymous => ("anonymous", ""),
            Self::Local => ("local", ""),
            Self::Named(name) => ("named", name),
        }
    }
}

/// The way back to whoever asked.
pub trait Wire {
    /// A queue for messages about this request. A wire makes it only when it is asked to.
    fn outlet(&self) -> Arc<dyn Outlet>;
}

/// A bounded queue of messages about one request, open until its answer.
pub trait Outlet: Send + Sync {
    /// Queues a notification; false if there is no room or nobody to read it, and it is dropped.
    fn send(&self, message: Vec<u8>) -> bool;

    /// The same for how far the request has come: where there is no room, it takes the place of the
    /// last such that waits, so that a client that reads slowly hears the newest.
    fn progress(&self, message: Vec<u8>) -> bool {
        self.send(message)
    }

    /// Asks the client, in the legacy era; `params` is JSON text of an object. Dropping the future
    /// takes the question back.
    fn ask(&self, method: Method, params: String) -> Asked;

    /// Lets the client go and come back for the rest after that time, where the wire can be resumed
    /// (2025-11-25, "Polling"); false where it cannot, and nothing happens.
    fn disconnect(&self, retry: Duration) -> bool {
        let _ = retry;
        false
    }
}

/// A question that a client has been asked: the raw JSON of its result.
pub type Asked = Pin<Box<dyn Future<Output = Result<Box<str>, Unanswered>> + Send>>;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The client refused: raw JSON of its error.
    Refused(Box<str>),
    /// The client has gone, or the wire cannot ask.
    Gone,
    /// Too many questions wait already.
    TooMany,
}

/// Messages that come as they come, without having been asked for one by one. Dropping it ends it.
pub trait Feed: Send {
    /// Appends the next message to `out`: `Ready(true)` if one was appended, `Ready(false)` if none
    /// will come any more. Nothing is lost while nobody polls, but what can be said once is said
    /// once.
    fn poll_next(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool>;

    /// Appends the last message, as the server stops; false if there is none.
    fn end(&mut self, out: &mut Vec<u8>) -> bool {
        let _ = out;
        false
    }
}

/// What became of a request.
pub enum Turn {
    /// The answer is in the buffer.
    Done(Outcome),
    /// The answer is a result, of which the beginning is in the buffer and the rest is this, to the
    /// end of the message: text that many requests are answered with.
    Listed(Arc<str>),
    /// The answer will come.
    Later(Later),
    /// The answer is a stream of notifications that ends with a result.
    Stream(Box<dyn Feed>),
}

/// An answer to come. Dropping it cancels the work.
pub type Later = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// An answer that came.
pub struct Reply {
    /// The whole message, or how it begins.
    pub message: Vec<u8>,
    /// What kind of answer it is.
    pub outcome: Outcome,
    /// How it goes on.
    pub rest: Option<Box<dyn Rest>>,
}

/// The bytes of a long answer after its beginning, as they come. Dropping it gives them up.
pub trait Rest: Send {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// It broke off, and nothing more comes: with what may be said instead of it, as a whole, if
    /// nothing has been said yet.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>>;
}

/// An answer that broke off: what to say instead of it.
pub type BrokenOff = Box<Reply>;

impl Reply {
    /// An answer that is all there.
    #[must_use]
    pub const fn new(message: Vec<u8>, outcome: Outcome) -> Self {
        Self { message, outcome, rest: None }
    }

    /// Puts together a long answer; ready once it is all in `message`. One that breaks off is
    /// replaced as a whole.
    pub fn poll_whole(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(rest) = &mut self.rest {
            match ready!(rest.poll_next(cx)) {
                Some(Ok(bytes)) => self.message.extend_from_slice(&bytes),
                Some(Err(instead)) => *self = *instead,
                None => self.rest = None,
            }
        }
        Poll::Ready(())
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, outcome, rest } = self;
        let message = String::from_utf8_lossy(message);
        let mut shown = f.debug_struct("Reply");
        shown.field("message", &message).field("outcome", outcome);
        shown.field("is_whole", &rest.is_none()).finish()
    }
}

/// What kind of answer was given; a wire with status codes needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Result,
    /// An error.
    Refused(Mistake),
}
