//! What TLS needs: the certificates that this machine trusts, read once and only when an `https:`
//! address is dialled.

use crate::error::FetchError;
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use std::sync::{Arc, OnceLock};

static CONFIG: OnceLock<Result<Arc<ClientConfig>, FetchError>> = OnceLock::new();

/// The configuration for all connections. Reads files the first time.
pub(crate) fn config() -> Result<Arc<ClientConfig>, FetchError> {
    CONFIG.get_or_init(read).clone()
}

fn read() -> Result<Arc<ClientConfig>, FetchError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| FetchError::NoTrustedRoots)?
        .with_native_roots()
        .map_err(|_| FetchError::NoTrustedRoots)?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
