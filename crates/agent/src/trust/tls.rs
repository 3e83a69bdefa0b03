//! TLS as both ends of a link set it up: version 1.3 alone, and nobody's authorities but the
//! gateway's own.

use super::authority::GATEWAY_NAME;
use super::sessions::{Echoes, Sessions};
use super::tickets::Tickets;
use super::{Token, TrustError};
use crate::quic::ALPN;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// Whether a gateway hears what an agent says before the handshake has ended. Somebody on the way
/// could say it again; where it is heard, the second time it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyData {
    /// It does not: tickets carry what the next handshake needs, and nothing is kept.
    Refused,
    /// It does: what the next handshake needs is a file beside the authority, and is used once.
    Taken,
}

/// What an agent asks for, wherever the gateway is.
pub(crate) fn gateway_name() -> ServerName<'static> {
    ServerName::try_from(GATEWAY_NAME).expect("it is a name")
}

/// The gateway's.
pub(super) fn server(
    authority: &CertificateDer<'static>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots(authority)?, Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build();
    let verifier = verifier.map_err(|error| TrustError::NoKey { why: error.to_string() })?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(no_key)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key);
    let mut config = config.map_err(no_key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// Lets handshakes be short that come soon after another, at any gateway with that secret; files
/// are kept in that directory. Told of what was said early twice.
pub(super) fn resume(
    config: &mut ServerConfig,
    early: EarlyData,
    secret: &[u8; 32],
    (directory, echoes): (&Path, Echoes),
) -> Result<(), TrustError> {
    let tickets = Tickets::new(secret, Arc::clone(&config.time_provider));
    match early {
        // With a ticketer rustls takes no early data, whatever the rest of its settings says.
        EarlyData::Refused => config.ticketer = Arc::new(tickets),
        EarlyData::Taken => {
            config.session_storage = Arc::new(Sessions::at(directory, tickets, echoes)?);
            // All that QUIC knows is this or nothing.
            config.max_early_data_size = u32::MAX;
        }
    }
    Ok(())
}

/// That of an agent that has joined.
pub(super) fn client(
    authority: &CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let config = builder()?.with_root_certificates(roots(authority)?);
    let mut config = config.with_client_auth_cert(vec![certificate], key).map_err(no_key)?;
    config.enable_early_data = true;
    Ok(finished(config))
}

/// That of one that is to join, and knows of the gateway what its token says.
pub(super) fn joining(token: &Token) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Pinned { token: token.clone(), provider });
    let config = builder()?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(finished(config.with_no_client_auth()))
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TrustError> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(no_key)
}

fn finished(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![ALPN.to_vec()];
    Arc::new(config)
}

fn roots(authority: &CertificateDer<'static>) -> Result<Arc<RootCertStore>, TrustError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).map_err(no_key)?;
    Ok(Arc::new(roots))
}

fn no_key(error: Error) -> TrustError {
    TrustError::NoKey { why: error.to_string() }
}

/// Trusts the gateway whose authority a token names.
#[derive(Debug)]
struct Pinned {
    token: Token,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let foreign = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let authority = intermediates.iter().find(|one| self.token.knows(one));
        let authority = authority.ok_or_else(foreign)?.clone().into_owned();
        let roots = roots(&authority).map_err(|_| foreign())?;
        let provider = Arc::clone(&self.provider);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        let verifier = verifier.map_err(|_| foreign())?;
        verifier.verify_server_cert(end_entity, &[], server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
