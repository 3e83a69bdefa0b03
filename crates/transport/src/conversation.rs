//! One peer's requests in flight, and what `initialize` agreed on: all that a stdio connection or a
//! legacy HTTP session remembers. Kept by the wires, changed by `asking`; moves no bytes.

use crate::outlet::CallOutlet;
use crate::questions::Questions;
use futures_util::future::AbortHandle;
use haft_proto::admit::{self, Admitted};
use haft_proto::envelope::{Envelope, Id};
use haft_proto::error::Refusal;
use haft_proto::json::member;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::pending::Pending;
use haft_proto::service::Principal;
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::version::Era;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// See the head of this file.
pub(crate) struct Conversation {
    pub(crate) agreed: Option<Arc<Session>>,
    /// What the client has been asked.
    pub(crate) questions: Arc<Questions>,
    principal: Principal,
    pending: Pending<Running>,
    /// What the last request was numbered.
    serial: u64,
    news: News,
    is_over: bool,
}

/// Whether a legacy client is told of changes unasked (Lifecycle, "Initialization").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// It has not yet shown that it has read what was agreed on.
    NotYet,
    Due,
    Told,
}

/// A request in flight.
#[derive(Default)]
pub(crate) struct Running {
    /// Tells it from an earlier request of the same id.
    pub(crate) serial: u64,
    /// `None` while its tool has not yet said whether it answers at once.
    pub(crate) abort: Option<AbortHandle>,
    pub(crate) outlet: Option<Arc<CallOutlet>>,
}

/// Which request of a conversation a call is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticket {
    /// Raw JSON.
    pub(crate) id: Box<str>,
    pub(crate) serial: u64,
}

/// What a request is let in with.
pub(crate) struct Entry {
    pub(crate) admitted: Admitted,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) principal: Principal,
    /// `None` where the client cannot be asked: the modern era has no such questions.
    pub(crate) questions: Option<Arc<Questions>>,
    pub(crate) serial: u64,
}

impl Conversation {
    pub(crate) fn new(principal: Principal, limits: &Limits) -> Self {
        let pending = Pending::new(limits.requests_in_flight);
        let questions = Questions::new(limits.questions);
        Self {
            agreed: None,
            questions,
            principal,
            pending,
            serial: 0,
            news: News::NotYet,
            is_over: false,
        }
    }

    /// The same, where each request is answered on its own way back, so that several may have one
    /// id.
    pub(crate) fn of_many_ways(principal: Principal, limits: &Limits) -> Self {
        let pending = Pending::with_twins(limits.requests_in_flight);
        Self { pending, ..Self::new(principal, limits) }
    }

    /// A call's answer has come. False if it is not wanted any more: the request was cancelled or
    /// refused in the meantime, and its id may stand for another by now.
    pub(crate) fn ended(&mut self, ticket: &Ticket) -> bool {
        self.ends(&ticket.id, ticket.serial)
    }

    /// The same, by its parts.
    pub(crate) fn ends(&mut self, id: &str, serial: u64) -> bool {
        let is_this = |running: &Running| running.serial == serial;
        match self.pending.end_if(id, is_this) {
            Some(running) => {
                running.outlet.inspect(|outlet| outlet.close());
                true
            }
            None => false,
        }
    }

    /// The conversation is over: every request in flight is cancelled, and so is whatever another
    /// thread is about to begin.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
        self.questions.close();
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
    pub(crate) fn admit(
        &mut self,
        message: &Envelope<'_>,
        id: Id<'_>,
        is_shared: bool,
    ) -> Result<Entry, Refusal> {
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
            self.news = News::NotYet;
        } else if era == Era::Legacy {
            self.is_ready();
        }
        let session = self.agreed.clone().filter(|_| era == Era::Legacy);
        self.serial += 1;
        let serial = self.serial;
        if is_shared {
            self.pending.begin(id, Running { serial, ..Running::default() });
        }
        let questions = session.is_some().then(|| Arc::clone(&self.questions));
        Ok(Entry { admitted, session, principal: self.principal.clone(), questions, serial })
    }

    /// A request goes on; false if it was cancelled before it could be said.
    pub(crate) fn goes_on(&mut self, id: Id<'_>, running: Running, is_shared: bool) -> bool {
        let is_this = |reserved: &Running| reserved.serial == running.serial;
        if is_shared && self.pending.end_if(id.raw(), is_this).is_none() || self.is_over {
            return false;
        }
        self.pending.begin(id, running);
        true
    }

    /// Takes a notification.
    pub(crate) fn note(&mut self, message: &Envelope<'_>) {
        let method = message.method.and_then(|method| Method::find(&method.decode()));
        match (method, message.params.request_id) {
            (Some(Method::Cancelled), Some(id)) => {
                self.pending.end(id).map(Running::cancel).unwrap_or_default();
            }
            (Some(Method::Initialized), _) => self.is_ready(),
            _ => {}
        }
    }

    /// The session that is to be told of changes from now on; once.
    pub(crate) fn begins_to_listen(&mut self) -> Option<Arc<Session>> {
        if self.news != News::Due || self.is_over {
            return None;
        }
        self.news = News::Told;
        self.agreed.clone()
    }

    fn is_ready(&mut self) {
        if self.news == News::NotYet && self.agreed.is_some() {
            self.news = News::Due;
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
