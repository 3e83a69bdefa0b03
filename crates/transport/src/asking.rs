//! What both wires do with a message once they have it: admit it, ask the service, and write down
//! what goes on. Moves no bytes.

use crate::conversation::{Entry, Kept, Running, Ticket};
use crate::feeds::Subscription;
use crate::outlet::{CallOutlet, Sink};
use crate::questions::Questions;
use futures_util::future::{Abortable, abortable};
use haft_proto::admit::Admitted;
use haft_proto::encode;
use haft_proto::envelope::{Envelope, Id, Kind};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::mirror::Headers;
use haft_proto::service::{Ask, Later, Outcome, Outlet, Principal, Reply, Service, Turn, Wire};
use haft_stages::{Stage, Trip, mark};
use std::cell::OnceCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What became of one message.
pub(crate) enum Asked {
    /// The answer is in the buffer. Where its call had an outlet, something may have been said
    /// before it.
    Answered { outcome: Outcome, had_outlet: bool },
    /// The answer will come; see [`ended`](crate::conversation::Conversation::ended).
    Later(Call),
    /// It wants no answer.
    Silent,
    /// The answer is a stream.
    Stream(Subscription),
}

/// A request whose answer will come, or that is cancelled in the meantime.
pub(crate) struct Call {
    pub(crate) ticket: Ticket,
    work: Abortable<Whole>,
}

/// The rest of a request, wherever it goes on: what it does there is timed as its own.
pub(crate) struct Along {
    later: Later,
    trip: Trip,
}

impl Along {
    /// The rest of the request that this thread works on.
    pub(crate) fn new(later: Later) -> Self {
        Self { later, trip: Trip::current() }
    }
}

impl Future for Along {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let Self { later, trip } = self.get_mut();
        let reply = trip.run(|| later.as_mut().poll(cx));
        if reply.is_ready() {
            trip.mark(Stage::Encode);
        }
        reply
    }
}

/// The rest of a request whose answer is wanted in one piece.
pub(crate) struct Whole {
    along: Along,
    reply: Option<Reply>,
}

impl Whole {
    pub(crate) fn of(along: Along) -> Self {
        Self { along, reply: None }
    }
}

impl Future for Whole {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let mut reply = match self.reply.take() {
            Some(reply) => reply,
            None => ready!(Pin::new(&mut self.along).poll(cx)),
        };
        if reply.poll_whole(cx).is_pending() {
            self.reply = Some(reply);
            return Poll::Pending;
        }
        Poll::Ready(reply)
    }
}

impl Future for Call {
    type Output = (Ticket, Option<Reply>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.work).poll(cx)));
        let reply = match polled {
            // Aborted is cancelled.
            Ok(polled) => ready!(polled).ok(),
            // A service lets no handler's panic through, but its own would leave the request in
            // flight for ever.
            Err(_) => Some(self.internal_error()),
        };
        Poll::Ready((std::mem::take(&mut self.ticket), reply))
    }
}

impl Call {
    fn internal_error(&self) -> Reply {
        let refusal = Refusal::new(Mistake::Internal, "Internal error: the server has panicked");
        let mut message = Vec::new();
        encode::error(&mut message, Id::from_raw(&self.ticket.id, usize::MAX).ok(), &refusal);
        Reply::new(message, Outcome::Refused(refusal.mistake))
    }
}

/// Takes one message of a conversation, with the headers that it came with, if its wire has such;
/// an answer that is there at once is appended to `out`.
pub(crate) fn take<K: Kept>(
    conversation: &K,
    service: &dyn Service,
    message: &Envelope<'_>,
    headers: Option<&dyn Headers>,
    sink: &dyn Fn() -> Arc<dyn Sink>,
    out: &mut Vec<u8>,
) -> Asked {
    let mut rest = None;
    let asked = take_but_list(conversation, service, message, headers, sink, (out, &mut rest));
    rest.inspect(|rest| out.extend_from_slice(rest.as_bytes()));
    asked
}

/// The same, but the rest of an answer that is a list is not copied: see [`Turn::Listed`].
pub(crate) fn take_but_list<K: Kept>(
    conversation: &K,
    service: &dyn Service,
    message: &Envelope<'_>,
    headers: Option<&dyn Headers>,
    sink: &dyn Fn() -> Arc<dyn Sink>,
    (out, rest): (&mut Vec<u8>, &mut Option<Arc<str>>),
) -> Asked {
    let id = match (message.kind, message.id) {
        (Kind::Request, Some(id)) => id,
        (Kind::Notification, _) => {
            conversation.with(|kept| kept.note(message));
            return Asked::Silent;
        }
        // An answer to nothing that is still asked is late or mistaken; both are harmless.
        _ => {
            conversation.with(|kept| kept.questions.hear(message));
            return Asked::Silent;
        }
    };
    let admitted = conversation.with(|kept| kept.admit(message, id, K::IS_SHARED));
    let Entry { admitted, session, principal, questions, serial } = match admitted {
        Ok(entry) => entry,
        Err(refusal) => return refuse(out, Some(id), &refusal),
    };
    let Admitted { method, revision } = admitted;
    let wire = CallWire { sink, questions, outlet: OnceCell::new() };
    let ask = Ask {
        message,
        id,
        method,
        revision,
        session: session.as_ref(),
        principal: &principal,
        headers,
        wire: &wire,
    };
    let turn = asked(service, ask, out);
    let ticket = || Ticket { id: id.raw().into(), serial };
    let outlet = wire.outlet.into_inner();
    match turn {
        Turn::Done(outcome) => answered(conversation, id, serial, outcome, outlet),
        Turn::Listed(list) => {
            *rest = Some(list);
            answered(conversation, id, serial, Outcome::Result, outlet)
        }
        Turn::Later(later) => {
            let (work, abort) = abortable(Whole::of(Along::new(later)));
            let running = Running { serial, abort: Some(abort.clone()), outlet };
            if !conversation.with(|kept| kept.goes_on(id, running, K::IS_SHARED)) {
                abort.abort();
            }
            Asked::Later(Call { ticket: ticket(), work })
        }
        Turn::Stream(feed) if !K::IS_SHARED => {
            let (subscription, abort) = Subscription::new(ticket(), feed);
            let running = Running { serial, abort: Some(abort), outlet: None };
            conversation.with(|kept| kept.goes_on(id, running, K::IS_SHARED));
            Asked::Stream(subscription)
        }
        // Over HTTP, what has a session is of the legacy era, which has no such answers.
        Turn::Stream(_) => {
            conversation.with(|kept| kept.ended(&ticket()));
            refuse(out, Some(id), &Refusal::new(Mistake::Internal, "Internal error: a stream"))
        }
    }
}

/// A request has its answer.
fn answered<K: Kept>(
    conversation: &K,
    id: Id<'_>,
    serial: u64,
    outcome: Outcome,
    outlet: Option<Arc<CallOutlet>>,
) -> Asked {
    if K::IS_SHARED {
        conversation.with(|kept| kept.ends(id.raw(), serial));
    }
    let had_outlet = outlet.inspect(|outlet| outlet.close()).is_some();
    Asked::Answered { outcome, had_outlet }
}

/// Asks a request that no conversation remembers, if it is admitted, with the headers that it came
/// with, if its wire has such.
pub(crate) fn ask_stateless(
    service: &dyn Service,
    (message, id, admitted): (&Envelope<'_>, Id<'_>, Result<Admitted, Refusal>),
    (principal, headers): (&Principal, Option<&dyn Headers>),
    sink: &dyn Fn() -> Arc<dyn Sink>,
    out: &mut Vec<u8>,
) -> Turn {
    match admitted {
        Ok(Admitted { method, revision }) => {
            let wire = CallWire { sink, questions: None, outlet: OnceCell::new() };
            let ask = Ask {
                message,
                id,
                method,
                revision,
                session: None,
                principal,
                headers,
                wire: &wire,
            };
            asked(service, ask, out)
        }
        Err(refusal) => {
            encode::error(out, Some(id), &refusal);
            Turn::Done(Outcome::Refused(refusal.mistake))
        }
    }
}

/// Asks what has been admitted.
fn asked(service: &dyn Service, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
    mark(Stage::Decode);
    let turn = service.ask(ask, out);
    match &turn {
        Turn::Done(_) | Turn::Listed(_) => mark(Stage::Encode),
        Turn::Stream(_) => Trip::current().forget(),
        Turn::Later(_) => {}
    }
    turn
}

/// Appends an error.
pub(crate) fn refuse(out: &mut Vec<u8>, id: Option<Id<'_>>, refusal: &Refusal) -> Asked {
    encode::error(out, id, refusal);
    Asked::Answered { outcome: Outcome::Refused(refusal.mistake), had_outlet: false }
}

/// The way back to the asker of one call; its outlet is made when a handler first wants it.
struct CallWire<'a> {
    sink: &'a dyn Fn() -> Arc<dyn Sink>,
    questions: Option<Arc<Questions>>,
    outlet: OnceCell<Arc<CallOutlet>>,
}

impl Wire for CallWire<'_> {
    fn outlet(&self) -> Arc<dyn Outlet> {
        let make = || Arc::new(CallOutlet::new((self.sink)(), self.questions.clone()));
        Arc::<CallOutlet>::clone(self.outlet.get_or_init(make))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Conversation;
    use crate::outlet::Queue;
    use haft_proto::envelope::{self, Incoming};
    use haft_proto::limits::Limits;
    use std::sync::Mutex;
    use std::task::Waker;

    /// Answers with whatever this makes.
    struct Makes(fn() -> Later);

    impl Service for Makes {
        fn ask(&self, _: Ask<'_>, _: &mut Vec<u8>) -> Turn {
            Turn::Later(self.0())
        }
    }

    fn ping(conversation: &Mutex<Conversation>, service: &Makes) -> Call {
        let limits = Limits::default();
        let ping = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        let Ok(Incoming::One(ping)) = envelope::read(ping, &limits) else { panic!("a message") };
        let sink = || Queue::without_reader() as Arc<dyn Sink>;
        match take(conversation, service, &ping, None, &sink, &mut Vec::new()) {
            Asked::Later(call) => call,
            _ => panic!("it is answered later"),
        }
    }

    fn poll(call: &mut Call) -> Poll<(Ticket, Option<Reply>)> {
        Pin::new(call).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn conversation() -> Mutex<Conversation> {
        Mutex::new(Conversation::new(Principal::Anonymous, &Limits::default()))
    }

    #[test]
    fn what_begins_as_its_conversation_ends_is_cancelled() {
        let conversation = conversation();
        let mut before = ping(&conversation, &Makes(|| Box::pin(std::future::pending())));
        assert!(poll(&mut before).is_pending());
        conversation.with(Conversation::end);
        let mut after = ping(&conversation, &Makes(|| Box::pin(std::future::pending())));
        for call in [&mut before, &mut after] {
            assert!(matches!(poll(call), Poll::Ready((_, None))));
        }
        assert!(conversation.with(|kept| kept.is_idle()));
    }

    #[test]
    fn a_service_that_panics_answers_its_request_and_leaves_nothing_in_flight() {
        let conversation = conversation();
        let panics = Makes(|| Box::pin(std::future::poll_fn(|_| panic!("on purpose"))));
        let mut call = ping(&conversation, &panics);
        let Poll::Ready((ticket, Some(reply))) = poll(&mut call) else { panic!("an answer") };
        let expected = r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,
            "message":"Internal error: the server has panicked"}}"#;
        let expected: String = expected.lines().map(str::trim_start).collect();
        assert_eq!(String::from_utf8_lossy(&reply.message), expected);
        assert!(conversation.with(|kept| kept.ended(&ticket) && kept.is_idle()));
    }
}
