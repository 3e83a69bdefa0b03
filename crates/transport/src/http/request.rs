//! What is read of a request before its message is looked at: its headers, and its body within the
//! limits of size and time.

use bytes::Bytes;
use haft_proto::error::{Malformed, Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::mirror::{Field, Headers};
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

/// The header of a legacy session, in lower case.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// The headers of a request, as `haft-proto` asks for them.
pub(super) struct HttpHeaders<'a>(pub(super) &'a HeaderMap);

impl Headers for HttpHeaders<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        let mut values = self.0.get_all(name).into_iter();
        match (values.next(), values.next()) {
            (None, _) => Field::Absent,
            (Some(value), None) => Field::One(value.as_bytes()),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }
}

/// Which kinds of answer a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Without an `Accept` header, JSON: a client that wants a stream has to say so.
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let mut accepts = Self { json: false, events: false };
        let mut is_said = false;
        for value in headers.get_all(header::ACCEPT) {
            is_said = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let range = range.split(';').next().unwrap_or_default().trim();
                accepts.json |= matches!(range, "application/json" | "application/*" | "*/*");
                accepts.events |= matches!(range, "text/event-stream" | "text/*" | "*/*");
            }
        }
        if is_said { accepts } else { Self { json: true, events: false } }
    }
}

/// Whether the body says that it is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The client broke off; there is nobody to answer.
    BrokenOff,
    /// Too large, by its own word or by count.
    TooLarge(Refusal),
    /// Too slow.
    TooSlow(Refusal),
}

/// Reads a whole body. A body that announces more than the limit is not read at all.
pub(super) async fn read_body<B>(body: B, limits: &Limits) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limit = limits.message_bytes;
    let too_large = || Unread::TooLarge(Malformed::MessageTooLong { limit }.into());
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    match timeout(limits.body_timeout, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Unread::BrokenOff),
        Err(_) => Err(Unread::TooSlow(Refusal::new(
            Mistake::TimedOut,
            format!("Timed out: the body took longer than {:?}", limits.body_timeout),
        ))),
    }
}
