//! What the endpoint does for clients of the legacy era: `initialize` begins a session, and all the
//! rest belongs to one. The modern era never comes here.

use super::answer::{self, Answer};
use super::call_stream::{CallStream, Finish, First};
use super::endpoint::{Asking, Endpoint, known_version};
use super::heads::Heads;
use super::news::{News, NoNews};
use super::refusals::{get_not_acceptable, method_not_allowed, refused, refused_to};
use super::request::{Accepts, HttpHeaders, LAST_EVENT_HEADER, SESSION_HEADER};
use super::sessionless;
use super::sessions::Session;
use super::streams::{NEWS, Resumed};
use crate::asking::{Asked, Call, take, take_but_list};
use crate::batch::{Batch, answers_wanted, batches_refused};
use crate::bounds::Share;
use crate::conversation::{Conversation, Kept};
use crate::outlet::{Queue, Sink};
use bytes::Bytes;
use haft_proto::envelope::{Envelope, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
use haft_proto::method::Method;
use haft_proto::service::{Outcome, Principal, Reply};
use haft_proto::version::{Era, Revision};
use http::{HeaderValue, Response, StatusCode};
use std::cell::{OnceCell, RefCell};
use std::future::poll_fn;
use std::sync::Arc;
use tokio::time::timeout;

impl Endpoint {
    /// Takes one message.
    pub(super) async fn legacy(
        &self,
        asking: &Asking<'_>,
        message: &Envelope<'_>,
    ) -> Response<Answer> {
        if message.method.is_some_and(|method| method.decode() == Method::Initialize.name()) {
            return asking.trip.run(|| self.initialize(message));
        }
        let session = match self.session(&asking.heads) {
            Ok(session) => session,
            Err(refusal) => return refused_to(message.id, Era::Legacy, &refusal),
        };
        let mut place = self.in_flight.share();
        // What is no request must get through: it may be what a request in flight waits for.
        if message.kind == Kind::Request && !place.take(1) {
            return self.try_again(message.id, Era::Legacy);
        }
        let (stream, asked, mut message, rest) = {
            let stream = LazyStream::new(&session, asking);
            let (mut out, mut rest) = (self.buffers.take(), None);
            let sink = || stream.sink();
            let headers = HttpHeaders(asking.heads.all);
            let (kept, service) = (&session.conversation, &*self.service);
            let both = (&mut out, &mut rest);
            let asked = asking
                .trip
                .run(|| take_but_list(kept, service, message, Some(&headers), &sink, both));
            self.buffers.take_back(&mut out);
            (stream.made, asked, out, rest)
        };
        match asked {
            Asked::Silent | Asked::Stream(_) => answer::empty(StatusCode::ACCEPTED),
            Asked::Answered { outcome, .. } => match (stream.into_inner(), rest) {
                (None, Some(rest)) if asking.accepts.json => {
                    self.listed(&asking.heads, self.buffers.sent(message), rest)
                }
                (stream, rest) => {
                    rest.inspect(|rest| message.extend_from_slice(rest.as_bytes()));
                    if stream.is_none() && asking.accepts.json {
                        let message = self.buffers.sent(message);
                        return answer::whole(message, outcome, Era::Legacy);
                    }
                    let reply = Reply::new(message, outcome);
                    let stream = stream.unwrap_or_else(|| stream_of(&session, asking));
                    Finish::new(Arc::clone(&stream)).with(Some(reply));
                    self.answer_from(&session, &stream, asking.accepts).await
                }
            },
            Asked::Later(call) => {
                let stream = stream.into_inner();
                let stream = stream.unwrap_or_else(|| stream_of(&session, asking));
                let work =
                    go_on(Arc::clone(&session), call, Finish::new(Arc::clone(&stream)), place);
                tokio::spawn(work);
                self.answer_from(&session, &stream, asking.accepts).await
            }
        }
    }

    /// Begins a session, and answers in JSON: every client takes that here.
    fn initialize(&self, message: &Envelope<'_>) -> Response<Answer> {
        let fresh = RefCell::new(Conversation::of_many_ways(Principal::Anonymous, &self.limits));
        let mut out = Vec::new();
        let sink = || Queue::without_reader() as Arc<dyn Sink>;
        let asked = take(&fresh, &*self.service, message, None, &sink, &mut out);
        let Asked::Answered { outcome, .. } = asked else {
            return answer::empty(StatusCode::ACCEPTED);
        };
        let accepts = Accepts { json: true, events: false };
        let mut response = answer::now(Reply::new(out, outcome), Era::Legacy, accepts);
        let conversation = fresh.into_inner();
        if let (Outcome::Result, Some(agreed)) = (outcome, conversation.agreed.clone()) {
            match self.sessions.begin(agreed, conversation, &client_of(message)) {
                Ok(id) => {
                    if let Ok(id) = HeaderValue::from_str(&id) {
                        response.headers_mut().insert(&SESSION_HEADER, id);
                    }
                }
                Err(refusal) => return refused_to(message.id, Era::Legacy, &refusal),
            }
        }
        response
    }

    /// Takes an array of messages.
    pub(super) async fn batch(
        &self,
        asking: &Asking<'_>,
        messages: &[Result<Envelope<'_>, Rejected<'_>>],
    ) -> Response<Answer> {
        let is_modern = |message: &Envelope<'_>| message.params.meta.protocol_version.is_some();
        if let Err(refusal) = known_version(&asking.heads) {
            return refused_to(None, Era::Modern, &refusal);
        }
        if messages.iter().flatten().all(is_modern) && messages.iter().all(Result::is_ok) {
            return refused_to(None, Era::Modern, &batches_refused());
        }
        if !self.has_sessions {
            return self.sessionless_batch();
        }
        let session = match self.session(&asking.heads) {
            Ok(session) => session,
            Err(refusal) => return refused_to(None, Era::Legacy, &refusal),
        };
        if !session.conversation.with(|kept| kept.has_batches()) {
            return refused_to(None, Era::Legacy, &batches_refused());
        }
        let wanted = answers_wanted(messages);
        let mut place = self.in_flight.share();
        if wanted > 0 && !place.take(wanted) {
            return self.try_again(None, Era::Legacy);
        }
        let (stream, batch) = {
            let stream = LazyStream::new(&session, asking);
            let sink = || stream.sink();
            let headers = HttpHeaders(asking.heads.all);
            let batch =
                Batch::take(&session.conversation, &*self.service, messages, Some(&headers), &sink);
            (stream.made, batch)
        };
        if wanted == 0 {
            return answer::empty(StatusCode::ACCEPTED);
        }
        let stream = stream.into_inner().unwrap_or_else(|| stream_of(&session, asking));
        let work =
            go_on_together(Arc::clone(&session), batch, Finish::new(Arc::clone(&stream)), place);
        tokio::spawn(work);
        self.answer_from(&session, &stream, asking.accepts).await
    }

    /// The answer to a request: JSON if it is the first thing that comes, else a stream.
    async fn answer_from(
        &self,
        session: &Arc<Session>,
        stream: &Arc<CallStream>,
        accepts: Accepts,
    ) -> Response<Answer> {
        let reader = stream.reader();
        let first = poll_fn(|cx| reader.poll_first(cx));
        let first = match accepts.events {
            true => timeout(self.limits.keep_alive, first).await.unwrap_or(First::Stream),
            false => first.await,
        };
        match first {
            // A cancelled request is not answered, but HTTP wants some end of it.
            First::Reply(None) if accepts.events => answer::event_response(Answer::Whole(None)),
            First::Reply(None) => answer::empty(StatusCode::ACCEPTED),
            First::Reply(Some(reply)) => answer::now(reply, Era::Legacy, accepts),
            First::Stream => {
                let events = reader.stream(session.in_use());
                answer::event_response(Answer::Call(Box::new(events)))
            }
        }
    }

    /// Ends a session.
    pub(super) fn delete(&self, heads: &Heads<'_>) -> Response<Answer> {
        if let Err(refusal) = known_version(heads) {
            return refused_to(None, Era::Legacy, &refusal);
        }
        if !self.has_sessions {
            return method_not_allowed(sessionless::NO_DELETE);
        }
        let Some(id) = heads.session else {
            return method_not_allowed(NO_DELETE);
        };
        if id.to_str().is_ok_and(|id| self.sessions.end(id)) {
            return answer::empty(StatusCode::NO_CONTENT);
        }
        refused(StatusCode::NOT_FOUND, &unknown_session())
    }

    /// Opens a stream of what is told unasked, or goes on with one that was broken.
    pub(super) fn get(&self, heads: &Heads<'_>) -> Response<Answer> {
        if let Err(refusal) = known_version(heads) {
            return refused_to(None, Era::Legacy, &refusal);
        }
        let version = heads.version().and_then(Revision::parse);
        if version.is_some_and(|revision| revision.era() == Era::Modern) {
            return method_not_allowed(NO_MODERN_GET);
        }
        if !self.has_sessions {
            return method_not_allowed(sessionless::NO_GET);
        }
        let session = match self.session(heads) {
            Ok(session) => session,
            Err(refusal) => return refused_to(None, Era::Legacy, &refusal),
        };
        if !Accepts::new(heads).events {
            return get_not_acceptable();
        }
        match heads.all.get(&LAST_EVENT_HEADER).filter(|_| session.streams.can_resume()) {
            Some(last) => self.resume(&session, last),
            None => self.tell(&session, None),
        }
    }

    fn tell(&self, session: &Arc<Session>, last: Option<u64>) -> Response<Answer> {
        let feed = || self.service.news(&session.agreed);
        match News::open(session.in_use(), feed, last, self.stopping.wait()) {
            Ok(events) => answer::event_response(Answer::News(Box::new(events))),
            Err(NoNews::Never) => method_not_allowed(NO_NEWS),
            Err(NoNews::NoSession) => refused(StatusCode::NOT_FOUND, &unknown_session()),
            Err(NoNews::NoSuchEvent) => refused(StatusCode::BAD_REQUEST, &unknown_event()),
        }
    }

    /// Goes on after an event. One that this session has not had, or whose stream has nothing left,
    /// is refused: a fresh stream in its place would let the client wait for a result that never
    /// comes, and would take the stream of news from whoever reads it.
    fn resume(&self, session: &Arc<Session>, last: &HeaderValue) -> Response<Answer> {
        let place = last.to_str().ok().and_then(|last| session.streams.place_of(last));
        let Some(place) = place else {
            return refused(StatusCode::BAD_REQUEST, &unknown_event());
        };
        if place.stream == NEWS {
            return self.tell(session, Some(place.number));
        }
        match session.streams.resume(place) {
            Some(Resumed::Live(call)) => match call.resume(place) {
                Some((reader, missed)) => {
                    let events = reader.stream_on(session.in_use(), missed);
                    answer::event_response(Answer::Call(Box::new(events)))
                }
                None => refused(StatusCode::BAD_REQUEST, &unknown_event()),
            },
            Some(Resumed::Rest(events)) => {
                let events = Bytes::from(events.concat());
                answer::event_response(Answer::Whole(Some(events)))
            }
            None => refused(StatusCode::BAD_REQUEST, &unknown_event()),
        }
    }

    /// What a message is answered with that cannot be read. It may be the answer to a question.
    pub(super) fn unreadable(
        &self,
        heads: &Heads<'_>,
        rejected: &Rejected<'_>,
    ) -> Response<Answer> {
        let is_answer = |session: Arc<Session>| {
            session.conversation.with(|kept| kept.questions.hear_unreadable(rejected))
        };
        let may_answer = rejected.id.is_some() && heads.session.is_some();
        let is_answer = may_answer && self.session(heads).is_ok_and(is_answer);
        let id = rejected.id.filter(|_| !is_answer);
        refused_to(id, Era::Modern, &rejected.reason.into())
    }

    fn session(&self, heads: &Heads<'_>) -> Result<Arc<Session>, Refusal> {
        let id = heads.session.ok_or_else(|| {
            Refusal::new(
                Mistake::MissingSession,
                "Invalid request: send `initialize` first and then its `Mcp-Session-Id`, or name \
                 a version in `params._meta` as 2026-07-28 has it",
            )
        })?;
        id.to_str().ok().and_then(|id| self.sessions.find(id)).ok_or_else(unknown_session)
    }
}

const NO_DELETE: &str = "Method not allowed: there is no session to end; send messages by POST";
const NO_MODERN_GET: &str =
    "Method not allowed: 2026-07-28 has no GET; send `subscriptions/listen` by POST";
const NO_NEWS: &str = "Method not allowed: this server tells nothing unasked; send messages by \
    POST, DELETE ends a session";

/// A call goes on, whether or not its client stays.
async fn go_on(session: Arc<Session>, call: Call, finish: Finish, place: Share) {
    let (ticket, reply) = call.await;
    // The id is free before the client can know that the call is over.
    session.conversation.with(|kept| kept.ended(&ticket));
    drop(place);
    finish.with(reply);
}

/// The same for a batch.
async fn go_on_together(session: Arc<Session>, batch: Batch, finish: Finish, place: Share) {
    let tickets = batch.tickets();
    let message = batch.finish().await;
    for ticket in tickets {
        session.conversation.with(|kept| kept.ended(&ticket));
    }
    drop(place);
    finish.with(message.map(|message| Reply::new(message, Outcome::Result)));
}

fn stream_of(session: &Session, asking: &Asking<'_>) -> Arc<CallStream> {
    CallStream::new(&session.streams, asking.accepts, asking.unread)
}

/// A stream for what is said about one request, made when the first call wants one.
struct LazyStream<'a> {
    session: &'a Session,
    asking: &'a Asking<'a>,
    made: OnceCell<Arc<CallStream>>,
}

impl<'a> LazyStream<'a> {
    fn new(session: &'a Session, asking: &'a Asking<'a>) -> Self {
        Self { session, asking, made: OnceCell::new() }
    }

    fn sink(&self) -> Arc<dyn Sink> {
        let made = self.made.get_or_init(|| stream_of(self.session, self.asking));
        Arc::<CallStream>::clone(made)
    }
}

/// What a client that says hello calls itself; nothing, if it does not say it.
fn client_of(message: &Envelope<'_>) -> String {
    let info = message.params.raw.and_then(|params| member(params, "clientInfo"));
    let name = info.and_then(|info| member(info, "name")).and_then(JsonStr::from_raw);
    name.map(|name| name.decode().into_owned()).unwrap_or_default()
}

fn unknown_session() -> Refusal {
    Refusal::new(
        Mistake::UnknownSession,
        "Unknown session: it has ended or never was; send `initialize` again",
    )
}

fn unknown_event() -> Refusal {
    Refusal::new(
        Mistake::InvalidRequest,
        "Invalid request: nothing is kept after this `Last-Event-ID`; send the request again",
    )
}
