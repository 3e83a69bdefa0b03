//! The bytes of one connection: the pipes of a child process, a socket, or TLS over one. Opened for
//! a run and after a server has closed one. What the bytes mean is not known here.

use crate::error::BenchError;
use crate::plan::{HttpVersion, Target};
use haft_client::{Launch, Process};
use http::Uri;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A way to a server and back.
#[derive(Debug)]
pub(crate) enum Stream {
    Pipes(Box<Pipes>),
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A child and its pipes; dropping them kills it.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) process: Process,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

/// How streams to one target are opened.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    Command(Launch),
    Address { host: String, port: u16, tls: Option<(Arc<ClientConfig>, ServerName<'static>)> },
}

impl Door {
    /// Prepares to open streams; reads the certificates that this machine trusts, if they are
    /// needed.
    ///
    /// # Errors
    /// [`BenchError::Plan`] for an address that is none.
    pub(crate) fn to(target: &Target) -> Result<Self, BenchError> {
        match target {
            Target::Command(launch) => Ok(Self::Command(launch.clone())),
            Target::Url { uri, version, .. } => Self::address(uri, *version),
        }
    }

    fn address(uri: &Uri, version: HttpVersion) -> Result<Self, BenchError> {
        let no_address = |what: &str| BenchError::Plan(format!("{what} in the URL"));
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(no_address("there is no http:// or https://")),
        };
        let host = uri.host().ok_or_else(|| no_address("there is no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let tls = if is_tls {
            let name = ServerName::try_from(host.clone());
            let name = name.map_err(|_| no_address("there is a host that TLS does not know"))?;
            Some((tls_config(version)?, name))
        } else {
            None
        };
        Ok(Self::Address { host, port, tls })
    }

    /// Opens a stream within a time.
    ///
    /// # Errors
    /// [`BenchError::Unreachable`].
    pub(crate) async fn open(&self, limit: Duration) -> Result<Stream, BenchError> {
        let unreachable =
            |error: &dyn std::fmt::Display| BenchError::Unreachable(error.to_string());
        let (host, port, tls) = match self {
            Self::Command(launch) => {
                let started = Process::start(launch).map_err(|error| unreachable(&error))?;
                let (process, stdin, stdout) = started;
                return Ok(Stream::Pipes(Box::new(Pipes { process, stdin, stdout })));
            }
            Self::Address { host, port, tls } => (host, *port, tls),
        };
        let open = async {
            let tcp = TcpStream::connect((host.as_str(), port)).await?;
            tcp.set_nodelay(true)?;
            Ok::<_, io::Error>(match tls {
                None => Stream::Tcp(tcp),
                Some((config, name)) => {
                    let connector = TlsConnector::from(Arc::clone(config));
                    Stream::Tls(Box::new(connector.connect(name.clone(), tcp).await?))
                }
            })
        };
        match timeout(limit, open).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(BenchError::Unreachable(format!("{host}:{port}: {error}"))),
            Err(_) => Err(BenchError::Unreachable(format!("{host}:{port} does not answer"))),
        }
    }
}

fn tls_config(version: HttpVersion) -> Result<Arc<ClientConfig>, BenchError> {
    let mut roots = RootCertStore::empty();
    // What cannot be read is no certificate to trust; without any, nothing can be reached.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let why = "this machine has no trusted certificates; install ca-certificates";
        return Err(BenchError::Unreachable(why.to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| BenchError::System(error.to_string()))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![match version {
        HttpVersion::One => b"http/1.1".to_vec(),
        HttpVersion::Two => b"h2".to_vec(),
    }];
    Ok(Arc::new(config))
}

impl Stream {
    /// Why it ended, as far as anybody knows: the last words of a child.
    pub(crate) async fn last_words(&mut self) -> String {
        let Self::Pipes(pipes) = self else { return String::new() };
        let (status, words) = pipes.process.ending().await;
        let status = status.map_or(String::new(), |status| format!(": the server ended, {status}"));
        if words.is_empty() { status } else { format!("{status}: {words}") }
    }

    /// The number of the child's process group.
    pub(crate) fn group(&self) -> Option<u32> {
        match self {
            Self::Pipes(pipes) => pipes.process.id(),
            Self::Tcp(_) | Self::Tls(_) => None,
        }
    }

    /// Ends it in an orderly way.
    pub(crate) async fn close(self) {
        if let Self::Pipes(pipes) = self {
            let Pipes { mut process, stdin, stdout } = *pipes;
            drop((stdin, stdout));
            process.stop().await;
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipes(pipes) => Pin::new(&mut pipes.stdout).poll_read(context, buffer),
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipes(pipes) => Pin::new(&mut pipes.stdin).poll_write(context, bytes),
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipes(pipes) => Pin::new(&mut pipes.stdin).poll_flush(context),
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipes(pipes) => Pin::new(&mut pipes.stdin).poll_shutdown(context),
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
