//! What is asked of a server: made by callers, sent by `client`.

use crate::url::Url;
use bytes::Bytes;
use http::{HeaderMap, Method};

/// A request. Its headers and body go to its own server only: after a redirect to another one, no
/// header is sent that the caller chose but `accept`, `accept-language` and `content-type`.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// With what.
    pub url: Url,
    /// The headers of the caller.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How many redirects are followed, [`REDIRECTS_MAX`](crate::limits::REDIRECTS_MAX) at most. A
    /// redirect beyond them is an error; with none, it is an answer like others.
    pub redirects: usize,
}

impl Request {
    /// A `GET` of an address that follows five redirects.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// A request without headers and body that follows five redirects.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new(), redirects: 5 }
    }
}
