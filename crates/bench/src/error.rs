//! Why a run could not be made, or ended early. What single answers were wrong about is `Wrong`'s.

use crate::wrong::Wrong;

/// A run that did not do what its plan says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The plan cannot be done.
    #[error("{0}")]
    Plan(String),
    /// The server cannot be started or reached.
    #[error("cannot reach the server: {0}")]
    Unreachable(String),
    /// A connection was made, and what begins it was answered wrongly.
    #[error("{method}: {wrong}")]
    Greeting {
        /// What was asked.
        method: &'static str,
        /// What was wrong about the answer.
        wrong: Wrong,
    },
    /// This system does not let us.
    #[error("this system refuses: {0}")]
    System(String),
}
