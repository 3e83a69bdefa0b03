//! An answer whose body is still to be read, as far as its reader wants. Given by `client`.

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
    /// The body, if it has no more than `limit` bytes.
    ///
    /// # Errors
    /// [`FetchError::TooLarge`] as soon as it is known to be longer, [`FetchError::Broken`].
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, FetchError> {
        let too_large = || FetchError::TooLarge { host: self.url.host().to_owned(), limit };
        if self.body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        let (mut first, mut all) = (None, BytesMut::new());
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| FetchError::Broken {
                host: self.url.host().to_owned(),
                reason: causes(&error),
            })?;
            let Ok(data) = frame.into_data() else { continue };
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

    /// The body, or as much of it as came, up to `limit` bytes.
    pub async fn beginning(mut self, limit: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(Ok(frame)) = self.body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            let room = limit - all.len();
            all.extend_from_slice(&data[..room.min(data.len())]);
            if all.len() == limit {
                break;
            }
        }
        all
    }
}
