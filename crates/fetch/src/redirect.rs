//! What a redirect makes of a request (RFC 9110, 15.4): the next address, method, headers and body.
//! Called by `client` for each answer; sends nothing.

use crate::error::FetchError;
use crate::request::Request;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};

/// What survives a redirect to another server: nothing that could be a secret.
const HARMLESS: [http::HeaderName; 3] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE];

/// The request that a redirect asks for, if the answer is one.
pub(crate) fn next(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Request>, FetchError> {
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = headers.get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
    let bad = |reason: &str| {
        let host = request.url.host().to_owned();
        FetchError::BadRedirect { host, reason: reason.to_owned() }
    };
    let location = location.to_str().map_err(|_| bad("it is no text"))?;
    let url = request.url.join(location).map_err(|error| bad(error.0))?;
    if request.url.is_secure() && !url.is_secure() {
        return Err(bad("it would leave TLS"));
    }
    let is_same_origin = request.url.is_same_origin(&url);
    let mut next = Request { url, ..request.clone() };
    let becomes_get = match status.as_u16() {
        301 | 302 => request.method == Method::POST,
        303 => request.method != Method::HEAD,
        _ => false,
    };
    if becomes_get {
        next.method = Method::GET;
        next.body.clear();
        next.headers.remove(CONTENT_TYPE);
    }
    if !is_same_origin {
        if !next.body.is_empty() {
            return Err(bad("it would hand the body to another server; name that one instead"));
        }
        next.headers.retain_only(&HARMLESS);
    }
    Ok(Some(next))
}

trait Retain {
    fn retain_only(&mut self, names: &[http::HeaderName]);
}

impl Retain for HeaderMap {
    fn retain_only(&mut self, names: &[http::HeaderName]) {
        let others: Vec<_> = self.keys().filter(|name| !names.contains(name)).cloned().collect();
        for name in others {
            self.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;
    use http::HeaderValue;

    fn after(
        method: Method,
        status: u16,
        location: &'static str,
    ) -> Result<Option<Request>, FetchError> {
        let url = Url::parse("https://a/x").expect("an address");
        let mut request = Request::new(method, url);
        request.headers.insert("x-key", HeaderValue::from_static("secret"));
        request.headers.insert(ACCEPT, HeaderValue::from_static("text/plain"));
        if request.method != Method::GET {
            request.body = "body".into();
        }
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static(location));
        next(&request, StatusCode::from_u16(status).expect("a status"), &headers)
    }

    #[test]
    fn method_and_body_follow_the_rules() {
        for (method, status, expected, has_body) in [
            (Method::POST, 301, Method::GET, false),
            (Method::POST, 302, Method::GET, false),
            (Method::PUT, 302, Method::PUT, true),
            (Method::PUT, 303, Method::GET, false),
            (Method::POST, 307, Method::POST, true),
            (Method::DELETE, 308, Method::DELETE, true),
        ] {
            let next = after(method, status, "/y").expect("it can be followed").expect("a request");
            assert_eq!((next.method, !next.body.is_empty()), (expected, has_body), "{status}");
            assert!(next.headers.contains_key("x-key"));
        }
        for (status, location) in [(200, "/y"), (304, "/y"), (300, "/y")] {
            assert!(matches!(after(Method::GET, status, location), Ok(None)), "{status}");
        }
    }

    #[test]
    fn another_server_gets_no_secret() {
        for location in ["https://b/x", "https://a:444/x", "//b/"] {
            let next = after(Method::GET, 302, location).expect("allowed").expect("a request");
            assert_eq!(next.headers.keys().collect::<Vec<_>>(), [ACCEPT], "{location}");
        }
        for (status, location) in [(307, "https://b/x"), (302, "http://a/x"), (302, "/\\b")] {
            assert!(after(Method::POST, status, location).is_err(), "{location}");
        }
    }
}
