//! Why a request failed: one variant for each mistake. Callers show the text to models and people,
//! so it never holds a header, a body or a secret.

use crate::coding::CodingError;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// Why a request failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences above them")]
pub enum FetchError {
    /// A redirect that leads nowhere.
    #[error("`{host}` redirects to an address that cannot be followed: {reason}")]
    BadRedirect { host: String, reason: String },
    /// The connection ended before the answer did.
    #[error("the connection to `{host}` ended before the answer did: {reason}")]
    Broken { host: String, reason: String },
    /// The body is not what its headers say.
    #[error("the answer of `{host}` cannot be read: {error}")]
    Coding { host: String, error: CodingError },
    /// The machine trusts nobody.
    #[error("no certificate is trusted on this machine; install ca-certificates")]
    NoTrustedRoots,
    /// The address is not one of the internet.
    #[error(
        "`{host}` {}; `allow_private: [{address}]` beside its URL lets it in",
        private(host, *address)
    )]
    PrivateAddress { host: String, address: IpAddr },
    /// The name is not one of the internet.
    #[error(
        "`{host}` is no name of the internet; `allow_private: [{host}]` beside its URL lets it in"
    )]
    PrivateName { host: String },
    /// The proxy does not do what it is there for.
    #[error("the proxy cannot be used: {reason}")]
    Proxy { reason: String },
    /// No connection within the time that one may take.
    #[error("`{host}` cannot be reached: no connection within {} seconds", within.as_secs())]
    SlowConnection { host: String, within: Duration },
    /// No TLS with the server.
    #[error("no secure connection with `{host}`: {reason}")]
    Tls { host: String, reason: String },
    /// The authorization server grants no token.
    #[error("no access token from `{host}`: {reason}")]
    Token { host: String, reason: String },
    /// The answer is longer than it may be.
    #[error("the answer of `{host}` is longer than {limit} bytes")]
    TooLarge { host: String, limit: usize },
    /// It is redirected again and again.
    #[error("`{host}` redirects more than {max} times")]
    TooManyRedirects { host: String, max: usize },
    /// Nobody is there.
    #[error("`{host}` cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// The name has no address.
    #[error("`{host}` cannot be found: {reason}")]
    UnknownHost { host: String, reason: String },
}

fn private(host: &str, address: IpAddr) -> String {
    match host.parse::<IpAddr>() {
        Ok(typed) if address == typed => "is no address of the internet".to_owned(),
        _ => format!("is at {address}, which is no address of the internet"),
    }
}
