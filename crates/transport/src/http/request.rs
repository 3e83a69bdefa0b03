//! What is read of a request before its message is looked at: its headers, and its body within the
//! limits of size and time.

use super::heads::Heads;
use crate::bounds::{Bound, Share};
use bytes::{Bytes, BytesMut};
use haft_proto::error::{Malformed, Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::mirror::{self, Field, Headers};
use http::{HeaderMap, HeaderName};
use http_body_util::BodyExt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use tokio::time::timeout;

/// The header of a legacy session.
pub(super) static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The header of a client that comes back.
pub(super) static LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");

/// The header of the revision that a client speaks.
pub(super) static VERSION_HEADER: HeaderName = HeaderName::from_static(mirror::VERSION_HEADER);

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

    fn each(&self, act: &mut dyn FnMut(&str, &[u8])) {
        self.0.iter().for_each(|(name, value)| act(name.as_str(), value.as_bytes()));
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
    pub(super) fn new(heads: &Heads<'_>) -> Self {
        let mut said = heads.accepts();
        if said.next().is_some_and(|value| value == BOTH) && said.next().is_none() {
            return Self { json: true, events: true };
        }
        let mut accepts = Self { json: false, events: false };
        let mut is_said = false;
        for value in heads.accepts() {
            is_said = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                if parts.any(is_refusal) {
                    continue;
                }
                let is_one_of =
                    |kinds: [&str; 3]| kinds.iter().any(|known| known.eq_ignore_ascii_case(kind));
                accepts.json |= is_one_of(["application/json", "application/*", "*/*"]);
                accepts.events |= is_one_of(["text/event-stream", "text/*", "*/*"]);
            }
        }
        if is_said { accepts } else { Self { json: true, events: false } }
    }
}

/// What the specification asks clients to accept, as most of them write it.
const BOTH: &str = "application/json, text/event-stream";

/// Whether a parameter of a media type is a quality of zero.
fn is_refusal(parameter: &str) -> bool {
    let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    quality.is_some_and(|quality| quality.parse::<f32>() == Ok(0.0))
}

/// Whether the body says that it is JSON.
pub(super) fn is_json(heads: &Heads<'_>) -> bool {
    let Some(kind) = heads.content_type else { return false };
    // As nearly all write it.
    if kind == "application/json" {
        return true;
    }
    let kind = kind.to_str().ok().and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// A body, which counts towards what its listener holds until it is dropped.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Bytes,
    /// What it counts for.
    pub(super) held: Share,
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The client broke off; there is nobody to answer.
    BrokenOff,
    /// Other bodies fill the memory that there is for them.
    NoRoom,
    /// Too large, by its own word or by count.
    TooLarge(Refusal),
    /// Too slow.
    TooSlow(Refusal),
}

/// Reads a whole body. One that announces more than the limit is not read at all.
pub(super) async fn read_body<B>(
    body: B,
    limits: &Limits,
    held: &Arc<Bound>,
) -> Result<Body, Unread>
where
    B: http_body::Body<Data = Bytes>,
{
    if body.size_hint().lower() > limits.message_bytes as u64 {
        return Err(too_large(limits));
    }
    let mut whole = pin!(collect(body, limits, held));
    if let Some(body) = at_once(whole.as_mut()).await {
        return body;
    }
    timeout(limits.body_timeout, whole).await.unwrap_or_else(|_| {
        Err(Unread::TooSlow(Refusal::new(
            Mistake::TimedOut,
            format!("Timed out: the body took longer than {:?}", limits.body_timeout),
        )))
    })
}

/// What is there when it is asked for a second time, as hyper hands over what came with the head
/// when it has been asked for once. Most bodies are, and need no timer.
async fn at_once<F: Future>(mut whole: Pin<&mut F>) -> Option<F::Output> {
    let mut was_asked = false;
    poll_fn(|cx| match whole.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if was_asked => Poll::Ready(None),
        Poll::Pending => {
            was_asked = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// A body of one frame is not copied; one of many is gathered in one piece of memory.
async fn collect<B>(body: B, limits: &Limits, held: &Arc<Bound>) -> Result<Body, Unread>
where
    B: http_body::Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let mut held = held.share();
    let (mut first, mut gathered) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame.map_err(|_| Unread::BrokenOff)?.into_data() else { continue };
        if first.len() + gathered.len() + frame.len() > limits.message_bytes {
            return Err(too_large(limits));
        }
        if !held.take(frame.len()) {
            return Err(Unread::NoRoom);
        }
        if first.is_empty() && gathered.is_empty() {
            first = frame;
        } else {
            if gathered.is_empty() {
                // What was announced need not come: as much again as has come is made ready.
                let come = first.len() + frame.len();
                let to_come = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
                gathered.reserve(come + to_come.min(come));
            }
            gathered.extend_from_slice(&std::mem::take(&mut first));
            gathered.extend_from_slice(&frame);
        }
    }
    let bytes = if gathered.is_empty() { first } else { gathered.freeze() };
    Ok(Body { bytes, held })
}

fn too_large(limits: &Limits) -> Unread {
    Unread::TooLarge(Malformed::MessageTooLong { limit: limits.message_bytes }.into())
}
