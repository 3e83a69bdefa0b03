//! The gateway's own authority: signs its certificate and those of its agents, and says which of
//! them hold.

use super::register::{Entries, Register, Registered, Stamp, seconds};
use super::sessions::Echoes;
use super::tickets::TicketSecret;
use super::token::Token;
use super::{EarlyData, TrustError, checked_name, files, tls};
use crate::limits::{CERTIFICATE_LIFE, CLOCK_SLACK};
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SanType,
    SerialNumber,
};
use ring::hmac;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer, PrivateKeyDer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use tokio::sync::watch;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::FromDer;

/// See above.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    directory: PathBuf,
    register: Register,
    /// The register as it was read last.
    known: Mutex<Known>,
    echoes: Echoes,
}

/// A certificate of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Whose it is.
    pub agent: String,
    /// As DER.
    pub certificate: Vec<u8>,
    /// Of whoever signed it, as DER.
    pub authority: Vec<u8>,
    /// Until when it holds, in seconds since 1970.
    pub expires: u64,
}

/// What the name of an agent stands behind in its certificate.
pub(super) const AGENT_URI: &str = "haft:agent:";
/// What a gateway is called in its certificate, wherever it is.
pub(crate) const GATEWAY_NAME: &str = "gateway.haft.internal";
/// How long an authority is one.
const AUTHORITY_LIFE: Duration = Duration::from_secs(20 * 365 * 24 * 60 * 60);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// That of a directory, which is made if there is none. Replicas of a gateway share one.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn open(directory: &Path, now: SystemTime) -> Result<Self, TrustError> {
        files::own_directory(directory)?;
        let path = directory.join("authority.pem");
        let _held = files::hold(directory)?;
        let text = match files::read(&path)? {
            Some(text) => text,
            None => {
                let made = make(now)?;
                files::write(&path, &made)?;
                made
            }
        };
        let damaged = |what: String| TrustError::Damaged { path: path.clone(), what };
        let key = KeyPair::from_pem(&text).map_err(|error| damaged(error.to_string()))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|error| damaged(error.to_string()))?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key);
        let issuer = issuer.map_err(|error| damaged(error.to_string()))?;
        let (register, known) = (Register::at(directory), Mutex::default());
        let (directory, echoes) = (directory.to_owned(), Echoes::default());
        Ok(Self { issuer, certificate, directory, register, known, echoes })
    }

    /// A token with which somebody can join as that agent, once and soon. An agent that has the
    /// name already loses it when somebody does.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn invite(&self, name: &str, now: SystemTime, life: Duration) -> Result<Token, TrustError> {
        let name = checked_name(name)?;
        let token = Token::new(&self.certificate)?;
        let fingerprint = token.fingerprint();
        self.register.change(|entries| entries.invite(fingerprint, name, (now, life)))?;
        Ok(token)
    }

    /// A certificate for whoever brings a token; `request` is PKCS #10, as DER.
    ///
    /// # Errors
    /// [`TrustError`]. A token is used up by any request that can be signed.
    pub fn join(&self, token: &str, request: &[u8], now: SystemTime) -> Result<Issued, TrustError> {
        let fingerprint = token.parse::<Token>()?.fingerprint();
        // Whoever guesses keeps nobody from changing it.
        if !self.known()?.1.is_invited(&fingerprint) {
            return Err(TrustError::UnknownToken);
        }
        let request = read_request(request)?;
        self.register.change(|entries| {
            let name = entries.redeem(&fingerprint, now)?;
            self.issue(entries, (&name, None), request, now)
        })
    }

    /// Another certificate for an agent that has one, by which it is known: that one holds as well
    /// until the new one has been shown and renewed.
    ///
    /// # Errors
    /// [`TrustError`]. One that was revoked meanwhile gets no other.
    pub fn renew(
        &self,
        chain: &[CertificateDer<'_>],
        request: &[u8],
        now: SystemTime,
    ) -> Result<Issued, TrustError> {
        let request = read_request(request)?;
        let Named { name, serial, .. } =
            chain.first().and_then(named).ok_or(TrustError::Foreign)?;
        self.register.change(|entries| match entries.until(&name, &serial) {
            None => Err(TrustError::Revoked),
            Some(until) if seconds(now) > until => Err(TrustError::Over),
            Some(_) => self.issue(entries, (&name, Some(serial)), request, now),
        })
    }

    /// Takes an agent's certificate away, and the tokens that somebody could join with as it;
    /// whether there were any.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn revoke(&self, name: &str) -> Result<bool, TrustError> {
        self.register.change(|entries| Ok(entries.revoke(name)))
    }

    /// The agents that have joined, by their names.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn agents(&self) -> Result<BTreeMap<String, Registered>, TrustError> {
        self.register.read().map(Entries::agents)
    }

    /// Whose a chain of certificates is, which TLS has found to be good, now or before.
    ///
    /// # Errors
    /// It was revoked, is over, or is no agent's.
    pub fn agent_of(
        &self,
        chain: &[CertificateDer<'_>],
        now: SystemTime,
    ) -> Result<String, TrustError> {
        let Named { name, serial, until } =
            chain.first().and_then(named).ok_or(TrustError::Foreign)?;
        if seconds(now) > until {
            return Err(TrustError::Over);
        }
        match self.known()?.1.holds(&name, &serial) {
            true => Ok(name),
            false => Err(TrustError::Revoked),
        }
    }

    /// Whether whoever came with that chain may stay: it was not revoked, and if it is over, the
    /// agent has another.
    ///
    /// # Errors
    /// It may not, or nobody can tell.
    pub(crate) fn stays(
        &self,
        chain: &[CertificateDer<'_>],
        now: SystemTime,
    ) -> Result<(), TrustError> {
        let Named { name, serial, .. } =
            chain.first().and_then(named).ok_or(TrustError::Foreign)?;
        match self.known()?.1.until(&name, &serial) {
            None => Err(TrustError::Revoked),
            Some(until) if seconds(now) > until => Err(TrustError::Over),
            Some(_) => Ok(()),
        }
    }

    /// What the register has, read again if it has been changed.
    fn known(&self) -> Result<MutexGuard<'_, Known>, TrustError> {
        let stamp = self.register.stamp();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != stamp || stamp.is_none() {
            *known = (stamp, self.register.read()?);
        }
        Ok(known)
    }

    /// How a gateway answers, over QUIC or TCP: whoever has no certificate may join. An agent that
    /// was at any gateway of this authority within
    /// [`TICKET_LIFE`](crate::limits::TICKET_LIFE) needs no certificate again: TLS does not look
    /// at it, so whoever takes a link asks [`Authority::agent_of`]. Tickets are sealed with that
    /// secret, or with one of the authority's own.
    ///
    /// # Errors
    /// [`TrustError::NoKey`], and [`TrustError::File`] if early data is taken and nothing can be
    /// kept.
    pub fn server_config(
        &self,
        now: SystemTime,
        early: EarlyData,
        secret: Option<&TicketSecret>,
    ) -> Result<Arc<ServerConfig>, TrustError> {
        let key = KeyPair::generate().map_err(no_key)?;
        let mut params = CertificateParams::new(vec![GATEWAY_NAME.to_owned()]).map_err(no_key)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        (params.not_before, params.not_after) = span(now, AUTHORITY_LIFE);
        let certificate = params.signed_by(&key, &self.issuer).map_err(no_key)?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        let mut config = tls::server(&self.certificate, chain, PrivateKeyDer::from(key))?;
        let sessions = self.directory.join("sessions");
        let secret = secret.map_or_else(|| self.secret("tickets"), |secret| *secret.bytes());
        tls::resume(&mut config, early, &secret, (&sessions, self.echoes.clone()))?;
        Ok(Arc::new(config))
    }

    /// How often somebody has said early what had been said before, and was not heard.
    #[must_use]
    pub fn echoes(&self) -> watch::Receiver<u64> {
        self.echoes.subscribe()
    }

    /// What gateways with this authority have in common and nobody else knows, for that purpose.
    pub(crate) fn secret(&self, purpose: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.issuer.key().serialize_der());
        hmac::sign(&key, purpose.as_bytes()).as_ref().try_into().expect("it has 32 bytes")
    }

    /// Signs what was read, and enters it.
    fn issue(
        &self,
        entries: &mut Entries,
        (name, before): (&str, Option<String>),
        mut request: CertificateSigningRequestParams,
        now: SystemTime,
    ) -> Result<Issued, TrustError> {
        let mut serial = [0; 16];
        getrandom::fill(&mut serial)
            .map_err(|error| TrustError::NoKey { why: error.to_string() })?;
        // A positive number, which begins with no zero.
        serial[0] = serial[0] & 0x7f | 0x40;
        let uri = Ia5String::try_from(format!("{AGENT_URI}{name}")).map_err(no_key)?;
        // Of the request only the key counts.
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = vec![SanType::URI(uri)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        (params.not_before, params.not_after) = span(now, CERTIFICATE_LIFE);
        let expires = params.not_after.unix_timestamp().unsigned_abs();
        request.params = params;
        let certificate = request.signed_by(&self.issuer).map_err(|_| TrustError::BadRequest)?;
        let serial = hexadecimal(&serial);
        let entry = Registered { serial, before, since: seconds(now), until: expires };
        entries.enter(name, entry)?;
        Ok(Issued {
            agent: name.to_owned(),
            certificate: certificate.der().to_vec(),
            authority: self.certificate.to_vec(),
            expires,
        })
    }
}

/// A new authority, as text.
fn make(now: SystemTime) -> Result<String, TrustError> {
    let key = KeyPair::generate().map_err(no_key)?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "haft gateway");
    (params.not_before, params.not_after) = span(now, AUTHORITY_LIFE);
    let certificate = params.self_signed(&key).map_err(no_key)?;
    Ok(format!("{}{}", key.serialize_pem(), certificate.pem()))
}

/// From when to when a certificate holds: clocks differ.
fn span(now: SystemTime, life: Duration) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::from(now);
    (now - CLOCK_SLACK, now + life)
}

fn read_request(request: &[u8]) -> Result<CertificateSigningRequestParams, TrustError> {
    let der = CertificateSigningRequestDer::from(request.to_vec());
    let read = CertificateSigningRequestParams::from_der(&der);
    let read = read.map_err(|_| TrustError::BadRequest)?;
    // What kind of key it is was guessed from the signature: it may be of a kind that was not
    // meant, for which the certificate would be of no use, though the token was used up.
    let (rest, parsed) =
        X509CertificationRequest::from_der(request).map_err(|_| TrustError::BadRequest)?;
    let meant = parsed.certification_request_info.subject_pki.raw;
    match rest.is_empty() && read.public_key.subject_public_key_info() == meant {
        true => Ok(read),
        false => Err(TrustError::BadRequest),
    }
}

/// A register, and which file it was.
type Known = (Option<Stamp>, Entries);

/// What a certificate says of an agent.
struct Named {
    name: String,
    serial: String,
    /// Seconds since 1970.
    until: u64,
}

fn named(certificate: &CertificateDer<'_>) -> Option<Named> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let names = certificate.subject_alternative_name().ok()??;
    let name = names.value.general_names.iter().find_map(|name| match name {
        GeneralName::URI(uri) => uri.strip_prefix(AGENT_URI),
        _ => None,
    });
    let name = checked_name(name?).ok()?.to_owned();
    let until = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    Some(Named { name, serial: hexadecimal(certificate.raw_serial()), until })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn no_key(error: rcgen::Error) -> TrustError {
    TrustError::NoKey { why: error.to_string() }
}
