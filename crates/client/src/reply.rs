//! What an HTTP response holds: the answer as JSON, or a failure; a stream of events is read by
//! `stream`. Called by the HTTP wire for each request; bounded by the limit of a message.

use crate::coded::{CodedBody, unread};
use crate::error::{ClientError, excerpt};
use crate::http::Http;
use crate::lane;
use crate::message::{Ask, Heard, Listener, ReplyError, hear};
use crate::stream::Stream;
use bytes::Bytes;
use haft_proto::envelope::{self, Incoming};
use haft_proto::sse::Reader;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Frame;
use serde_json::value::RawValue;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a response.
#[derive(Debug)]
pub(crate) enum Body {
    Coded(Box<CodedBody>),
    Lane(lane::Body),
    Tls(hyper::body::Incoming),
}

impl Body {
    /// What came by a lane, as others come.
    pub(crate) fn response(answer: lane::Answer) -> Response<Self> {
        let mut response = Response::new(());
        *response.status_mut() = answer.head.status;
        *response.headers_mut() = answer.headers();
        response.map(|()| Self::Lane(answer.body))
    }

    /// What matters has come. Where the rest, which mostly is its end, comes soon, the connection
    /// can be used again.
    pub(crate) fn leave(self) {
        match self {
            Self::Coded(coded) => coded.into_inner().leave(),
            Self::Lane(body) => body.leave(),
            Self::Tls(_) => {}
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Coded(coded) => coded.poll_frame(cx),
            Self::Lane(body) => {
                let piece = ready!(body.poll_piece(cx));
                Poll::Ready(piece.map(|piece| piece.map(Frame::data).map_err(Into::into)))
            }
            Self::Tls(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }
}

/// How much of a failure's body is looked at.
const FAILURE_BYTES_MAX: usize = 64 * 1024;

/// Reads the answer to `ask` from a response whose status says success.
pub(crate) async fn read(
    http: &Http,
    ask: &Ask,
    response: Response<Body>,
    listener: Listener<'_>,
) -> Result<Box<RawValue>, ClientError> {
    let method = ask.method.name();
    if is_event_stream(&response) {
        let followed = Stream::new(http, Some(ask)).follow(response.into_body(), listener).await;
        return followed.map_err(|error| error.once_begun(ask.method));
    }
    let kind = content_type(&response);
    if response.status() == StatusCode::ACCEPTED || !is_json(&kind) {
        return Err(ClientError::UnknownContentType { method, found: excerpt(kind.as_bytes()) });
    }
    let limit = http.limits().message_bytes;
    let body = match Limited::new(response.into_body(), limit).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(ClientError::MessageTooLarge { limit });
        }
        Err(error) => return Err(unread(method, &*error)),
    };
    read_body(http, ask, &body, listener).await
}

/// Reads the answer to `ask` from a body that is one JSON text.
pub(crate) async fn read_body(
    http: &Http,
    ask: &Ask,
    body: &[u8],
    listener: Listener<'_>,
) -> Result<Box<RawValue>, ClientError> {
    let method = ask.method.name();
    match Stream::new(http, Some(ask)).take(body, listener).await? {
        Some(result) => Ok(result),
        None => Err(ClientError::NotJsonRpc { method, reason: "it is no answer".to_owned() }),
    }
}

/// What a response says whose status says failure.
pub(crate) async fn read_failure(ask: &Ask, response: Response<Body>) -> ClientError {
    let method = ask.method.name();
    let status = response.status();
    let body = beginning(response).await;
    let error = rpc_error(&body);
    match (status, error) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, error) => {
            let said = match error {
                Some(ReplyError::Rpc(error)) => error.message,
                _ => String::new(),
            };
            let said = excerpt(said.as_bytes());
            ClientError::AuthenticationNeeded { status: status.as_u16(), said }
        }
        (_, Some(error)) => ask.refused(error, Some(status.as_u16())),
        (_, None) => {
            let said = excerpt(&body);
            // A page for a browser says nothing in one line.
            let said = if said.starts_with('<') { String::new() } else { said };
            ClientError::HttpStatus { method, status: status.as_u16(), said }
        }
    }
}

/// The beginning of a body, which may be cut off or broken.
pub(crate) async fn beginning(response: Response<Body>) -> Vec<u8> {
    let mut body = response.into_body();
    let mut begun = Vec::new();
    while begun.len() < FAILURE_BYTES_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Some(data) = frame.data_ref() {
            let room = FAILURE_BYTES_MAX - begun.len();
            begun.extend_from_slice(data.get(..room).unwrap_or(data));
        }
    }
    begun
}

/// Whether a response is a stream of events.
pub(crate) fn is_event_stream<T>(response: &Response<T>) -> bool {
    content_type(response) == "text/event-stream"
}

/// Whether a body is a JSON-RPC error, or an event that is one.
pub(crate) fn is_refusal(body: &[u8]) -> bool {
    let mut events = Reader::new(FAILURE_BYTES_MAX);
    // What is no stream of events has none.
    _ = events.feed(body);
    let event = std::iter::from_fn(|| events.next()).find(|event| rpc_error(&event.data).is_some());
    event.is_some() || rpc_error(body).is_some()
}

/// The JSON-RPC error that a body holds.
fn rpc_error(body: &[u8]) -> Option<ReplyError> {
    let limits = haft_proto::limits::Limits::default();
    let mut room = Vec::new();
    match envelope::read_with_halves(body, &mut room, &limits) {
        Ok(Incoming::One(message)) => match hear(&message) {
            Heard::Reply(_, Err(error)) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

fn content_type<T>(response: &Response<T>) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind.ends_with("+json")
}
