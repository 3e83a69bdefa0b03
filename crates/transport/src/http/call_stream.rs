//! The answer to one legacy request, from what its call says to its result: read by the connection
//! that asked, or kept until its client comes back for it. The call goes on either way: losing a
//! connection is not cancelling (2025-11-25, "Sending Messages to the Server").

use super::replay::{Kind, Place};
use super::request::Accepts;
use super::sessions::InUse;
use super::sse::{Alarm, COMMENT};
use super::streams::Streams;
use crate::bounds::{Bound, Share};
use crate::outlet::{Backlog, CallNumber, Sink};
use crate::questions::Unsent;
use bytes::Bytes;
use haft_proto::service::{Outcome, Reply};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// See the head of this file. A batch has one for all its calls.
pub(super) struct CallStream {
    streams: Arc<Streams>,
    /// Bytes of answers on the connection that asked.
    unread: Arc<Bound>,
    state: Mutex<State>,
}

struct State {
    /// What is said to a client that is there.
    backlog: Backlog,
    reader: Who,
    /// Tells a reader from those before it.
    turn: u64,
    waker: Option<Waker>,
    /// Its number, once it is a stream.
    stream: Option<u64>,
    /// How many events it has had.
    events: u64,
    takes_json: bool,
    /// When to come back, for a client that is being sent away.
    leave: Option<Duration>,
    is_over: bool,
    reply: Option<Reply>,
    /// As much of what is unread as the answer is.
    held: Option<Share>,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// A client that takes a JSON answer and nothing before it.
    HereForTheReply,
    Here,
    /// A client that may come back.
    Away,
    /// Nobody, ever again.
    Gone,
}

/// How an answer begins.
pub(super) enum First {
    /// The answer, if it has not been cancelled; there is nothing to say before it.
    Reply(Option<Reply>),
    /// Something is to be said before it.
    Stream,
}

impl CallStream {
    pub(super) fn new(streams: &Arc<Streams>, accepts: Accepts, unread: &Arc<Bound>) -> Arc<Self> {
        let state = State {
            backlog: Backlog::new(&streams.limits),
            reader: if accepts.events { Who::Here } else { Who::HereForTheReply },
            turn: 0,
            waker: None,
            stream: None,
            events: 0,
            takes_json: accepts.json,
            leave: None,
            is_over: false,
            reply: None,
            held: None,
        };
        let (streams, unread) = (Arc::clone(streams), Arc::clone(unread));
        Arc::new(Self { streams, unread, state: Mutex::new(state) })
    }

    /// The one who reads from the beginning.
    pub(super) fn reader(self: &Arc<Self>) -> CallReader {
        CallReader { call: Arc::clone(self), turn: 0 }
    }

    /// A client comes back and reads on after an event, in the place of whoever reads now. `None`
    /// if there has been no such event.
    pub(super) fn resume(self: &Arc<Self>, last: Place) -> Option<(CallReader, Vec<Bytes>)> {
        let (reader, missed) = {
            let mut state = self.lock();
            if last.number > state.events || state.reader == Who::Gone {
                return None;
            }
            state.turn += 1;
            state.reader = Who::Here;
            state.leave = None;
            let missed = self.streams.after(last);
            state.waker.take().inspect(Waker::wake_by_ref);
            (CallReader { call: Arc::clone(self), turn: state.turn }, missed)
        };
        Some((reader, missed))
    }

    /// The session has ended.
    pub(super) fn end(&self) {
        let unread = {
            let mut state = self.lock();
            state.turn += 1;
            self.abandon(&mut state)
        };
        drop(unread);
    }

    /// The call is over, with an answer or without.
    fn finish(&self, reply: Option<Reply>) {
        let mut state = self.lock();
        state.is_over = true;
        match state.reader {
            Who::Here | Who::HereForTheReply => {
                let held = reply.as_ref().map(|reply| self.unread.share_of(reply.message.len()));
                (state.reply, state.held) = (reply, held);
                state.waker.take().inspect(Waker::wake_by_ref);
            }
            Who::Away => {
                if let Some(reply) = reply {
                    self.streams.keep_result(state.next_place(), &reply.message);
                }
                self.streams.ended(state.stream.unwrap_or_default());
            }
            Who::Gone => {}
        }
    }

    /// A reader has gone. What it leaves is kept if it may come back, else nobody reads again.
    fn left(&self, turn: u64) {
        let unread = {
            let mut state = self.lock();
            if state.turn != turn || matches!(state.reader, Who::Away | Who::Gone) {
                return;
            }
            if state.stream.is_none() || !self.streams.can_resume() {
                self.abandon(&mut state)
            } else {
                self.put_away(&mut state);
                return;
            }
        };
        // Whoever waits for an answer of this client is told, which must not find this locked.
        drop(unread);
    }

    /// From now on everything is kept for when the client comes back.
    fn put_away(&self, state: &mut State) {
        state.reader = Who::Away;
        state.leave = None;
        while let Some((message, kind)) = state.pop() {
            self.keep(state, &message, kind);
        }
        if let Some(reply) = state.take_reply() {
            self.streams.keep_result(state.next_place(), &reply.message);
        }
        if state.is_over {
            self.streams.ended(state.stream.unwrap_or_default());
        }
    }

    fn abandon(&self, state: &mut State) -> Backlog {
        state.reader = Who::Gone;
        drop(state.take_reply());
        state.waker.take().inspect(Waker::wake_by_ref);
        if let Some(stream) = state.stream {
            self.streams.ended(stream);
        }
        std::mem::replace(&mut state.backlog, Backlog::new(&self.streams.limits))
    }

    /// Says something to a client that is there, or keeps it for one that may come back.
    fn say(&self, message: Vec<u8>, queue: impl Fn(&mut Backlog, Vec<u8>) -> bool) -> bool {
        let mut state = self.lock();
        match state.reader {
            Who::Here => {
                let is_taken = queue(&mut state.backlog, message);
                state.wake_after(is_taken)
            }
            Who::Away => {
                self.keep(&mut state, &message, Kind::Notification);
                true
            }
            Who::HereForTheReply | Who::Gone => false,
        }
    }

    fn keep(&self, state: &mut State, message: &[u8], kind: Kind) {
        self.streams.keep(state.next_place(), message, kind);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_place(&mut self) -> Place {
        self.events += 1;
        Place { stream: self.stream.unwrap_or_default(), number: self.events }
    }

    /// The next of what is said to a client that is there.
    fn pop(&mut self) -> Option<(Vec<u8>, Kind)> {
        let kind = match self.backlog.has_question_first() {
            true => Kind::Question,
            false => Kind::Notification,
        };
        Some((self.backlog.pop()?, kind))
    }

    fn take_reply(&mut self) -> Option<Reply> {
        self.held = None;
        self.reply.take()
    }

    fn wake_after<T>(&mut self, done: T) -> T {
        self.waker.take().inspect(Waker::wake_by_ref);
        done
    }
}

impl Sink for CallStream {
    fn notify(&self, message: Vec<u8>) -> bool {
        self.say(message, Backlog::notify)
    }

    fn progress(&self, call: CallNumber, message: Vec<u8>) -> bool {
        self.say(message, |backlog, message| backlog.progress(call, message))
    }

    fn ask(&self, message: Vec<u8>, question: Unsent) {
        let mut state = self.lock();
        match state.reader {
            Who::Here => {
                state.backlog.ask(message, question);
                state.wake_after(());
            }
            Who::Away => {
                self.keep(&mut state, &message, Kind::Question);
                question.sent();
            }
            Who::HereForTheReply | Who::Gone => {
                drop(state);
                drop(question);
            }
        }
    }

    fn take_back(&self, question: u64, cancellation: Vec<u8>) {
        let mut state = self.lock();
        match state.reader {
            Who::Here => {
                state.backlog.take_back(question, cancellation);
                state.wake_after(());
            }
            Who::Away => self.keep(&mut state, &cancellation, Kind::Notification),
            Who::HereForTheReply | Who::Gone => {}
        }
    }

    fn disconnect(&self, retry: Duration) -> bool {
        let mut state = self.lock();
        if state.reader != Who::Here || !self.streams.can_poll() {
            return false;
        }
        state.leave = Some(retry);
        state.wake_after(true)
    }
}

/// The end of a call, however it comes: dropped, it ends without an answer.
pub(super) struct Finish(Option<Arc<CallStream>>);

impl Finish {
    pub(super) fn new(call: Arc<CallStream>) -> Self {
        Self(Some(call))
    }

    pub(super) fn with(mut self, reply: Option<Reply>) {
        self.0.take().inspect(|call| call.finish(reply));
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.take().inspect(|call| call.finish(None));
    }
}

/// A client that reads, until this is dropped.
pub(super) struct CallReader {
    call: Arc<CallStream>,
    turn: u64,
}

impl Drop for CallReader {
    fn drop(&mut self) {
        self.call.left(self.turn);
    }
}

impl CallReader {
    /// How the answer begins.
    pub(super) fn poll_first(&self, cx: &Context<'_>) -> Poll<First> {
        let mut state = self.call.lock();
        let is_result = |reply: &Reply| reply.outcome == Outcome::Result;
        if !state.backlog.is_empty()
            || (state.leave.is_some() && !state.is_over)
            || (!state.takes_json && state.reply.as_ref().is_some_and(is_result))
        {
            return Poll::Ready(First::Stream);
        }
        if state.is_over || state.reader == Who::Gone {
            return Poll::Ready(First::Reply(state.take_reply()));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The answer becomes a stream.
    pub(super) fn stream(self, in_use: InUse) -> CallEvents {
        let mut first = VecDeque::new();
        {
            let call = &self.call;
            let mut state = call.lock();
            state.stream = Some(call.streams.begin(call));
            if call.streams.can_poll() {
                let at = state.next_place();
                first.push_back(call.streams.priming(at));
            }
        }
        self.events(in_use, first)
    }

    /// The stream goes on with what the client has missed.
    pub(super) fn stream_on(self, in_use: InUse, missed: Vec<Bytes>) -> CallEvents {
        self.events(in_use, missed.into())
    }

    fn events(self, in_use: InUse, first: VecDeque<Bytes>) -> CallEvents {
        let alarm = Alarm::new(self.call.streams.limits.keep_alive);
        CallEvents { reader: self, first, alarm, is_over: false, _in_use: in_use }
    }

    /// The next event; `None` at the end of the stream, or of this reader's turn.
    fn poll_event(&self, cx: &Context<'_>) -> Poll<Option<Next>> {
        let call = &self.call;
        let mut state = call.lock();
        if state.turn != self.turn || state.reader == Who::Gone {
            return Poll::Ready(None);
        }
        if let Some((message, kind)) = state.pop() {
            let at = state.next_place();
            return Poll::Ready(Some(Next::More(call.streams.sent(at, &message, kind))));
        }
        if state.is_over {
            let reply = state.take_reply();
            let last = reply.map(|reply| {
                let at = state.next_place();
                Next::Last(call.streams.sent(at, &reply.message, Kind::Result))
            });
            call.streams.ended(state.stream.unwrap_or_default());
            return Poll::Ready(last);
        }
        if let Some(retry) = state.leave.take() {
            call.put_away(&mut state);
            let retry = format!("retry: {}\n\n", retry.as_millis());
            return Poll::Ready(Some(Next::Last(retry.into())));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

enum Next {
    More(Bytes),
    Last(Bytes),
}

/// The events of one connection.
pub(super) struct CallEvents {
    reader: CallReader,
    /// What comes before everything else.
    first: VecDeque<Bytes>,
    alarm: Alarm,
    is_over: bool,
    _in_use: InUse,
}

impl CallEvents {
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.first.pop_front() {
            return Poll::Ready(Some(event));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        let event = match self.reader.poll_event(cx) {
            Poll::Ready(Some(Next::More(event))) => event,
            Poll::Ready(Some(Next::Last(event))) => {
                self.is_over = true;
                event
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                return self.alarm.poll(cx).map(|()| Some(Bytes::from_static(COMMENT)));
            }
        };
        self.alarm.reset();
        Poll::Ready(Some(event))
    }
}
