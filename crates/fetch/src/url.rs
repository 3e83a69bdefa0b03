//! An address of HTTP that cannot be read in two ways: no user, no backslash, no white space, no
//! fragment. Made from configuration, from redirects and from what was put together of templates.

use crate::limits::URL_BYTES_MAX;
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use std::fmt;
use std::net::IpAddr;

/// An `http:` or `https:` address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Url(Uri);

/// Why a text is no [`Url`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadUrl(pub &'static str);

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadUrl {}

impl Url {
    /// Reads an absolute address.
    ///
    /// # Errors
    /// [`BadUrl`] with what is wrong. Nothing is mended: what other programs would read in another
    /// way (`\`, tabs, a user before `@`) is refused.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.len() > URL_BYTES_MAX {
            return Err(BadUrl("it is too long"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadUrl("it holds white space or characters that are not ASCII"));
        }
        if text.bytes().any(|byte| b"\\<>\"{}|^`".contains(&byte)) {
            return Err(BadUrl("it holds a character that must be escaped"));
        }
        if text.contains('#') {
            return Err(BadUrl("it has a fragment, `#…`, which no server sees"));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(BadUrl("it must begin with http:// or https://"));
        }
        let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
        if authority.contains('@') {
            return Err(BadUrl("it holds a user name or password; use `auth`"));
        }
        let uri: Uri = text.parse().map_err(|_| BadUrl("it cannot be read"))?;
        let Some(found) = uri.authority().filter(|found| !found.host().is_empty()) else {
            return Err(BadUrl("it has no host"));
        };
        if !is_host(found.host()) {
            return Err(BadUrl("its host is no name or address"));
        }
        let port = &authority[found.host().len()..];
        if !port.is_empty() && found.port_u16().is_none_or(|port| port == 0) {
            return Err(BadUrl("its port is no number from 1 to 65535"));
        }
        Ok(Self(uri))
    }

    /// The same server and another path, which begins with `/` and may have a query.
    ///
    /// # Errors
    /// [`BadUrl`] as for [`Url::parse`].
    pub fn with_path(&self, path_and_query: &str) -> Result<Self, BadUrl> {
        if !path_and_query.starts_with('/') {
            return Err(BadUrl("its path must begin with `/`"));
        }
        Self::parse(&format!("{}{path_and_query}", self.origin()))
    }

    /// Scheme, host and port, as in `https://api.example.com`.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_secure() { "https" } else { "http" };
        format!("{scheme}://{}", self.authority().as_str())
    }

    /// The host, without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority().host().trim_matches(['[', ']'])
    }

    /// The port, or the one of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        let default = if self.is_secure() { 443 } else { 80 };
        self.authority().port_u16().unwrap_or(default)
    }

    /// The path, `/` at least.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// What is behind the `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }

    /// Whether it is an `https:` address.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Whether both are of the same scheme, host and port.
    #[must_use]
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.is_secure() == other.is_secure()
            && self.host().eq_ignore_ascii_case(other.host())
            && self.port() == other.port()
    }

    /// Where a `Location` leads from here (RFC 3986, 5.2).
    ///
    /// # Errors
    /// [`BadUrl`] as for [`Url::parse`].
    pub fn join(&self, location: &str) -> Result<Self, BadUrl> {
        let location = location.split('#').next().unwrap_or_default();
        let is_scheme = |scheme: &str| {
            scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        if location.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) {
            return Self::parse(location);
        }
        if location.starts_with("//") {
            let scheme = if self.is_secure() { "https:" } else { "http:" };
            return Self::parse(&format!("{scheme}{location}"));
        }
        if location.is_empty() {
            return Ok(self.clone());
        }
        if location.starts_with('?') {
            return self.with_path(&format!("{}{location}", self.path()));
        }
        let (path, query) = location.split_at(location.find('?').unwrap_or(location.len()));
        let path = if path.starts_with('/') {
            without_dots(path)
        } else {
            let directory = self.path().rfind('/').map_or("/", |at| &self.path()[..=at]);
            without_dots(&format!("{directory}{path}"))
        };
        self.with_path(&format!("{path}{query}"))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.host().parse().ok()
    }

    fn authority(&self) -> &Authority {
        self.0.authority().expect("`parse` lets no address pass without a host")
    }

    /// Path and query, `/` at least.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        self.0.path_and_query().map_or("/", PathAndQuery::as_str)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A name, or an address in the brackets that IPv6 needs.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest
            .strip_suffix(']')
            .and_then(|inner| inner.parse::<IpAddr>().ok())
            .is_some_and(|address| address.is_ipv6()),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
    }
}

/// A path without `.` and `..` (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_could_be_read_in_two_ways_is_refused() {
        for text in [
            "http://a.example",
            "https://a.example:8443/x?y=z",
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
            "HTTP://a_b.example/%2e%2e",
            "http://a?x",
        ] {
            assert!(Url::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "a.example",
            "//a",
            "ftp://a/",
            "file:///etc/passwd",
            "http://",
            "http:///x",
            "http:a",
            "http://a b/",
            "http://a\t/",
            "http://a\r\n/",
            "http://user@a/",
            "http://user:pass@a/",
            "http://a.example\\@b/",
            "http://a\\b",
            "http://a/#f",
            "http://ä.example/",
            "http://a:0/",
            "http://a:65536/",
            "http://a:x/",
            "http://[::1",
            "http://[1.2.3.4]/",
            "http://a%2eb/",
            "http://a:1@b/",
            "http://a/{x}",
            "http://a:/",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
        assert!(Url::parse(&format!("http://a/{}", "x".repeat(URL_BYTES_MAX))).is_err());
    }

    #[test]
    fn a_location_is_found_from_where_it_was_given() {
        let base = Url::parse("http://a:1/b/c?d").expect("an address");
        for (location, expected) in [
            ("/x", "http://a:1/x"),
            ("x", "http://a:1/b/x"),
            ("../x?y", "http://a:1/x?y"),
            ("../../../x", "http://a:1/x"),
            ("./", "http://a:1/b/"),
            ("..", "http://a:1/"),
            ("?y", "http://a:1/b/c?y"),
            ("//b/x", "http://b/x"),
            ("https://b/x#f", "https://b/x"),
            ("x?y=a:b", "http://a:1/b/x?y=a:b"),
        ] {
            assert_eq!(base.join(location).map(|url| url.to_string()).as_deref(), Ok(expected));
        }
        for location in ["javascript:alert(1)", "http://u@b/", "/\\b", "\\\\b", "/a b"] {
            assert!(base.join(location).is_err(), "{location}");
        }
    }
}
