//! What is written back: one JSON object where the answer is all there is to say, a stream of
//! server-sent events where something is said before it, or where it takes long.

use super::call_stream::CallEvents;
use super::coding;
use super::heads::Heads;
use super::long::LongAnswer;
use super::modern::EventStream;
use super::news::NewsEvents;
use super::request::Accepts;
use super::sse::write_event;
use super::subscription::FeedEvents;
use super::two_paths::LineEvents;
use bytes::{Bytes, BytesMut};
use haft_proto::service::{Outcome, Reply};
use haft_proto::version::Era;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::spawn_blocking;

/// The body of any answer.
pub(super) enum Answer {
    /// Of a legacy call.
    Call(Box<CallEvents>),
    /// Of a modern call.
    Events(Box<EventStream>),
    Feed(Box<FeedEvents>),
    /// Of a conversation of 2024-11-05.
    Line(Box<LineEvents>),
    /// A list: its beginning, until that is taken, and the rest, which answers others too.
    Listed(Bytes, Option<Bytes>),
    Long(Box<LongAnswer>),
    News(Box<NewsEvents>),
    Whole(Option<Bytes>),
}

impl Answer {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// It broke off, after something was sent.
    pub(super) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        let bytes = match self {
            Self::Long(long) => return long.poll_bytes(cx),
            Self::Call(call) => call.poll_event(cx),
            Self::Events(stream) => stream.poll_event(cx),
            Self::Line(line) => line.poll_event(cx),
            Self::News(news) => news.poll_event(cx),
            Self::Feed(feed) => feed.poll_events(cx),
            Self::Listed(start, rest) if start.is_empty() => Poll::Ready(rest.take()),
            Self::Listed(start, _) => Poll::Ready(Some(std::mem::take(start))),
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
        };
        bytes.map(|bytes| bytes.map(Ok))
    }

    /// How many bytes are still to come, if that is known.
    pub(super) fn len(&self) -> Option<usize> {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        match self {
            Self::Whole(bytes) => Some(length(bytes)),
            Self::Listed(start, rest) => Some(start.len() + length(rest)),
            _ => None,
        }
    }
}

/// What was sent is not all, and the rest will not come.
#[derive(Debug)]
pub(super) struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl Error for BrokenOff {}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(None));
    *response.status_mut() = status;
    response
}

/// A JSON answer of any status; what it is, is said by [`label`].
pub(super) fn json(status: StatusCode, message: impl Into<Bytes>) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Some(message.into())));
    *response.status_mut() = status;
    response
}

/// A list, whose beginning is in `start`.
pub(super) fn listed(start: Bytes, rest: Arc<str>) -> Response<Answer> {
    Response::new(Answer::Listed(start, Some(Bytes::from_owner(List(rest)))))
}

/// An answer in JSON that is compressed.
pub(super) fn packed(packed: Bytes) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Some(packed)));
    say_packed(response.headers_mut());
    response
}

/// Compresses an answer in JSON that is all there, if its client takes that.
pub(super) async fn pack(response: &mut Response<Answer>, heads: &Heads<'_>) {
    // What has a kind already is a stream of events, and what has a coding is compressed.
    let is_json = |headers: &HeaderMap| {
        !headers.contains_key(header::CONTENT_TYPE)
            && !headers.contains_key(header::CONTENT_ENCODING)
    };
    let Answer::Whole(Some(bytes)) = response.body() else { return };
    if !is_json(response.headers()) || !coding::takes_gzip(heads) {
        return;
    }
    let bytes = bytes.clone();
    let packed = match bytes.len() > coding::PACKED_HERE_MAX {
        // It would hold up what else this thread answers.
        true => spawn_blocking(move || coding::packed(&bytes)).await.unwrap_or_default(),
        false => coding::packed(&bytes),
    };
    if let Some(packed) = packed {
        *response.body_mut() = Answer::Whole(Some(packed));
        say_packed(response.headers_mut());
    }
}

fn say_packed(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, coding::WRITTEN);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
}

/// The rest of a list.
struct List(Arc<str>);

impl AsRef<[u8]> for List {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Says of an answer that it is JSON, if it has a body and does not say something else. Most have
/// no other header, and get it in the map of the request's: hyper takes that with its room for the
/// next request.
pub(super) fn label(response: &mut Response<Answer>, mut of_request: HeaderMap) {
    let is_labelled = response.headers().contains_key(header::CONTENT_TYPE);
    if is_labelled || response.body().len().is_none_or(|length| length == 0) {
        return;
    }
    let headers = response.headers_mut();
    if headers.is_empty() {
        of_request.clear();
        *headers = of_request;
    }
    headers.insert(header::CONTENT_TYPE, JSON);
}

/// An answer in JSON that is sent as it comes.
pub(super) fn long(long: LongAnswer) -> Response<Answer> {
    let mut response = Response::new(Answer::Long(Box::new(long)));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The answer to a message in JSON, with the status that it has.
pub(super) fn whole(message: impl Into<Bytes>, outcome: Outcome, era: Era) -> Response<Answer> {
    let status = match outcome {
        Outcome::Result => StatusCode::OK,
        Outcome::Refused(mistake) => StatusCode::from_u16(mistake.http_status(era))
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    };
    json(status, message)
}

/// An answer that is all there, in the form that the client takes.
pub(super) fn now(reply: Reply, era: Era, accepts: Accepts) -> Response<Answer> {
    let Reply { message, outcome, .. } = reply;
    if accepts.json || outcome != Outcome::Result {
        return whole(message, outcome, era);
    }
    let mut event = BytesMut::new();
    write_event(&mut event, &message);
    event_response(Answer::Whole(Some(event.freeze())))
}

/// A stream of events.
pub(super) fn event_response(answer: Answer) -> Response<Answer> {
    let mut response = Response::new(answer);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENTS);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that collects the stream first would defeat it.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
