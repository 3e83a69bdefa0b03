//! What is wrong about an answer, in kinds that a report counts. Made where answers are read and
//! checked; what follows from it is decided by the report.

use crate::limits::EXCERPT_BYTES_MAX;
use serde::{Deserialize, Serialize};

/// An answer that is no good one, or none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// A JSON-RPC error.
    #[error("the server answered an error: {0}")]
    Refused(String),
    /// A result that says that the tool failed.
    #[error("the tool failed: {0}")]
    ToolFailed(String),
    /// The tool asks for something before it answers.
    #[error("the tool asks its client for something, which a bench does not give")]
    AsksForInput,
    /// Another status of HTTP than 200.
    #[error("HTTP status {status}: {excerpt}")]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body.
        excerpt: String,
    },
    /// Not a message, or not one that answers this method.
    #[error("this is no answer: {0}")]
    NoAnswer(String),
    /// An answer to something that was not asked, or was answered before.
    #[error("an answer with the id of no request in flight: {0}")]
    AnotherId(String),
    /// The result lacks the text that was expected.
    #[error("the expected text is not in the result: {0}")]
    Unexpected(String),
    /// The connection ended before the answer.
    #[error("the connection ended before the answer{0}")]
    Closed(String),
    /// No answer in time.
    #[error("no answer within the time limit")]
    TimedOut,
}

/// The kinds of [`Wrong`], by which they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is told by the variant of `Wrong` with its name")]
pub enum WrongKind {
    Refused,
    ToolFailed,
    AsksForInput,
    Status,
    NoAnswer,
    AnotherId,
    Unexpected,
    Closed,
    TimedOut,
}

impl Wrong {
    /// How it is counted.
    #[must_use]
    pub fn kind(&self) -> WrongKind {
        match self {
            Self::Refused(_) => WrongKind::Refused,
            Self::ToolFailed(_) => WrongKind::ToolFailed,
            Self::AsksForInput => WrongKind::AsksForInput,
            Self::Status { .. } => WrongKind::Status,
            Self::NoAnswer(_) => WrongKind::NoAnswer,
            Self::AnotherId(_) => WrongKind::AnotherId,
            Self::Unexpected(_) => WrongKind::Unexpected,
            Self::Closed(_) => WrongKind::Closed,
            Self::TimedOut => WrongKind::TimedOut,
        }
    }
}

/// The beginning of what a server said, on one line and safe to print.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT_BYTES_MAX)]);
    let mut line: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    if bytes.len() > EXCERPT_BYTES_MAX {
        line.push('…');
    }
    line
}
