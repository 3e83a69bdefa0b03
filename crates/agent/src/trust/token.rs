//! What lets an agent join once: a secret, and by what it knows the gateway. It is shown to whoever
//! carries it there, and nowhere else.

use super::TrustError;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use std::fmt;
use std::str::FromStr;

/// See above.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: [u8; 32],
    /// Of the authority's certificate.
    pin: [u8; 32],
}

/// How it begins, so that people see what it is.
const PREFIX: &str = "haftjoin1.";

impl Token {
    pub(super) fn new(authority: &[u8]) -> Result<Self, TrustError> {
        let mut secret = [0; 32];
        let failed = |error: getrandom::Error| TrustError::NoKey { why: error.to_string() };
        getrandom::fill(&mut secret).map_err(failed)?;
        Ok(Self { secret, pin: hash(authority) })
    }

    /// What the gateway keeps of it, which nobody can join with.
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.secret)
    }

    /// Whether that is the certificate of the gateway's authority.
    pub(super) fn knows(&self, authority: &[u8]) -> bool {
        hash(authority) == self.pin
    }

    /// As it is typed.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode([self.secret, self.pin].concat()))
    }
}

impl FromStr for Token {
    type Err = TrustError;

    fn from_str(text: &str) -> Result<Self, TrustError> {
        let body = text.trim().strip_prefix(PREFIX).ok_or(TrustError::BadToken)?;
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| TrustError::BadToken)?;
        let bytes: [u8; 64] = bytes.try_into().map_err(|_| TrustError::BadToken)?;
        let (secret, pin) = bytes.split_at(32);
        let half = |half: &[u8]| half.try_into().expect("it is half of 64");
        Ok(Self { secret: half(secret), pin: half(pin) })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

fn fingerprint(bytes: &[u8]) -> String {
    hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("it has 32 bytes")
}
