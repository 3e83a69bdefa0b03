//! What both wires do with a message once they have it: legacy conversations, calls that go on, and
//! batches. Reads and writes no bytes of a socket or pipe.

use futures_util::future::{AbortHandle, Abortable, abortable, join_all};
use haft_proto::admit::{self, Admitted};
use haft_proto::encode;
use haft_proto::envelope::{Envelope, Id, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::mirror::Headers;
use haft_proto::pending::Pending;
use haft_proto::service::{Ask, Later, Outcome, Outlet, Reply, Service, Turn, Wire};
use haft_proto::version::{Era, Revision};
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
    pub(crate) agreed: Option<Revision>,
    pending: Pending<Running>,
}

/// Where a wire takes notifications about its calls.
pub(crate) type Queue = mpsc::Sender<Vec<u8>>;

/// A request in flight.
struct Running {
    abort: AbortHandle,
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
    /// Raw JSON.
    pub(crate) id: Box<str>,
    work: Abortable<Later>,
}

impl Future for Call {
    type Output = (Box<str>, Option<Reply>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Aborted is cancelled.
        let reply = ready!(Pin::new(&mut self.work).poll(cx)).ok();
        Poll::Ready((std::mem::take(&mut self.id), reply))
    }
}

impl Conversation {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { agreed: None, pending: Pending::new(limits.requests_in_flight) }
    }

    /// A call's answer has come, or it was cancelled.
    pub(crate) fn ended(&mut self, id: &str) {
        if let Some(Running { outlet: Some(outlet), .. }) = self.pending.end(id) {
            outlet.close();
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

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    fn admit(&mut self, message: &Envelope<'_>, id: Id<'_>) -> Result<Admitted, Refusal> {
        let admitted = match admit::era_of(message, None) {
            Era::Modern => admit::modern_request(message, None)?,
            Era::Legacy => admit::legacy_request(message, self.agreed)?,
        };
        self.pending.check(id)?;
        if admitted.method == Method::Initialize {
            self.agreed = Some(admitted.revision);
        }
        Ok(admitted)
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
        self.abort.abort();
        self.outlet.inspect(|outlet| outlet.close());
    }
}

/// A conversation as its wire keeps it: for one thread, or for many. It is held only to look
/// something up or write it down, never while a tool runs.
pub(crate) trait Kept {
    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R;
}

impl Kept for RefCell<Conversation> {
    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R {
        act(&mut self.borrow_mut())
    }
}

impl Kept for Mutex<Conversation> {
    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R {
        act(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes one message of a conversation; an answer that is there at once is appended to `out`.
pub(crate) fn take(
    conversation: &impl Kept,
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
    let Admitted { method, revision } = match conversation.with(|kept| kept.admit(message, id)) {
        Ok(admitted) => admitted,
        Err(refusal) => return refuse(out, Some(id), &refusal),
    };
    let wire = CallWire { queue, outlet: OnceCell::new() };
    match service.ask(Ask { message, id, method, revision, headers: None, wire: &wire }, out) {
        Turn::Done(outcome) => Asked::Answered(outcome),
        Turn::Later(later) => {
            let (work, abort) = abortable(later);
            let outlet = wire.outlet.into_inner();
            conversation.with(|kept| kept.pending.begin(id, Running { abort, outlet }));
            Asked::Later(Call { id: id.raw().into(), work })
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
            let headers = Some(headers);
            service.ask(Ask { message, id, method, revision, headers, wire: &wire }, out)
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
                Ok(message) if is_initialize(message) => {
                    let refusal = Refusal::new(
                        Mistake::InvalidRequest,
                        "Invalid request: `initialize` may not be part of a batch; send it alone",
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

    /// The ids of its calls that go on.
    pub(crate) fn ids(&self) -> Vec<Box<str>> {
        self.calls.iter().map(|call| call.id.clone()).collect()
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

/// Why a batch is not taken in a conversation of that revision, if it is not.
pub(crate) fn refuse_batch(agreed: Option<Revision>) -> Option<Refusal> {
    if agreed.is_some_and(Revision::has_batches) {
        return None;
    }
    Some(Refusal::new(
        Mistake::InvalidRequest,
        "Invalid request: only protocol version 2025-03-26 has batches; send one message at a time",
    ))
}

/// Appends an error.
pub(crate) fn refuse(out: &mut Vec<u8>, id: Option<Id<'_>>, refusal: &Refusal) -> Asked {
    encode::error(out, id, refusal);
    Asked::Answered(Outcome::Refused(refusal.mistake))
}

fn is_initialize(message: &Envelope<'_>) -> bool {
    message.method.is_some_and(|method| method.decode() == Method::Initialize.name())
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
}
