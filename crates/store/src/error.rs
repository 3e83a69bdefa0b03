//! What can go wrong with a store, each mistake by name and with what to do.

use crate::limits::{ENTRIES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX};
use std::fmt;

/// Why a store cannot do it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store has been closed.
    Closed,
    /// The disk or the file has failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// There is room for no more.
    Full,
    /// Another process has the file open.
    InUse {
        /// The file.
        path: String,
    },
    /// The key is longer than [`KEY_BYTES_MAX`], or empty.
    KeyUnfit,
    /// A number was to be added to something else, or the sum has no room in 64 bits.
    NotANumber {
        /// The key.
        key: String,
    },
    /// The file is no store, or cannot be read and written.
    Unusable {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The value is longer than [`VALUE_BYTES_MAX`].
    ValueTooLong,
}

impl StoreError {
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self::Failed { reason: error.to_string() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the store is closed"),
            Self::Failed { reason } => write!(f, "the store has failed: {reason}"),
            Self::Full => write!(
                f,
                "the store is full: it has {ENTRIES_MAX} keys, or all the bytes that it may have; \
                 delete some, or give them a time to live"
            ),
            Self::InUse { path } => {
                write!(f, "another process has {path} open; stop it, or name another file")
            }
            Self::KeyUnfit => write!(f, "a key has from 1 to {KEY_BYTES_MAX} bytes"),
            Self::NotANumber { key } => {
                write!(f, "what is kept under {key:?} is no whole number that can be added to")
            }
            Self::Unusable { path, reason } => write!(f, "{path} cannot be used: {reason}"),
            Self::ValueTooLong => write!(f, "a value has at most {VALUE_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for StoreError {}
