//! Who trusts whom: a gateway signs its agents' certificates with an authority of its own, and lets
//! each in once with a token; an agent keeps its certificate in a file that only its owner reads.

mod addresses;
mod authority;
mod files;
mod identity;
mod register;
mod sessions;
mod tickets;
mod tls;
mod token;

pub use authority::{Authority, Issued};
pub use identity::Identity;
pub use register::Registered;
pub use tickets::TicketSecret;
pub use tls::EarlyData;
pub use token::Token;

pub(crate) use addresses::tokens;
pub(crate) use authority::GATEWAY_NAME;
pub(crate) use identity::Wish;
pub(crate) use tls::gateway_name;

use crate::limits::{AGENTS_MAX, INVITATIONS_MAX, NAME_BYTES_MAX, SECRET_BYTES_MIN};
use std::io;
use std::path::PathBuf;

/// Why somebody is not trusted, or cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// No name for an agent.
    #[error(
        "{name:?} is no name for an agent; use 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-`"
    )]
    BadName {
        /// What was given.
        name: String,
    },
    /// Not what a gateway gives out.
    #[error("this is no token to join with; ask whoever runs the gateway for one")]
    BadToken,
    /// A token that nobody was given, or that was used.
    #[error("the token is not known, or was used before; ask for a new one")]
    UnknownToken,
    /// A token whose time is over.
    #[error("the time of the token is over; ask for a new one")]
    LateToken,
    /// What is to be signed is not a request, or was not signed by its key.
    #[error("what the agent sent to be signed is no request for a certificate")]
    BadRequest,
    /// A certificate that is not among those that hold.
    #[error("the certificate was revoked, or replaced by a newer one; join again")]
    Revoked,
    /// A certificate whose time was over while its agent was here, or before it came again.
    #[error("the time of the certificate is over; join again, unless there is a newer one")]
    Over,
    /// A certificate that this gateway did not sign for an agent.
    #[error("the certificate is not one of this gateway's agents")]
    Foreign,
    /// Too many may join.
    #[error("{INVITATIONS_MAX} tokens have not been used; revoke some")]
    TooManyInvitations,
    /// Too many have joined.
    #[error("{AGENTS_MAX} agents have joined; revoke some")]
    TooManyAgents,
    /// It is somebody else's, who may have written what is in it.
    #[error(
        "{0} belongs to the user {owner}, who could change it; run: chown {own} {0}",
        path.display()
    )]
    NotOwned {
        /// The file or directory.
        path: PathBuf,
        /// The number of the user that it belongs to.
        owner: u32,
        /// The number of the user that this process runs as.
        own: u32,
    },
    /// Others can read what is secret.
    #[error("others can read {0}, which holds a key; run: chmod 600 {0}", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// Others can put files where secret ones are.
    #[error("others can write into {0}, where keys are; run: chmod 700 {0}", path.display())]
    Writable {
        /// The directory.
        path: PathBuf,
    },
    /// What is in a file is not what was written there.
    #[error("{} is damaged: {what}; remove it, and let agents join again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A secret that can be guessed.
    #[error(
        "{} has fewer than {SECRET_BYTES_MIN} bytes; make it with: openssl rand -hex 32",
        path.display()
    )]
    ShortSecret {
        /// The file.
        path: PathBuf,
    },
    /// An agent without a certificate.
    #[error("this agent has not joined; give it a token with --join TOKEN")]
    NotJoined,
    /// A certificate whose time is over, or has not come.
    #[error("the certificate holds {when}; look at the clock, or join again with --join TOKEN")]
    OutOfTime {
        /// From when, or until when.
        when: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// No keys can be made.
    #[error("no key can be made: {why}")]
    NoKey {
        /// What is wrong.
        why: String,
    },
}

/// A name that an agent can have.
pub(crate) fn checked_name(name: &str) -> Result<&str, TrustError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match is_plain && (1..=NAME_BYTES_MAX).contains(&name.len()) {
        true => Ok(name),
        false => Err(TrustError::BadName { name: name.chars().take(NAME_BYTES_MAX).collect() }),
    }
}
