//! The certificate of a server: read for `serve`, with what is wrong with its files in a line. What
//! it is used for is `haft-transport`'s.

use crate::exit::{Exit, Failure};
use haft_transport::http::{Tls, TlsError};
use std::fs;
use std::path::{Path, PathBuf};

/// Which certificate a server shows over HTTP.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TlsArgs {
    /// Serve HTTPS and HTTP/3, not HTTP, with the certificates of this PEM file, the server's own
    /// first
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "stdio")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of that certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// What the files have, if there are any.
    ///
    /// # Errors
    /// A failure if one cannot be read, is something else, or is not the other's.
    pub(crate) fn read(&self) -> Result<Option<Tls>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let (chain, secret) = (bytes(certificate)?, bytes(key)?);
        let tls = Tls::from_pem(&chain, &secret).map_err(|error| wrong(error, certificate, key))?;
        Ok(Some(tls))
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot read {}: {error}", file.display()))
    })
}

fn wrong(error: TlsError, certificate: &Path, key: &Path) -> Failure {
    let file = if error.is_of_certificate() { certificate } else { key };
    Failure::new(Exit::Usage, format!("{}: {error}", file.display()))
}
