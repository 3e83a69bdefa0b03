//! One HTTP request becomes one answer: guard, path, method, body, era, then the message itself.
//! Legacy requests go through a session, modern ones through nothing.

use super::Options;
use super::answer::{self, Answer, Work};
use super::bounds::{Bound, overloaded};
use super::guard::Guard;
use super::request::{Accepts, HttpHeaders, SESSION_HEADER, Unread, is_json, read_body};
use super::sessions::{Session, Sessions};
use crate::asking::{
    Asked, Batch, Conversation, Kept, Queue, ask_stateless, batches_refused, refuse, take,
};
use bytes::Bytes;
use haft_proto::admit;
use haft_proto::encode;
use haft_proto::envelope::{self, Envelope, Id, Incoming, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::mirror::VERSION_HEADER;
use haft_proto::service::{Outcome, Reply, Service, Turn};
use haft_proto::version::{Era, Revision};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use http_body::Body;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;

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
        let (notifications, turn, out) = {
            let channel = LazyChannel::new(&self.limits);
            let mut out = Vec::new();
            let headers = HttpHeaders(asking.headers);
            let queue = || channel.queue();
            let turn = ask_stateless(&*self.service, message, id, &headers, &queue, &mut out);
            (channel.into_notifications(), turn, out)
        };
        match turn {
            Turn::Done(outcome) => answer::now(out, outcome, Era::Modern, asking.accepts),
            Turn::Stream(_) => answer::empty(StatusCode::NOT_IMPLEMENTED),
            Turn::Later(later) => {
                let work = Work::Here(later, place);
                answer::later(work, notifications, Era::Modern, asking.accepts, &self.limits).await
            }
        }
    }

    /// What a client is told when there is no room for its request.
    fn try_again(&self, id: Option<Id<'_>>, era: Era) -> Response<Answer> {
        let mut response = refused_to(id, era, &overloaded(&self.limits));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        response
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
        if !place.take(1) {
            return self.try_again(message.id, Era::Legacy);
        }
        let (notifications, asked, out) = {
            let channel = LazyChannel::new(&self.limits);
            let mut out = Vec::new();
            let queue = || channel.queue();
            let asked = take(&session.conversation, &*self.service, message, &queue, &mut out);
            (channel.into_notifications(), asked, out)
        };
        match asked {
            Asked::Silent => answer::empty(StatusCode::ACCEPTED),
            Asked::Answered(outcome) => answer::now(out, outcome, Era::Legacy, asking.accepts),
            Asked::Later(call) => {
                let work = Work::task(call, place, move |ticket| {
                    session.conversation.with(|kept| kept.ended(ticket));
                });
                answer::later(work, notifications, Era::Legacy, asking.accepts, &self.limits).await
            }
        }
    }

    /// Begins a session, and answers in JSON: every client takes that here.
    fn initialize(&self, message: &Envelope<'_>) -> Response<Answer> {
        let fresh = RefCell::new(Conversation::new(&self.limits));
        let mut out = Vec::new();
        let queue = || mpsc::channel(1).0;
        let asked = take(&fresh, &*self.service, message, &queue, &mut out);
        let Asked::Answered(outcome) = asked else {
            return answer::empty(StatusCode::ACCEPTED);
        };
        let accepts = Accepts { json: true, events: false };
        let mut response = answer::now(out, outcome, Era::Legacy, accepts);
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
        let mut place = self.in_flight.share();
        if !place.take(1) {
            return self.try_again(None, Era::Legacy);
        }
        let (notifications, batch) = {
            let channel = LazyChannel::new(&self.limits);
            let queue = || channel.queue();
            let batch = Batch::take(&session.conversation, &*self.service, messages, &queue);
            (channel.into_notifications(), batch)
        };
        let tickets = batch.tickets();
        let work = Work::Task(tokio::spawn(async move {
            let message = batch.finish().await?;
            for ticket in tickets {
                session.conversation.with(|kept| kept.ended(&ticket));
            }
            drop(place);
            Some(Reply { message, outcome: Outcome::Result })
        }));
        answer::later(work, notifications, Era::Legacy, asking.accepts, &self.limits).await
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

/// A queue for the notifications of one request, made when the first call wants one.
struct LazyChannel {
    room: usize,
    made: RefCell<Option<(Queue, mpsc::Receiver<Vec<u8>>)>>,
}

impl LazyChannel {
    fn new(limits: &Limits) -> Self {
        Self { room: limits.queued_notifications.max(1), made: RefCell::new(None) }
    }

    fn queue(&self) -> Queue {
        self.made.borrow_mut().get_or_insert_with(|| mpsc::channel(self.room)).0.clone()
    }

    fn into_notifications(self) -> Option<mpsc::Receiver<Vec<u8>>> {
        self.made.into_inner().map(|(_, notifications)| notifications)
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
    answer::now(message, Outcome::Refused(refusal.mistake), era, accepts)
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
