//! How a client proves who it is by a signature (RFC 7523): a JWT, made for one request.

use super::error::AuthError;
use super::secret::Secret;
use crate::limits::TOKEN_BYTES_MAX;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The type of such a proof.
pub(crate) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long a proof is good: it is used at once.
const LIFE: Duration = Duration::from_secs(60);

/// A key that signs. The algorithm is a matter of the key.
enum Key {
    Es256(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
    Rs256(Box<RsaKeyPair>),
}

/// A proof that this is `client_id`, for nobody but `audience`.
pub(crate) fn sign(pem: &Secret, client_id: &str, audience: &str) -> Result<Secret, AuthError> {
    let key = read(pem)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": super::pkce::random()?,
        "iat": now.as_secs(),
        "exp": (now + LIFE).as_secs(),
    });
    let head = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let encode = |part: String| BASE64_URL_SAFE_NO_PAD.encode(part);
    let signed = format!("{}.{}", encode(head.to_string()), encode(claims.to_string()));
    let signature = key.sign(signed.as_bytes())?;
    Ok(Secret::new(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))))
}

fn read(pem: &Secret) -> Result<Key, AuthError> {
    let bad = |reason: &str| AuthError::BadKey { reason: reason.to_owned() };
    let text = pem.reveal();
    let inside = text.len() <= TOKEN_BYTES_MAX;
    let inside = inside.then(|| text.split_once("-----BEGIN PRIVATE KEY-----")).flatten();
    let inside = inside.and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"));
    let Some((inside, _)) = inside else { return Err(bad("it is no PEM of PKCS #8")) };
    let packed: String = inside.split_whitespace().collect();
    let der = BASE64_STANDARD.decode(packed).map_err(|_| bad("it is no Base64"))?;
    let chance = SystemRandom::new();
    if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &chance) {
        return Ok(Key::Es256(Box::new(key)));
    }
    if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
        return Ok(Key::Ed25519(Box::new(key)));
    }
    RsaKeyPair::from_pkcs8(&der)
        .map(|key| Key::Rs256(Box::new(key)))
        .map_err(|_| bad("it is none of P-256, Ed25519 and RSA"))
}

impl Key {
    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
            Self::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AuthError> {
        let chance = SystemRandom::new();
        let failed = |_| AuthError::BadKey { reason: "it does not sign".to_owned() };
        match self {
            Self::Es256(key) => {
                key.sign(&chance, message).map(|signature| signature.as_ref().to_vec())
            }
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &chance, message, &mut signature).map(|()| signature)
            }
        }
        .map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};
    use serde_json::Value;

    #[test]
    fn a_proof_is_signed_and_for_one_audience_and_a_minute() {
        let chance = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &chance);
        let der = der.expect("a key");
        let body = BASE64_STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        let proof = sign(&Secret::new(pem), "me", "https://as").expect("a proof");
        let parts: Vec<&str> = proof.reveal().split('.').collect();
        let [head, claims, signature] = parts[..] else { panic!("three parts") };
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).expect("Base64");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &chance)
                .expect("a key");
        let public = pair.public_key().as_ref();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public)
            .verify(format!("{head}.{claims}").as_bytes(), &decode(signature))
            .expect("the signature is good");
        let head: Value = serde_json::from_slice(&decode(head)).expect("JSON");
        assert_eq!(head["alg"], "ES256");
        let claims: Value = serde_json::from_slice(&decode(claims)).expect("JSON");
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
        assert_eq!(claims["aud"], "https://as");
        let (from, to) = (claims["iat"].as_u64(), claims["exp"].as_u64());
        assert_eq!(to.zip(from).map(|(to, from)| to - from), Some(60));
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        for text in [
            "hunter2",
            "-----BEGIN PRIVATE KEY-----hunter2",
            "-----BEGIN PRIVATE KEY-----hunter2!-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----aHVudGVyMg==-----END PRIVATE KEY-----",
        ] {
            let error = sign(&Secret::new(text), "me", "x").expect_err("no key");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
