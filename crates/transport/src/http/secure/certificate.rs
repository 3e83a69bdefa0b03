//! A certificate and its key, as TLS over TCP and QUIC take them: what a listener is given that
//! speaks HTTPS and HTTP/3. They may be replaced while it serves. Reads no file.

use quinn::crypto::rustls::QuicServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// See the head of this file. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Tls {
    tcp: Arc<ServerConfig>,
    quic: Arc<QuicServerConfig>,
    shown: Arc<Shown>,
}

/// What clients are shown from now on.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

/// What is wrong with a certificate or a key; the file that it was read from is for the caller to
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsError {
    /// There is no certificate in what should be one.
    NoCertificate,
    /// There is no private key in what should be one.
    NoKey,
    /// The certificate is none that TLS can use.
    BadCertificate,
    /// The key is none that TLS can use.
    BadKey,
    /// The key is another certificate's.
    Mismatch,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCertificate => {
                "there is no certificate in it; give a PEM file, the server's own certificate first"
            }
            Self::NoKey => "there is no private key in it; give a PEM file, without a password",
            Self::BadCertificate => "the certificate in it cannot be read; give one of X.509",
            Self::BadKey => "the key in it is of no use; give one for RSA, ECDSA or Ed25519",
            Self::Mismatch => {
                "the key is not that of the certificate; give the two that belong together"
            }
        })
    }
}

impl Error for TlsError {}

impl TlsError {
    /// Whether it is the certificate that is wrong, and not the key.
    #[must_use]
    pub fn is_of_certificate(self) -> bool {
        matches!(self, Self::NoCertificate | Self::BadCertificate)
    }
}

impl Tls {
    /// Takes the chain of certificates, the server's own first, and its key, both as PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let shown = Arc::new(Shown(RwLock::new(read(certificates, key)?)));
        let both = &[&rustls::version::TLS13, &rustls::version::TLS12];
        let tcp = config(both, &shown, &[b"h2", b"http/1.1"]);
        // Nothing may be said before the handshake has ended: somebody on the way could say it
        // again. That is what `max_early_data_size` is as it comes.
        let quic = config(&[&rustls::version::TLS13], &shown, &[b"h3"]);
        let quic = QuicServerConfig::try_from(quic).expect("TLS 1.3 of ring has the ciphers");
        Ok(Self { tcp: Arc::new(tcp), quic: Arc::new(quic), shown })
    }

    /// Shows others to all who come from now on. If there is an error, nothing changes.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn renew(&self, certificates: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let renewed = read(certificates, key)?;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.tcp))
    }

    pub(super) fn quic(&self) -> Arc<QuicServerConfig> {
        Arc::clone(&self.quic)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(certificates: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let chain = chain.map_err(|_| TlsError::NoCertificate)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
    let both = CertifiedKey::from_der(chain, key, &ring::default_provider());
    both.map(Arc::new).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch,
        rustls::Error::InvalidCertificate(_) => TlsError::BadCertificate,
        _ => TlsError::BadKey,
    })
}

fn config(
    versions: &[&'static SupportedProtocolVersion],
    shown: &Arc<Shown>,
    protocols: &[&[u8]],
) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("ring has ciphers for both versions");
    let shown = Arc::<Shown>::clone(shown);
    let mut config = builder.with_no_client_auth().with_cert_resolver(shown);
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config
}
