//! Every way in which getting an access token can fail, named after the mistake. Part of
//! `ClientError`; no text holds a token, a code or a secret.

use crate::error::excerpt;
use std::time::Duration;

/// Why there is no access token. Messages are one line, and say what to do where something can be
/// done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences above them")]
pub enum AuthError {
    /// A file with credentials that cannot be trusted or used.
    #[error("the credentials in {path} cannot be used: {reason}")]
    BadCredentials { path: String, reason: String },
    /// A key of ours that signs nothing.
    #[error("the private key of the client cannot be used: {reason}")]
    BadKey { reason: String },
    /// A redirect URI that is neither on this machine nor `https:`.
    #[error("the redirect address {uri} must be https, or http on this machine")]
    BadRedirectUri { uri: String },
    /// Nobody has authorized this client.
    #[error("nobody has authorized haft: {reason}")]
    Declined { reason: String },
    /// An address that anybody on the way could read or change, or inside of our network.
    #[error("the {what} {url} is not to be trusted: {reason}")]
    Insecure { what: &'static str, url: String, reason: &'static str },
    /// The redirect came from another authorization server than the one that was asked, or it does
    /// not say from which (RFC 9207).
    #[error("the answer is not from {expected}, which was asked, but from {found}; do not go on")]
    IssuerMixUp { expected: String, found: String },
    /// Something that the specifications do not allow.
    #[error("the {what} at {url} cannot be used: {reason}")]
    Malformed { what: &'static str, url: String, reason: String },
    /// No document at any of its places.
    #[error("there is no {what} at {tried}")]
    NotFound { what: &'static str, tried: String },
    /// No PKCE with SHA-256.
    #[error("{issuer} does not offer PKCE with S256, without which a code can be stolen")]
    NoPkce { issuer: String },
    /// A system without random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// A token that was made for the server, which refuses it.
    #[error("the server refuses tokens that were made for it just now; ask its owner")]
    NotTaken,
    /// No way to become a client.
    #[error("{issuer} takes no unknown clients; register one there and give its id")]
    NoRegistration { issuer: String },
    /// An authorization server that says no.
    #[error("{issuer} refused the {what}: {}", said(error, description))]
    Refused { issuer: String, what: &'static str, error: String, description: String },
    /// The token was fetched just now, and the server wants more than it has.
    #[error("the server wants more than was granted ({}); ask its owner for it", scopes.join(" "))]
    StillInsufficient { scopes: Vec<String> },
    /// Nothing in time.
    #[error("no answer from {host} within {} seconds", after.as_secs())]
    TimedOut { host: String, after: Duration },
    /// No connection, or a broken one.
    #[error("cannot reach the authorization server: {reason}")]
    Unreachable { reason: String },
    /// A client id that belongs to another authorization server.
    #[error("the client id is one of {known}, but the server now names {found}; do not go on")]
    WrongClient { known: String, found: String },
    /// Metadata of somebody else.
    #[error("the metadata of {expected} says that it is {found}; do not trust it")]
    WrongIssuer { expected: String, found: String },
    /// A redirect that nobody asked for.
    #[error("the redirect does not belong to what was asked: {reason}")]
    WrongRedirect { reason: &'static str },
    /// Metadata of another server.
    #[error("the server says that it is {resource}; use that address if you trust it")]
    WrongResource { resource: String },
}

fn said(error: &str, description: &str) -> String {
    let (error, description) = (excerpt(error.as_bytes()), excerpt(description.as_bytes()));
    if description.is_empty() { error } else { format!("{error} ({description})") }
}
