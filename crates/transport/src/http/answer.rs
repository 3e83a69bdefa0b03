//! What is written back: one JSON object where the answer is all there is to say, a stream of
//! server-sent events where something is said before it, or where it takes long.

use super::bounds::Share;
use super::request::Accepts;
use super::sse::{Alarm, COMMENT, write_event};
use super::subscription::FeedEvents;
use crate::asking::Call;
use crate::conversation::Ticket;
use crate::outlet::Reader;
use bytes::{Bytes, BytesMut};
use haft_proto::limits::Limits;
use haft_proto::service::{Later, Outcome, Reply};
use haft_proto::version::Era;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The body of any answer.
pub(super) enum Answer {
    Events(Box<EventStream>),
    Feed(Box<FeedEvents>),
    Whole(Option<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = match self.get_mut() {
            Self::Events(stream) => stream.poll_event(cx),
            Self::Feed(feed) => feed.poll_events(cx),
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
        };
        polled.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                http_body::SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Events(_) | Self::Feed(_) => http_body::SizeHint::default(),
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(None));
    *response.status_mut() = status;
    response
}

/// A JSON answer of any status.
pub(super) fn json(status: StatusCode, message: Vec<u8>) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Some(message.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// An answer that is there, in the form that the client takes.
pub(super) fn now(reply: Reply, era: Era, accepts: Accepts) -> Response<Answer> {
    let Reply { message, outcome } = reply;
    match outcome {
        Outcome::Result if !accepts.json => {
            let mut event = BytesMut::new();
            write_event(&mut event, &message);
            event_response(Answer::Whole(Some(event.freeze())))
        }
        Outcome::Result => json(StatusCode::OK, message),
        Outcome::Refused(mistake) => {
            let status = StatusCode::from_u16(mistake.http_status(era));
            json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), message)
        }
    }
}

/// An answer to come: JSON if it is the first thing that comes, else a stream.
pub(super) async fn later(
    mut work: Work,
    queue: Reader,
    era: Era,
    accepts: Accepts,
    limits: &Limits,
) -> Response<Answer> {
    if !accepts.events {
        return finished(work.await, Reader::new(None), era, accepts);
    }
    let mut first = None;
    tokio::select! {
        biased;
        message = poll_fn(|cx| queue.poll_pop(cx)) => first = Some(message),
        reply = &mut work => return finished(reply, queue, era, accepts),
        () = sleep(limits.keep_alive) => {}
    }
    let alarm = Alarm::new(limits.keep_alive);
    // hyper polls a stream only as fast as its client reads; the work shall not wait for that.
    let work = Some(work.on_its_own());
    let stream = EventStream { work, queue, first, alarm };
    event_response(Answer::Events(Box::new(stream)))
}

/// An answer that came before anything was sent, with what was said about it on the way.
pub(super) fn finished(
    reply: Option<Reply>,
    queue: Reader,
    era: Era,
    accepts: Accepts,
) -> Response<Answer> {
    let Some(reply) = reply else {
        // A cancelled request is not answered, but HTTP wants some end of it.
        return match accepts.events {
            true => event_response(Answer::Whole(None)),
            false => empty(StatusCode::ACCEPTED),
        };
    };
    let mut events = BytesMut::new();
    while let Some(said) = queue.pop() {
        write_event(&mut events, &said);
    }
    if events.is_empty() {
        return now(reply, era, accepts);
    }
    write_event(&mut events, &reply.message);
    event_response(Answer::Whole(Some(events.freeze())))
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

/// The work on one answer, and who ends when: a modern client cancels it by going away, a legacy
/// one does not.
pub(super) enum Work {
    /// Ends with the connection, and counts towards the requests in flight until then.
    Here(Later, Share),
    /// Goes on without the client.
    Task(JoinHandle<Option<Reply>>),
    /// A task that ends with the connection.
    Tied(Tied),
}

/// A task that is ended when it is no longer waited for.
pub(super) struct Tied(JoinHandle<Option<Reply>>);

impl Drop for Tied {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Work {
    /// Work of a legacy request: `ended` is told when it is over, and whether it was cancelled.
    pub(super) fn task(
        call: Call,
        place: Share,
        ended: impl FnOnce(&Ticket) + Send + 'static,
    ) -> Self {
        Self::Task(tokio::spawn(async move {
            let (ticket, reply) = call.await;
            ended(&ticket);
            drop(place);
            reply
        }))
    }

    /// The same work, going on whether or not it is polled.
    fn on_its_own(self) -> Self {
        match self {
            Self::Here(later, place) => Self::Tied(Tied(tokio::spawn(async move {
                let reply = later.await;
                drop(place);
                Some(reply)
            }))),
            task => task,
        }
    }
}

impl Future for Work {
    type Output = Option<Reply>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Here(later, _) => later.as_mut().poll(cx).map(Some),
            // A task fails only with the whole runtime.
            Self::Task(task) | Self::Tied(Tied(task)) => {
                Pin::new(task).poll(cx).map(|ended| ended.ok().flatten())
            }
        }
    }
}

/// Notifications as they come, then the answer, then the end; comments while it is quiet.
pub(super) struct EventStream {
    /// `None` once it is answered.
    work: Option<Work>,
    queue: Reader,
    /// What was said before the stream began.
    first: Option<Vec<u8>>,
    alarm: Alarm,
}

impl EventStream {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut events = BytesMut::new();
        if let Some(message) = self.first.take() {
            write_event(&mut events, &message);
        }
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        // The work first, so that whatever it said on its way is in the queue when it is done.
        let reply = Pin::new(work).poll(cx);
        while let Poll::Ready(message) = self.queue.poll_pop(cx) {
            write_event(&mut events, &message);
        }
        if let Poll::Ready(reply) = reply {
            self.work = None;
            if let Some(reply) = reply {
                write_event(&mut events, &reply.message);
            }
            return Poll::Ready((!events.is_empty()).then(|| events.freeze()));
        }
        if events.is_empty() {
            return self.alarm.poll(cx).map(|()| Some(Bytes::from_static(COMMENT)));
        }
        self.alarm.reset();
        Poll::Ready(Some(events.freeze()))
    }
}
