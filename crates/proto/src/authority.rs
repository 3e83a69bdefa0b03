//! Hosts and origins as browsers write them (URL, "Host writing"; RFC 6454, section 6.2): which
//! host an authority names, and which texts no request can have. Asked by whoever lets requests in
//! or reads a list of those that may come; looks nothing up.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;

/// The host of an authority, without its port and brackets; `None` if that is not one host and
/// perhaps a port, as with a user before it. What the URL standard forbids in a host is in none
/// (URL, "Host miscellaneous").
///
/// ```
/// use haft_proto::authority::host;
/// assert_eq!(host("localhost:7300"), Some("localhost"));
/// assert_eq!(host("[::1]:7300"), Some("::1"));
/// assert_eq!(host("localhost:7300@evil.example"), None);
/// ```
#[must_use]
pub fn host(authority: &str) -> Option<&str> {
    split(authority).map(|(host, _)| host)
}

/// The authority of an origin of the web, with the scheme in any case; `None` for others, like
/// `null`.
#[must_use]
pub fn authority_of_page(origin: &str) -> Option<&str> {
    let (scheme, authority) = origin.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_web.then_some(authority)
}

/// Whether two hosts are the same: names in any case, addresses of IPv6 however they are written.
/// Neither has brackets.
#[must_use]
pub fn is_same_host(one: &str, other: &str) -> bool {
    let address = |host: &str| host.parse::<Ipv6Addr>().ok();
    one.eq_ignore_ascii_case(other) || address(one).is_some_and(|one| address(other) == Some(one))
}

/// A host or origin that no request can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatchable {
    /// Why.
    pub reason: Reason,
    /// What was meant, where that is clear.
    pub instead: Option<String>,
}

/// Why no request can have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is nothing.
    Empty,
    /// A list of pages of files, which all say the same.
    File,
    /// It is no host, or has none.
    NoHost,
    /// An origin without its scheme.
    NoScheme,
    /// Letters that are written in ASCII on the wire.
    NotAscii,
    /// It is right, and browsers write it in another way.
    OtherForm,
    /// More than a host or origin: a path, a query, a fragment or a slash.
    Path,
    /// A port that is not compared, or that browsers leave out.
    Port,
    /// A host with a scheme.
    Scheme,
    /// A user before the host.
    User,
    /// A `*` that does not stand alone.
    Wildcard,
}

impl fmt::Display for Unmatchable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::Empty => "it is empty; take it out",
            Reason::File => "pages of files send the origin `null`",
            Reason::NoHost => "it names no host; write one like tools.example",
            Reason::NoScheme => "an origin begins with its scheme, like https://app.example",
            Reason::NotAscii => "names are sent in ASCII; write the form that begins with xn--",
            Reason::OtherForm => "browsers write it in another way",
            Reason::Path => "nothing follows on the host and port, not even a slash",
            Reason::Port => "this port is not sent or not compared; leave it out",
            Reason::Scheme => "a host is a name alone, without scheme and path",
            Reason::User => "no user stands before the host",
            Reason::Wildcard => "`*` stands alone and means any; list each name instead",
        })?;
        self.instead.iter().try_for_each(|instead| write!(f, "; write {instead}"))
    }
}

impl std::error::Error for Unmatchable {}

/// Whether a request may be addressed to what somebody lists as a host.
///
/// # Errors
/// [`Unmatchable`], if none can be.
pub fn check_host(listed: &str) -> Result<(), Unmatchable> {
    let wrong = |reason, instead: Option<String>| Err(Unmatchable { reason, instead });
    check_text(listed)?;
    let bare = listed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(listed);
    if listed == "*" || bare.parse::<Ipv6Addr>().is_ok() {
        return Ok(());
    }
    if let Some((_, rest)) = listed.split_once("://") {
        return wrong(Reason::Scheme, named(rest));
    }
    if listed.contains(is_behind_authority) {
        return wrong(Reason::Path, named(listed));
    }
    if listed.contains('@') {
        return wrong(Reason::User, named(listed));
    }
    match split(listed) {
        Some((host, _)) if is_odd_number(host) => wrong(Reason::NoHost, None),
        Some((_, None)) => Ok(()),
        Some((_, Some(_))) => wrong(Reason::Port, named(listed)),
        None => wrong(Reason::NoHost, None),
    }
}

/// Whether a request may come from what somebody lists as an origin.
///
/// # Errors
/// [`Unmatchable`], if none can.
pub fn check_origin(listed: &str) -> Result<(), Unmatchable> {
    let wrong = |reason, instead: Option<String>| Err(Unmatchable { reason, instead });
    check_text(listed)?;
    if listed == "*" || listed == "null" {
        return Ok(());
    }
    let Some((scheme, rest)) = listed.split_once("://") else {
        let instead = split(listed).map(|_| format!("https://{}", listed.to_ascii_lowercase()));
        return wrong(Reason::NoScheme, instead);
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        || !scheme.bytes().all(is_of_scheme)
    {
        return wrong(Reason::NoScheme, None);
    }
    if scheme == "file" {
        return wrong(Reason::File, Some("null".to_owned()));
    }
    let end = rest.find(is_behind_authority).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    if authority.contains('@') {
        return wrong(Reason::User, None);
    }
    let (host, port) = match split(authority) {
        Some((host, port)) if !is_odd_number(host) => (host.to_ascii_lowercase(), port),
        _ => return wrong(Reason::NoHost, None),
    };
    let host = host.parse::<Ipv6Addr>().map_or(host, |address| format!("[{address}]"));
    let usual = match &*scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let port = port.map(|port| port.parse::<u16>().ok().filter(|port| Some(*port) != usual));
    let normal = match port.flatten() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    };
    match () {
        () if normal.eq_ignore_ascii_case(listed) => Ok(()),
        () if !behind.is_empty() => wrong(Reason::Path, Some(normal)),
        () if port == Some(None) => wrong(Reason::Port, Some(normal)),
        () => wrong(Reason::OtherForm, Some(normal)),
    }
}

/// What is wrong with either.
fn check_text(listed: &str) -> Result<(), Unmatchable> {
    let reason = match listed {
        "*" => return Ok(()),
        "" => Reason::Empty,
        _ if listed.contains('*') => Reason::Wildcard,
        _ if !listed.is_ascii() => Reason::NotAscii,
        _ => return Ok(()),
    };
    Err(Unmatchable { reason, instead: None })
}

/// The host and port of an authority.
fn split(authority: &str) -> Option<(&str, Option<&str>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').filter(|(host, _)| host.parse::<Ipv6Addr>().is_ok())?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && (port.is_empty() || port.parse::<u16>().is_ok())
    };
    let port = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(':').filter(|port| is_port(port))?),
    };
    let is_forbidden = |sign: char| sign.is_ascii_control() || " #/<>?@[\\]^|%".contains(sign);
    (!host.is_empty() && !host.contains(is_forbidden)).then_some((host, port))
}

/// The host of what stands before a path, after a user.
fn named(text: &str) -> Option<String> {
    let authority = text.split(is_behind_authority).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    split(authority).map(|(host, _)| host.to_owned())
}

/// Begins what follows on an authority.
fn is_behind_authority(sign: char) -> bool {
    matches!(sign, '/' | '\\' | '?' | '#')
}

/// Whether a host is one of numbers, which are read as an address, and written in another way than
/// addresses are sent (URL, "Host parsing").
fn is_odd_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
        || last.starts_with("0x")
        || last.starts_with("0X");
    is_number && host.parse::<Ipv4Addr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason and what to write instead.
    fn verdict(checked: Result<(), Unmatchable>) -> Option<(Reason, String)> {
        checked.err().map(|wrong| (wrong.reason, wrong.instead.unwrap_or_default()))
    }

    #[test]
    fn an_authority_is_one_host_and_perhaps_a_port() {
        for (authority, expected) in [
            ("localhost", Some("localhost")),
            ("LocalHost:80", Some("LocalHost")),
            ("a.example:", Some("a.example")),
            ("[::1]", Some("::1")),
            ("[::1]:7300", Some("::1")),
            ("", None),
            (":80", None),
            ("[::1", None),
            ("::1", None),
            ("[localhost]", None),
            ("[::1]x", None),
            ("a:+80", None),
            ("a:65536", None),
            ("a:80:80", None),
            ("a@b", None),
            ("a:80@b", None),
            ("a/b", None),
            ("a\\b", None),
            ("a b", None),
            ("a\tb", None),
            ("a%62", None),
        ] {
            assert_eq!(host(authority), expected, "{authority:?}");
        }
    }

    #[test]
    fn a_host_that_no_request_names_is_told_with_what_was_meant() {
        for (listed, reason, instead) in [
            ("", Reason::Empty, ""),
            ("*.example", Reason::Wildcard, ""),
            ("tools.example:8080", Reason::Port, "tools.example"),
            ("127.0.0.1:80", Reason::Port, "127.0.0.1"),
            ("[::1]:80", Reason::Port, "::1"),
            ("https://tools.example", Reason::Scheme, "tools.example"),
            ("https://tools.example:8080/mcp", Reason::Scheme, "tools.example"),
            ("tools.example/", Reason::Path, "tools.example"),
            ("tools.example/mcp", Reason::Path, "tools.example"),
            ("me@tools.example", Reason::User, "tools.example"),
            ("tools example", Reason::NoHost, ""),
            ("bücher.example", Reason::NotAscii, ""),
            ("127.1", Reason::NoHost, ""),
            ("0x7f000001", Reason::NoHost, ""),
        ] {
            let expected = Some((reason, instead.to_owned()));
            assert_eq!(verdict(check_host(listed)), expected, "{listed:?}");
        }
        for listed in ["*", "tools.example", "TOOLS", "a_b", "127.0.0.1", "::1", "[::1]", "x."] {
            assert_eq!(check_host(listed), Ok(()), "{listed:?}");
        }
    }

    #[test]
    fn an_origin_that_no_page_has_is_told_with_what_was_meant() {
        for (listed, reason, instead) in [
            ("", Reason::Empty, ""),
            ("https://*.example", Reason::Wildcard, ""),
            ("app.example", Reason::NoScheme, "https://app.example"),
            ("localhost:5173", Reason::NoScheme, "https://localhost:5173"),
            ("://app.example", Reason::NoScheme, ""),
            ("https://app.example/", Reason::Path, "https://app.example"),
            ("https://App.example/x?y", Reason::Path, "https://app.example"),
            ("https://app.example#x", Reason::Path, "https://app.example"),
            ("https://app.example:443", Reason::Port, "https://app.example"),
            ("http://app.example:80", Reason::Port, "http://app.example"),
            ("http://app.example:", Reason::Port, "http://app.example"),
            ("http://app.example:08080", Reason::OtherForm, "http://app.example:8080"),
            ("http://[0:0::1]:80", Reason::Port, "http://[::1]"),
            ("http://[0:0::1]", Reason::OtherForm, "http://[::1]"),
            ("https://me@app.example", Reason::User, ""),
            ("https://", Reason::NoHost, ""),
            ("https://app.example:x", Reason::NoHost, ""),
            ("https://127.1", Reason::NoHost, ""),
            ("https://bücher.example", Reason::NotAscii, ""),
            ("file:///index.html", Reason::File, "null"),
        ] {
            let expected = Some((reason, instead.to_owned()));
            assert_eq!(verdict(check_origin(listed)), expected, "{listed:?}");
        }
        for listed in [
            "*",
            "null",
            "https://app.example",
            "HTTPS://App.example:8443",
            "http://app.example:443",
            "http://[::1]:5173",
            "chrome-extension://abcdef",
            "tauri://localhost",
        ] {
            assert_eq!(check_origin(listed), Ok(()), "{listed:?}");
        }
    }
}
