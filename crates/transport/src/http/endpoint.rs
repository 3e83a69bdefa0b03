//! One HTTP request becomes one answer: guard, path, method, body, era, then the message itself.
//! Legacy requests go through a session, modern ones through nothing. At other paths others may
//! answer (`beside`), each with sessions of its own.

use super::Options;
use super::answer::{self, Answer};
use super::beside::{Others, is_same_path};
use super::buffers::Buffers;
use super::coding::{self, PackedLists, Unpackable};
use super::guard::Guard;
use super::heads::Heads;
use super::refusals::{
    VERBS, broken_coding, headers_too_long, method_not_allowed, not_acceptable, refused,
    refused_to, try_again, unsupported_coding, unsupported_media_type,
};
use super::request::{self, Accepts, Unread, is_json, read_body};
use super::secure::Secure;
use super::sessions::Sessions;
use super::stopping::Stopping;
use super::timed::Departure;
use super::two_paths::{Open, TwoPaths};
use super::unread::{self, Sent};
use super::upgrade;
use crate::bounds::{Bound, overloaded};
use bytes::Bytes;
use haft_proto::admit;
use haft_proto::envelope::{self, Envelope, Id, Incoming, Kind};
use haft_proto::error::{Malformed, Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use haft_proto::version::{Era, Revision};
use haft_stages::{Stage, Trip};
use http::request::Parts;
use http::{
    HeaderMap, HeaderValue, Method as Verb, Request, Response, StatusCode, Version, header,
};
use http_body::Body;
use std::net::SocketAddr;
use std::sync::Arc;

/// What all connections of a listener share: who answers at a path, and who at others.
pub(super) struct Endpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) path: String,
    guard: Arc<Guard>,
    pub(super) sessions: Sessions,
    pub(super) has_sessions: bool,
    pub(super) limits: Arc<Limits>,
    pub(super) buffers: Arc<Buffers>,
    pub(super) packed_lists: Arc<PackedLists>,
    /// Requests that are not answered yet.
    pub(super) in_flight: Arc<Bound>,
    /// Bytes of bodies.
    pub(super) bodies: Arc<Bound>,
    pub(super) subscriptions: Arc<Bound>,
    pub(super) stopping: Arc<Stopping>,
    pub(super) two_paths: Option<TwoPaths>,
    /// The conversations on the two paths.
    pub(super) open: Arc<Open>,
    /// Those beside this one; they have none themselves.
    pub(super) others: Others,
    /// `None` without TLS, and for those beside.
    pub(super) secure: Option<Secure>,
}

/// What is known of a request while its message is answered.
pub(super) struct Asking<'a> {
    pub(super) heads: Heads<'a>,
    pub(super) accepts: Accepts,
    /// Bytes of answers on the connection that it came by.
    pub(super) unread: &'a Arc<Bound>,
    pub(super) trip: &'a Trip,
}

impl Endpoint {
    pub(super) fn new(
        service: Arc<dyn Service>,
        address: SocketAddr,
        options: &Options,
        limits: &Limits,
    ) -> Self {
        let limits = Arc::new(limits.clone());
        Self {
            service,
            path: options.path.clone(),
            guard: Arc::new(Guard::new(address, options)),
            sessions: Sessions::new(&limits),
            has_sessions: options.has_sessions,
            buffers: Arc::new(Buffers::new(&limits)),
            packed_lists: Arc::new(PackedLists::new(&limits)),
            in_flight: Bound::new(limits.requests_in_flight),
            bodies: Bound::new(limits.bodies_bytes),
            subscriptions: Bound::new(limits.subscriptions),
            stopping: Arc::default(),
            two_paths: options.two_paths.clone(),
            open: Arc::default(),
            others: Others::default(),
            secure: None,
            limits,
        }
    }

    /// The same, over TLS.
    pub(super) fn over(self, secure: Option<Secure>) -> Self {
        Self { secure, ..self }
    }

    /// One beside this, at another path, within the same limits. Its sessions are its own, as many
    /// as this one may have.
    pub(super) fn beside(&self, path: String, service: Arc<dyn Service>) -> Self {
        Self {
            service,
            path,
            guard: Arc::clone(&self.guard),
            sessions: Sessions::new(&self.limits),
            has_sessions: self.has_sessions,
            buffers: Arc::clone(&self.buffers),
            packed_lists: Arc::clone(&self.packed_lists),
            in_flight: Arc::clone(&self.in_flight),
            bodies: Arc::clone(&self.bodies),
            subscriptions: Arc::clone(&self.subscriptions),
            stopping: Arc::default(),
            two_paths: None,
            open: Arc::default(),
            others: Others::default(),
            secure: None,
            limits: Arc::clone(&self.limits),
        }
    }

    /// Answers a request, whatever it is. `unread` counts the answers of its connection, and the
    /// departure ends the trip, if it is timed.
    pub(super) async fn answer<B>(
        &self,
        request: Request<B>,
        unread: &Arc<Bound>,
        trip: &Trip,
        departure: Option<Departure>,
    ) -> Response<Sent>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let heads = Heads::of(&parts.headers);
        let (mut response, origin) = match self.guard.check(&parts.uri, &heads) {
            Ok(()) if parts.version == Version::HTTP_11 && heads.hosts().count() != 1 => {
                // RFC 9112, section 3.2.
                let message = "Invalid request: HTTP/1.1 asks for one `Host` header";
                let refusal = Refusal::new(Mistake::InvalidRequest, message);
                (refused(StatusCode::BAD_REQUEST, &refusal), None)
            }
            Ok(()) => {
                let mut response = self.route(&parts, heads, body, unread, trip).await;
                if response.body().len().is_some_and(|len| len >= self.limits.compressed_from) {
                    answer::pack(&mut response, &heads).await;
                }
                (response, self.guard.cors_origin(&heads).cloned())
            }
            Err(turned_away) => {
                let refusal = Refusal::new(Mistake::InvalidRequest, turned_away.message());
                (refused(StatusCode::FORBIDDEN, &refusal), None)
            }
        };
        answer::label(&mut response, parts.headers);
        if let Some(origin) = origin {
            allow_origin(response.headers_mut(), origin);
        }
        response.map(|answer| Sent::new(answer, unread, departure))
    }

    async fn route<B>(
        &self,
        parts: &Parts,
        heads: Heads<'_>,
        body: B,
        unread: &Arc<Bound>,
        trip: &Trip,
    ) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if heads.are_too_long(&parts.uri, &self.limits) {
            return headers_too_long(&self.limits);
        }
        let path = parts.uri.path();
        if path != self.path {
            if is_same_path(path, &self.path) {
                return self.reply(parts, heads, body, unread, trip).await;
            }
            if let Some(other) = self.others.at(path) {
                return other.reply(parts, heads, body, unread, trip).await;
            }
            let body = match self.two_paths(parts, body, unread).await {
                Ok(response) => return response,
                Err(body) => body,
            };
            drop(body);
            let message = format!("Not found: the endpoint is {}", self.path);
            let refusal = Refusal::new(Mistake::InvalidRequest, message);
            return refused(StatusCode::NOT_FOUND, &refusal);
        }
        self.reply(parts, heads, body, unread, trip).await
    }

    /// Answers a request that is for this path.
    async fn reply<B>(
        &self,
        parts: &Parts,
        heads: Heads<'_>,
        body: B,
        unread: &Arc<Bound>,
        trip: &Trip,
    ) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match parts.method {
            Verb::POST if unread.is_full() => {
                try_again(None, Era::Modern, &unread::unread(&self.limits))
            }
            Verb::POST => self.post(heads, body, unread, trip).await,
            Verb::GET if upgrade::is_wanted(&heads) => self.upgrade(parts, &heads),
            Verb::GET => self.get(&heads),
            Verb::DELETE => self.delete(&heads),
            Verb::OPTIONS => preflight(&parts.headers),
            _ => method_not_allowed(
                "Method not allowed: send messages by POST; GET listens, DELETE ends a session",
            ),
        }
    }

    async fn post<B>(
        &self,
        heads: Heads<'_>,
        body: B,
        unread: &Arc<Bound>,
        trip: &Trip,
    ) -> Response<Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if !is_json(&heads) {
            return unsupported_media_type();
        }
        let accepts = Accepts::new(&heads);
        if !accepts.json && !accepts.events {
            return not_acceptable(
                "Not acceptable: `Accept` must list `application/json` and `text/event-stream`",
            );
        }
        let body = match self.body(&heads, body).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        trip.mark(Stage::Read);
        let asking = Asking { heads, accepts, unread, trip };
        let mut room = Vec::new();
        match envelope::read_with_halves(&body.bytes, &mut room, &self.limits) {
            Ok(Incoming::One(message)) => self.one(&asking, &message).await,
            Ok(Incoming::Batch(messages)) => self.batch(&asking, &messages).await,
            Err(rejected) => self.unreadable(&asking.heads, &rejected),
        }
    }

    /// The body of a request as its message is, or the answer that says why it was not read.
    pub(super) async fn body<B>(
        &self,
        heads: &Heads<'_>,
        body: B,
    ) -> Result<request::Body, Response<Answer>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let coding = coding::coding_of(heads).map_err(|_| unsupported_coding())?;
        let read = read_body(body, &self.limits, &self.bodies).await;
        let mut body = read.map_err(|unread| match unread {
            Unread::BrokenOff => answer::empty(StatusCode::BAD_REQUEST),
            Unread::NoRoom => self.try_again(None, Era::Modern),
            Unread::TooLarge(refusal) => refused(StatusCode::PAYLOAD_TOO_LARGE, &refusal),
            Unread::TooSlow(refusal) => refused(StatusCode::REQUEST_TIMEOUT, &refusal),
        })?;
        if let Some(coding) = coding {
            let unpacked = coding::unpacked(&body.bytes, coding, &mut body.held, &self.limits);
            body.bytes = unpacked.map_err(|why| match why {
                Unpackable::Broken => broken_coding(),
                Unpackable::NoRoom => self.try_again(None, Era::Modern),
                Unpackable::TooLong => {
                    let limit = self.limits.message_bytes;
                    let refusal = Malformed::MessageTooLong { limit }.into();
                    refused(StatusCode::PAYLOAD_TOO_LARGE, &refusal)
                }
            })?;
        }
        Ok(body)
    }

    /// An answer that is a list, whose beginning is in `start`.
    pub(super) fn listed(
        &self,
        heads: &Heads<'_>,
        start: Bytes,
        list: Arc<str>,
    ) -> Response<Answer> {
        let is_long = list.len() >= self.limits.compressed_lists_from;
        let packed = (is_long && coding::takes_gzip(heads))
            .then(|| self.packed_lists.answer(&start, &list))
            .flatten();
        match packed {
            Some(packed) => answer::packed(packed),
            None => answer::listed(start, list),
        }
    }

    async fn one(&self, asking: &Asking<'_>, message: &Envelope<'_>) -> Response<Answer> {
        // A request of an unknown version is told so in the order of its era's checks.
        if message.kind != Kind::Request
            && let Err(refusal) = known_version(&asking.heads)
        {
            return refused_to(None, Era::Modern, &refusal);
        }
        match (admit::era_of(message, asking.heads.version()), message.kind, message.id) {
            (Era::Legacy, _, _) if self.has_sessions => self.legacy(asking, message).await,
            (Era::Legacy, _, _) => self.sessionless(asking, message).await,
            (Era::Modern, Kind::Request, Some(id)) => {
                self.alone(asking, message, id, Era::Modern).await
            }
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

    /// What a client is told when there is no room for its request.
    pub(super) fn try_again(&self, id: Option<Id<'_>>, era: Era) -> Response<Answer> {
        try_again(id, era, &overloaded(&self.limits))
    }
}

/// A version header names a revision, if it is there (2025-06-18, "Protocol Version Header").
pub(super) fn known_version(heads: &Heads<'_>) -> Result<(), Refusal> {
    match heads.version() {
        Some(version) if Revision::parse(version).is_none() => Err(admit::unsupported(version)),
        _ => Ok(()),
    }
}

/// What a browser asks before it lets a page call. Whether it may is said by [`allow_origin`].
pub(super) fn preflight(headers: &HeaderMap) -> Response<Answer> {
    let mut response = answer::empty(StatusCode::NO_CONTENT);
    let out = response.headers_mut();
    out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, VERBS);
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers
        .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
