//! Serves the client at the other end of standard input and output, on one thread: many messages
//! for each read, many answers for each write, and slow calls beside fast ones.

use super::pipe::Pipe;
use crate::conversation::{Conversation, Kept, Ticket};
use crate::stop::Stop;
use crate::talk::{Finished, Framing, Talk, said_by};
use haft_proto::error::Malformed;
use haft_proto::framing::{Line, Lines};
use haft_proto::limits::Limits;
use haft_proto::service::{Principal, Service};
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
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
    connection.talk.conversation.with(Conversation::end);
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
    /// The input has ended, and nobody reads what is written.
    Unread,
    Wrote(usize),
}

struct Connection {
    talk: Talk<Newlines>,
    lines: Lines,
    /// Whether there may be whole lines that are not taken yet, for want of room.
    has_lines: bool,
    /// Whether the client may still say something.
    is_reading: bool,
    /// When calls, and later the writing of answers, must be over.
    deadline: Option<Instant>,
}

/// A message ends with its line.
struct Newlines;

impl Framing for Newlines {
    const KEPT: usize = 1024 * 1024;

    fn begin(_: &mut Vec<u8>) {}

    fn end(out: &mut Vec<u8>, _: usize) {
        out.push(b'\n');
    }
}

/// How long a client that reads nothing may hold up the end, once everything is answered.
const LAST_WRITE: Duration = Duration::from_secs(1);

impl Connection {
    fn new(service: Arc<dyn Service>, limits: &Limits, input: &Pipe) -> Self {
        Self {
            talk: Talk::new(service, limits, Principal::Local, input.reads.clone(), None),
            lines: Lines::new(limits.message_bytes),
            has_lines: false,
            is_reading: true,
            deadline: None,
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
            if self.has_lines && self.talk.has_room() {
                self.take_lines();
                if !self.is_reading {
                    self.talk.end_conversation();
                }
                continue;
            }
            if !self.is_reading && self.talk.unsent().is_empty() && self.talk.running.is_empty() {
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
        let (has_room, may_feed) = (self.talk.has_room(), self.talk.may_feed());
        let (deadline, is_reading) = (self.deadline, self.is_reading);
        let unsent = &self.talk.out[self.talk.sent..];
        Ok(tokio::select! {
            biased;
            stop = stop, if deadline.is_none() => Event::Stop(stop),
            () = until(deadline), if deadline.is_some() => Event::TimeIsUp,
            Some(done) = self.talk.running.join_next(), if has_room => match done {
                Ok(finished) => Event::Finished(finished),
                Err(_) => Event::Panicked,
            },
            count = output.write(unsent), if !unsent.is_empty() => Event::Wrote(count?),
            count = input.read(self.lines.room()), if is_reading && has_room => {
                Event::Read(count?)
            }
            // Whoever asks all at once still reads the answers, or else has gone.
            gone = output.unread(), if !is_reading && unsent.is_empty() => {
                gone?;
                Event::Unread
            }
            // Last, so that however much is said, the client is heard.
            message = poll_fn(|cx| self.talk.queue.poll_pop(cx)), if has_room => {
                Event::Notification(message)
            }
            (said, ended) = said_by(&mut self.talk.feeds), if has_room && may_feed => {
                Event::Fed(said, ended)
            }
        })
    }

    fn handle(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Fed(said, ended) => self.talk.fed(&said, &ended),
            Event::Finished(finished) => self.talk.finish(finished),
            Event::Notification(message) => self.talk.said(&message),
            // Whoever panicked has told of it, and has nobody left to answer to.
            Event::Panicked => {}
            Event::Read(0) => {
                self.is_reading = false;
                self.take_rest();
                self.talk.end_conversation();
            }
            Event::Read(count) => {
                self.lines.filled(count);
                self.has_lines = true;
            }
            Event::Unread | Event::Stop(Stop::AtOnce) => return ControlFlow::Break(()),
            // Closing the input was the client's first way to say so (Lifecycle, "Shutdown").
            Event::Stop(Stop::Gracefully) if !self.is_reading => return ControlFlow::Break(()),
            Event::Stop(Stop::Gracefully) => {
                self.is_reading = false;
                self.talk.end_conversation();
                self.deadline = Some(Instant::now() + self.talk.limits.shutdown_grace);
            }
            // The first time ends the calls, the second the writing of their answers.
            Event::TimeIsUp if self.talk.conversation.borrow().is_idle() => {
                return ControlFlow::Break(());
            }
            Event::TimeIsUp => {
                self.talk.refuse_all();
                self.has_lines = false;
                self.deadline = Some(Instant::now() + LAST_WRITE);
            }
            Event::Wrote(count) => self.talk.wrote(count),
        }
        ControlFlow::Continue(())
    }

    /// Writes what goes in at once; what does not waits for the loop.
    fn flush(&mut self, output: &Pipe) -> io::Result<()> {
        if !self.talk.unsent().is_empty() {
            let count = output.try_write(self.talk.unsent())?;
            self.talk.wrote(count);
        }
        self.talk.tidy();
        Ok(())
    }

    /// Takes whole lines until there are no more, or no room for their answers.
    fn take_lines(&mut self) {
        // The lines are borrowed from while the rest of the connection works on them.
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        while self.talk.has_room() {
            match lines.next_line() {
                Line::Complete(line) => self.talk.take(line),
                Line::TooLong => {
                    let limit = self.talk.limits.message_bytes;
                    self.talk.refuse(&Malformed::MessageTooLong { limit }.into());
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
            self.talk.take(rest);
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
