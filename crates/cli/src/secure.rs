//! The certificate of a server: read for `serve`, again when SIGHUP says so, with what is wrong
//! with its files in a line. What it is used for is `haft-transport`'s.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use haft_transport::http::{Tls, TlsError};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

/// A certificate, and the files that it is from.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) tls: Tls,
    /// Where clients are told that HTTP/3 is, if not at its own port.
    pub(crate) http3_port: Option<u16>,
    files: [PathBuf; 2],
}

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
    /// Tell clients that HTTP/3 is at that port, where what is before haft maps it to another; 0 if
    /// no UDP comes through
    #[arg(long, value_name = "PORT", requires = "tls_cert")]
    pub(crate) http3_port: Option<u16>,
}

impl TlsArgs {
    /// What the files have, if there are any.
    ///
    /// # Errors
    /// A failure if one cannot be read, is something else, or is not the other's.
    pub(crate) fn read(&self, printer: Printer) -> Result<Option<Certificate>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let (chain, secret) = (bytes(certificate)?, bytes(key)?);
        let tls = Tls::from_pem(&chain, &secret).map_err(|error| wrong(error, certificate, key))?;
        if fs::metadata(key).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0) {
            let key = key.display();
            printer.warn(&format!("everybody here can read the key {key}; run `chmod o= {key}`"));
        }
        let files = [certificate.clone(), key.clone()];
        Ok(Some(Certificate { tls, http3_port: self.http3_port, files }))
    }
}

impl Certificate {
    /// Reads the files again, for those who come from now on. Bad ones change nothing, and are told
    /// of.
    pub(crate) async fn read_again(&self, printer: Printer) {
        let Self { tls, files, .. } = self.clone();
        let reading = spawn_blocking(move || {
            let [certificate, key] = &files;
            let (chain, secret) = (bytes(certificate)?, bytes(key)?);
            tls.renew(&chain, &secret).map_err(|error| wrong(error, certificate, key))
        });
        if let Ok(Err(failure)) = reading.await {
            printer.warn(&format!("the certificate stays what it was: {}", failure.message));
        }
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
