//! One HTTP request becomes one answer: guard, path, method, body, era, then the message itself.
//! Legacy requests go through a session, modern ones through nothing.

use super::Options;
use super::answer::{self, Answer, Work};
use super::bounds::{Bound, overloaded, oversubscribed};
use super::guard::Guard;
use super::request::{Accepts, HttpHeaders, SESSION_HEADER, Unread, is_json, read_body};
use super::sessions::{Session, Sessions};
use super::stopping::Stopping;
use super::subscription::FeedEvents;
use crate::asking::{Asked, ask_stateless, refuse, take};
use crate::batch::{Batch, batches_refused};
use crate::conversation::{Conversation, Kept};
use crate::outlet::{Queue, Reader, Sink};
use bytes::Bytes;
use haft_proto::admit;
use haft_proto::encode;
use haft_proto::envelope::{self, Envelope, Id, Incoming, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::mirror::VERSION_HEADER;
use haft_proto::service::{Feed, Outcome, Principal, Reply, Service, Turn};
use haft_proto::version::{Era, Revision};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use http_body::Body;
use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;

/// What all connections of a listener share.
pub(super) struct Endpoint {
    service: Arc<dyn Service>,
    path: String,
    guard: Guard,
    pub(super) sessions: Sessions,
    pub(super) limits: Limits,
    /// Requests that are not answered yet.
    in_flight: Arc<Bound>,
    /// Bytes of bodies.
    bodies: Arc<Bound>,
    subscriptions: Arc<Bound>,
    pub(super) stopping: Stopping,
}

/// What is known of a request while its message is answered.
struct Asking<'a> {
    headers: &'a HeaderMap,
    accepts: Accepts,
}

impl Endpoint {
    pub(super) fn new(
        service: Arc<dyn Service>,
        address: SocketAddr,
        options: &Options,
        limits: &Limits,
    ) -> Self {
        Self {
            service,
            path: options.path.clone(),
            guard: Guard::new(address, options),
            sessions: Sessions::new(limits),
            limits: limits.clone(),
            in_flight: Bound::new(limits.requests_in_flight),
            bodies: Bound::new(limits.bodies_bytes),
            subscriptions: Bound::new(limits.subscriptions),
            stopping: Stopping::default(),
        }
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        if let Err(turned_away) = self.guard.check(&parts.uri, &parts.headers) {
            let refusal = Refusal::new(Mistake::InvalidRequest, turned_away.message());
            return refused(StatusCode::FORBIDDEN, &refusal);
        }
        let mut response = self.route(&parts, body).await;
        if let Some(origin) = self.guard.cors_origin(&parts.headers) {
            allow_origin(response.headers_mut(), origin);
        }
        response
    }

    async fn route<B>(&self, parts: &Parts, body: B) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if parts.uri.path() != self.path {
            let message = format!("Not found: the endpoint is {}", self.path);
            let refusal = Refusal::new(Mistake::InvalidRequest, message);
            return refused(StatusCode::NOT_FOUND, &refusal);
        }
        match parts.method {
            Verb::POST => self.post(parts, body).await,
            Verb::DELETE => self.delete(&parts.headers),
            Verb::OPTIONS => preflight(&parts.headers),
            _ => method_not_allowed(),
        }
    }

    fn delete(&self, headers: &HeaderMap) -> Response<Answer> {
        if let Err(refusal) = known_version(headers) {
            return refused_to(None, Era::Legacy, &refusal);
        }
        let Some(id) = headers.get(SESSION_HEADER) else { return method_not_allowed() };
        if id.to_str().is_ok_and(|id| self.sessions.end(id)) {
            return answer::empty(StatusCode::NO_CONTENT);
        }
        refused(StatusCode::NOT_FOUND, &unknown_session())
    }

    async fn post<B>(&self, parts: &Parts, body: B) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let headers = &parts.headers;
        if !is_json(headers) {
            let refusal = Refusal::new(
                Mistake::InvalidRequest,
                "Unsupported media type: `Content-Type` must be `application/json`",
            );
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &refusal);
        }
        let accepts = Accepts::new(headers);
        if !accepts.json && !accepts.events {
            let refusal = Refusal::new(
                Mistake::InvalidRequest,
                "Not acceptable: `Accept` must list `application/json` and `text/event-stream`",
            );
            return refused(StatusCode::NOT_ACCEPTABLE, &refusal);
        }
        let body = match read_body(body, &self.limits, &self.bodies).await {
            Ok(body) => body,
            Err(Unread::BrokenOff) => return answer::empty(StatusCode::BAD_REQUEST),
            Err(Unread::NoRoom) => return self.try_again(None, Era::Modern),
            Err(Unread::TooLarge(refusal)) => {
                return refused(StatusCode::PAYLOAD_TOO_LARGE, &refusal);
            }
            Err(Unread::TooSlow(refusal)) => {
                return refused(StatusCode::REQUEST_TIMEOUT, &refusal);
            }
        };
        let asking = Asking { headers, accepts };
        match envelope::read(&body.bytes, &self.limits) {
            Ok(Incoming::One(message)) => self.one(&asking, &message).await,
            Ok(Incoming::Batch(messages)) => self.batch(&asking, &messages).await,
            Err(Rejected { id, reason }) => refused_to(id, Era::Modern, &reason.into()),
        }
    }

    async fn one(&self, asking: &Asking<'_>, message: &Envelope<'_>) -> Response<Answer> {
        // A request of an unknown version is told so in the order of its era's checks.
        if message.kind != Kind::Request
            && let Err(refusal) = known_version(asking.headers)
        {
            return refused_to(None, Era::Modern, &refusal);
        }
        let version = version_header(asking.headers);
        match (admit::era_of(message, version), message.kind, message.id) {
            (Era::Legacy, _, _) => self.legacy(asking, message).await,
            (Era::Modern, Kind::Request, Some(id)) => self.modern(asking, message, id).await,
            (Era::Modern, Kind::Notification, _) => answer::empty(StatusCode::ACCEPTED),
            (Era::Modern, _, _) => {
                let refusal = Refusal::new(
                    Mistake::InvalidRequest,
                    "Invalid request: nothing was asked of the client, so it cannot answer",
                );
                refused_to(message.id, Era::Modern, &refusal)
            }
        }
    }

    async fn modern(
        &self,
        asking: &Asking<'_>,
        message: &Envelope<'_>,
        id: Id<'_>,
    ) -> Response<Answer> {
        let mut place = self.in_flight.share();
        if !place.take(1) {
            return self.try_again(Some(id), Era::Modern);
        }
        let (queue, turn, message) = {
            let queue = LazyQueue::new(&self.limits, asking.accepts);
            let mut out = Vec::new();
            let headers = HttpHeaders(asking.headers);
            let sink = || queue.sink();
            let turn = ask_stateless(&*self.service, message, id, &headers, &sink, &mut out);
            (queue.into_reader(), turn, out)
        };
        match turn {
            Turn::Done(outcome) => answer::finished(
                Some(Reply { message, outcome }),
                queue,
                Era::Modern,
                asking.accepts,
            ),
            Turn::Stream(feed) => self.subscribe(asking, feed, id),
            Turn::Later(later) => {
                let work = Work::Here(later, place);
                answer::later(work, queue, Era::Modern, asking.accepts, &self.limits).await
            }
        }
    }

    /// Answers with a stream that goes on until its client goes or the server stops.
    fn subscribe(&self, asking: &Asking<'_>, feed: Box<dyn Feed>, id: Id<'_>) -> Response<Answer> {
        if !asking.accepts.events {
            let refusal = Refusal::new(
                Mistake::InvalidRequest,
                "Not acceptable: this is answered with a stream; `Accept` must list \
                 `text/event-stream`",
            );
            let mut response = refused_to(Some(id), Era::Modern, &refusal);
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        }
        let mut place = self.subscriptions.share();
        if !place.take(1) {
            return try_again(Some(id), Era::Modern, &oversubscribed(&self.limits));
        }
        let stopped = self.stopping.wait();
        let events = FeedEvents::new(feed, self.limits.keep_alive, stopped, place);
        answer::event_response(Answer::Feed(Box::new(events)))
    }

    /// What a client is told when there is no room for its request.
    fn try_again(&self, id: Option<Id<'_>>, era: Era) -> Response<Answer> {
        try_again(id, era, &overloaded(&self.limits))
    }

    async fn legacy(&self, asking: &Asking<'_>, message: &Envelope<'_>) -> Response<Answer> {
        if message.method.is_some_and(|method| method.decode() == Method::Initialize.name()) {
            return self.initialize(message);
        }
        let session = match self.session(asking.headers) {
            Ok(session) => session,
            Err(refusal) => return refused_to(message.id, Era::Legacy, &refusal),
        };
        let mut place = self.in_flight.share();
        // What is no request must get through: it may be what a request in flight waits for.
        if message.kind == Kind::Request && !place.take(1) {
            return self.try_again(message.id, Era::Legacy);
        }
        let (queue, asked, message) = {
            let queue = LazyQueue::new(&self.limits, asking.accepts);
            let mut out = Vec::new();
            let sink = || queue.sink();
            let asked = take(&session.conversation, &*self.service, message, &sink, &mut out);
            (queue.into_reader(), asked, out)
        };
        match asked {
            Asked::Silent | Asked::Stream(_) => answer::empty(StatusCode::ACCEPTED),
            Asked::Answered { outcome, .. } => answer::finished(
                Some(Reply { message, outcome }),
                queue,
                Era::Legacy,
                asking.accepts,
            ),
            Asked::Later(call) => {
                let work = Work::task(call, place, move |ticket| {
                    session.conversation.with(|kept| kept.ended(ticket));
                });
                answer::later(work, queue, Era::Legacy, asking.accepts, &self.limits).await
            }
        }
    }

    /// Begins a session, and answers in JSON: every client takes that here.
    fn initialize(&self, message: &Envelope<'_>) -> Response<Answer> {
        let fresh = RefCell::new(Conversation::new(Principal::Anonymous, &self.limits));
        let mut out = Vec::new();
        let sink = || Queue::without_reader() as Arc<dyn Sink>;
        let asked = take(&fresh, &*self.service, message, &sink, &mut out);
        let Asked::Answered { outcome, .. } = asked else {
            return answer::empty(StatusCode::ACCEPTED);
        };
        let accepts = Accepts { json: true, events: false };
        let mut response = answer::now(Reply { message: out, outcome }, Era::Legacy, accepts);
        if let (Outcome::Result, Some(agreed)) = (outcome, fresh.into_inner().agreed) {
            match self.sessions.begin(agreed) {
                Ok(id) => {
                    if let Ok(id) = HeaderValue::from_str(&id) {
                        response.headers_mut().insert(SESSION_HEADER, id);
                    }
                }
                Err(refusal) => return refused_to(message.id, Era::Legacy, &refusal),
            }
        }
        response
    }

    async fn batch(
        &self,
        asking: &Asking<'_>,
        messages: &[Result<Envelope<'_>, Rejected<'_>>],
    ) -> Response<Answer> {
        let is_modern = |message: &Envelope<'_>| message.params.meta.protocol_version.is_some();
        if let Err(refusal) = known_version(asking.headers) {
            return refused_to(None, Era::Modern, &refusal);
        }
        if messages.iter().flatten().all(is_modern) && messages.iter().all(Result::is_ok) {
            return refused_to(None, Era::Modern, &batches_refused());
        }
        let session = match self.session(asking.headers) {
            Ok(session) => session,
            Err(refusal) => return refused_to(None, Era::Legacy, &refusal),
        };
        if !session.conversation.with(|kept| kept.has_batches()) {
            return refused_to(None, Era::Legacy, &batches_refused());
        }
        let is_request = |message: &Envelope<'_>| message.kind == Kind::Request;
        let wants_answers =
            messages.iter().any(|message| message.as_ref().map_or(true, is_request));
        let mut place = self.in_flight.share();
        if wants_answers && !place.take(1) {
            return self.try_again(None, Era::Legacy);
        }
        let (queue, batch) = {
            let queue = LazyQueue::new(&self.limits, asking.accepts);
            let sink = || queue.sink();
            let batch = Batch::take(&session.conversation, &*self.service, messages, &sink);
            (queue.into_reader(), batch)
        };
        if !wants_answers {
            return answer::empty(StatusCode::ACCEPTED);
        }
        let tickets = batch.tickets();
        let work = Work::Task(tokio::spawn(async move {
            let message = batch.finish().await?;
            for ticket in tickets {
                session.conversation.with(|kept| kept.ended(&ticket));
            }
            drop(place);
            Some(Reply { message, outcome: Outcome::Result })
        }));
        answer::later(work, queue, Era::Legacy, asking.accepts, &self.limits).await
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        let id = headers.get(SESSION_HEADER).ok_or_else(|| {
            Refusal::new(
                Mistake::MissingSession,
                "Invalid request: send `initialize` first and then its `Mcp-Session-Id`, or name \
                 a version in `params._meta` as 2026-07-28 has it",
            )
        })?;
        id.to_str().ok().and_then(|id| self.sessions.find(id)).ok_or_else(unknown_session)
    }
}

/// A queue for what is said about one request, made when the first call wants it.
struct LazyQueue<'a> {
    limits: &'a Limits,
    accepts: Accepts,
    made: OnceCell<Arc<Queue>>,
}

impl<'a> LazyQueue<'a> {
    fn new(limits: &'a Limits, accepts: Accepts) -> Self {
        Self { limits, accepts, made: OnceCell::new() }
    }

    fn sink(&self) -> Arc<dyn Sink> {
        let make = || match self.accepts.events {
            true => Queue::new(self.limits),
            false => Queue::without_reader(),
        };
        Arc::<Queue>::clone(self.made.get_or_init(make))
    }

    fn into_reader(self) -> Reader {
        Reader::new(self.made.into_inner())
    }
}

fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION_HEADER).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// A version header names a revision, if it is there (2025-06-18, "Protocol Version Header").
fn known_version(headers: &HeaderMap) -> Result<(), Refusal> {
    match version_header(headers) {
        Some(version) if Revision::parse(version).is_none() => Err(admit::unsupported(version)),
        _ => Ok(()),
    }
}

fn unknown_session() -> Refusal {
    Refusal::new(
        Mistake::UnknownSession,
        "Unknown session: it has ended or never was; send `initialize` again",
    )
}

/// A refusal of the request itself, before its message was read.
fn refused(status: StatusCode, refusal: &Refusal) -> Response<Answer> {
    let mut message = Vec::new();
    encode::error(&mut message, None, refusal);
    answer::json(status, message)
}

/// A refusal of a message.
fn refused_to(id: Option<Id<'_>>, era: Era, refusal: &Refusal) -> Response<Answer> {
    let mut message = Vec::new();
    refuse(&mut message, id, refusal);
    let accepts = Accepts { json: true, events: false };
    let outcome = Outcome::Refused(refusal.mistake);
    answer::now(Reply { message, outcome }, era, accepts)
}

fn try_again(id: Option<Id<'_>>, era: Era, refusal: &Refusal) -> Response<Answer> {
    let mut response = refused_to(id, era, refusal);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn method_not_allowed() -> Response<Answer> {
    let refusal = Refusal::new(
        Mistake::InvalidRequest,
        "Method not allowed: send messages by POST; DELETE ends a session",
    );
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, &refusal);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, DELETE, OPTIONS"));
    response
}

/// What a browser asks before it lets a page call. Whether it may is said by [`allow_origin`].
fn preflight(headers: &HeaderMap) -> Response<Answer> {
    let mut response = answer::empty(StatusCode::NO_CONTENT);
    let out = response.headers_mut();
    out.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST, DELETE, OPTIONS"),
    );
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers
        .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
