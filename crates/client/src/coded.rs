//! Bodies that a server has compressed: decoded while they are read, within the limit of a message.
//! Put around a body by whoever sends requests; everybody else reads it like any other.

use crate::error::ClientError;
use crate::limits::DECODED_MESSAGES_MAX;
use crate::reply::{Body, is_event_stream};
use bytes::Bytes;
use haft_fetch::{Coded, Decoder};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use hyper::body::{Body as _, Frame};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// See above.
#[derive(Debug)]
pub(crate) struct CodedBody {
    body: Body,
    decoder: Result<Decoder, Coded>,
    is_over: bool,
}

/// The response as it is read: with what decodes its body, if that is encoded. `limit` is that of a
/// message.
pub(crate) fn decoding(mut response: Response<Body>, limit: usize) -> Response<Body> {
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let decoder = match is_event_stream(&response) {
        true => {
            let many = limit.saturating_mul(DECODED_MESSAGES_MAX);
            Decoder::of(response.headers(), many).map(|decoder| decoder.map(Decoder::for_stream))
        }
        false => Decoder::of(response.headers(), limit),
    };
    response.headers_mut().remove(CONTENT_LENGTH);
    response.map(|body| match decoder.transpose() {
        Some(decoder) => Body::Coded(Box::new(CodedBody { body, decoder, is_over: false })),
        None => body,
    })
}

/// What it is called that a body broke off or cannot be decoded.
pub(crate) fn unread(
    method: &'static str,
    error: &(dyn Error + Send + Sync + 'static),
) -> ClientError {
    match error.downcast_ref::<Coded>() {
        Some(Coded::TooLarge(limit)) => ClientError::MessageTooLarge { limit: *limit },
        Some(Coded::Cut(_)) | None => ClientError::ClosedMidAnswer { method },
        Some(coded) => ClientError::NotJsonRpc { method, reason: coded.to_string() },
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
    ) -> Poll<Option<Result<Frame<Bytes>, Box<dyn Error + Send + Sync>>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let piece = ready!(self.poll_piece(cx));
        self.is_over = !matches!(piece, Some(Ok(_)));
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<dyn Error + Send + Sync>>>> {
        let decoder = match &mut self.decoder {
            Ok(decoder) => decoder,
            Err(why) => return Poll::Ready(Some(Err(why.clone().into()))),
        };
        loop {
            match decoder.decoded() {
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(None) => {}
                Err(why) => return Poll::Ready(Some(Err(why.into()))),
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => decoder.feed(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(decoder.end().err().map(|why| Err(why.into()))),
            }
        }
    }
}
