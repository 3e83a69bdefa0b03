//! From a URL to a server that can be spoken to: its name, its address, its port, its certificate.
//! And what is tried when that fails: the other scheme, the usual path. Used by `probe`.

use super::Findings;
use crate::exit::{Exit, Failure};
use crate::reach::Route;
use haft_client::{ClientError, Target, connect};
use haft_editors::shown_url;
use http::Uri;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long a guess may take, after which there is no hint.
const GUESS_TIME_MAX: Duration = Duration::from_secs(5);

/// What of a URL says where the server is.
struct Place {
    host: String,
    port: u16,
    is_tls: bool,
}

/// Looks up the name, connects, and shakes hands for TLS; true if all went well.
pub(super) async fn probe(url: &str, route: &Route, findings: &mut Findings) -> bool {
    let since = Instant::now();
    let place = match place(url) {
        Ok(place) => place,
        Err(failure) => return findings.add("url", since, Err(failure)),
    };
    let limit = route.options.timeout;
    let addresses = within(limit, "the name server", resolve(&place)).await;
    let said = addresses.as_ref().map(|addresses| shown(addresses)).map_err(Failure::clone);
    findings.add("dns", since, said);
    let Ok(addresses) = addresses else { return false };
    let since = Instant::now();
    let stream = within(limit, "the other side", reach(&addresses, &place)).await;
    let said = match &stream {
        Ok(stream) => Ok(stream.peer_addr().map(|at| at.to_string()).unwrap_or_default()),
        Err(failure) => Err(failure.clone()),
    };
    findings.add("tcp", since, said);
    let Ok(stream) = stream else { return false };
    if !place.is_tls {
        return true;
    }
    let since = Instant::now();
    let secured = within(limit, "the TLS handshake", secure(stream, &place)).await;
    findings.add("tls", since, secured)
}

/// The usual address of an MCP server on the same host, if there is one.
pub(super) async fn endpoint_near(url: &str, route: &Route) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let mut options = route.options.clone();
    options.timeout = options.timeout.min(GUESS_TIME_MAX);
    for path in ["/mcp", "/"] {
        let near = format!("{scheme}://{authority}{path}");
        if near.trim_end_matches('/') == url.trim_end_matches('/') {
            continue;
        }
        match connect(&Target::Url(near.clone()), &options).await {
            Ok(client) => {
                client.close().await;
                return Some(near);
            }
            Err(ClientError::AuthenticationNeeded { .. }) => return Some(near),
            Err(_) => {}
        }
    }
    None
}

/// That TLS is spoken at an address that was asked for without.
pub(super) async fn other_scheme(url: &str) -> Option<String> {
    let place = place(url).ok().filter(|place| !place.is_tls)?;
    let guess = async {
        let addresses = resolve(&place).await.ok()?;
        let stream = reach(&addresses, &place).await.ok()?;
        is_tls_spoken(stream, &place).await.then_some(())
    };
    timeout(GUESS_TIME_MAX, guess).await.ok().flatten()?;
    Some(format!("TLS is spoken there; try https{}", shown_url(url).strip_prefix("http")?))
}

fn place(url: &str) -> Result<Place, Failure> {
    let no_url = || {
        let shown = shown_url(url);
        let failure = Failure::usage(format!("{shown:?} is no http:// or https:// URL"));
        failure.hint("write it as http://host:port/mcp")
    };
    let uri: Uri = url.parse().map_err(|_| no_url())?;
    let is_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(no_url()),
    };
    let host = uri.host().ok_or_else(no_url)?.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    Ok(Place { host, port, is_tls })
}

async fn within<T>(
    limit: Duration,
    who: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let failure = Failure::new(Exit::TimedOut, format!("{who} said nothing in {limit:?}"));
        Err(failure.hint("a firewall may be between; --timeout 2m waits longer"))
    })
}

async fn resolve(place: &Place) -> Result<Vec<SocketAddr>, Failure> {
    let Place { host, port, .. } = place;
    let hint = "check the name, and that this machine is on the right network";
    match lookup_host((host.as_str(), *port)).await {
        Ok(addresses) => {
            let addresses: Vec<SocketAddr> = addresses.collect();
            if addresses.is_empty() {
                let message = format!("the name {host} has no address");
                return Err(Failure::new(Exit::Unreachable, message).hint(hint));
            }
            Ok(addresses)
        }
        Err(error) => {
            let message = format!("the name {host} is not known: {error}");
            Err(Failure::new(Exit::Unreachable, message).hint(hint))
        }
    }
}

fn shown(addresses: &[SocketAddr]) -> String {
    let mut shown: Vec<String> =
        addresses.iter().map(|address| address.ip().to_string()).take(4).collect();
    if addresses.len() > shown.len() {
        shown.push(format!("and {} more", addresses.len() - shown.len()));
    }
    shown.join(", ")
}

async fn reach(addresses: &[SocketAddr], place: &Place) -> Result<TcpStream, Failure> {
    let Place { host, port, .. } = place;
    TcpStream::connect(addresses).await.map_err(|error| {
        let message = format!("cannot connect to {host}:{port}: {error}");
        let failure = Failure::new(Exit::Unreachable, message);
        match error.kind() {
            std::io::ErrorKind::ConnectionRefused => {
                failure.hint("nothing listens there: is the server running, is the port right?")
            }
            _ => failure.hint("check the address, and what is between it and you"),
        }
    })
}

async fn secure(stream: TcpStream, place: &Place) -> Result<String, Failure> {
    let name = server_name(place)?;
    let connector = TlsConnector::from(Arc::new(config()?));
    let secured = connector.connect(name, stream).await.map_err(|error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let hint = inner.map_or("does the server speak TLS?", tls_hint);
        let failure = Failure::new(Exit::Unreachable, format!("no TLS: {error}"));
        failure.hint(hint.replace("{}", &format!("http://{}:{}", place.host, place.port)))
    })?;
    let (_, connection) = secured.get_ref();
    let version = connection.protocol_version().and_then(|version| version.as_str().map(plain));
    Ok(version.unwrap_or_else(|| "it is spoken".to_owned()))
}

/// `TLSv1_3` as people write it.
fn plain(version: &str) -> String {
    version.replacen('v', " ", 1).replace('_', ".")
}

fn tls_hint(error: &rustls::Error) -> &'static str {
    use rustls::{CertificateError, Error};
    match error {
        Error::InvalidMessage(_) => "what answers speaks no TLS; try {}",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "nobody whom this machine trusts has signed its certificate; SSL_CERT_FILE names more \
             whom it trusts"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another name; use that name",
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired; renew it, or set this machine's clock",
        Error::InvalidCertificate(_) => "the server needs another certificate",
        _ => "does the server speak TLS 1.2 or 1.3?",
    }
}

fn server_name(place: &Place) -> Result<ServerName<'static>, Failure> {
    ServerName::try_from(place.host.clone()).map_err(|_| {
        Failure::usage(format!("{:?} is no name that a certificate can have", place.host))
    })
}

fn config() -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let message = "no trusted certificates were found";
        let failure = Failure::new(Exit::Unreachable, message);
        return Err(failure.hint("install them, or set SSL_CERT_FILE"));
    }
    Ok(with_roots(roots))
}

fn with_roots(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of both versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Whether a handshake gets as far as a certificate, which nobody here trusts.
async fn is_tls_spoken(stream: TcpStream, place: &Place) -> bool {
    let Ok(name) = server_name(place) else { return false };
    let connector = TlsConnector::from(Arc::new(with_roots(RootCertStore::empty())));
    let Err(error) = connector.connect(name, stream).await else { return true };
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}
