//! How a request says who asks. Made by callers from what they were configured with.

use crate::token::TokenSource;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, InvalidHeaderValue};
use http::{HeaderName, HeaderValue};
use std::sync::Arc;

/// How a request says who asks. It goes to the request's own server only, never to another one that
/// a redirect leads to.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// By a header that is always the same.
    Header(HeaderName, HeaderValue),
    /// Not at all.
    #[default]
    None,
    /// By an access token that is fetched, kept and renewed.
    Token(Arc<TokenSource>),
}

impl Auth {
    /// `Authorization: Bearer TOKEN`.
    ///
    /// # Errors
    /// If it holds a line end or another control character.
    pub fn bearer(token: &str) -> Result<Self, InvalidHeaderValue> {
        Self::header(AUTHORIZATION, &format!("Bearer {token}"))
    }

    /// `Authorization: Basic …` (RFC 7617).
    ///
    /// # Errors
    /// Never; what is encoded always fits a header.
    pub fn basic(user: &str, password: &str) -> Result<Self, InvalidHeaderValue> {
        let pair = STANDARD.encode(format!("{user}:{password}"));
        Self::header(AUTHORIZATION, &format!("Basic {pair}"))
    }

    /// What it sends and nobody else should read, as it is sent: the header's value, and what
    /// stands there behind `Bearer` or the like.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let values: Vec<HeaderValue> = match self {
            Self::Header(_, value) => vec![value.clone()],
            Self::None => Vec::new(),
            Self::Token(source) => source.known().collect(),
        };
        let of_value = |value: HeaderValue| {
            let whole = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let part = whole.split_once(' ').map(|(_, part)| part.to_owned());
            [whole].into_iter().chain(part)
        };
        values.into_iter().flat_map(of_value).collect()
    }

    /// A header of any name.
    ///
    /// # Errors
    /// If it holds a line end or another control character.
    pub fn header(name: HeaderName, value: &str) -> Result<Self, InvalidHeaderValue> {
        let mut value = HeaderValue::from_bytes(value.as_bytes())?;
        value.set_sensitive(true);
        Ok(Self::Header(name, value))
    }
}
