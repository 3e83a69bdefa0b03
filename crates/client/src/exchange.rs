//! Who waits for what on a wire that brings all answers on one stream: requests are told apart by
//! their ids, and what the server says unasked goes to the desk. Kept by the wire to a child
//! process and by the one to a server of 2024-11-05, which read and write; it does neither.

use crate::desk::Desk;
use crate::error::{ClientError, excerpt};
use crate::flood::Flood;
use crate::message::{Ask, Heard, Listener, Notice, ReplyError, cancelled, hear, is_asked_in};
use crate::passing::Whom;
use crate::questions::{Asked, OpenQuestions};
use crate::unreadable;
use haft_proto::envelope::{self, Envelope, Incoming, Rejected};
use haft_proto::error::Malformed;
use haft_proto::json::{Cursor, DEPTH_MAX};
use haft_proto::limits::Limits;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// What those who wait and whoever reads have in common.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Who waits, by id as JSON text; `None` once no answer can come any more.
    pending: Mutex<Option<HashMap<String, Waiting>>>,
    /// The greatest id that was ever sent; an answer up to this one may only be late.
    id_max: AtomicU64,
    /// Where messages to the server queue; gone once the connection is closed.
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    ended: watch::Sender<Option<Ended>>,
    /// The first strange thing that was read; it explains a silence.
    oddity: Mutex<Option<Oddity>>,
    desk: Arc<Desk>,
    limits: Limits,
}

/// What answers a request.
pub(crate) type Reply = Result<Box<RawValue>, ReplyError>;

#[derive(Debug)]
struct Waiting {
    reply: oneshot::Sender<Reply>,
    notices: mpsc::Sender<Notice>,
}

/// Why nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    AtMessageEnd,
    MidMessage,
    TooLarge,
}

/// Something strange that was read.
#[derive(Clone, Debug)]
pub(crate) enum Oddity {
    /// The beginning of what is no message.
    Garbage(String),
    /// The id of an answer to what was never asked.
    OtherId(String),
}

/// How many messages to a server may queue before senders wait.
const OUTGOING_MESSAGES_MAX: usize = 64;

impl Exchange {
    /// One that nobody waits on, and what is to be sent from now on.
    pub(crate) fn new(desk: Arc<Desk>, limits: &Limits) -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (outgoing, queue) = mpsc::channel(OUTGOING_MESSAGES_MAX);
        let exchange = Self {
            pending: Mutex::new(Some(HashMap::new())),
            id_max: AtomicU64::new(0),
            outgoing: Mutex::new(Some(outgoing)),
            ended: watch::Sender::default(),
            oddity: Mutex::new(None),
            desk,
            limits: limits.clone(),
        };
        (Arc::new(exchange), queue)
    }

    /// A request that is about to be sent.
    ///
    /// # Errors
    /// [`ClientError::TooManyInFlight`].
    pub(crate) fn begin<'a>(&'a self, ask: &'a Ask) -> Result<Call<'a>, ClientError> {
        let (reply, answer) = oneshot::channel();
        let (notices, noticed) = mpsc::channel(self.limits.queued_notifications);
        let limit = self.limits.requests_in_flight;
        // If nothing can be read any more, dropping what waits says so to whoever asks.
        if let Some(pending) = lock(&self.pending).as_mut() {
            if pending.len() >= limit {
                return Err(ClientError::TooManyInFlight { limit });
            }
            self.id_max.fetch_max(ask.id.parse().unwrap_or(0), Ordering::Relaxed);
            pending.insert(ask.id.clone(), Waiting { reply, notices });
        }
        Ok(Call { exchange: self, id: &ask.id, is_owed: false, answer, noticed })
    }

    /// Queues a message to the server.
    ///
    /// # Errors
    /// [`ClientError::ConnectionClosed`], also if nobody takes messages out any more.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), ClientError> {
        let outgoing = lock(&self.outgoing).clone();
        let sent = match outgoing {
            Some(outgoing) => outgoing.send(message).await.is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { Err(ClientError::ConnectionClosed) }
    }

    /// Takes no message to the server any more.
    pub(crate) fn close(&self) {
        lock(&self.outgoing).take();
    }

    /// Whether it was closed from this side.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.outgoing).is_none()
    }

    /// Nothing more can be read: everybody who waits is told so, unless they were before.
    pub(crate) fn end(&self, ended: Ended, why: &str) {
        // First why, then that: whoever was waiting looks for the reason.
        self.ended.send_if_modified(|before| {
            let is_first = before.is_none();
            before.get_or_insert(ended);
            is_first
        });
        if lock(&self.pending).take().is_some() {
            self.desk.hub().end(why);
        }
    }

    /// Waits until nothing more can be read; why not.
    pub(crate) async fn ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        let ended = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        ended.unwrap_or(Ended::AtMessageEnd)
    }

    /// Why nothing more can be read, if that is so.
    pub(crate) fn has_ended(&self) -> Option<Ended> {
        *self.ended.borrow()
    }

    /// The first strange thing that was read.
    pub(crate) fn oddity(&self) -> Option<Oddity> {
        lock(&self.oddity).clone()
    }

    pub(crate) fn note(&self, oddity: Oddity) {
        lock(&self.oddity).get_or_insert(oddity);
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The beginning of an answer that is too long, which others need not be hurt by; false if it
    /// does not say whose it is.
    pub(crate) fn take_long_reply(&self, beginning: &[u8]) -> bool {
        let Some(id) = beginning_id(beginning) else { return false };
        let is_ours = self.was_sent(id);
        if is_ours {
            self.take_reply(id, Err(ReplyError::TooLarge(self.limits.message_bytes)));
        }
        is_ours
    }

    fn take_notice(&self, token: Option<&str>, notice: &Notice) {
        let pending = lock(&self.pending);
        // A log line does not say whose it is.
        for (id, waiting) in pending.iter().flatten() {
            if token.is_none_or(|token| token == id) {
                // Notices that find no room are dropped; they are not answers.
                _ = waiting.notices.try_send(notice.clone());
            }
        }
    }

    /// Takes an answer; whether somebody waited for it.
    fn take_reply(&self, id: &str, outcome: Reply) -> bool {
        let waiting = lock(&self.pending).as_mut().and_then(|pending| pending.remove(id));
        let is_awaited = waiting.is_some();
        match waiting {
            // It may have been dropped in this moment.
            Some(waiting) => _ = waiting.reply.send(outcome),
            None if self.was_sent(id) => {}
            None => self.note(Oddity::OtherId(excerpt(id.as_bytes()))),
        }
        is_awaited
    }

    /// Everybody who waits has that for an answer.
    fn fail_all(&self, reply: impl Fn() -> Reply) {
        let all = lock(&self.pending).as_mut().map(std::mem::take).unwrap_or_default();
        for waiting in all.into_values() {
            // It may have been dropped in this moment.
            _ = waiting.reply.send(reply());
        }
    }

    fn was_sent(&self, id: &str) -> bool {
        id.parse().is_ok_and(|id: u64| id <= self.id_max.load(Ordering::Relaxed))
    }

    /// Queues a message if there is room.
    fn try_send(&self, message: Vec<u8>) {
        if let Some(outgoing) = &*lock(&self.outgoing) {
            // A server that takes nothing will not miss it.
            _ = outgoing.try_send(message);
        }
    }
}

/// A request that has no answer yet. When it is dropped it is forgotten, and the server is told, if
/// it has got the request and does not know.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    exchange: &'a Exchange,
    id: &'a str,
    /// The server has to be told.
    is_owed: bool,
    answer: oneshot::Receiver<Reply>,
    noticed: mpsc::Receiver<Notice>,
}

impl Call<'_> {
    /// The server has the request, or may have it.
    pub(crate) fn sent(&mut self, ask: &Ask) {
        self.is_owed = ask.is_cancellable();
    }

    /// The server has not taken it.
    pub(crate) fn refused(&mut self) {
        self.is_owed = false;
    }

    /// Waits for the answer; `None` if nothing can be read any more. If it is dropped, it can be
    /// called again.
    pub(crate) async fn hear(&mut self, listener: Listener<'_>) -> Option<Reply> {
        let reply = loop {
            tokio::select! {
                biased;
                Some(notice) = self.noticed.recv() => listener(notice),
                reply = &mut self.answer => break reply,
            }
        };
        self.is_owed = false;
        // What was read before the answer is heard before it.
        while let Ok(notice) = self.noticed.try_recv() {
            listener(notice);
        }
        reply.ok()
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(pending) = lock(&self.exchange.pending).as_mut() {
            pending.remove(self.id);
        }
        if self.is_owed {
            self.exchange.try_send(cancelled(self.id));
        }
    }
}

/// What takes messages in, for whoever reads.
#[derive(Debug)]
pub(crate) struct Inbox {
    exchange: Arc<Exchange>,
    questions: OpenQuestions,
    flood: Flood,
}

impl Inbox {
    pub(crate) fn new(exchange: &Arc<Exchange>) -> Self {
        Self {
            questions: OpenQuestions::new(Arc::clone(&exchange.desk)),
            exchange: Arc::clone(exchange),
            flood: Flood::new(),
        }
    }

    /// Waits, if too much came that nobody asked for.
    pub(crate) async fn ebb(&mut self) {
        self.flood.ebb().await;
    }

    /// Takes what comes before the end of all, which may be a message that was cut off: then it is
    /// false.
    pub(crate) fn take_last(&mut self, message: &[u8]) -> bool {
        let mut room = Vec::new();
        match envelope::read_with_halves(message, &mut room, &self.exchange.limits) {
            Err(Rejected {
                reason: Malformed::NotJson { .. } | Malformed::NotUtf8 { .. }, ..
            }) => false,
            _ => self.take(message),
        }
    }

    /// Takes one message, or none, or a batch; false if it is no JSON-RPC.
    pub(crate) fn take(&mut self, message: &[u8]) -> bool {
        self.flood.count();
        if message.trim_ascii().is_empty() {
            return true;
        }
        let mut room = Vec::new();
        match envelope::read_with_halves(message, &mut room, &self.exchange.limits) {
            Ok(Incoming::One(message)) => self.take_message(&message),
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take_message(&message),
                        Err(rejected) => _ = self.take_unreadable(&rejected, &[]),
                    }
                }
            }
            Err(rejected) => return self.take_unreadable(&rejected, message),
        }
        true
    }

    /// Ends the request that such a message should answer, or all of them, if it should answer one
    /// and does not say which; false if it is none of JSON-RPC.
    fn take_unreadable(&self, Rejected { id, reason }: &Rejected<'_>, message: &[u8]) -> bool {
        let unreadable = || Err(ReplyError::Unreadable(reason.to_string()));
        match id {
            Some(id) => _ = self.exchange.take_reply(id.raw(), unreadable()),
            None if unreadable::is_answer(message) => self.exchange.fail_all(unreadable),
            None => return false,
        }
        true
    }

    fn take_message(&mut self, message: &Envelope<'_>) {
        let desk = &self.exchange.desk;
        match hear(message) {
            Heard::Acknowledged(subscription, interest) => {
                desk.hub().acknowledge(subscription.as_deref(), &interest);
            }
            Heard::Asked(asked) => self.take_question(asked),
            Heard::Changed(subscription, change) => {
                desk.hub().tell(subscription.as_deref(), &change);
            }
            Heard::Nothing | Heard::Reply(None, _) => {}
            Heard::Notice(token, notice) => self.exchange.take_notice(token.as_deref(), &notice),
            Heard::Reply(Some(id), outcome) => {
                if self.exchange.take_reply(&id, outcome) {
                    self.flood.discount();
                }
            }
            Heard::TakenBack(id) => self.questions.take_back(&id),
            Heard::VisitEnded(id) => desk.visit_ended(id),
        }
    }

    fn take_question(&mut self, asked: Asked) {
        let whom = self.exchange.desk.whom(None);
        if let (Whom::Nobody, Some(method)) = (&whom, is_asked_in(&asked.method)) {
            self.exchange.take_notice(None, &Notice::Unasked { method });
        }
        let exchange = Arc::clone(&self.exchange);
        let send = |message| async move {
            // If it fails the server is gone, which its reader sees.
            _ = exchange.send(message).await;
            Ok(())
        };
        if let Some(answer) = self.questions.take(asked, whom, send) {
            // A server that asks faster than it reads gets no answer.
            self.exchange.try_send(answer);
        }
    }
}

/// The id of a message that is cut off, if it stands before that.
fn beginning_id(message: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(message) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(message.get(..error.valid_up_to())?).ok()?,
    };
    let mut cursor = Cursor::new(text, DEPTH_MAX);
    cursor.enter_object().ok()?;
    let mut is_first = true;
    while let Some(key) = cursor.next_key(&mut is_first).ok()? {
        let value = cursor.value().ok()?;
        if key.raw() == "id" {
            return Some(value);
        }
    }
    None
}

/// A thread that panicked left the data whole: no lock is held across anything that can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_before_the_end_of_what_was_cut_off() {
        let check = |text: &[u8], expected: Option<&str>| assert_eq!(beginning_id(text), expected);
        check(br#"{"jsonrpc":"2.0","id":7,"result":{"a":"xx"#, Some("7"));
        check(br#"{"result":{"id":1},"id":"a","#, Some("\"a\""));
        check(b"{\"id\":7,\"result\":\"\xff", Some("7"));
        check(br#"{"jsonrpc":"2.0","result":{"a":"xx"#, None);
        check(br#"{"jsonrpc":"2.0","id":7"#, Some("7"));
        check(b"xxxxxxx", None);
    }
}
