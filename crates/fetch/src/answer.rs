//! An answer whose body is still to be read, as far as its reader wants. Given by `client`.

use crate::coding::{CodingError, Codings};
use crate::dial::causes;
use crate::error::FetchError;
use crate::url::Url;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

/// What a server answered. Dropping it ends the transfer.
#[derive(Debug)]
pub struct Answer {
    /// How it went.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// Where the answer is from, after redirects.
    pub url: Url,
    pub(crate) body: Incoming,
}

impl Answer {
    /// The body, decoded, if it has no more than `limit` bytes.
    ///
    /// # Errors
    /// [`FetchError::TooLarge`] as soon as it is known to be longer, [`FetchError::Coding`],
    /// [`FetchError::Broken`].
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, FetchError> {
        let host = self.url.host();
        let too_large = || FetchError::TooLarge { host: host.to_owned(), limit };
        let broken = |error: hyper::Error| FetchError::Broken {
            host: host.to_owned(),
            reason: causes(&error),
        };
        let codings = Codings::of(&self.headers).map_err(|error| undecoded(host, error))?;
        if !codings.is_identity() {
            let (mut decoder, mut all) = (codings.decoder(), Vec::new());
            while let Some(frame) = self.body.frame().await {
                let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
                let decoded = decoder.decode(&data, &mut all, limit);
                decoded.map_err(|error| undecoded(host, error))?;
            }
            decoder.finish().map_err(|error| undecoded(host, error))?;
            return Ok(all.into());
        }
        if self.body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        let (mut first, mut all) = (None, BytesMut::new());
        while let Some(frame) = self.body.frame().await {
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            let length = first.as_ref().map_or(0, Bytes::len) + all.len();
            if length + data.len() > limit {
                return Err(too_large());
            }
            // Most answers come in one piece, which needs no copy.
            match first.take() {
                None if all.is_empty() => first = Some(data),
                None => all.extend_from_slice(&data),
                Some(piece) => {
                    all.extend_from_slice(&piece);
                    all.extend_from_slice(&data);
                }
            }
        }
        Ok(first.unwrap_or_else(|| all.freeze()))
    }

    /// The body, decoded, or as much of it as came and could be read, up to `limit` bytes.
    pub async fn beginning(mut self, limit: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let Ok(codings) = Codings::of(&self.headers) else { return all };
        let mut decoder = codings.decoder();
        while let Some(Ok(frame)) = self.body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            if decoder.decode(&data, &mut all, limit).is_err() {
                break;
            }
        }
        all
    }
}

fn undecoded(host: &str, error: CodingError) -> FetchError {
    let host = host.to_owned();
    match error {
        CodingError::TooLarge { limit } => FetchError::TooLarge { host, limit },
        error => FetchError::Coding { host, error },
    }
}
