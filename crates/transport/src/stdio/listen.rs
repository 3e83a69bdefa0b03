//! Serves the client at the other end of standard input and output, on one thread: many messages
//! for each read, many answers for each write, and slow calls beside fast ones.

use super::leaving::Leaving;
use super::pipe::Pipe;
use crate::asking::{Asked, Call, refuse, take};
use crate::batch::{Batch, batches_refused};
use crate::conversation::{Conversation, Kept, Ticket};
use crate::feeds::Feeds;
use crate::outlet::{Queue, Sink};
use crate::stop::Stop;
use haft_proto::envelope::{self, Envelope, Incoming, Rejected};
use haft_proto::error::{Malformed, Mistake, Refusal};
use haft_proto::framing::{Line, Lines};
use haft_proto::limits::Limits;
use haft_proto::service::{Principal, Service};
use haft_stages::{Reads, Trip};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Serves until the input ends and everything asked is answered, or `stop` comes, or nobody reads
/// any more.
///
/// # Errors
/// Standard input or output fails in another way than by its end.
pub async fn serve(
    service: Arc<dyn Service>,
    limits: &Limits,
    stop: impl Future<Output = Stop>,
) -> io::Result<()> {
    converse(service, limits, (Pipe::input()?, Pipe::output()?), stop).await
}

/// Serves the client at the other end of any two pipes or sockets in the same way.
///
/// # Errors
/// As [`serve`].
pub async fn serve_pipes(
    service: Arc<dyn Service>,
    limits: &Limits,
    (input, output): (OwnedFd, OwnedFd),
    stop: impl Future<Output = Stop>,
) -> io::Result<()> {
    let pipes = (Pipe::read_from(input)?, Pipe::write_to(output)?);
    converse(service, limits, pipes, stop).await
}

async fn converse(
    service: Arc<dyn Service>,
    limits: &Limits,
    (input, output): (Pipe, Pipe),
    stop: impl Future<Output = Stop>,
) -> io::Result<()> {
    let mut connection = Connection::new(service, limits, &input);
    let ended = connection.drive(&input, &output, stop).await;
    connection.conversation.with(Conversation::end);
    match ended {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// What wakes the connection.
enum Event {
    /// What feeds say, and which of them have ended.
    Fed(Vec<u8>, Vec<Ticket>),
    Finished(Finished),
    Notification(Vec<u8>),
    Panicked,
    Read(usize),
    Stop(Stop),
    TimeIsUp,
    Wrote(usize),
}

/// Calls that were answered together, with their message.
struct Finished {
    tickets: Vec<Ticket>,
    /// Whether something is answered beside those calls.
    has_more: bool,
    message: Option<Vec<u8>>,
    /// Not timed if they are many.
    trip: Trip,
}

struct Connection {
    service: Arc<dyn Service>,
    limits: Limits,
    lines: Lines,
    reads: Reads,
    conversation: RefCell<Conversation>,
    running: JoinSet<Finished>,
    /// What is said about calls.
    queue: Arc<Queue>,
    feeds: Feeds,
    out: Vec<u8>,
    /// How much of `out` has been written.
    sent: usize,
    leaving: Leaving,
    /// Whether there may be whole lines that are not taken yet, for want of room.
    has_lines: bool,
    /// Whether the client may still say something.
    is_reading: bool,
    /// When calls, and later the writing of answers, must be over.
    deadline: Option<Instant>,
    /// Whether every call has been refused.
    is_stopping: bool,
}

/// How long a client that reads nothing may hold up the end, once everything is answered.
const LAST_WRITE: Duration = Duration::from_secs(1);

impl Connection {
    fn new(service: Arc<dyn Service>, limits: &Limits, input: &Pipe) -> Self {
        Self {
            service,
            limits: limits.clone(),
            lines: Lines::new(limits.message_bytes),
            reads: input.reads.clone(),
            conversation: RefCell::new(Conversation::new(Principal::Local, limits)),
            running: JoinSet::new(),
            queue: Queue::new(limits),
            feeds: Feeds::default(),
            out: Vec::new(),
            sent: 0,
            leaving: Leaving::default(),
            has_lines: false,
            is_reading: true,
            deadline: None,
            is_stopping: false,
        }
    }

    /// The loop: read, ask, write, until nothing is left to do.
    async fn drive(
        &mut self,
        input: &Pipe,
        output: &Pipe,
        stop: impl Future<Output = Stop>,
    ) -> io::Result<()> {
        let mut stop = std::pin::pin!(stop);
        loop {
            self.flush(output)?;
            if self.has_lines && self.has_room() {
                self.take_lines();
                if !self.is_reading {
                    self.end_conversation();
                }
                continue;
            }
            if !self.is_reading && self.unsent().is_empty() && self.running.is_empty() {
                return Ok(());
            }
            let event = self.next_event(input, output, stop.as_mut()).await?;
            if self.handle(event) == ControlFlow::Break(()) {
                return Ok(());
            }
        }
    }

    async fn next_event(
        &mut self,
        input: &Pipe,
        output: &Pipe,
        stop: Pin<&mut impl Future<Output = Stop>>,
    ) -> io::Result<Event> {
        let (has_room, may_feed) = (self.has_room(), self.unsent().len() < FED_AT_ONCE);
        let (deadline, is_reading) = (self.deadline, self.is_reading);
        let unsent = &self.out[self.sent..];
        Ok(tokio::select! {
            biased;
            stop = stop, if deadline.is_none() => Event::Stop(stop),
            () = until(deadline), if deadline.is_some() => Event::TimeIsUp,
            Some(done) = self.running.join_next(), if has_room => match done {
                Ok(finished) => Event::Finished(finished),
                Err(_) => Event::Panicked,
            },
            count = output.write(unsent), if !unsent.is_empty() => Event::Wrote(count?),
            count = input.read(self.lines.room()), if is_reading && has_room => {
                Event::Read(count?)
            }
            // Last, so that however much is said, the client is heard.
            message = poll_fn(|cx| self.queue.poll_pop(cx)), if has_room => {
                Event::Notification(message)
            }
            (said, ended) = said_by(&mut self.feeds), if has_room && may_feed => {
                Event::Fed(said, ended)
            }
        })
    }

    fn handle(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Fed(said, ended) => {
                self.out.extend_from_slice(&said);
                self.ended(&ended);
            }
            Event::Finished(finished) => self.finish(finished),
            Event::Notification(message) => {
                self.push_line(&message);
                self.say();
            }
            // Whoever panicked has told of it, and has nobody left to answer to.
            Event::Panicked => {}
            Event::Read(0) => {
                self.is_reading = false;
                self.take_rest();
                self.end_conversation();
            }
            Event::Read(count) => {
                self.lines.filled(count);
                self.has_lines = true;
            }
            Event::Stop(Stop::AtOnce) => return ControlFlow::Break(()),
            Event::Stop(Stop::Gracefully) => {
                self.is_reading = false;
                self.end_conversation();
                self.deadline = Some(Instant::now() + self.limits.shutdown_grace);
            }
            // The first time ends the calls, the second the writing of their answers.
            Event::TimeIsUp if self.conversation.borrow().is_idle() => {
                return ControlFlow::Break(());
            }
            Event::TimeIsUp => {
                self.refuse_all();
                self.deadline = Some(Instant::now() + LAST_WRITE);
            }
            Event::Wrote(count) => self.sent += count,
        }
        ControlFlow::Continue(())
    }

    /// Writes what goes in at once; what does not waits for the loop.
    fn flush(&mut self, output: &Pipe) -> io::Result<()> {
        if self.sent < self.out.len() {
            self.sent += output.try_write(&self.out[self.sent..])?;
        }
        self.leaving.written(self.sent);
        // A reader that is always a little behind must not make the buffer grow for ever; what is
        // moved here is less than what was written since the last time.
        if self.sent > self.out.len() / 2 {
            self.out.drain(..self.sent);
            self.leaving.removed(self.sent);
            self.sent = 0;
            if self.out.is_empty() {
                self.out.shrink_to(BUFFER_KEPT);
            }
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.unsent().len() < self.limits.output_bytes
    }

    fn unsent(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Takes whole lines until there are no more, or no room for their answers.
    fn take_lines(&mut self) {
        // The lines are borrowed from while the rest of the connection works on them.
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        while self.has_room() {
            match lines.next_line() {
                Line::Complete(line) => self.take_line(line),
                Line::TooLong => {
                    let limit = self.limits.message_bytes;
                    self.refuse(&Malformed::MessageTooLong { limit }.into());
                }
                Line::NeedMore => {
                    self.has_lines = false;
                    break;
                }
            }
        }
        self.lines = lines;
    }

    /// The input has ended; what stands behind the last newline is a message too.
    fn take_rest(&mut self) {
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        if let Some(rest) = lines.rest() {
            self.take_line(rest);
        }
    }

    fn take_line(&mut self, line: &[u8]) {
        let trip = Trip::begin(&self.reads);
        trip.run(|| self.take_message(line, &trip));
    }

    fn take_message(&mut self, line: &[u8], trip: &Trip) {
        match envelope::read(line, &self.limits) {
            Ok(Incoming::One(message)) => {
                let start = self.out.len();
                let (service, queue) = (&*self.service, &self.queue);
                let sink = || Arc::<Queue>::clone(queue) as Arc<dyn Sink>;
                match take(&self.conversation, service, &message, None, &sink, &mut self.out) {
                    Asked::Answered { had_outlet, .. } => {
                        self.out.push(b'\n');
                        if had_outlet {
                            self.say_before(start);
                        }
                        self.leaving.put(trip.clone(), self.out.len());
                    }
                    Asked::Later(call) => self.run(call, trip.clone()),
                    Asked::Stream(subscription) => {
                        self.out.truncate(start);
                        self.feeds.subscribe(subscription);
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
            Ok(Incoming::Batch(messages)) if self.has_batches() => self.take_batch(&messages),
            Ok(Incoming::Batch(_)) => self.refuse(&batches_refused()),
            Err(rejected) => {
                refuse(&mut self.out, rejected.id, &rejected.reason.into());
                self.out.push(b'\n');
            }
        }
    }

    fn has_batches(&self) -> bool {
        self.conversation.borrow().has_batches()
    }

    fn take_batch(&mut self, messages: &[Result<Envelope<'_>, Rejected<'_>>]) {
        let sink = || Arc::<Queue>::clone(&self.queue) as Arc<dyn Sink>;
        let batch = Batch::take(&self.conversation, &*self.service, messages, None, &sink);
        let (tickets, has_more, trip) = (batch.tickets(), batch.has_answers(), Trip::default());
        self.running.spawn(async move {
            Finished { tickets, has_more, message: batch.finish().await, trip }
        });
    }

    fn run(&mut self, call: Call, trip: Trip) {
        self.running.spawn(async move {
            let (ticket, reply) = call.await;
            Finished {
                tickets: vec![ticket],
                has_more: false,
                message: reply.map(|reply| reply.message),
                trip,
            }
        });
    }

    fn finish(&mut self, finished: Finished) {
        // What was said about the call comes before its answer.
        self.say();
        // A call that was cancelled in the meantime, or refused because the server stops, has been
        // dealt with; its late answer is not sent.
        let mut is_wanted = finished.has_more && !self.is_stopping;
        for ticket in &finished.tickets {
            is_wanted |= self.conversation.borrow_mut().ended(ticket);
        }
        if let Some(message) = finished.message.filter(|_| is_wanted) {
            self.push_line(&message);
            self.leaving.put(finished.trip, self.out.len());
        }
    }

    /// Nothing will be read any more: nobody can answer a question or end a subscription.
    fn end_conversation(&mut self) {
        self.conversation.borrow().questions.close();
        let ended = self.feeds.end(&mut self.out);
        self.ended(&ended);
    }

    fn ended(&self, tickets: &[Ticket]) {
        for ticket in tickets {
            self.conversation.borrow_mut().ended(ticket);
        }
    }

    /// Ends every call and says so.
    fn refuse_all(&mut self) {
        let stopping = Refusal::new(Mistake::Cancelled, "Cancelled: the server is stopping");
        let ids = self.conversation.borrow().ids();
        for id in ids {
            if let Ok(id) = envelope::Id::from_raw(&id, usize::MAX) {
                refuse(&mut self.out, Some(id), &stopping);
                self.out.push(b'\n');
            }
        }
        self.conversation.borrow_mut().end();
        self.is_stopping = true;
        self.has_lines = false;
    }

    fn refuse(&mut self, refusal: &Refusal) {
        refuse(&mut self.out, None, refusal);
        self.out.push(b'\n');
    }

    /// Appends what has been said about calls.
    fn say(&mut self) {
        let Some(mut said) = self.queue.take() else { return };
        while let Some(message) = said.pop() {
            self.push_line(&message);
        }
    }

    /// Puts what has been said about calls before an answer that is in the buffer already.
    fn say_before(&mut self, answer: usize) {
        let end = self.out.len();
        self.say();
        let said = self.out.len() - end;
        self.out[answer..].rotate_right(said);
    }

    fn push_line(&mut self, message: &[u8]) {
        self.out.extend_from_slice(message);
        self.out.push(b'\n');
    }
}

/// What the output buffer keeps between bursts.
const BUFFER_KEPT: usize = 1024 * 1024;

/// How much feeds may say before it is written: what waits in a feed is told anew, what waits here
/// is old.
const FED_AT_ONCE: usize = 64 * 1024;

/// What feeds say, and which of them have ended.
async fn said_by(feeds: &mut Feeds) -> (Vec<u8>, Vec<Ticket>) {
    let mut said = Vec::new();
    let ended = poll_fn(|cx| feeds.poll_lines(cx, FED_AT_ONCE, &mut said)).await;
    (said, ended)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
