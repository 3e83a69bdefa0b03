//! One change of a store, and the way back to whoever waits for it to be kept. Made by `store`,
//! done by `writer`.

use crate::error::StoreError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A change to make.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Adds to a number, which is zero before its first time.
    Add { key: Box<str>, by: i64, until: u64 },
    /// Removes a key.
    Delete { key: Box<str> },
    /// Keeps a value.
    Set { key: Box<str>, value: Box<[u8]>, until: u64 },
}

/// What has come of it, once it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The sum.
    Added(i64),
    /// Whether there was something.
    Deleted(bool),
    Set,
}

/// What the writer is asked for.
pub(crate) enum Waiting {
    /// A change that somebody waits for.
    Change {
        change: Change,
        done: oneshot::Sender<Result<Changed, StoreError>>,
        /// Its bytes among those of all that waits.
        room: OwnedSemaphorePermit,
    },
    /// To look after the database: to open it again, and to remove what is past its time.
    Care,
}
