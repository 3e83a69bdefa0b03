//! What a listener with a certificate speaks: TLS over TCP, and HTTP/3. In a program only if
//! `haft-transport` is built with the feature `tls`; without it, there is nothing of it.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod certificate;
#[cfg(feature = "tls")]
mod handshake;
#[cfg(feature = "tls")]
mod http3;

#[cfg(not(feature = "tls"))]
pub(super) use absent::{Http3, Secure, Way};
#[cfg(feature = "tls")]
pub use certificate::{Tls, TlsError};
#[cfg(feature = "tls")]
pub(super) use handshake::Secure;
#[cfg(feature = "tls")]
pub(super) use http3::{Http3, Way};
