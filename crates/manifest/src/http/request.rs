//! A call's arguments become a request. Called by `handler`; sends nothing.

use crate::http::Http;
use crate::http::auth::Who;
use crate::http::slot::{Filling, Pairs};
use bytes::Bytes;
use haft_fetch::{Auth, Request, escape};
use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};

impl Http {
    /// The request for a call, or why these arguments make none.
    pub(crate) fn request(&self, filling: Filling<'_>) -> Result<Request, String> {
        let mut url = self.address.url(filling)?;
        let mut query = Pairs(url.query().unwrap_or_default().to_owned());
        for (name, slot) in &self.query {
            slot.pairs(name, filling, &mut query)?;
        }
        for who in self.auth.each() {
            if let Who::Query(name, secret) = who {
                query.push(name, &escape::text(&secret.0))?;
            }
        }
        if !query.0.is_empty() {
            url = url
                .with_path(&format!("{}?{}", url.path(), query.0))
                .map_err(|error| format!("These arguments make no usable address: {error}."))?;
        }
        let mut headers = HeaderMap::new();
        for (name, slot) in &self.headers {
            if let Some(text) = slot.text(filling)? {
                headers.append(name, value(name, &text)?);
            }
        }
        self.cookies(filling, &mut headers)?;
        let mut request = Request::new(self.method.clone(), url);
        if let Some((body, kind)) = self.body.write(filling)? {
            headers.entry(CONTENT_TYPE).or_insert(kind);
            request.body = Bytes::from(body);
        }
        request.headers = headers;
        request.redirects = self.redirects;
        Ok(request)
    }

    /// All cookies, in the one header that they have (RFC 6265, 5.4), and further headers of who
    /// asks.
    fn cookies(&self, filling: Filling<'_>, headers: &mut HeaderMap) -> Result<(), String> {
        let mut cookies = Vec::new();
        for (name, slot) in &self.cookies {
            let text = slot.text(filling)?;
            cookies.extend(text.map(|text| format!("{name}={}", escape::text(&text))));
        }
        for who in self.auth.each() {
            match who {
                Who::Cookie(name, secret) => cookies.push(format!("{name}={}", secret.0)),
                Who::Header(Auth::Header(name, value), _) => {
                    headers.insert(name, value.clone());
                }
                _ => {}
            }
        }
        if !cookies.is_empty() {
            headers.append(COOKIE, value(&COOKIE, &cookies.join("; "))?);
        }
        Ok(())
    }
}

/// A header's value, which cannot begin another header.
fn value(name: &HeaderName, text: &str) -> Result<HeaderValue, String> {
    // A block of text in YAML ends with a line end that nobody means.
    HeaderValue::from_bytes(text.trim().as_bytes()).map_err(|_| {
        format!("The header `{name}` cannot hold line ends or other control characters.")
    })
}
