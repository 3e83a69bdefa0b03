//! A certificate and its key, as TLS over TCP and QUIC take them: what a listener is given that
//! speaks HTTPS and HTTP/3. Reads no file.

use quinn::crypto::rustls::QuicServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// See the head of this file. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    tcp: Arc<ServerConfig>,
    quic: Arc<QuicServerConfig>,
}

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
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|_| TlsError::NoCertificate)?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
        let both = &[&rustls::version::TLS13, &rustls::version::TLS12];
        let tcp = config(builder(both), &chain, &key, &[b"h2", b"http/1.1"])?;
        // Nothing may be said before the handshake has ended: somebody on the way could say it
        // again. That is what `max_early_data_size` is as it comes.
        let quic = config(builder(&[&rustls::version::TLS13]), &chain, &key, &[b"h3"])?;
        let quic = QuicServerConfig::try_from(quic).expect("TLS 1.3 of ring has the ciphers");
        Ok(Self { tcp: Arc::new(tcp), quic: Arc::new(quic) })
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

type Builder = ConfigBuilder<ServerConfig, WantsVerifier>;

fn builder(versions: &[&'static rustls::SupportedProtocolVersion]) -> Builder {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("ring has ciphers for both versions")
}

fn config(
    builder: Builder,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    protocols: &[&[u8]],
) -> Result<ServerConfig, TlsError> {
    let config = builder.with_no_client_auth().with_single_cert(chain.to_vec(), key.clone_key());
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch,
        rustls::Error::InvalidCertificate(_) => TlsError::BadCertificate,
        _ => TlsError::BadKey,
    })?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
