//! HTTP as 2024-11-05 had it (Transports, "HTTP with SSE"): a GET opens a stream and is told where
//! to POST, and everything that is said to the client comes on that stream. A conversation lasts as
//! long as its stream. Off unless [`Options`](super::Options) have paths for it.

use super::answer::{self, Answer};
use super::beside::is_same_path;
use super::endpoint::{Endpoint, preflight};
use super::heads::Heads;
use super::refusals::{
    get_not_acceptable, method_not_allowed, refused, refused_to, try_again, unsupported_media_type,
};
use super::request::{Accepts, HttpHeaders, is_json};
use super::sessions::random;
use super::sse::{Alarm, COMMENT, write_event};
use super::stopping::Stopped;
use crate::asking::{Asked, take};
use crate::batch::{Batch, answers_wanted, batches_refused};
use crate::bounds::Bound;
use crate::conversation::{Conversation, Kept};
use crate::feeds::poll_feed;
use crate::outlet::{Queue, Sink};
use bytes::{Bytes, BytesMut};
use haft_proto::encode;
use haft_proto::envelope::{self, Envelope, Incoming, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::service::{Feed, Principal, Service};
use haft_proto::version::Era;
use http::request::Parts;
use http::{Method as Verb, Response, StatusCode};
use http_body::Body;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Where clients of 2024-11-05 find a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoPaths {
    /// What they GET.
    pub stream: String,
    /// Where they POST.
    pub messages: String,
}

impl Default for TwoPaths {
    fn default() -> Self {
        Self { stream: "/sse".to_owned(), messages: "/messages".to_owned() }
    }
}

/// The conversations whose streams are open, by their ids.
#[derive(Default)]
pub(super) struct Open(Mutex<HashMap<Box<str>, Arc<Line>>>);

/// One conversation.
struct Line {
    conversation: Mutex<Conversation>,
    /// What is said to the client.
    queue: Arc<Queue>,
    /// Bytes of answers on the connection of its stream.
    unread: Arc<Bound>,
    /// What it is told unasked, from when it is ready.
    news: Mutex<Option<Box<dyn Feed>>>,
    /// How many messages are at work whose answers are not queued yet.
    busy: AtomicUsize,
}

/// A message at work.
struct Busy(Arc<Line>);

impl Busy {
    fn new(line: &Arc<Line>) -> Self {
        line.busy.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(line))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        // The stream may have waited for it to end.
        self.0.queue.wake();
    }
}

impl Open {
    fn find(&self, id: &str) -> Option<Arc<Line>> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    /// Answers a request to one of the two paths; its body is given back if it is to another.
    pub(super) async fn two_paths<B>(
        &self,
        parts: &Parts,
        body: B,
        unread: &Arc<Bound>,
    ) -> Result<Response<Answer>, B>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some(paths) = &self.two_paths else { return Err(body) };
        let is_stream = is_same_path(parts.uri.path(), &paths.stream);
        if !is_stream && !is_same_path(parts.uri.path(), &paths.messages) {
            return Err(body);
        }
        Ok(match parts.method {
            Verb::OPTIONS => preflight(&parts.headers),
            Verb::GET if is_stream => self.open(parts, &paths.messages, unread),
            Verb::POST if !is_stream => self.take_post(parts, body).await,
            _ => method_not_allowed(
                "Method not allowed: GET opens a stream, which says where to POST",
            ),
        })
    }

    fn open(&self, parts: &Parts, messages: &str, unread: &Arc<Bound>) -> Response<Answer> {
        if !Accepts::new(&Heads::of(&parts.headers)).events {
            return get_not_acceptable();
        }
        let id = match random() {
            Ok(random) => format!("{random:032x}"),
            Err(refusal) => return refused_to(None, Era::Legacy, &refusal),
        };
        let line = Arc::new(Line {
            conversation: Mutex::new(Conversation::new(Principal::Anonymous, &self.limits)),
            queue: Queue::new(&self.limits),
            unread: Arc::clone(unread),
            news: Mutex::new(None),
            busy: AtomicUsize::new(0),
        });
        {
            let mut open = self.open.lock();
            if open.len() >= self.limits.sessions {
                let refusal = Refusal::new(
                    Mistake::Overloaded,
                    format!("Overloaded: {} streams are open; try again", self.limits.sessions),
                );
                return try_again(None, Era::Legacy, &refusal);
            }
            open.insert(id.clone().into(), Arc::clone(&line));
        }
        // What stands before this server may serve it below a path that is not known here.
        let messages = relative(parts.uri.path(), messages);
        let first = format!("event: endpoint\ndata: {messages}?sessionId={id}\n\n");
        let events = LineEvents {
            first: Some(first.into()),
            line,
            id: id.into(),
            open: Arc::clone(&self.open),
            alarm: Alarm::new(self.limits.keep_alive),
            stopped: self.stopping.wait(),
        };
        answer::event_response(Answer::Line(Box::new(events)))
    }

    async fn take_post<B>(&self, parts: &Parts, body: B) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if !is_json(&Heads::of(&parts.headers)) {
            return unsupported_media_type();
        }
        let pairs = parts.uri.query().unwrap_or_default().split('&');
        let id = pairs.filter_map(|pair| pair.strip_prefix("sessionId=")).next();
        let Some(line) = id.and_then(|id| self.open.find(id)) else {
            let refusal = Refusal::new(
                Mistake::UnknownSession,
                "Unknown session: POST to the address that the stream begins with",
            );
            return refused(StatusCode::NOT_FOUND, &refusal);
        };
        let body = match self.body(&Heads::of(&parts.headers), body).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        let headers = HttpHeaders(&parts.headers);
        let mut room = Vec::new();
        match envelope::read_with_halves(&body.bytes, &mut room, &self.limits) {
            Ok(Incoming::One(message)) => self.take_one(&line, &message, &headers),
            Ok(Incoming::Batch(messages)) => self.take_batch(&line, &messages, &headers),
            Err(rejected) => line.unreadable(&rejected),
        }
    }

    fn take_one(
        &self,
        line: &Arc<Line>,
        message: &Envelope<'_>,
        headers: &HttpHeaders<'_>,
    ) -> Response<Answer> {
        if message.params.meta.protocol_version.is_some() {
            let refusal = Refusal::new(
                Mistake::InvalidRequest,
                format!("Invalid request: POST messages of 2026-07-28 to {}", self.path),
            );
            return refused_to(message.id, Era::Modern, &refusal);
        }
        let mut place = self.in_flight.share();
        if message.kind == Kind::Request && (line.unread.is_full() || !place.take(1)) {
            return self.try_again(message.id, Era::Legacy);
        }
        let busy = Busy::new(line);
        let mut out = Vec::new();
        let sink = || Arc::<Queue>::clone(&line.queue) as Arc<dyn Sink>;
        let (kept, service) = (&line.conversation, &*self.service);
        let asked = take(kept, service, message, Some(headers), &sink, &mut out);
        line.taken(&*self.service);
        match asked {
            Asked::Answered { .. } => line.answer(out),
            Asked::Later(call) => {
                tokio::spawn(async move {
                    let (ticket, reply) = call.await;
                    if busy.0.conversation.with(|kept| kept.ended(&ticket))
                        && let Some(reply) = reply
                    {
                        busy.0.answer(reply.message);
                    }
                    drop((busy, place));
                });
            }
            Asked::Silent | Asked::Stream(_) => {}
        }
        answer::empty(StatusCode::ACCEPTED)
    }

    fn take_batch(
        &self,
        line: &Arc<Line>,
        messages: &[Result<Envelope<'_>, Rejected<'_>>],
        headers: &HttpHeaders<'_>,
    ) -> Response<Answer> {
        if !line.conversation.with(|kept| kept.has_batches()) {
            return refused_to(None, Era::Legacy, &batches_refused());
        }
        let mut place = self.in_flight.share();
        let wanted = answers_wanted(messages);
        if wanted > 0 && (line.unread.is_full() || !place.take(wanted)) {
            return self.try_again(None, Era::Legacy);
        }
        let busy = Busy::new(line);
        let sink = || Arc::<Queue>::clone(&line.queue) as Arc<dyn Sink>;
        let (kept, service) = (&line.conversation, &*self.service);
        let batch = Batch::take(kept, service, messages, Some(headers), &sink);
        line.taken(&*self.service);
        let tickets = batch.tickets();
        tokio::spawn(async move {
            let message = batch.finish().await;
            for ticket in &tickets {
                busy.0.conversation.with(|kept| kept.ended(ticket));
            }
            message.into_iter().for_each(|message| busy.0.answer(message));
            drop((busy, place));
        });
        answer::empty(StatusCode::ACCEPTED)
    }
}

impl Line {
    fn answer(&self, message: Vec<u8>) {
        self.queue.answer(message, &self.unread);
    }

    /// A message cannot be read. Who can be told on the stream waits for the answer there.
    fn unreadable(&self, rejected: &Rejected<'_>) -> Response<Answer> {
        let refusal = rejected.reason.into();
        let is_answer = self.conversation.with(|kept| kept.questions.hear_unreadable(rejected));
        match rejected.id.filter(|_| !is_answer && !self.unread.is_full()) {
            Some(id) => {
                let mut out = Vec::new();
                encode::error(&mut out, Some(id), &refusal);
                self.answer(out);
                answer::empty(StatusCode::ACCEPTED)
            }
            None => refused_to(None, Era::Modern, &refusal),
        }
    }

    /// A message has been taken: the client is told of changes once it is ready.
    fn taken(&self, service: &dyn Service) {
        if let Some(session) = self.conversation.with(Conversation::begins_to_listen) {
            *self.news() = service.news(&session);
            self.queue.wake();
        }
    }

    fn news(&self) -> MutexGuard<'_, Option<Box<dyn Feed>>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reference that leads from one path to another (RFC 3986, section 4.2).
fn relative(from: &str, to: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (from, to): (Vec<_>, Vec<_>) = (folder.split('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let rest = to[common..].join("/");
    match from.len() - common {
        // An empty one means the same path, and one with a colon would begin with a scheme.
        0 if rest.is_empty() || to[common].contains(':') => format!("./{rest}"),
        up => "../".repeat(up) + &rest,
    }
}

/// The stream of a conversation, which ends with it.
pub(super) struct LineEvents {
    /// Where to POST.
    first: Option<Bytes>,
    line: Arc<Line>,
    id: Box<str>,
    open: Arc<Open>,
    alarm: Alarm,
    stopped: Stopped,
}

impl LineEvents {
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let is_stopped = self.stopped.poll(cx).is_ready();
        // Calls that go on may have something to say, until their time is up.
        let is_idle = is_stopped && self.line.busy.load(Ordering::SeqCst) == 0;
        let Poll::Ready(message) = self.poll_message(cx) else {
            if is_idle {
                return Poll::Ready(None);
            }
            return self.alarm.poll(cx).map(|()| Some(Bytes::from_static(COMMENT)));
        };
        self.alarm.reset();
        let mut event = BytesMut::with_capacity(message.len() + 32);
        write_event(&mut event, &message);
        Poll::Ready(Some(event.freeze()))
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        if let Poll::Ready(message) = self.line.queue.poll_pop(cx) {
            return Poll::Ready(message);
        }
        let mut news = self.line.news();
        let Some(feed) = &mut *news else { return Poll::Pending };
        let mut message = Vec::new();
        match poll_feed(&mut **feed, cx, &mut message) {
            Poll::Ready(true) => Poll::Ready(message),
            Poll::Ready(false) => {
                *news = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for LineEvents {
    fn drop(&mut self) {
        self.open.lock().remove(&self.id);
        self.line.conversation.with(Conversation::end);
        drop(self.line.queue.close());
        let news = self.line.news().take();
        drop(news);
    }
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn a_reference_leads_from_the_stream_to_where_messages_go() {
        for (from, to, expected) in [
            ("/sse", "/messages", "messages"),
            ("/a/sse", "/a/messages", "messages"),
            ("/a/sse", "/messages", "../messages"),
            ("/a/b/sse", "/a/c/messages", "../c/messages"),
            ("/sse", "/a/messages", "a/messages"),
            ("/a/", "/a/b", "b"),
            ("/a", "/a/b", "a/b"),
            ("/a/b", "/a", "../a"),
            ("/sse", "/", "./"),
            ("/sse", "/a:b", "./a:b"),
        ] {
            assert_eq!(relative(from, to), expected, "{from} {to}");
        }
    }
}
