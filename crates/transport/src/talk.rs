//! A peer at the other end of one connection, from whole messages to the bytes of whole answers:
//! what stdio and WebSocket do alike. Its wire reads messages, asks it for what has happened, and
//! writes what it holds; it moves no bytes itself.

use crate::asking::{Asked, Call, refuse, take};
use crate::batch::{Batch, answers_wanted, batches_refused};
use crate::bounds::{Bound, Share, overloaded, oversubscribed};
use crate::conversation::{Conversation, Ticket};
use crate::feeds::{Feeds, Subscription};
use crate::leaving::Leaving;
use crate::outlet::{Queue, Sink};
use haft_proto::envelope::{self, Envelope, Id, Incoming, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::{Principal, Service};
use haft_stages::{Reads, Trip};
use std::cell::RefCell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How a wire tells one message from the next.
pub(crate) trait Framing {
    /// What the output buffer keeps between bursts, in bytes.
    const KEPT: usize;

    /// Makes room for what stands before a message that is about to be appended.
    fn begin(out: &mut Vec<u8>);

    /// The message that began there ends here.
    fn end(out: &mut Vec<u8>, start: usize);
}

/// See the head of this file.
pub(crate) struct Talk<F> {
    service: Arc<dyn Service>,
    pub(crate) limits: Limits,
    pub(crate) reads: Reads,
    pub(crate) conversation: RefCell<Conversation>,
    pub(crate) running: JoinSet<Finished>,
    /// What is said about calls.
    pub(crate) queue: Arc<Queue>,
    pub(crate) feeds: Feeds,
    /// Whole messages; what has been written of them is still there for a while.
    pub(crate) out: Vec<u8>,
    /// How much of `out` has been written.
    pub(crate) sent: usize,
    leaving: Leaving,
    /// Whether every call has been refused.
    pub(crate) is_stopping: bool,
    /// `None` where nobody else is.
    room: Option<Room>,
    framing: PhantomData<F>,
}

/// What a connection shares with others of its listener.
#[derive(Clone)]
pub(crate) struct Room {
    pub(crate) in_flight: Arc<Bound>,
    pub(crate) subscriptions: Arc<Bound>,
}

/// The listener has no room for a request.
struct Full;

/// Calls that were answered together, with their message.
pub(crate) struct Finished {
    tickets: Vec<Ticket>,
    /// Whether something is answered beside those calls.
    has_more: bool,
    message: Option<Vec<u8>>,
    /// Not timed if they are many.
    trip: Trip,
}

/// How much feeds may say before it is written: what waits in a feed is told anew, what waits here
/// is old.
pub(crate) const FED_AT_ONCE: usize = 64 * 1024;

impl<F: Framing> Talk<F> {
    pub(crate) fn new(
        service: Arc<dyn Service>,
        limits: &Limits,
        principal: Principal,
        reads: Reads,
        room: Option<Room>,
    ) -> Self {
        Self {
            service,
            limits: limits.clone(),
            reads,
            conversation: RefCell::new(Conversation::new(principal, limits)),
            running: JoinSet::new(),
            queue: Queue::new(limits),
            feeds: Feeds::default(),
            out: Vec::new(),
            sent: 0,
            leaving: Leaving::default(),
            is_stopping: false,
            room,
            framing: PhantomData,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.unsent().len() < self.limits.output_bytes
    }

    /// Whether feeds may say something now.
    pub(crate) fn may_feed(&self) -> bool {
        self.unsent().len() < FED_AT_ONCE
    }

    pub(crate) fn unsent(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// So many more bytes have been written.
    pub(crate) fn wrote(&mut self, count: usize) {
        self.sent += count;
    }

    /// Lets go of what has been written.
    pub(crate) fn tidy(&mut self) {
        self.leaving.written(self.sent);
        // A reader that is always a little behind must not make the buffer grow for ever; what is
        // moved here is less than what was written since the last time.
        if self.sent > self.out.len() / 2 {
            self.out.drain(..self.sent);
            self.leaving.removed(self.sent);
            self.sent = 0;
            if self.out.is_empty() {
                self.out.shrink_to(F::KEPT);
            }
        }
    }

    /// Takes one message.
    pub(crate) fn take(&mut self, message: &[u8]) {
        let trip = Trip::begin(&self.reads);
        trip.run(|| self.take_message(message, &trip));
    }

    fn take_message(&mut self, message: &[u8], trip: &Trip) {
        let mut room = Vec::new();
        match envelope::read_with_halves(message, &mut room, &self.limits) {
            Ok(Incoming::One(message)) => self.take_one(&message, trip),
            Ok(Incoming::Batch(messages)) if self.has_batches() => self.take_batch(&messages),
            Ok(Incoming::Batch(_)) => self.refuse(&batches_refused()),
            Err(rejected) => {
                let is_answer = self.conversation.borrow().questions.hear_unreadable(&rejected);
                let id = rejected.id.filter(|_| !is_answer);
                self.frame(|out| {
                    refuse(out, id, &rejected.reason.into());
                });
            }
        }
    }

    fn take_one(&mut self, message: &Envelope<'_>, trip: &Trip) {
        // What is no request must get through: it may be what a request in flight waits for.
        let wanted = usize::from(message.kind == Kind::Request);
        let Ok(place) = self.place(wanted) else {
            let refusal = overloaded(&self.limits);
            return self.frame(|out| {
                refuse(out, message.id, &refusal);
            });
        };
        let start = self.out.len();
        F::begin(&mut self.out);
        let (service, queue) = (&*self.service, &self.queue);
        let sink = || Arc::<Queue>::clone(queue) as Arc<dyn Sink>;
        match take(&self.conversation, service, message, None, &sink, &mut self.out) {
            Asked::Answered { had_outlet, .. } => {
                F::end(&mut self.out, start);
                if had_outlet {
                    self.say_before(start);
                }
                self.leaving.put(trip.clone(), self.out.len());
            }
            Asked::Later(call) => {
                self.out.truncate(start);
                self.run(call, trip.clone(), place);
            }
            Asked::Stream(subscription) => {
                self.out.truncate(start);
                self.subscribe(subscription, message.id);
            }
            Asked::Silent => {
                self.out.truncate(start);
                // It may have been a cancellation.
                self.feeds.drop_cancelled();
            }
        }
        let listener = self.conversation.borrow_mut().begins_to_listen();
        if let Some(session) = listener {
            self.feeds.tell(self.service.news(&session));
        }
    }

    fn has_batches(&self) -> bool {
        self.conversation.borrow().has_batches()
    }

    fn subscribe(&mut self, subscription: Subscription, id: Option<Id<'_>>) {
        let place = self.room.as_ref().map(|room| {
            let mut place = room.subscriptions.share();
            (place.take(1), place)
        });
        match place {
            Some((false, _)) => {
                self.conversation.borrow_mut().ended(&subscription.ticket);
                let refusal = oversubscribed(&self.limits);
                self.frame(|out| {
                    refuse(out, id, &refusal);
                });
            }
            place => self.feeds.subscribe(subscription, place.map(|(_, place)| place)),
        }
    }

    /// Places for so many requests, if they are counted.
    fn place(&self, wanted: usize) -> Result<Option<Share>, Full> {
        let Some(room) = self.room.as_ref().filter(|_| wanted > 0) else { return Ok(None) };
        let mut place = room.in_flight.share();
        if place.take(wanted) { Ok(Some(place)) } else { Err(Full) }
    }

    fn take_batch(&mut self, messages: &[Result<Envelope<'_>, Rejected<'_>>]) {
        let Ok(place) = self.place(answers_wanted(messages)) else {
            return self.refuse(&overloaded(&self.limits));
        };
        let sink = || Arc::<Queue>::clone(&self.queue) as Arc<dyn Sink>;
        let batch = Batch::take(&self.conversation, &*self.service, messages, None, &sink);
        let (tickets, has_more, trip) = (batch.tickets(), batch.has_answers(), Trip::default());
        self.running.spawn(async move {
            let message = batch.finish().await;
            drop(place);
            Finished { tickets, has_more, message, trip }
        });
    }

    fn run(&mut self, call: Call, trip: Trip, place: Option<Share>) {
        self.running.spawn(async move {
            let (ticket, reply) = call.await;
            drop(place);
            Finished {
                tickets: vec![ticket],
                has_more: false,
                message: reply.map(|reply| reply.message),
                trip,
            }
        });
    }

    pub(crate) fn finish(&mut self, finished: Finished) {
        // What was said about the call comes before its answer.
        self.say();
        // A call that was cancelled in the meantime, or refused because the server stops, has been
        // dealt with; its late answer is not sent.
        let mut is_wanted = finished.has_more && !self.is_stopping;
        for ticket in &finished.tickets {
            is_wanted |= self.conversation.borrow_mut().ended(ticket);
        }
        if let Some(message) = finished.message.filter(|_| is_wanted) {
            self.push(&message);
            self.leaving.put(finished.trip, self.out.len());
        }
    }

    /// Nothing will be read any more: nobody can answer a question or end a subscription.
    pub(crate) fn end_conversation(&mut self) {
        self.conversation.borrow().questions.close();
        let mut said = Vec::new();
        let ended = self.feeds.end(&mut said);
        self.fed(&said, &ended);
    }

    /// Takes what feeds say, a line each, and which of them have ended.
    pub(crate) fn fed(&mut self, said: &[u8], ended: &[Ticket]) {
        said.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
            self.push(line.strip_suffix(b"\n").unwrap_or(line));
        });
        self.ended(ended);
    }

    /// A call has said something.
    pub(crate) fn said(&mut self, message: &[u8]) {
        self.push(message);
        self.say();
    }

    fn ended(&self, tickets: &[Ticket]) {
        for ticket in tickets {
            self.conversation.borrow_mut().ended(ticket);
        }
    }

    /// Ends every call and says so.
    pub(crate) fn refuse_all(&mut self) {
        let stopping = Refusal::new(Mistake::Cancelled, "Cancelled: the server is stopping");
        let ids = self.conversation.borrow().ids();
        for id in ids {
            if let Ok(id) = Id::from_raw(&id, usize::MAX) {
                self.frame(|out| {
                    refuse(out, Some(id), &stopping);
                });
            }
        }
        self.conversation.borrow_mut().end();
        self.is_stopping = true;
    }

    pub(crate) fn refuse(&mut self, refusal: &Refusal) {
        self.frame(|out| {
            refuse(out, None, refusal);
        });
    }

    /// Appends what has been said about calls.
    fn say(&mut self) {
        let Some(mut said) = self.queue.take() else { return };
        while let Some(message) = said.pop() {
            self.push(&message);
        }
    }

    /// Puts what has been said about calls before an answer that is in the buffer already.
    fn say_before(&mut self, answer: usize) {
        let end = self.out.len();
        self.say();
        let said = self.out.len() - end;
        self.out[answer..].rotate_right(said);
    }

    fn push(&mut self, message: &[u8]) {
        self.frame(|out| out.extend_from_slice(message));
    }

    fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        F::begin(&mut self.out);
        write(&mut self.out);
        F::end(&mut self.out, start);
    }
}

/// What feeds say, and which of them have ended.
pub(crate) async fn said_by(feeds: &mut Feeds) -> (Vec<u8>, Vec<Ticket>) {
    let mut said = Vec::new();
    let ended = poll_fn(|cx| feeds.poll_lines(cx, FED_AT_ONCE, &mut said)).await;
    (said, ended)
}
