//! The seam between the wires and whatever answers: a wire admits a message and asks; a service
//! answers at once, into the wire's buffer, or later. Cancelling is dropping the future.

use crate::envelope::{Envelope, Id};
use crate::error::Mistake;
use crate::method::Method;
use crate::mirror::Headers;
use crate::version::Revision;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Whatever answers requests. One service serves all wires and both eras at once.
pub trait Service: Send + Sync + 'static {
    /// Answers a request: appends a whole message to `out`, or nothing and answers later.
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn;
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
    /// The headers it came with, where the wire has headers and the era mirrors parameters in them.
    pub headers: Option<&'a dyn Headers>,
    /// The way back to the asker while the answer is being made.
    pub wire: &'a dyn Wire,
}

/// The way back to whoever asked.
pub trait Wire {
    /// A queue for notifications about this request. A wire makes it only when it is asked to.
    fn outlet(&self) -> Arc<dyn Outlet>;
}

/// A bounded queue of notifications about one request.
pub trait Outlet: Send + Sync {
    /// Queues a message; false if there is no room or nobody to read it, and it is dropped.
    fn send(&self, message: Vec<u8>) -> bool;
}

/// What became of a request.
pub enum Turn {
    /// The answer is in the buffer.
    Done(Outcome),
    /// The answer will come.
    Later(Later),
}

/// An answer to come. Dropping it cancels the work.
pub type Later = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// An answer that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The whole message.
    pub message: Vec<u8>,
    /// What kind of answer it is.
    pub outcome: Outcome,
}

/// What kind of answer was given; a wire with status codes needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Result,
    /// An error.
    Refused(Mistake),
}
