//! Why a server cannot be served, in one line. `main` may return it: it is printed as people should
//! read it.

use haft_server::BuildError;
use std::net::SocketAddr;
use std::{fmt, io};

/// What `main` returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a server cannot be served.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tool or the server itself is not right.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {reason}; choose another address with --http")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: io::Error,
    },
    /// The process cannot have a runtime, or wait for signals.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// Standard input or output failed.
    #[error("stdin or stdout: {0}")]
    Stdio(io::Error),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
}

/// The same as [`fmt::Display`], as this is what is printed when `main` returns an error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
