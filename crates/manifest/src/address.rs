//! Addresses that are spelled otherwise and mean the same: what a file takes out of a family of
//! resources must not be had by another spelling. Asked by `rules` for what is read of families;
//! reads no resource itself.

use haft_server::visible;
use std::borrow::Cow;

/// How often what is percent-encoded may be encoded again without hiding what it means.
const ENCODED_MAX: usize = 4;

/// The address in the one spelling that is compared and sent on: scheme and host in small letters,
/// without `.` and `..`, and with no more percent-encoding than it needs. Nothing, if what it means
/// depends on who reads it.
///
/// ```
/// use haft_manifest::canonical;
/// assert_eq!(canonical("FILE:///a/./b/../%63").as_deref(), Some("file:///a/c"));
/// assert_eq!(canonical("file:///a\\..\\b"), None);
/// ```
#[must_use]
pub fn canonical(uri: &str) -> Option<String> {
    if uri.contains('\\') || matches!(visible(uri), Cow::Owned(_)) || uri.contains('\n') {
        return None;
    }
    let (scheme, rest) = uri.split_once(':')?;
    let decoded = decoded_where_plain(rest)?;
    let (before, after) = decoded.split_at(decoded.find(['?', '#']).unwrap_or(decoded.len()));
    let (authority, path) = match before.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (Some(authority), path)
        }
        None => (None, before),
    };
    let mut address = scheme.to_ascii_lowercase();
    address.push(':');
    if let Some(authority) = authority {
        address.push_str("//");
        address.push_str(&authority.to_ascii_lowercase());
    }
    address.push_str(&without_dots(path));
    address.push_str(after);
    Some(address)
}

/// Percent-decodes what needs no encoding, and writes the rest in capitals. Nothing, if an escape
/// is none, or of a character that nobody can see or that some take for a slash.
fn decoded_where_plain(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('%') {
        out.push_str(plain);
        let digits =
            escaped.get(..2).filter(|two| two.bytes().all(|one| one.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(digits, 16).ok()?;
        match byte {
            b'\\' | 0x7f | 0..=0x1f => return None,
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        rest = &escaped[2..];
    }
    out.push_str(rest);
    Some(out)
}

/// A path without `.` and `..` (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').collect();
    let (is_rooted, last) = (path.starts_with('/'), segments.len() - 1);
    for (place, segment) in segments.into_iter().enumerate() {
        let least = usize::from(is_rooted);
        match segment {
            "." | ".." => {
                if segment == ".." && kept.len() > least {
                    kept.pop();
                }
                if place == last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

/// An address, or a pattern of some, as whoever is least exact may read it: by no other spelling
/// does one mean what this does not say.
pub(crate) fn loose(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ENCODED_MAX {
        if !text.contains('%') {
            break;
        }
        text = Cow::Owned(decoded(&text));
    }
    let text = text.replace('\\', "/").to_lowercase();
    let Some((scheme, rest)) = text.split_once(':') else { return text };
    let rest = rest.trim_start_matches('/');
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let port = match scheme {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        _ => ":",
    };
    let host = authority.strip_suffix(port).unwrap_or(authority);
    let host = host.strip_suffix(':').unwrap_or(host);
    let whole = match (scheme, host) {
        ("file", "localhost" | "127.0.0.1" | "[::1]") => path.to_owned(),
        _ => format!("{host}{path}"),
    };
    let parts = whole.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let plain = without_dots(&parts);
    let plain = plain.trim_matches('/');
    format!("{scheme}:{plain}")
}

/// What an address may mean to one who leaves out the end of it.
pub(crate) fn readings(uri: &str) -> impl Iterator<Item = String> {
    let bare = uri.split('#').next().unwrap_or(uri);
    let path = bare.split('?').next().unwrap_or(bare);
    [uri, bare, path].into_iter().flat_map(|one| {
        let whole = loose(one);
        let bare = whole.trim_end_matches(['/', '.', ' ']).to_owned();
        [whole, bare]
    })
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |place: usize| after.get(place).and_then(|one| char::from(*one).to_digit(16));
        let escaped = (*first == b'%').then(|| digit(0).zip(digit(1))).flatten();
        let byte = escaped.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::fits;

    #[test]
    fn an_address_has_one_spelling_or_none() {
        for (uri, expected) in [
            ("file:///a/b", Some("file:///a/b")),
            ("FILE://HOST/A", Some("file://host/A")),
            ("file:///a/./b/../c", Some("file:///a/c")),
            ("file:///../../a", Some("file:///a")),
            ("file:///a/%2e%2E/b", Some("file:///b")),
            ("file:///a/..", Some("file:///")),
            ("file:///%61%2f%zz", None),
            ("file:///a%2fb%c3%a9", Some("file:///a%2Fb%C3%A9")),
            ("a:b/../c?d=/../e#f/..", Some("a:c?d=/../e#f/..")),
            ("file:///a\\b", None),
            ("file:///a%5cb", None),
            ("file:///a%00", None),
            ("file:///a\u{202e}b", None),
            ("file:///a\nb", None),
            ("no address", None),
            ("notes://ü", Some("notes://ü")),
        ] {
            assert_eq!(canonical(uri).as_deref(), expected, "{uri}");
        }
    }

    #[test]
    fn no_spelling_gets_by_a_pattern() {
        for (pattern, uri) in [
            ("secret://*", "SECRET://b"),
            ("secret://*", "secret:///b"),
            ("secret://*", "secret:b"),
            ("file:///etc/*", "file:///x/../etc/passwd"),
            ("file:///etc/*", "file:///./etc/passwd"),
            ("file:///etc/*", "file:////etc//passwd"),
            ("file:///etc/*", "file://localhost/etc/passwd"),
            ("file:///etc/*", "file:///%65tc/passwd"),
            ("file:///etc/*", "file:///%2565tc/passwd"),
            ("file:///etc/*", "file:///x/%2e%2e/etc/passwd"),
            ("file:///etc/*", "file:///x%2f..%2fetc/passwd"),
            ("file:///etc/*", "file:///x\\..\\etc\\passwd"),
            ("file:///etc/*", "file:///ETC/passwd"),
            ("file:///etc/passwd", "file:///etc/passwd?a"),
            ("file:///etc/passwd", "file:///etc/passwd#a"),
            ("file:///etc/passwd", "file:///etc/passwd/"),
            ("file:///etc/passwd", "file:///etc/passwd."),
            ("https://h/a*", "https://user@H:443/a/b"),
            ("public://no*", "public:///no/../nothing"),
        ] {
            let pattern = loose(pattern);
            assert!(readings(uri).any(|reading| fits(&pattern, &reading)), "{pattern} {uri}");
        }
        for (pattern, uri) in [
            ("secret://*", "secrets://b"),
            ("file:///etc/*", "file:///etcetera"),
            ("file:///etc/*", "file:///home/etc/a"),
            ("public://no*", "public://yes"),
        ] {
            let pattern = loose(pattern);
            assert!(!readings(uri).any(|reading| fits(&pattern, &reading)), "{pattern} {uri}");
        }
    }
}
