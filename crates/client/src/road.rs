//! How bytes get to a URL: by a `lane` where they are not encrypted, else by TLS, over HTTP/1.1 or
//! HTTP/2; and where redirects lead. Used by the HTTP wire, which says what is sent.

use crate::error::{ClientError, excerpt, with_causes};
use crate::lane::{self, Fault, Lane, Unasked};
use crate::limits::TCP_KEEP_ALIVE;
use crate::options::Options;
use crate::reply::Body;
use bytes::Bytes;
use haft_fetch::{FetchError, Proxied, Proxies};
use http::header::LOCATION;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::sync::Arc;
use std::time::Duration;

/// See above.
#[derive(Debug)]
pub(crate) enum Road {
    Lane(Arc<Lane>),
    /// Through the proxy that the environment names.
    Proxied(Box<Proxied>),
    Tls(Box<TlsClient>),
}

type TlsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl Road {
    /// The way to an address; nothing is sent yet.
    pub(crate) fn to(url: &Uri, options: &Options) -> Result<Self, ClientError> {
        let proxies = options.proxies.clone().unwrap_or_else(Proxies::from_env);
        if let Some(proxied) = Proxied::to(url, &proxies) {
            return Ok(Self::Proxied(Box::new(proxied)));
        }
        if url.scheme_str() == Some("https") {
            return Ok(Self::Tls(Box::new(tls(options.timeout)?)));
        }
        let (host, port) = (url.host().unwrap_or_default(), url.port_u16().unwrap_or(80));
        Ok(Self::Lane(Arc::new(Lane::new(host, port, options.timeout))))
    }

    pub(crate) fn lane(&self) -> Option<&Arc<Lane>> {
        match self {
            Self::Lane(lane) => Some(lane),
            Self::Proxied(_) | Self::Tls(_) => None,
        }
    }

    /// Sends a request; `body` is its body once more, `method` what is asked.
    pub(crate) async fn send(
        &self,
        method: &'static str,
        request: Request<Full<Bytes>>,
        body: &Bytes,
    ) -> Result<Response<Body>, ClientError> {
        match self {
            Self::Lane(lane) => {
                let head = lane::write(&request, body.len());
                let answer = lane.ask([&head, body]).await;
                answer.map(Body::response).map_err(|why| unasked(method, request.uri(), &why))
            }
            Self::Proxied(proxied) => {
                let authority = request.uri().authority().map(ToString::to_string);
                let answer = proxied.send(request).await.map_err(|error| match error {
                    FetchError::Broken { .. } => ClientError::ClosedMidAnswer { method },
                    FetchError::NoTrustedRoots => ClientError::NoTrustedRoots,
                    error => ClientError::Unreachable {
                        authority: authority.unwrap_or_default(),
                        reason: error.to_string(),
                    },
                });
                answer.map(|response| response.map(Body::Tls))
            }
            Self::Tls(client) => by_tls(method, client, request).await,
        }
    }
}

/// What it is called that a request by a lane has no answer.
pub(crate) fn unasked(method: &'static str, url: &Uri, why: &Unasked) -> ClientError {
    match why {
        Unasked::Unreachable(error) => {
            let authority = url.authority().map(ToString::to_string).unwrap_or_default();
            ClientError::Unreachable { authority, reason: with_causes(error) }
        }
        Unasked::Faulty(why @ Fault::Unsent) => {
            let authority = url.authority().map(ToString::to_string).unwrap_or_default();
            ClientError::Unreachable { authority, reason: why.to_string() }
        }
        Unasked::Faulty(Fault::NotHttp) => ClientError::NotHttp { method },
        Unasked::Faulty(_) => ClientError::ClosedMidAnswer { method },
    }
}

/// An address that something can be sent to.
pub(crate) fn parse(text: &str) -> Result<Uri, ClientError> {
    let bad = |reason: &str| ClientError::BadUrl { reason: reason.to_owned() };
    let url: Uri = text.parse().map_err(|error| bad(&format!("cannot be read: {error}")))?;
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(bad("must begin with http:// or https://"));
    }
    match url.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            Err(bad("must not hold a user name or password; send them in a header"))
        }
        Some(authority) if !authority.host().is_empty() => Ok(url),
        _ => Err(bad("must name a host")),
    }
}

/// A URL for people. Its query may hold a key.
pub(crate) fn shown(url: &Uri) -> String {
    url.to_string().split('?').next().unwrap_or_default().to_owned()
}

/// HTTPS, with the certificates that this machine trusts.
fn tls(connect_time: Duration) -> Result<TlsClient, ClientError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
    tcp.set_connect_timeout(Some(connect_time));
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
        .map_err(|_| ClientError::NoTrustedRoots)?
        .https_only()
        .enable_all_versions()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector))
}

async fn by_tls(
    what: &'static str,
    client: &TlsClient,
    request: Request<Full<Bytes>>,
) -> Result<Response<Body>, ClientError> {
    let authority = request.uri().authority().map(ToString::to_string);
    let response = client.request(request).await.map_err(|error| {
        if error.is_connect() {
            let reason = std::error::Error::source(&error).map(with_causes);
            let reason = reason.unwrap_or_else(|| error.to_string());
            ClientError::Unreachable { authority: authority.unwrap_or_default(), reason }
        } else {
            ClientError::ClosedMidAnswer { method: what }
        }
    })?;
    Ok(response.map(Body::Tls))
}

/// Where a redirect leads that keeps method and body, if it stays on the same server.
pub(crate) fn redirect<T>(url: &Uri, response: &Response<T>) -> Result<Option<Uri>, ClientError> {
    let keeps_method = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
        .contains(&response.status());
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location.filter(|_| keeps_method) else { return Ok(None) };
    let elsewhere = || ClientError::Redirected { to: excerpt(location.as_bytes()) };
    let next: Uri = if location.starts_with('/') && !location.starts_with("//") {
        let mut parts = url.clone().into_parts();
        parts.path_and_query = Some(location.parse().map_err(|_| elsewhere())?);
        Uri::from_parts(parts).map_err(|_| elsewhere())?
    } else {
        location.parse().map_err(|_| elsewhere())?
    };
    let is_same = next.scheme() == url.scheme() && next.authority() == url.authority();
    if is_same { Ok(Some(next)) } else { Err(elsewhere()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_addresses_without_secrets_are_urls() {
        assert!(parse("http://127.0.0.1:7300/mcp").is_ok());
        for text in ["ftp://x/", "localhost:7300", "http://", "http://a b/", "/mcp"] {
            assert!(matches!(parse(text), Err(ClientError::BadUrl { .. })), "{text}");
        }
        let secret = parse("https://ada:hunter2@example.com/").map_err(|error| error.to_string());
        assert!(secret.is_err_and(|message| !message.contains("hunter2")));
    }

    #[test]
    fn the_query_of_a_url_is_not_shown() {
        let url = "https://a/mcp?key=hunter2".parse().expect("a URL");
        assert_eq!(shown(&url), "https://a/mcp");
    }

    #[test]
    fn a_redirect_is_followed_on_the_same_server_only() {
        let url: Uri = "http://a:1/mcp".parse().expect("a URL");
        let check = |status: u16, location: &str| {
            let response = Response::builder().status(status).header(LOCATION, location);
            redirect(&url, &response.body(()).expect("a response"))
        };
        let to =
            |found: Result<Option<Uri>, ClientError>| found.ok().flatten().map(|u| u.to_string());
        assert_eq!(to(check(307, "/mcp/")).as_deref(), Some("http://a:1/mcp/"));
        assert_eq!(to(check(308, "http://a:1/x")).as_deref(), Some("http://a:1/x"));
        assert!(matches!(check(302, "/mcp/"), Ok(None)), "302 would turn POST into GET");
        for elsewhere in ["http://b:1/mcp", "https://a:1/mcp", "//b/mcp"] {
            assert!(matches!(check(307, elsewhere), Err(ClientError::Redirected { .. })));
        }
    }
}
