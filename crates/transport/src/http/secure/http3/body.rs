//! The body of a request over HTTP/3, as it comes. Counts against no limit itself: whoever reads it
//! does.

use super::receiving::{Come, Receiving};
use bytes::{Buf, Bytes};
use h3::error::StreamError;
use h3::server::RequestStream;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::coop;

/// See the head of this file.
pub(super) struct Received {
    stream: RequestStream<Receiving, Bytes>,
    /// How much is to come, if the request says so.
    to_come: Option<u64>,
    come: Arc<Come>,
    /// How much has been read.
    read: u64,
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
    /// With as many bytes as [`length`] says, if it does.
    pub(super) fn new(
        stream: RequestStream<Receiving, Bytes>,
        to_come: Option<u64>,
        come: Arc<Come>,
    ) -> Self {
        Self { stream, to_come, come, read: 0 }
    }

    /// The next bytes; `None` at the end. A frame without any looks like the end, and is none.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        loop {
            // However many frames there are, others have their turn.
            let turn = ready!(coop::poll_proceed(cx));
            let data = ready!(self.stream.poll_recv_data(cx))?;
            turn.made_progress();
            if let Some(mut data) = data {
                let bytes = data.copy_to_bytes(data.remaining());
                self.read += bytes.len() as u64;
                return Poll::Ready(Ok(Some(bytes)));
            }
            if self.come.is_whole_of(self.read) {
                return Poll::Ready(Ok(None));
            }
        }
    }
}

/// How long a body says that it is, if it does.
///
/// # Errors
/// It says something else than a number, or several.
pub(super) fn length(headers: &HeaderMap) -> Result<Option<u64>, Malformed> {
    let mut said = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        let text = value.to_str().ok().filter(|text| text.bytes().all(|it| it.is_ascii_digit()));
        let length = text.and_then(|text| text.parse().ok()).ok_or(Malformed)?;
        if said.replace(length).is_some_and(|before| before != length) {
            return Err(Malformed);
        }
    }
    Ok(said)
}

/// A request is none (RFC 9114, 4.1.2).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

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
