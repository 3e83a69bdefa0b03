//! Serves the client at the other end of one WebSocket, on its connection's task: many messages for
//! each read, many answers for each write, and slow calls beside fast ones.

use super::frames::{Deaf, Frames, Heard, TextFrames};
use super::parting::Parting;
use crate::bounds::Bound;
use crate::conversation::{Conversation, Kept};
use crate::talk::{FED_AT_ONCE, Room, Talk};
use haft_proto::limits::Limits;
use haft_proto::service::{Principal, Service};
use haft_stages::Reads;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

/// Who serves a client, and what that takes of the listener's.
pub(crate) struct Peer {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) room: Room,
    /// Bytes of messages that are not whole.
    pub(crate) bodies: Arc<Bound>,
    pub(crate) reads: Reads,
}

/// How long a client that reads nothing may hold up the end, once everything is answered, and as
/// long again until it has closed the connection.
const LAST_WRITE: Duration = Duration::from_millis(250);

/// Serves until the client goes or breaks the rules, or the order to stop comes and everything
/// asked is answered.
pub(crate) async fn converse<S>(
    peer: Peer,
    stream: S,
    mut stopped: impl FnMut(&mut Context<'_>) -> Poll<()>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut connection = Connection::new(&peer, stream);
    let end = poll_fn(|cx| connection.poll(cx, &mut stopped)).await;
    connection.talk.conversation.with(Conversation::end);
    let last = match end {
        End::Gone => return,
        End::Closed => None,
        End::Parting(parting) => Some(parting.frame(&peer.limits)),
    };
    let Connection { talk, mut frames, mut stream, .. } = connection;
    let Talk { mut out, sent, .. } = talk;
    frames.close(&mut out, last);
    // Whether it hears that is its own business.
    _ = timeout(LAST_WRITE, async {
        stream.write_all(&out[sent..]).await?;
        stream.shutdown().await?;
        // A socket that is dropped with something unread takes back what it has sent.
        let mut unheard = [0; 4096];
        while stream.read(&mut unheard).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
}

/// How a connection ends.
enum End {
    /// Nobody reads or writes there any more.
    Gone,
    /// The client wants to end it.
    Closed,
    Parting(Parting),
}

struct Connection<S> {
    talk: Talk<TextFrames>,
    frames: Frames,
    stream: S,
    /// Whether there may be whole messages that are not taken yet, for want of room.
    has_messages: bool,
    /// Whether the client may still say something.
    is_reading: bool,
    /// When calls, and later the writing of answers, must be over.
    deadline: Option<Instant>,
    /// When the unfinished message must be whole.
    whole_by: Option<Instant>,
    /// Whether something came since the last look.
    has_heard: bool,
    /// When the client was asked whether it is there, if it has said nothing since.
    pinged: Option<Instant>,
    /// When to look next whether it is.
    look: Instant,
    /// How many pings and pongs came since the last look.
    pings: usize,
    /// Rings when the first of all these is due, or before.
    alarm: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    fn new(peer: &Peer, stream: S) -> Self {
        let Peer { service, limits, room, bodies, reads } = peer;
        let look = Instant::now() + limits.keep_alive;
        let (service, room) = (Arc::clone(service), Some(room.clone()));
        Self {
            talk: Talk::new(service, limits, Principal::Anonymous, reads.clone(), room),
            frames: Frames::new(limits, bodies),
            stream,
            has_messages: true,
            is_reading: true,
            deadline: None,
            whole_by: None,
            has_heard: false,
            pinged: None,
            look,
            pings: 0,
            alarm: Box::pin(sleep_until(look)),
        }
    }

    /// The loop: read, ask, write, until nothing is left to do.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stopped: &mut impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<End> {
        loop {
            if self.flush(cx).is_err() {
                return Poll::Ready(End::Gone);
            }
            if self.has_messages && self.talk.has_room() {
                if let Some(end) = self.take_messages() {
                    return Poll::Ready(end);
                }
                continue;
            }
            let is_done = self.talk.unsent().is_empty() && self.talk.running.is_empty();
            if !self.is_reading && is_done {
                return Poll::Ready(End::Parting(Parting::Stopping));
            }
            match self.poll_event(cx, stopped) {
                Poll::Ready(None) => {}
                Poll::Ready(Some(end)) => return Poll::Ready(end),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Does the next thing that is to be done.
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
        stopped: &mut impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<Option<End>> {
        if self.deadline.is_none() && stopped(cx).is_ready() {
            self.stop();
            return Poll::Ready(None);
        }
        if self.alarm.as_mut().poll(cx).is_ready() {
            return Poll::Ready(self.time_is_up());
        }
        if !self.talk.has_room() {
            return Poll::Pending;
        }
        if let Poll::Ready(Some(done)) = self.talk.running.poll_join_next(cx) {
            let mut next = Some(done);
            // Whoever panicked has told of it, and has nobody left to answer to.
            while let Some(done) = next {
                done.map(|finished| self.talk.finish(finished)).unwrap_or_default();
                next = if self.talk.has_room() { self.talk.running.try_join_next() } else { None };
            }
            return Poll::Ready(None);
        }
        if self.is_reading {
            let Self { talk, frames, stream, .. } = self;
            if let Poll::Ready(heard) = frames.poll(stream, &mut talk.out, cx) {
                (self.has_heard, self.has_messages) = (true, true);
                return Poll::Ready(self.hear(heard));
            }
        }
        // Last, so that however much is said, the client is heard.
        if let Poll::Ready(message) = self.talk.queue.poll_pop(cx) {
            self.talk.said(&message);
            return Poll::Ready(None);
        }
        if self.talk.may_feed() {
            let mut said = Vec::new();
            if let Poll::Ready(ended) = self.talk.feeds.poll_lines(cx, FED_AT_ONCE, &mut said) {
                self.talk.fed(&said, &ended);
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }

    /// Writes what goes in.
    fn flush(&mut self, cx: &mut Context<'_>) -> Result<(), ()> {
        while !self.talk.unsent().is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, self.talk.unsent()) {
                Poll::Ready(Ok(count)) if count > 0 => self.talk.wrote(count),
                Poll::Ready(_) => return Err(()),
                Poll::Pending => break,
            }
        }
        self.talk.tidy();
        Ok(())
    }

    /// Takes whole messages until there are no more, or no room for their answers.
    fn take_messages(&mut self) -> Option<End> {
        while self.talk.has_room() {
            match self.frames.next_read(&mut self.talk.out).transpose() {
                Some(heard) => {
                    if let Some(end) = self.hear(heard) {
                        return Some(end);
                    }
                }
                None => {
                    self.has_messages = false;
                    self.expect_rest();
                    break;
                }
            }
        }
        None
    }

    fn hear(&mut self, heard: Result<Heard, Deaf>) -> Option<End> {
        match heard {
            Ok(Heard::Message(message)) => {
                self.whole_by = None;
                self.talk.take(message.as_bytes());
            }
            Ok(Heard::Control) => {
                self.pings += 1;
                if self.pings > self.talk.limits.pings {
                    return Some(End::Parting(Parting::Pings));
                }
            }
            Ok(Heard::Some) => {}
            Ok(Heard::Binary) => return Some(End::Parting(Parting::Binary)),
            Ok(Heard::Closed) => return Some(End::Closed),
            Err(Deaf::NoRoom) => return Some(End::Parting(Parting::NoRoom)),
            Err(Deaf::Error(error)) => {
                return Some(Parting::of(error).map_or(End::Gone, End::Parting));
            }
        }
        None
    }

    /// A message that has begun must come to its end.
    fn expect_rest(&mut self) {
        if !self.frames.has_unfinished() {
            self.whole_by = None;
        } else if self.whole_by.is_none() {
            let whole_by = Instant::now() + self.talk.limits.body_timeout;
            self.whole_by = Some(whole_by);
            if whole_by < self.alarm.deadline() {
                self.alarm.as_mut().reset(whole_by);
            }
        }
    }

    /// The order to stop has come.
    fn stop(&mut self) {
        self.is_reading = false;
        self.talk.end_conversation();
        let deadline = Instant::now() + self.talk.limits.shutdown_grace;
        self.deadline = Some(deadline);
        self.alarm.as_mut().reset(deadline);
    }

    /// Something may be due.
    fn time_is_up(&mut self) -> Option<End> {
        let now = Instant::now();
        if let Some(deadline) = self.deadline {
            // The first time ends the calls, the second the writing of their answers.
            if now >= deadline {
                if self.talk.conversation.borrow().is_idle() {
                    return Some(End::Gone);
                }
                self.talk.refuse_all();
                self.has_messages = false;
                self.deadline = Some(now + LAST_WRITE);
            }
            self.alarm.as_mut().reset(self.deadline.unwrap_or(now));
            return None;
        }
        // Who is not read from, because it reads nothing, cannot be late.
        if !self.talk.has_room() {
            (self.whole_by, self.has_heard) = (None, true);
        }
        if self.whole_by.is_some_and(|whole_by| now >= whole_by) {
            return Some(End::Parting(Parting::Slow));
        }
        if now >= self.look && self.is_silent(now) {
            return Some(End::Parting(Parting::Silent));
        }
        let next = self.whole_by.map_or(self.look, |whole_by| whole_by.min(self.look));
        self.alarm.as_mut().reset(next);
        None
    }

    /// Looks whether the client is there, and asks it if nothing shows that.
    fn is_silent(&mut self, now: Instant) -> bool {
        let (keep_alive, patience) = (self.talk.limits.keep_alive, self.talk.limits.write_stall);
        self.pings = 0;
        self.look = now + keep_alive;
        if std::mem::take(&mut self.has_heard) {
            self.pinged = None;
            return false;
        }
        let pinged = match self.pinged {
            Some(pinged) => pinged,
            None => {
                self.frames.ping(&mut self.talk.out);
                *self.pinged.insert(now)
            }
        };
        self.look = self.look.min(pinged + patience).max(now + Duration::from_millis(1));
        now >= pinged + patience
    }
}
