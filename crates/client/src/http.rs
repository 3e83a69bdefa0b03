//! The wire to a URL: Streamable HTTP of both eras, one POST for each message, over `lane` where it
//! is not encrypted. Made by `connect`. It keeps what a legacy session agreed on; reading the
//! answers is `reply`'s business.

use crate::auth::{Keeper, asking_nobody};
use crate::coded::decoding;
use crate::desk::Desk;
use crate::error::{ClientError, excerpt};
use crate::farewell::Farewells;
use crate::forgotten;
use crate::lane::{self, Connections, Lane};
use crate::limits::FAREWELL;
use crate::message::{Ask, Listener, Notice, cancelled};
use crate::options::Options;
use crate::reply::{self, Body};
use crate::road::{Road, parse, redirect, shown};
use bytes::Bytes;
use haft_proto::limits::Limits;
use haft_proto::mirror::{METHOD_HEADER, NAME_HEADER, VERSION_HEADER, encode};
use haft_proto::version::{Era, Revision};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A connection, or several, to one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Http(Arc<Endpoint>);

#[derive(Debug)]
struct Endpoint {
    road: Road,
    /// Where it is; a redirect may move it on the same server.
    url: Mutex<Uri>,
    /// What the caller wants every request to carry.
    headers: HeaderMap,
    session: Mutex<Session>,
    /// The access token, if there is a way to one.
    keeper: Option<Keeper>,
    desk: Arc<Desk>,
    farewells: Arc<Farewells>,
    /// Who listens, by the id of the legacy request that is being answered.
    asking: Mutex<HashMap<String, mpsc::Sender<Notice>>>,
    limits: Limits,
}

/// What `initialize` agreed on; empty in the modern era.
#[derive(Clone, Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<Revision>,
}

/// The header that names a session.
const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the last event that was read.
const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");
const REDIRECTS_MAX: usize = 3;
const SESSION_ID_BYTES_MAX: usize = 1024;

impl Http {
    /// Prepares to talk to `url`; nothing is sent yet.
    ///
    /// # Errors
    /// [`ClientError::BadUrl`] or [`ClientError::NoTrustedRoots`].
    pub(crate) fn new(
        url: &str,
        desk: Arc<Desk>,
        farewells: Arc<Farewells>,
        options: &Options,
    ) -> Result<Self, ClientError> {
        let keeper = Keeper::new(url, &desk, options);
        let url = parse(url)?;
        let road = Road::to(&url, options)?;
        Ok(Self(Arc::new(Endpoint {
            road,
            url: Mutex::new(url),
            headers: options.headers.clone(),
            session: Mutex::default(),
            keeper,
            desk,
            farewells,
            asking: Mutex::default(),
            limits: options.limits.clone(),
        })))
    }

    /// Asks and waits for the answer. Dropping the future closes the stream, which cancels the
    /// request in the modern era; in the legacy era the server is told.
    pub(crate) async fn ask(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        if ask.revision.era() == Era::Modern || !ask.is_cancellable() {
            return self.ask_until_done(ask, listener).await;
        }
        let listener = Mutex::new(listener);
        let mut here = |notice| lock(&listener)(notice);
        let answer = pin!(self.ask_until_done(ask, &mut here));
        self.attend(&ask.id, answer, &listener).await
    }

    /// Waits for the answer to a legacy request of this id. Some servers tell of it on the stream
    /// that belongs to none; dropped before its end, or in vain, the server is told that
    /// nobody waits.
    pub(crate) async fn attend<T>(
        &self,
        id: &str,
        mut answer: Pin<&mut (impl Future<Output = Result<T, ClientError>> + Send)>,
        listener: &Mutex<Listener<'_>>,
    ) -> Result<T, ClientError> {
        let unanswered = Unanswered(Some((self.clone(), id.to_owned())));
        let (notices, mut noticed) = mpsc::channel(self.0.limits.queued_notifications);
        let _asking = Asking::begin(self, id, notices);
        let answer = loop {
            tokio::select! {
                biased;
                Some(notice) = noticed.recv() => lock(listener)(notice),
                answer = &mut answer => break answer,
            }
        };
        if !matches!(answer, Err(ClientError::TimedOut { .. })) {
            unanswered.done();
        }
        answer
    }

    /// A notice that came on the stream that belongs to no request.
    pub(crate) fn pass_on(&self, token: Option<&str>, notice: &Notice) {
        for (id, listener) in lock(&self.0.asking).iter() {
            if token.is_none_or(|token| token == id) {
                // Notices that find no room are dropped; they are not answers.
                _ = listener.try_send(notice.clone());
            }
        }
    }

    async fn ask_until_done(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let response =
            self.send(ask.method.name(), Method::POST, ask.message(), &self.headers(ask)).await?;
        if ask.method == haft_proto::method::Method::Initialize {
            self.keep_session(&response);
        }
        self.hear(ask, response, listener).await
    }

    /// Reads the answer to a request.
    pub(crate) async fn hear(
        &self,
        ask: &Ask,
        response: Response<Body>,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let status = response.status();
        let is_handshake = ask.method == haft_proto::method::Method::Initialize;
        if status == StatusCode::NOT_FOUND && !is_handshake && self.has_session() {
            return Err(ClientError::SessionLost);
        }
        let answer = if status.is_success() {
            reply::read(self, ask, response, listener).await
        } else {
            Err(reply::read_failure(ask, response).await)
        };
        self.doubt(ask, answer).await
    }

    /// The same answer, unless it is a refusal by a server that has forgotten the session: many say
    /// that in another way than by 404. Whether it has, a `ping` in that session tells.
    pub(crate) async fn doubt(
        &self,
        ask: &Ask,
        answer: Result<Box<RawValue>, ClientError>,
    ) -> Result<Box<RawValue>, ClientError> {
        match answer {
            Err(error) if ask.is_cancellable() && forgotten::may_be(&error) => {
                match self.has_session() && Box::pin(forgotten::is(self)).await {
                    true => Err(ClientError::SessionLost),
                    false => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// Sends a notification, or an answer to a request of the server.
    pub(crate) async fn tell(&self, message: Vec<u8>) -> Result<(), ClientError> {
        let method = "notification";
        let response = self.post(method, message).await?;
        let status = response.status();
        if status.is_success() {
            response.into_body().leave();
            return Ok(());
        }
        let said = reply::beginning(response).await;
        Err(ClientError::HttpStatus { method, status: status.as_u16(), said: excerpt(&said) })
    }

    /// Opens a stream of events: where it broke off, or the one that belongs to no request.
    pub(crate) async fn open_stream(
        &self,
        last_event: Option<&str>,
    ) -> Result<Response<Body>, ClientError> {
        let mut headers = self.session().headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last_event) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_HEADER, last_event);
        }
        self.send("GET", Method::GET, Vec::new(), &headers).await
    }

    /// Whether there is a session that a server can forget.
    pub(crate) fn has_session(&self) -> bool {
        self.session().id.is_some()
    }

    /// Posts a message of any kind; what the response holds is the caller's business.
    pub(crate) async fn post(
        &self,
        method: &'static str,
        message: Vec<u8>,
    ) -> Result<Response<Body>, ClientError> {
        self.send(method, Method::POST, message, &self.session().headers()).await
    }

    /// The server wants what comes from now on at another of its addresses.
    pub(crate) fn moved(&self, url: Uri) {
        *lock(&self.0.url) = url;
    }

    /// The revision that `initialize` agreed on, to be named in a header from now on.
    pub(crate) fn agreed(&self, revision: Revision) {
        lock(&self.0.session).revision = Some(revision);
    }

    /// Ends a legacy session, if there is one.
    pub(crate) async fn close(&self) {
        let session = self.session();
        if session.id.is_some() {
            // The server may not care (405), and forgets idle sessions anyway.
            let headers = session.headers();
            let end = self.send("DELETE", Method::DELETE, Vec::new(), &headers);
            _ = timeout(FAREWELL, asking_nobody(end)).await;
        }
    }

    /// Where the endpoint is.
    pub(crate) fn url(&self) -> Uri {
        lock(&self.0.url).clone()
    }

    /// Where the server's questions go.
    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.0.desk
    }

    /// The limits of this connection.
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn session(&self) -> Session {
        lock(&self.0.session).clone()
    }

    fn keep_session<T>(&self, response: &Response<T>) {
        let id = response.headers().get(SESSION_HEADER).cloned();
        let is_short = |id: &HeaderValue| id.len() <= SESSION_ID_BYTES_MAX;
        lock(&self.0.session).id = id.filter(is_short).map(|mut id| {
            id.set_sensitive(true);
            id
        });
    }

    fn headers(&self, ask: &Ask) -> HeaderMap {
        if ask.revision.era() == Era::Legacy {
            return self.session().headers();
        }
        let mut headers = HeaderMap::new();
        let mut mirror = |name: &'static str, text: &str| {
            // What `encode` returns is visible ASCII.
            if let Ok(value) = HeaderValue::from_str(&encode(text)) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        mirror(VERSION_HEADER, ask.revision.as_str());
        mirror(METHOD_HEADER, ask.method.name());
        if let Some(target) = &ask.target {
            mirror(NAME_HEADER, target);
        }
        headers.extend(ask.headers.iter().cloned());
        headers
    }

    /// Sends one HTTP request with the access token, and again with another one.
    async fn send(
        &self,
        what: &'static str,
        method: Method,
        body: Vec<u8>,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, ClientError> {
        let body = Bytes::from(body);
        let Some(keeper) = &self.0.keeper else {
            return self.send_to(what, &method, &body, headers).await;
        };
        loop {
            let token = keeper.header().await?;
            let mut headers = headers.clone();
            headers.extend(token.iter().map(|token| (AUTHORIZATION, token.clone())));
            let response = self.send_to(what, &method, &body, &headers).await?;
            if !keeper.look(&response, token.as_ref()).await? {
                return Ok(response);
            }
        }
    }

    /// Sends one HTTP request, and again where a redirect on the same server leads.
    async fn send_to(
        &self,
        what: &'static str,
        method: &Method,
        body: &Bytes,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, ClientError> {
        let mut url = self.url();
        for _ in 0..=REDIRECTS_MAX {
            let request = self.request(method, &url, body.clone(), headers);
            let response = self.0.road.send(what, request, body).await?;
            let response = decoding(response, self.0.limits.message_bytes);
            match redirect(&url, &response)? {
                Some(next) => url = next,
                None => {
                    *lock(&self.0.url) = url;
                    return Ok(response);
                }
            }
        }
        Err(ClientError::Redirected { to: shown(&url) })
    }

    /// How many connections there are, where they are ours to count.
    pub(crate) fn connections(&self) -> Option<Connections> {
        self.0.road.lane().map(|lane| lane.connections())
    }

    /// What requests have in common that are passed on: the lane, and the head up to what differs.
    /// `None` if there is no lane, or a token may be needed.
    pub(crate) fn express(&self, revision: Revision) -> Option<(Arc<Lane>, Box<[u8]>)> {
        let lane = self.0.road.lane()?;
        if self.0.keeper.is_some() {
            return None;
        }
        let mut headers = self.session().headers();
        if revision.era() == Era::Modern {
            let revision = HeaderValue::from_static(revision.as_str());
            headers.insert(HeaderName::from_static(VERSION_HEADER), revision);
        }
        let request = self.request(&Method::POST, &self.url(), Bytes::new(), &headers);
        Some((Arc::clone(lane), lane::write_common(&request).into()))
    }

    fn request(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        headers: &HeaderMap,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        let all = request.headers_mut();
        all.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("haft/", env!("CARGO_PKG_VERSION"))),
        );
        all.insert(ACCEPT_ENCODING, haft_fetch::ACCEPTED_CODINGS);
        all.extend(self.0.headers.clone());
        if method == Method::POST {
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let both = HeaderValue::from_static("application/json, text/event-stream");
            all.insert(ACCEPT, both);
        }
        all.extend(headers.clone());
        request
    }
}

impl Session {
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(id) = &self.id {
            headers.insert(SESSION_HEADER, id.clone());
        }
        if let Some(revision) = self.revision {
            let value = HeaderValue::from_static(revision.as_str());
            headers.insert(HeaderName::from_static(VERSION_HEADER), value);
        }
        headers
    }
}

/// A legacy request while it is being answered.
struct Asking<'a> {
    http: &'a Http,
    id: &'a str,
}

impl<'a> Asking<'a> {
    fn begin(http: &'a Http, id: &'a str, listener: mpsc::Sender<Notice>) -> Self {
        lock(&http.0.asking).insert(id.to_owned(), listener);
        Self { http, id }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        lock(&self.http.0.asking).remove(self.id);
    }
}

/// Tells a legacy server, when it is dropped, that nobody waits for a request any more.
struct Unanswered(Option<(Http, String)>);

impl Unanswered {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some((http, id)) = self.0.take() {
            let told = http.clone();
            http.0.farewells.say(async move { told.tell(cancelled(&id)).await });
        }
    }
}

/// A thread that panicked left the data whole: no lock is held across anything that can panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
