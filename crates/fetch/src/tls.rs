//! What TLS needs: the certificates that this machine trusts, read once and only when an `https:`
//! address is dialled.

use crate::error::FetchError;
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use std::sync::{Arc, OnceLock};

static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();

/// The configuration for all connections. Reads files until they can be read.
pub(crate) fn config() -> Result<Arc<ClientConfig>, FetchError> {
    kept(&CONFIG, read)
}

/// What is made once; a failure is not kept, since certificates may be installed meanwhile.
fn kept<T: Clone, E>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    match cell.get() {
        Some(made) => Ok(made.clone()),
        None => make().map(|made| cell.get_or_init(|| made).clone()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_kept() {
        let cell = OnceLock::new();
        assert_eq!(kept(&cell, || Err::<u8, _>("no file")), Err("no file"));
        assert_eq!(kept(&cell, || Ok::<_, &str>(1)), Ok(1));
        assert_eq!(kept(&cell, || Err("not asked")), Ok(1));
    }
}
