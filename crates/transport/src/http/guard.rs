//! Who may call at all: the `Host` and `Origin` of a request against the listener's address and
//! lists. It stops web pages that reach for local servers, directly or by a name that was rebound
//! (Streamable HTTP, "Security Warning").

use super::Options;
use super::heads::Heads;
use haft_proto::authority::{self, authority_of_page, check_host, check_origin, is_same_host};
use http::{HeaderValue, Uri};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The rule of one listener.
#[derive(Debug)]
pub(super) struct Guard {
    is_loopback: bool,
    /// The address that clients of this machine see.
    address: String,
    origins: Vec<String>,
    hosts: Vec<String>,
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnedAway {
    Host,
    Origin,
}

impl TurnedAway {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Host => {
                "Forbidden: `Host` names another server; add the name to `hosts` if it is right"
            }
            Self::Origin => {
                "Forbidden: pages of this `Origin` may not call; add it to `origins` if they should"
            }
        }
    }
}

impl Guard {
    pub(super) fn new(address: SocketAddr, options: &Options) -> Self {
        Self {
            is_loopback: address.ip().is_loopback(),
            address: address.to_string(),
            origins: options.origins.clone(),
            hosts: options.hosts.iter().map(|host| bare(host).to_owned()).collect(),
        }
    }

    pub(super) fn check(&self, uri: &Uri, heads: &Heads<'_>) -> Result<(), TurnedAway> {
        // HTTP/2 has the authority in the URI, HTTP/1.1 in a header; a request may have both.
        let authorities = uri.authority().map(|authority| authority.as_str().as_bytes());
        let hosts = heads.hosts().map(HeaderValue::as_bytes);
        if !authorities.into_iter().chain(hosts).all(|host| self.is_our_name(host)) {
            return Err(TurnedAway::Host);
        }
        if !heads.origins().all(|origin| self.may_call(origin)) {
            return Err(TurnedAway::Origin);
        }
        Ok(())
    }

    /// The origin that may read the answer, if the request has one that may call.
    pub(super) fn cors_origin<'a>(&self, heads: &Heads<'a>) -> Option<&'a HeaderValue> {
        heads.origins().next().filter(|origin| self.may_call(origin))
    }

    fn is_our_name(&self, host: &[u8]) -> bool {
        // What most clients say, without a look at its parts.
        if self.is_loopback && host == self.address.as_bytes() {
            return true;
        }
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let Some(name) = authority::host(host) else { return false };
        if self.hosts.iter().any(|known| known == "*" || is_same_host(known, name)) {
            return true;
        }
        is_loopback_name(name) || (!self.is_loopback && self.hosts.is_empty())
    }

    fn may_call(&self, origin: &HeaderValue) -> bool {
        if self.is_listed(origin) {
            return true;
        }
        let page = origin.to_str().ok().and_then(authority_of_page);
        self.is_loopback && page.and_then(authority::host).is_some_and(is_loopback_name)
    }

    fn is_listed(&self, origin: &HeaderValue) -> bool {
        let is_same = |known: &String| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
        self.origins.iter().any(|known| known == "*" || is_same(known))
    }
}

/// A listed host without the brackets around an address.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Whether each entry of the lists can be in a request.
///
/// # Errors
/// The first that cannot, and what to write instead.
pub(super) fn check_lists(options: &Options) -> io::Result<()> {
    let wrong = |list: &str, entry: &str, why: authority::Unmatchable| {
        let why = format!("`{list}`: no request can have {entry:?}: {why}");
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    for host in &options.hosts {
        check_host(host).map_err(|why| wrong("hosts", host, why))?;
    }
    for origin in &options.origins {
        check_origin(origin).map_err(|why| wrong("origins", origin, why))?;
    }
    Ok(())
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, header};

    fn verdict(
        address: &str,
        options: &Options,
        host: &str,
        origin: Option<&str>,
    ) -> Result<(), TurnedAway> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        let guard = Guard::new(address.parse().expect("an address"), options);
        guard.check(&Uri::from_static("/mcp"), &Heads::of(&headers))
    }

    #[test]
    fn a_loopback_listener_answers_to_loopback_names_and_pages_only() {
        let default = Options::default();
        let check = |host, origin| verdict("127.0.0.1:7300", &default, host, origin);
        for host in ["localhost:7300", "127.0.0.1", "[::1]:7300", "LOCALHOST", "127.0.0.2:1"] {
            assert_eq!(check(host, None), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7300",
            "",
            "[::1",
            "10.0.0.1",
            "localhost:80@evil.example",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "[::1]evil.example",
            "[localhost]",
            "localhost/evil.example",
            "localhost\\evil.example",
            ":7300",
        ] {
            assert_eq!(check(host, None), Err(TurnedAway::Host), "{host}");
        }
        for origin in ["http://localhost:5173", "HTTPS://LocalHost", "http://[::1]:80"] {
            assert_eq!(check("localhost", Some(origin)), Ok(()), "{origin}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "file://localhost",
            "http://localhost.evil",
            "http://localhost:80@evil.example",
            "http://localhost@evil.example",
            "http://[::1].evil",
            "http://localhost:x",
            "http://localhost/",
            "http://",
        ] {
            assert_eq!(check("localhost", Some(origin)), Err(TurnedAway::Origin), "{origin}");
        }
    }

    #[test]
    fn lists_open_what_they_name_and_nothing_else() {
        let options = Options {
            origins: vec!["https://app.example".to_owned()],
            hosts: ["mcp.example", "[fe80::1]"].map(str::to_owned).to_vec(),
            ..Options::default()
        };
        let check = |host, origin| verdict("0.0.0.0:80", &options, host, origin);
        assert_eq!(check("mcp.example:80", Some("https://app.example")), Ok(()));
        assert_eq!(check("[fe80:0::1]:80", Some("HTTPS://App.example")), Ok(()));
        assert_eq!(check("other.example", None), Err(TurnedAway::Host));
        assert_eq!(check("mcp.example", Some("http://localhost")), Err(TurnedAway::Origin));
        assert_eq!(verdict("0.0.0.0:80", &Options::default(), "any.example", None), Ok(()));
    }
}
