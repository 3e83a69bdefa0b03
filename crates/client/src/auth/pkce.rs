//! Texts that nobody can guess: the verifier of a code and its challenge (RFC 7636), and `state`.

use super::error::AuthError;
use super::secret::Secret;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// A verifier and the challenge that is made of it.
#[derive(Clone, Debug)]
pub(crate) struct Pkce {
    pub(crate) verifier: Secret,
    pub(crate) challenge: String,
}

impl Pkce {
    pub(crate) fn new() -> Result<Self, AuthError> {
        let verifier = random()?;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        Ok(Self { verifier: Secret::new(verifier), challenge })
    }
}

/// 256 bits of chance in 43 characters that need no escape.
pub(crate) fn random() -> Result<String, AuthError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| AuthError::NoRandomness)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_hash_of_a_verifier_that_is_never_the_same() {
        let (one, other) = (Pkce::new().expect("chance"), Pkce::new().expect("chance"));
        assert_ne!(one.verifier.reveal(), other.verifier.reveal());
        assert_eq!(one.verifier.reveal().len(), 43, "RFC 7636, 4.1: 43 to 128 characters");
        assert!(!format!("{one:?}").contains(one.verifier.reveal()));
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let hash = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        assert_eq!(hash, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
