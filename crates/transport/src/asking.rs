//! What both wires do with a message once they have it: legacy conversations, calls that go on, and
//! batches. Reads and writes no bytes of a socket or pipe.

use futures_util::future::{AbortHandle, Abortable, abortable, join_all};
use haft_proto::admit::{self, Admitted};
use haft_proto::encode;
use haft_proto::envelope::{Envelope, Id, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::mirror::Headers;
use haft_proto::pending::Pending;
use haft_proto::service::{
    self, Ask, Later, Outcome, Outlet, Principal, Reply, Service, Turn, Unanswered, Wire,
};
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::version::Era;
use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// One peer's requests in flight, and what `initialize` agreed on: all that a stdio connection or a
/// legacy HTTP session remembers.
pub(crate) struct Conversation {
    pub(crate) agreed: Option<Arc<Session>>,
    pending: Pending<Running>,
    /// What the last request was numbered.
    serial: u64,
}

/// Where a wire takes notifications about its calls.
pub(crate) type Queue = mpsc::Sender<Vec<u8>>;

/// A request in flight.
#[derive(Default)]
struct Running {
    /// Tells it from an earlier request of the same id.
    serial: u64,
    /// `None` while its tool has not yet said whether it answers at once.
    abort: Option<AbortHandle>,
    outlet: Option<Arc<CallOutlet>>,
}

/// What became of one message.
pub(crate) enum Asked {
    /// The answer is in the buffer.
    Answered(Outcome),
    /// The answer will come; see [`Conversation::ended`].
    Later(Call),
    /// It wants no answer.
    Silent,
}

/// A request whose answer will come, or that is cancelled in the meantime.
pub(crate) struct Call {
    ticket: Ticket,
    work: Abortable<Later>,
}

/// Which request of a conversation a call is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticket {
    /// Raw JSON.
    id: Box<str>,
    serial: u64,
}

impl Future for Call {
    type Output = (Ticket, Option<Reply>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Aborted is cancelled.
        let reply = ready!(Pin::new(&mut self.work).poll(cx)).ok();
        Poll::Ready((std::mem::take(&mut self.ticket), reply))
    }
}

impl Conversation {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { agreed: None, pending: Pending::new(limits.requests_in_flight), serial: 0 }
    }

    /// A call's answer has come. False if it is not wanted any more: the request was cancelled or
    /// refused in the meantime, and its id may stand for another by now.
    pub(crate) fn ended(&mut self, ticket: &Ticket) -> bool {
        let is_this = |running: &Running| running.serial == ticket.serial;
        match self.pending.end_if(&ticket.id, is_this) {
            Some(running) => {
                running.outlet.inspect(|outlet| outlet.close());
                true
            }
            None => false,
        }
    }

    /// Every request in flight is cancelled.
    pub(crate) fn cancel_all(&mut self) {
        self.pending.drain().for_each(Running::cancel);
    }

    /// The ids of all requests in flight, as raw JSON.
    pub(crate) fn ids(&self) -> Vec<Box<str>> {
        self.pending.ids().map(Into::into).collect()
    }

    /// Whether an array of messages is taken.
    pub(crate) fn has_batches(&self) -> bool {
        self.agreed.as_ref().is_some_and(|session| session.revision().has_batches())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Lets a request in and numbers it. Where others may come while its tool is asked, its id is
    /// taken at once.
    fn admit(
        &mut self,
        message: &Envelope<'_>,
        id: Id<'_>,
        is_shared: bool,
    ) -> Result<(Admitted, Option<Arc<Session>>, u64), Refusal> {
        let era = admit::era_of(message, None);
        let agreed = self.agreed.as_ref().map(|session| session.revision());
        let admitted = match era {
            Era::Modern => admit::modern_request(message, None)?,
            Era::Legacy => admit::legacy_request(message, agreed)?,
        };
        self.pending.check(id)?;
        if admitted.method == Method::Initialize {
            let capabilities = message.params.raw.and_then(|raw| member(raw, "capabilities"));
            let capabilities = ClientCapabilities::read(capabilities.unwrap_or("{}"));
            self.agreed = Some(Arc::new(Session::new(admitted.revision, capabilities)));
        }
        let session = self.agreed.clone().filter(|_| era == Era::Legacy);
        self.serial += 1;
        let serial = self.serial;
        if is_shared {
            self.pending.begin(id, Running { serial, ..Running::default() });
        }
        Ok((admitted, session, serial))
    }

    /// A request goes on; false if it was cancelled before it could be said.
    fn goes_on(&mut self, id: Id<'_>, running: Running, is_shared: bool) -> bool {
        let is_this = |reserved: &Running| reserved.serial == running.serial;
        if is_shared && self.pending.end_if(id.raw(), is_this).is_none() {
            return false;
        }
        self.pending.begin(id, running);
        true
    }

    fn note(&mut self, message: &Envelope<'_>) {
        let method = message.method.and_then(|method| Method::find(&method.decode()));
        if let (Some(Method::Cancelled), Some(id)) = (method, message.params.request_id) {
            self.pending.end(id).map(Running::cancel).unwrap_or_default();
        }
    }
}

impl Running {
    fn cancel(self) {
        self.abort.inspect(AbortHandle::abort);
        self.outlet.inspect(|outlet| outlet.close());
    }
}

/// A conversation as its wire keeps it: for one thread, or for many. It is held only to look
/// something up or write it down, never while a tool runs.
pub(crate) trait Kept {
    /// Whether other requests may come between two looks.
    const IS_SHARED: bool;

    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R;
}

impl Kept for RefCell<Conversation> {
    const IS_SHARED: bool = false;

    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R {
        act(&mut self.borrow_mut())
    }
}

impl Kept for Mutex<Conversation> {
    const IS_SHARED: bool = true;

    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R {
        act(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes one message of a conversation; an answer that is there at once is appended to `out`.
pub(crate) fn take<K: Kept>(
    conversation: &K,
    service: &dyn Service,
    message: &Envelope<'_>,
    queue: &dyn Fn() -> Queue,
    out: &mut Vec<u8>,
) -> Asked {
    let id = match (message.kind, message.id) {
        (Kind::Request, Some(id)) => id,
        (Kind::Notification, _) => {
            conversation.with(|kept| kept.note(message));
            return Asked::Silent;
        }
        // Nothing was asked of the peer, so an answer is late or mistaken; both are harmless.
        _ => return Asked::Silent,
    };
    let admitted = conversation.with(|kept| kept.admit(message, id, K::IS_SHARED));
    let (Admitted { method, revision }, session, serial) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => return refuse(out, Some(id), &refusal),
    };
    let wire = CallWire { queue, outlet: OnceCell::new() };
    let ask = Ask {
        message,
        id,
        method,
        revision,
        session: session.as_ref(),
        principal: &Principal::Local,
        headers: None,
        wire: &wire,
    };
    match service.ask(ask, out) {
        Turn::Stream(_) => Asked::Silent,
        Turn::Done(outcome) => {
            if K::IS_SHARED {
                let ticket = Ticket { id: id.raw().into(), serial };
                conversation.with(|kept| kept.ended(&ticket));
            }
            Asked::Answered(outcome)
        }
        Turn::Later(later) => {
            let (work, abort) = abortable(later);
            let outlet = wire.outlet.into_inner();
            let running = Running { serial, abort: Some(abort.clone()), outlet };
            if !conversation.with(|kept| kept.goes_on(id, running, K::IS_SHARED)) {
                abort.abort();
            }
            Asked::Later(Call { ticket: Ticket { id: id.raw().into(), serial }, work })
        }
    }
}

/// Asks a modern request that came with headers; no conversation remembers it.
pub(crate) fn ask_stateless(
    service: &dyn Service,
    message: &Envelope<'_>,
    id: Id<'_>,
    headers: &dyn Headers,
    queue: &dyn Fn() -> Queue,
    out: &mut Vec<u8>,
) -> Turn {
    match admit::modern_request(message, Some(headers)) {
        Ok(Admitted { method, revision }) => {
            let wire = CallWire { queue, outlet: OnceCell::new() };
            let ask = Ask {
                message,
                id,
                method,
                revision,
                session: None,
                principal: &Principal::Anonymous,
                headers: Some(headers),
                wire: &wire,
            };
            service.ask(ask, out)
        }
        Err(refusal) => {
            encode::error(out, Some(id), &refusal);
            Turn::Done(Outcome::Refused(refusal.mistake))
        }
    }
}

/// A batch whose calls may still go on. Only 2025-03-26 has batches.
pub(crate) struct Batch {
    answers: Vec<u8>,
    pub(crate) calls: Vec<Call>,
}

impl Batch {
    /// Takes every message of a batch.
    pub(crate) fn take(
        conversation: &impl Kept,
        service: &dyn Service,
        messages: &[Result<Envelope<'_>, Rejected<'_>>],
        queue: &dyn Fn() -> Queue,
    ) -> Self {
        let mut batch = Self { answers: Vec::new(), calls: Vec::new() };
        for message in messages {
            let mut answer = Vec::new();
            let asked = match message {
                Ok(message) if stands_alone(message) => {
                    let refusal = Refusal::new(
                        Mistake::InvalidRequest,
                        "Invalid request: `initialize` and messages of 2026-07-28 may not be part \
                         of a batch; send them alone",
                    );
                    refuse(&mut answer, message.id, &refusal)
                }
                Ok(message) => take(conversation, service, message, queue, &mut answer),
                Err(rejected) => refuse(&mut answer, rejected.id, &rejected.reason.into()),
            };
            match asked {
                Asked::Answered(_) => batch.add(&answer),
                Asked::Later(call) => batch.calls.push(call),
                Asked::Silent => {}
            }
        }
        batch
    }

    /// Whether some of it is answered already.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Which of its calls go on.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.calls.iter().map(|call| call.ticket.clone()).collect()
    }

    /// Waits for all its calls; `None` if nothing in it wants an answer.
    pub(crate) async fn finish(mut self) -> Option<Vec<u8>> {
        for (_, reply) in join_all(std::mem::take(&mut self.calls)).await {
            if let Some(reply) = reply {
                self.add(&reply.message);
            }
        }
        if self.answers.is_empty() {
            return None;
        }
        self.answers.push(b']');
        Some(self.answers)
    }

    fn add(&mut self, answer: &[u8]) {
        self.answers.push(if self.answers.is_empty() { b'[' } else { b',' });
        self.answers.extend_from_slice(answer);
    }
}

/// Why a batch is not taken.
pub(crate) fn batches_refused() -> Refusal {
    Refusal::new(
        Mistake::InvalidRequest,
        "Invalid request: only protocol version 2025-03-26 has batches; send one message at a time",
    )
}

/// Appends an error.
pub(crate) fn refuse(out: &mut Vec<u8>, id: Option<Id<'_>>, refusal: &Refusal) -> Asked {
    encode::error(out, id, refusal);
    Asked::Answered(Outcome::Refused(refusal.mistake))
}

fn stands_alone(message: &Envelope<'_>) -> bool {
    let is_initialize = |method: JsonStr<'_>| method.decode() == Method::Initialize.name();
    message.params.meta.protocol_version.is_some() || message.method.is_some_and(is_initialize)
}

/// The way back to the asker of one call; its queue is made when a handler first wants it.
struct CallWire<'a> {
    queue: &'a dyn Fn() -> Queue,
    outlet: OnceCell<Arc<CallOutlet>>,
}

impl Wire for CallWire<'_> {
    fn outlet(&self) -> Arc<dyn Outlet> {
        let outlet = self.outlet.get_or_init(|| {
            Arc::new(CallOutlet { queue: (self.queue)(), is_open: AtomicBool::new(true) })
        });
        Arc::<CallOutlet>::clone(outlet)
    }
}

/// A share of the wire's queue that closes when its call ends: nothing is said about a call after
/// its answer.
struct CallOutlet {
    queue: Queue,
    is_open: AtomicBool,
}

impl CallOutlet {
    fn close(&self) {
        self.is_open.store(false, Ordering::Release);
    }
}

impl Outlet for CallOutlet {
    fn send(&self, message: Vec<u8>) -> bool {
        self.is_open.load(Ordering::Acquire) && self.queue.try_send(message).is_ok()
    }

    fn ask(&self, _: Method, _: String) -> service::Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}
