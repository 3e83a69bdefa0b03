//! Who an agent is: a key that never leaves it, and the certificate for it, in one file that only
//! its owner reads.

use super::{Issued, Token, TrustError, files, tls};
use crate::limits::CLOCK_SLACK;
use rcgen::{CertificateParams, KeyPair};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use x509_parser::parse_x509_certificate;

/// See above.
pub struct Identity {
    key: PrivateKeyDer<'static>,
    certificate: CertificateDer<'static>,
    authority: CertificateDer<'static>,
    name: String,
    from: SystemTime,
    until: SystemTime,
    /// What the token hashes to that it joined with.
    token: Option<String>,
    /// As it dialled before: what the last handshake left behind is in there.
    dialling: OnceLock<Arc<ClientConfig>>,
}

/// How the line begins that says by which token an agent joined.
const JOINED_WITH: &str = "Joined with: ";

/// A key, and the request for a certificate for it.
pub(crate) struct Wish {
    key: KeyPair,
    /// PKCS #10, as DER.
    pub(crate) request: Vec<u8>,
}

impl Wish {
    pub(crate) fn new() -> Result<Self, TrustError> {
        let no_key = |error: rcgen::Error| TrustError::NoKey { why: error.to_string() };
        let key = KeyPair::generate().map_err(no_key)?;
        let request = CertificateParams::default().serialize_request(&key).map_err(no_key)?;
        Ok(Self { request: request.der().to_vec(), key })
    }

    /// Keeps what was granted, in the place of what was there, and what the token hashes to by
    /// which the agent came to it.
    pub(crate) fn granted(
        self,
        issued: &Issued,
        path: &Path,
        token: Option<&str>,
    ) -> Result<Identity, TrustError> {
        if let Some(directory) = path.parent() {
            files::directory(directory)?;
        }
        let pem = |der: &[u8]| {
            let body = base64(der);
            format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
        };
        let (own, authority) = (pem(&issued.certificate), pem(&issued.authority));
        // What is before PEM's first line is for people.
        let token = token.map(|token| format!("{JOINED_WITH}{token}\n")).unwrap_or_default();
        let text = format!("{token}{}{own}{authority}", self.key.serialize_pem());
        let identity = Identity::read(&text, path)?;
        files::write(path, &text)?;
        Ok(identity)
    }
}

impl Identity {
    /// That of a file.
    ///
    /// # Errors
    /// [`TrustError::NotJoined`] if there is none; [`TrustError::OutOfTime`] if it does not hold
    /// now; and what else may be wrong with it.
    pub fn load(path: &Path, now: SystemTime) -> Result<Self, TrustError> {
        let text = files::read(path)?.ok_or(TrustError::NotJoined)?;
        let identity = Self::read(&text, path)?;
        let out = |when: String| Err(TrustError::OutOfTime { when });
        if now > identity.until {
            return out(format!("until {}", shown(identity.until)));
        }
        if now < identity.from {
            return out(format!("from {}", shown(identity.from)));
        }
        Ok(identity)
    }

    fn read(text: &str, path: &Path) -> Result<Self, TrustError> {
        let damaged =
            |what: &str| TrustError::Damaged { path: path.to_owned(), what: what.to_owned() };
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(|_| damaged("there is no key"))?;
        let mut certificates = CertificateDer::pem_slice_iter(text.as_bytes());
        let mut next = || certificates.next().and_then(Result::ok);
        let (Some(certificate), Some(authority)) = (next(), next()) else {
            return Err(damaged("a certificate is missing"));
        };
        let (_, parsed) =
            parse_x509_certificate(&certificate).map_err(|_| damaged("the certificate is none"))?;
        let name = parsed.subject().iter_common_name().next();
        let name = name.and_then(|name| name.as_str().ok());
        let name = name.ok_or_else(|| damaged("the certificate has no name"))?.to_owned();
        let at = |time: i64| SystemTime::UNIX_EPOCH + Duration::from_secs(time.unsigned_abs());
        let validity = parsed.validity();
        let from = at(validity.not_before.timestamp());
        let until = at(validity.not_after.timestamp());
        let dialling = OnceLock::new();
        let token = text.lines().next().and_then(|line| line.strip_prefix(JOINED_WITH));
        let token = token.map(str::to_owned);
        Ok(Self { key, certificate, authority, name, from, until, token, dialling })
    }

    /// What the agent is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it came by this token to be who it is.
    #[must_use]
    pub fn is_joined_with(&self, token: &Token) -> bool {
        self.token.as_deref() == Some(&*token.fingerprint())
    }

    /// What that token hashes to.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// When a new certificate is due: two thirds of its life are over.
    #[must_use]
    pub fn renewal(&self) -> SystemTime {
        let begun = self.from + CLOCK_SLACK;
        let life = self.until.duration_since(begun).unwrap_or_default();
        begun + life / 3 * 2
    }

    /// How it dials its gateway: once there, it needs no certificate for a while.
    ///
    /// # Errors
    /// The key and the certificate do not fit.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, TrustError> {
        if let Some(dialling) = self.dialling.get() {
            return Ok(Arc::clone(dialling));
        }
        let made = tls::client(&self.authority, self.certificate.clone(), self.key.clone_key())?;
        Ok(Arc::clone(self.dialling.get_or_init(|| made)))
    }

    /// How whoever has a token dials the gateway that gave it out.
    ///
    /// # Errors
    /// None that is known.
    pub fn joining(token: &Token) -> Result<Arc<ClientConfig>, TrustError> {
        tls::joining(token)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("name", &self.name).finish_non_exhaustive()
    }
}

fn shown(time: SystemTime) -> String {
    let time = time::OffsetDateTime::from(time);
    format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute())
}

/// In lines of 64 letters, as PEM has them.
fn base64(der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
    lines.map(|line| format!("{line}\n")).collect()
}
