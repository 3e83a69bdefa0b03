//! The headers that decide what becomes of a request, found in one look at all of them. Says what
//! stands there, and not whether it is right.

use super::request::{SESSION_HEADER, VERSION_HEADER};
use haft_proto::limits::Limits;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Uri};

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads<'a> {
    pub(super) all: &'a HeaderMap,
    pub(super) content_type: Option<&'a HeaderValue>,
    pub(super) session: Option<&'a HeaderValue>,
    version: Option<&'a HeaderValue>,
    accept: Option<&'a HeaderValue>,
    accept_encoding: Option<&'a HeaderValue>,
    content_encoding: Option<&'a HeaderValue>,
    host: Option<&'a HeaderValue>,
    origin: Option<&'a HeaderValue>,
    /// Whether one of them is there more than once.
    has_more: bool,
    /// All headers together.
    bytes: usize,
}

impl<'a> Heads<'a> {
    pub(super) fn of(all: &'a HeaderMap) -> Self {
        let mut heads = Self {
            all,
            content_type: None,
            session: None,
            version: None,
            accept: None,
            accept_encoding: None,
            content_encoding: None,
            host: None,
            origin: None,
            has_more: false,
            bytes: 0,
        };
        for (name, value) in all {
            heads.bytes += name.as_str().len() + value.len();
            let slot = match name {
                name if name == header::CONTENT_TYPE => &mut heads.content_type,
                name if name == header::ACCEPT => &mut heads.accept,
                name if name == header::ACCEPT_ENCODING => &mut heads.accept_encoding,
                name if name == header::CONTENT_ENCODING => &mut heads.content_encoding,
                name if name == header::HOST => &mut heads.host,
                name if name == header::ORIGIN => &mut heads.origin,
                name if *name == SESSION_HEADER => &mut heads.session,
                name if *name == VERSION_HEADER => &mut heads.version,
                _ => continue,
            };
            match slot {
                Some(_) => heads.has_more = true,
                None => *slot = Some(value),
            }
        }
        heads
    }

    /// Whether they are longer than they may be, with the address of the request. Over HTTP/2 they
    /// do not get here.
    pub(super) fn are_too_long(&self, uri: &Uri, limits: &Limits) -> bool {
        let address = uri.path_and_query().map_or(0, |address| address.as_str().len());
        self.bytes + address > limits.header_bytes
    }

    /// The revision that it says the client speaks.
    pub(super) fn version(&self) -> Option<&'a str> {
        self.version.and_then(|value| value.to_str().ok()).map(str::trim)
    }

    /// What the client takes, in the order in which it is said.
    pub(super) fn accepts(&self) -> impl Iterator<Item = &'a HeaderValue> {
        self.each(self.accept, header::ACCEPT)
    }

    /// How answers may be compressed.
    pub(super) fn accept_encodings(&self) -> impl Iterator<Item = &'a HeaderValue> {
        self.each(self.accept_encoding, header::ACCEPT_ENCODING)
    }

    /// How the body is compressed.
    pub(super) fn content_encodings(&self) -> impl Iterator<Item = &'a HeaderValue> {
        self.each(self.content_encoding, header::CONTENT_ENCODING)
    }

    /// Which servers it is meant for.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &'a HeaderValue> {
        self.each(self.host, header::HOST)
    }

    /// The pages that it comes from.
    pub(super) fn origins(&self) -> impl Iterator<Item = &'a HeaderValue> {
        self.each(self.origin, header::ORIGIN)
    }

    fn each(
        &self,
        first: Option<&'a HeaderValue>,
        name: HeaderName,
    ) -> impl Iterator<Item = &'a HeaderValue> {
        let more = self.has_more.then(|| self.all.get_all(name).into_iter().skip(1));
        first.into_iter().chain(more.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_header_is_there_once_or_as_often_as_it_was_sent() {
        let mut all = HeaderMap::new();
        all.insert("mcp-protocol-version", HeaderValue::from_static(" 2025-11-25"));
        all.insert("accept", HeaderValue::from_static("text/html"));
        all.insert("x-other", HeaderValue::from_static("1"));
        let once = Heads::of(&all);
        assert_eq!(once.version(), Some("2025-11-25"));
        assert_eq!(once.accepts().collect::<Vec<_>>(), ["text/html"]);
        assert_eq!((once.session, once.hosts().count()), (None, 0));
        let mut twice = all.clone();
        twice.append("accept", HeaderValue::from_static("*/*"));
        let twice = Heads::of(&twice);
        assert_eq!(twice.accepts().collect::<Vec<_>>(), ["text/html", "*/*"]);
        assert_eq!(twice.origins().count(), 0);
    }
}
