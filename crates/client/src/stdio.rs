//! The wire to a child process: one JSON-RPC message a line, requests told apart by their ids. Made
//! by `connect`. It knows no era; what is asked comes as a finished `Ask`.

use crate::desk::Desk;
use crate::error::{ClientError, excerpt};
use crate::flood::Flood;
use crate::limits::LONG_LINE_FACTOR;
use crate::message::{Ask, Heard, Listener, Notice, ReplyError, cancelled, hear, is_asked_in};
use crate::passing::Whom;
use crate::process::{Launch, Process};
use crate::questions::{Asked, OpenQuestions};
use haft_proto::envelope::{self, Envelope, Incoming, Rejected};
use haft_proto::framing::{Line, Lines};
use haft_proto::json::{Cursor, DEPTH_MAX};
use haft_proto::limits::Limits;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A connection to a child process.
#[derive(Debug)]
pub(crate) struct Stdio {
    state: Arc<State>,
    /// Where messages to the child queue; gone once the connection is closed.
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    process: tokio::sync::Mutex<Process>,
    ended: watch::Receiver<Option<Ended>>,
    tasks: [JoinHandle<()>; 2],
}

/// What the reading task and those who wait have in common.
#[derive(Debug)]
struct State {
    /// Who waits, by id as JSON text; `None` once no answer can come any more.
    pending: Mutex<Option<HashMap<String, Waiting>>>,
    /// The greatest id that was ever sent; an answer up to this one may only be late.
    id_max: AtomicU64,
    /// The first strange thing that was read; it explains a silence.
    oddity: Mutex<Option<Oddity>>,
    desk: Arc<Desk>,
    limits: Limits,
}

#[derive(Debug)]
struct Waiting {
    reply: oneshot::Sender<Result<Box<RawValue>, ReplyError>>,
    notices: mpsc::Sender<Notice>,
}

/// Why nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    AtMessageEnd,
    MidMessage,
    TooLarge,
}

#[derive(Clone, Debug)]
enum Oddity {
    Garbage(String),
    OtherId(String),
}

/// How many messages to a child may queue before senders wait.
const OUTGOING_MESSAGES_MAX: usize = 64;
/// How long the end of a connection is waited for once writing to it failed.
const AFTERMATH: Duration = Duration::from_secs(1);
/// How long the stdout of a server that has ended may stay open, and silent: what the server left
/// behind may hold it for ever.
const ORPHANED: Duration = Duration::from_secs(1);

impl Stdio {
    /// Starts the child.
    ///
    /// # Errors
    /// [`ClientError::CannotStart`].
    pub(crate) fn open(
        launch: &Launch,
        desk: Arc<Desk>,
        limits: &Limits,
    ) -> Result<Self, ClientError> {
        let (process, stdin, stdout) = Process::start(launch)?;
        let state = Arc::new(State {
            pending: Mutex::new(Some(HashMap::new())),
            id_max: AtomicU64::new(0),
            oddity: Mutex::new(None),
            desk,
            limits: limits.clone(),
        });
        let (outgoing, queue) = mpsc::channel(OUTGOING_MESSAGES_MAX);
        let (end, ended) = watch::channel(None);
        let mouth = Mouth { stdout, server_ended: Box::pin(process.ended()), is_orphaned: false };
        let reading = read(mouth, Arc::clone(&state), outgoing.downgrade(), end);
        Ok(Self {
            state,
            outgoing: Mutex::new(Some(outgoing)),
            process: tokio::sync::Mutex::new(process),
            ended,
            tasks: [tokio::spawn(write(stdin, queue)), tokio::spawn(reading)],
        })
    }

    /// Asks and waits for the answer. Dropping the future tells the server that nobody waits.
    pub(crate) async fn ask(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let (reply, mut answer) = oneshot::channel();
        let (notices, mut noticed) = mpsc::channel(self.state.limits.queued_notifications);
        self.begin(ask, Waiting { reply, notices })?;
        let mut unanswered =
            Unanswered { wire: self, id: &ask.id, is_told: !ask.is_cancellable(), is_sent: false };
        if self.send(ask.message()).await.is_err() {
            return Err(self.why_ended(ask).await);
        }
        unanswered.is_sent = true;
        let reply = loop {
            tokio::select! {
                biased;
                Some(notice) = noticed.recv() => listener(notice),
                reply = &mut answer => break reply,
            }
        };
        unanswered.is_told = true;
        // What was read before the answer is heard before it.
        while let Ok(notice) = noticed.try_recv() {
            listener(notice);
        }
        match reply {
            Ok(reply) => reply.map_err(|reply| ask.refused(reply, None)),
            Err(_) => Err(self.why_ended(ask).await),
        }
    }

    /// Sends a notification.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), ClientError> {
        let outgoing = lock(&self.outgoing).clone();
        let sent = match outgoing {
            Some(outgoing) => outgoing.send(message).await.is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { Err(ClientError::ConnectionClosed) }
    }

    /// Waits until nothing more can be read.
    pub(crate) async fn ended(&self) {
        // The other end goes only after it has said so.
        _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// The first line on stdout that was no message, if there was one.
    pub(crate) fn garbage(&self) -> Option<String> {
        match &*lock(&self.state.oddity) {
            Some(Oddity::Garbage(line)) => Some(line.clone()),
            _ => None,
        }
    }

    /// What may explain that no answer came.
    pub(crate) fn oddity(&self, ask: &Ask) -> Option<ClientError> {
        match lock(&self.state.oddity).clone()? {
            Oddity::Garbage(line) => Some(ClientError::GarbageOnStdout { line }),
            Oddity::OtherId(theirs) => {
                Some(ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs })
            }
        }
    }

    /// Closes stdin, then waits for the child, asks it to end, and kills it.
    pub(crate) async fn close(&self) {
        lock(&self.outgoing).take();
        self.process.lock().await.stop().await;
        // Grandchildren may hold the pipes open for ever.
        self.tasks.iter().for_each(JoinHandle::abort);
    }

    fn begin(&self, ask: &Ask, waiting: Waiting) -> Result<(), ClientError> {
        let limit = self.state.limits.requests_in_flight;
        let mut pending = lock(&self.state.pending);
        // If nothing can be read any more, dropping `waiting` says so to whoever asks.
        let Some(pending) = pending.as_mut() else { return Ok(()) };
        if pending.len() >= limit {
            return Err(ClientError::TooManyInFlight { limit });
        }
        self.state.id_max.fetch_max(ask.id.parse().unwrap_or(0), Ordering::Relaxed);
        pending.insert(ask.id.clone(), waiting);
        Ok(())
    }

    async fn why_ended(&self, ask: &Ask) -> ClientError {
        let method = ask.method.name();
        if lock(&self.outgoing).is_none() {
            return ClientError::ConnectionClosed;
        }
        let mut ended = self.ended.clone();
        let ended = timeout(AFTERMATH, ended.wait_for(Option::is_some)).await;
        match ended.ok().and_then(|ended| ended.ok().and_then(|ended| *ended)) {
            Some(Ended::MidMessage) => return ClientError::ClosedMidAnswer { method },
            Some(Ended::TooLarge) => {
                return ClientError::MessageTooLarge { limit: self.state.limits.message_bytes };
            }
            Some(Ended::AtMessageEnd) | None => {}
        }
        let (status, mut words) = self.process.lock().await.ending().await;
        if let (true, Some(Oddity::Garbage(line))) = (words.is_empty(), &*lock(&self.state.oddity))
        {
            words.clone_from(line);
        }
        match status {
            Some(status) => ClientError::ServerExited { method, status, words },
            None => ClientError::StdoutClosed { method, words },
        }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Forgets a request when its future is dropped, and tells the server unless it knows.
struct Unanswered<'a> {
    wire: &'a Stdio,
    id: &'a str,
    is_sent: bool,
    is_told: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(pending) = lock(&self.wire.state.pending).as_mut() {
            pending.remove(self.id);
        }
        if let (true, false, Some(outgoing)) =
            (self.is_sent, self.is_told, &*lock(&self.wire.outgoing))
        {
            // A child that reads nothing will not miss it.
            _ = outgoing.try_send(cancelled(self.id));
        }
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut message) = queue.recv().await {
        message.push(b'\n');
        if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// What is read from.
struct Mouth<E> {
    stdout: ChildStdout,
    server_ended: E,
    /// The server has ended, and somebody else holds its stdout.
    is_orphaned: bool,
}

impl<E: Future<Output = ()> + Unpin> Mouth<E> {
    /// Reads some bytes; none at the end, or when nothing comes that the server could have written.
    async fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            tokio::select! {
                biased;
                count = self.stdout.read(room) => return count,
                () = &mut self.server_ended, if !self.is_orphaned => self.is_orphaned = true,
                () = sleep(ORPHANED), if self.is_orphaned => return Ok(0),
            }
        }
    }
}

async fn read(
    mut mouth: Mouth<impl Future<Output = ()> + Unpin>,
    state: Arc<State>,
    outgoing: mpsc::WeakSender<Vec<u8>>,
    end: watch::Sender<Option<Ended>>,
) {
    let mut lines = Lines::new(state.limits.message_bytes);
    let mut inbox = Inbox {
        questions: OpenQuestions::new(Arc::clone(&state.desk)),
        state: &state,
        outgoing,
        flood: Flood::new(),
    };
    let ended = loop {
        match mouth.read(lines.room()).await {
            Ok(count @ 1..) => lines.filled(count),
            Ok(0) | Err(_) => {
                let rest = lines.rest();
                let is_whole = rest.is_none_or(|rest| inbox.take(rest));
                break if is_whole { Ended::AtMessageEnd } else { Ended::MidMessage };
            }
        }
        if !inbox.take_lines(&mut lines) {
            break Ended::TooLarge;
        }
        inbox.flood.ebb().await;
    };
    // First why, then that: whoever was waiting looks for the reason.
    _ = end.send(Some(ended));
    lock(&state.pending).take();
    state.desk.hub().end("its stdout is closed");
}

/// What the reading task knows.
struct Inbox<'a> {
    state: &'a State,
    questions: OpenQuestions,
    outgoing: mpsc::WeakSender<Vec<u8>>,
    flood: Flood,
}

impl Inbox<'_> {
    /// Takes all whole lines; false if one is too long, and nobody knows whose answer it is, or it
    /// does not end.
    fn take_lines(&mut self, lines: &mut Lines) -> bool {
        loop {
            match lines.next_line() {
                Line::Complete(line) => {
                    if !self.take(line) {
                        self.state.note(Oddity::Garbage(excerpt(line)));
                    }
                }
                Line::TooLong => {
                    if !self.state.take_long_reply(lines.long_line()) {
                        return false;
                    }
                }
                Line::NeedMore => {
                    let limit = self.state.limits.message_bytes;
                    return lines.discarded() <= limit.saturating_mul(LONG_LINE_FACTOR);
                }
            }
        }
    }

    /// Takes one line; false if it is no JSON-RPC.
    fn take(&mut self, line: &[u8]) -> bool {
        self.flood.count();
        if line.trim_ascii().is_empty() {
            return true;
        }
        match envelope::read(line, &self.state.limits) {
            Ok(Incoming::One(message)) => self.take_message(&message),
            Ok(Incoming::Batch(messages)) => {
                for message in messages.into_iter().flatten() {
                    self.take_message(&message);
                }
            }
            Err(Rejected { id: Some(id), reason }) => {
                let reason = Err(ReplyError::Unreadable(reason.to_string()));
                self.state.take_reply(id.raw(), reason);
            }
            Err(Rejected { id: None, .. }) => return false,
        }
        true
    }

    fn take_message(&mut self, message: &Envelope<'_>) {
        match hear(message) {
            Heard::Acknowledged(subscription, interest) => {
                self.state.desk.hub().acknowledge(subscription.as_deref(), &interest);
            }
            Heard::Asked(asked) => self.take_question(asked),
            Heard::Changed(subscription, change) => {
                self.state.desk.hub().tell(subscription.as_deref(), &change);
            }
            Heard::Nothing | Heard::Reply(None, _) => {}
            Heard::Notice(token, notice) => self.state.take_notice(token.as_deref(), &notice),
            Heard::Reply(Some(id), outcome) => {
                if self.state.take_reply(&id, outcome) {
                    self.flood.discount();
                }
            }
            Heard::TakenBack(id) => self.questions.take_back(&id),
            Heard::VisitEnded(id) => self.state.desk.visit_ended(id),
        }
    }

    fn take_question(&mut self, asked: Asked) {
        let whom = self.state.desk.whom(None);
        if let (Whom::Nobody, Some(method)) = (&whom, is_asked_in(&asked.method)) {
            self.state.take_notice(None, &Notice::Unasked { method });
        }
        let outgoing = self.outgoing.clone();
        let send = |message| async move {
            if let Some(outgoing) = outgoing.upgrade() {
                // If it fails the child is gone, which its reader sees.
                _ = outgoing.send(message).await;
            }
            Ok(())
        };
        if let (Some(answer), Some(outgoing)) =
            (self.questions.take(asked, whom, send), self.outgoing.upgrade())
        {
            // A child that asks faster than it reads gets no answer.
            _ = outgoing.try_send(answer);
        }
    }
}

impl State {
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
    fn take_reply(&self, id: &str, outcome: Result<Box<RawValue>, ReplyError>) -> bool {
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

    /// The beginning of an answer that is too long, which others need not be hurt by; false if it
    /// does not say whose it is.
    fn take_long_reply(&self, beginning: &[u8]) -> bool {
        let Some(id) = beginning_id(beginning) else { return false };
        let is_ours = self.was_sent(id);
        if is_ours {
            self.take_reply(id, Err(ReplyError::TooLarge(self.limits.message_bytes)));
        }
        is_ours
    }

    fn was_sent(&self, id: &str) -> bool {
        id.parse().is_ok_and(|id: u64| id <= self.id_max.load(Ordering::Relaxed))
    }

    fn note(&self, oddity: Oddity) {
        lock(&self.oddity).get_or_insert(oddity);
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
