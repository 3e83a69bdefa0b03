//! The body of a request over HTTP/3, as it comes. Counts against no limit itself: whoever reads it
//! does.

use super::quic::Receiving;
use bytes::{Buf, Bytes};
use h3::error::StreamError;
use h3::server::RequestStream;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// See the head of this file.
pub(super) struct Received {
    stream: RequestStream<Receiving, Bytes>,
    /// How much is to come, if the request says so.
    to_come: Option<u64>,
}

/// Why a body ends before its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client broke off.
    Off(StreamError),
    /// It is longer or shorter than its headers say (RFC 9114, 4.1.2).
    OtherLength,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off(error) => write!(f, "the body broke off: {error}"),
            Self::OtherLength => f.write_str("the body is not as long as `Content-Length` says"),
        }
    }
}

impl std::error::Error for Broken {}

impl Received {
    pub(super) fn new(stream: RequestStream<Receiving, Bytes>, headers: &HeaderMap) -> Self {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        Self { stream, to_come: length.and_then(|length| length.parse().ok()) }
    }

    /// The next bytes; `None` at the end. A frame without any looks like the end, and is none.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        for _ in 0..2 {
            if let Some(mut data) = ready!(self.stream.poll_recv_data(cx))? {
                return Poll::Ready(Ok(Some(data.copy_to_bytes(data.remaining()))));
            }
        }
        Poll::Ready(Ok(None))
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let body = self.get_mut();
        let bytes = ready!(body.poll_bytes(cx)).map_err(Broken::Off)?;
        let come = bytes.as_ref().map_or(0, Bytes::len) as u64;
        let left = body.to_come.map(|to_come| to_come.checked_sub(come));
        match (&bytes, left) {
            (_, Some(None)) | (None, Some(Some(1..))) => {
                return Poll::Ready(Some(Err(Broken::OtherLength)));
            }
            (_, left) => body.to_come = left.flatten(),
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        self.to_come.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
