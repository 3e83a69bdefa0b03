//! How the servers of OAuth are reached: over `https:`, or on this machine if the MCP server is
//! there too, never inside of a network that the MCP server is outside of; each answer bounded in
//! size and time; no redirect followed. Used by every stage; it knows of none.

use super::error::AuthError;
use crate::limits::{AUTH_BYTES_MAX, AUTH_REQUEST_TIME_MAX};
use bytes::Bytes;
use haft_fetch::{Auth, Client, Clients, FetchError, Proxies, Reach, Request, Url, escape};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::de::DeserializeOwned;
use std::net::IpAddr;
use tokio::net::lookup_host;
use tokio::time::timeout;

/// The way to servers that an MCP server names.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    /// Whether the MCP server is on this machine.
    is_local: bool,
    /// To others.
    outside: Client,
    /// To this machine, where no proxy leads.
    inside: Client,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    /// Whether it says so, or nothing.
    pub(crate) is_json: bool,
    pub(crate) body: Bytes,
}

impl Web {
    /// The way from an MCP server: one on the internet leads to the internet only.
    pub(crate) async fn from(endpoint: &Url) -> Self {
        let found = timeout(AUTH_REQUEST_TIME_MAX, lookup_host((endpoint.host(), endpoint.port())));
        let addresses: Vec<IpAddr> = match found.await {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            _ => Vec::new(),
        };
        let is_public = |address: &IpAddr| Reach::Public.allows(endpoint.host(), *address);
        // One private address among public ones is what the server's own names say of it.
        let is_private = !addresses.is_empty() && !addresses.iter().any(is_public);
        let reach = if is_private { Reach::Anywhere } else { Reach::Public };
        Self {
            is_local: is_loopback(endpoint.host()),
            outside: Clients::new().of(&reach),
            inside: Clients::with_proxies(Proxies::new("", "", "*")).of(&Reach::Anywhere),
        }
    }

    /// An address that a server names, if it can be trusted.
    pub(crate) fn check(&self, what: &'static str, text: &str) -> Result<Url, AuthError> {
        let refused = |reason: &'static str| {
            let url = crate::error::excerpt(text.as_bytes());
            AuthError::Insecure { what, url, reason }
        };
        let url = Url::parse(text).map_err(|bad| refused(bad.0))?;
        match (is_loopback(url.host()), url.is_secure()) {
            (true, _) if !self.is_local => Err(refused("it is on this machine, the server is not")),
            (true, _) | (false, true) => Ok(url),
            (false, false) => Err(refused("it must be https")),
        }
    }

    /// A document, or nothing if there is none.
    pub(crate) async fn document<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &Url,
    ) -> Result<Option<T>, AuthError> {
        let answered = self.send(Method::GET, url, None).await?;
        let malformed =
            |reason: String| Err(AuthError::Malformed { what, url: shown(url), reason });
        match answered.status.as_u16() {
            // Some servers answer everything with a page for browsers.
            200 if !answered.is_json => Ok(None),
            200 => match serde_json::from_slice(&answered.body) {
                Ok(document) => Ok(Some(document)),
                Err(error) => malformed(error.to_string()),
            },
            // What leads elsewhere is not there.
            300..500 => Ok(None),
            status => malformed(format!("HTTP {status}")),
        }
    }

    /// Sends a form, with who asks.
    pub(crate) async fn form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        who: Option<HeaderValue>,
    ) -> Result<Answered, AuthError> {
        let body = Body { kind: "application/x-www-form-urlencoded", text: form(fields), who };
        self.send(Method::POST, url, Some(body)).await
    }

    /// Sends JSON.
    pub(crate) async fn json(&self, url: &Url, text: String) -> Result<Answered, AuthError> {
        let body = Body { kind: "application/json", text, who: None };
        self.send(Method::POST, url, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        body: Option<Body>,
    ) -> Result<Answered, AuthError> {
        let mut request = Request::new(method, url.clone());
        request.redirects = 0;
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(Body { kind, text, who }) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            request.body = Bytes::from(text);
            if let Some(mut who) = who {
                who.set_sensitive(true);
                request.headers.insert(AUTHORIZATION, who);
            }
        }
        let client = if is_loopback(url.host()) { &self.inside } else { &self.outside };
        let asked = async {
            let answer = client.send(&request, &Auth::None).await?;
            let (status, is_json) = (answer.status, is_json(&answer.headers));
            Ok(Answered { status, is_json, body: answer.bytes(AUTH_BYTES_MAX).await? })
        };
        let late =
            || AuthError::TimedOut { host: url.host().to_owned(), after: AUTH_REQUEST_TIME_MAX };
        timeout(AUTH_REQUEST_TIME_MAX, asked).await.map_err(|_| late())?.map_err(unreachable)
    }
}

struct Body {
    kind: &'static str,
    text: String,
    who: Option<HeaderValue>,
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.is_empty() || kind.ends_with("json")
}

fn unreachable(error: FetchError) -> AuthError {
    let reason = match error {
        // The words of that error are about haft.yaml.
        FetchError::PrivateAddress { host, .. } | FetchError::PrivateName { host } => {
            format!("{host} is inside of a network, the MCP server is outside of it")
        }
        error => error.to_string(),
    };
    AuthError::Unreachable { reason }
}

/// Fields as a form has them (URL, 5.2), a space as `%20`.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        escape::push(&mut out, name);
        out.push('=');
        escape::push(&mut out, value);
    }
    out
}

/// Whether a host is this machine, without asking anybody.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// An address for people. Its query may hold a key.
pub(crate) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(endpoint: &str, url: &str) -> bool {
        let endpoint = Url::parse(endpoint).expect("an address");
        Web::from(&endpoint).await.check("place", url).is_ok()
    }

    #[tokio::test]
    async fn only_secure_addresses_and_our_own_machine_are_trusted() {
        for (endpoint, url, expected) in [
            ("https://192.0.2.1/mcp", "https://as.example/x", true),
            ("https://192.0.2.1/mcp", "http://as.example/x", false),
            ("https://192.0.2.1/mcp", "http://localhost:1/x", false),
            ("https://192.0.2.1/mcp", "https://127.0.0.1/x", false),
            ("http://127.0.0.1:1/mcp", "http://localhost:1/x", true),
            ("http://[::1]:1/mcp", "http://127.0.0.2:1/x", true),
            ("http://127.0.0.1:1/mcp", "http://as.example/x", false),
            ("http://127.0.0.1:1/mcp", "https://as.example/x", true),
            ("http://127.0.0.1:1/mcp", "https://ada:pw@as.example/x", false),
            ("http://127.0.0.1:1/mcp", "javascript:alert(1)", false),
        ] {
            assert_eq!(check(endpoint, url).await, expected, "{endpoint} {url}");
        }
    }

    #[tokio::test]
    async fn a_server_outside_leads_to_no_address_inside() {
        let outside = Web::from(&Url::parse("https://8.8.8.8/mcp").expect("an address")).await;
        let url = Url::parse("https://10.0.0.1/x").expect("an address");
        let refused = outside.document::<serde_json::Value>("place", &url).await;
        let error = refused.expect_err("it is private").to_string();
        assert!(error.contains("10.0.0.1 is inside"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_not_waited_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let url = Url::parse(&format!("http://{address}/")).expect("an address");
        let web = Web::from(&url).await;
        let began = tokio::time::Instant::now();
        let waited = web.document::<serde_json::Value>("place", &url).await;
        assert!(matches!(waited, Err(AuthError::TimedOut { .. })), "{waited:?}");
        assert_eq!(began.elapsed().as_secs(), AUTH_REQUEST_TIME_MAX.as_secs());
    }

    #[test]
    fn a_form_is_escaped() {
        assert_eq!(form(&[("a", "b c&d=é"), ("e", "")]), "a=b%20c%26d%3D%C3%A9&e=");
    }
}
