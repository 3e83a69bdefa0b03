//! Bodies that a server has compressed: decoded while they are read, within the limit of a message.
//! Put around a body by whoever sends requests; everybody else reads it like any other.

use crate::error::ClientError;
use crate::limits::DECODED_MESSAGES_MAX;
use crate::reply::{Body, is_event_stream};
use bytes::Bytes;
use haft_fetch::{CodingError, Codings, Decoder};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use hyper::body::{Body as _, Frame};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Why a body cannot be read on.
type Failure = Box<dyn Error + Send + Sync>;

/// See above.
#[derive(Debug)]
pub(crate) struct CodedBody {
    body: Body,
    /// Nothing once the body is over.
    decoder: Option<Decoder>,
    /// Why there is none.
    unknown: Option<CodingError>,
    /// How many bytes it may become: all of it, or each piece of a stream, which has no end.
    limit: usize,
    is_stream: bool,
    given: usize,
}

/// The response as it is read: with what decodes its body, if that is encoded. `limit` is that of a
/// message.
pub(crate) fn decoding(mut response: Response<Body>, limit: usize) -> Response<Body> {
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let (decoder, unknown) = match Codings::of(response.headers()) {
        Ok(codings) if codings.is_identity() => return response,
        Ok(codings) => (Some(codings.decoder()), None),
        Err(error) => (None, Some(error)),
    };
    let is_stream = is_event_stream(&response);
    let limit = limit.saturating_mul(if is_stream { DECODED_MESSAGES_MAX } else { 1 });
    response.headers_mut().remove(CONTENT_LENGTH);
    response.map(|body| {
        Body::Coded(Box::new(CodedBody { body, decoder, unknown, limit, is_stream, given: 0 }))
    })
}

/// What it is called that a body broke off or cannot be decoded.
pub(crate) fn unread(
    method: &'static str,
    error: &(dyn Error + Send + Sync + 'static),
) -> ClientError {
    match error.downcast_ref::<CodingError>() {
        Some(CodingError::TooLarge { limit }) => ClientError::MessageTooLarge { limit: *limit },
        Some(CodingError::CutShort { .. }) | None => ClientError::ClosedMidAnswer { method },
        Some(coding) => ClientError::NotJsonRpc { method, reason: coding.to_string() },
    }
}

impl CodedBody {
    /// The body as it came.
    pub(crate) fn into_inner(self) -> Body {
        self.body
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let piece = ready!(self.poll_piece(cx));
        if !matches!(piece, Some(Ok(_))) {
            self.decoder = None;
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        if let Some(unknown) = self.unknown.take() {
            return Poll::Ready(Some(Err(unknown.into())));
        }
        let limit = self.limit;
        loop {
            let Some(decoder) = &mut self.decoder else { return Poll::Ready(None) };
            let data = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let ended = self.decoder.take().map_or(Ok(()), Decoder::finish);
                    return Poll::Ready(ended.err().map(|why| Err(why.into())));
                }
            };
            let mut piece = Vec::new();
            match decoder.decode(&data, &mut piece, limit - self.given) {
                Ok(()) if piece.is_empty() => {}
                Ok(()) => {
                    self.given += if self.is_stream { 0 } else { piece.len() };
                    return Poll::Ready(Some(Ok(piece.into())));
                }
                Err(CodingError::TooLarge { .. }) => {
                    return Poll::Ready(Some(Err(CodingError::TooLarge { limit }.into())));
                }
                Err(why) => return Poll::Ready(Some(Err(why.into()))),
            }
        }
    }
}
