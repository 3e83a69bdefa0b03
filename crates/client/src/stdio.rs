//! The wire to a child process: one JSON-RPC message a line. Made by `connect`. It knows no era;
//! what is asked comes as a finished `Ask`, and `exchange` knows who waits for what.

use crate::desk::Desk;
use crate::error::{ClientError, excerpt};
use crate::exchange::{Ended, Exchange, Inbox, Oddity};
use crate::limits::LONG_LINE_FACTOR;
use crate::message::{Ask, Listener};
use crate::process::{Launch, Process};
use haft_proto::framing::{Line, Lines};
use haft_proto::limits::Limits;
use serde_json::value::RawValue;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A connection to a child process.
#[derive(Debug)]
pub(crate) struct Stdio {
    exchange: Arc<Exchange>,
    process: tokio::sync::Mutex<Process>,
    /// Looked for once: whoever asks waits for the same.
    remains: OnceCell<(Option<String>, String)>,
    tasks: [JoinHandle<()>; 2],
}

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
        let (exchange, queue) = Exchange::new(desk, limits);
        let mouth = Mouth { stdout, server_ended: Box::pin(process.ended()), is_orphaned: false };
        let reading = read(mouth, Arc::clone(&exchange));
        Ok(Self {
            exchange,
            process: tokio::sync::Mutex::new(process),
            remains: OnceCell::new(),
            tasks: [tokio::spawn(write(stdin, queue)), tokio::spawn(reading)],
        })
    }

    /// Asks and waits for the answer. Dropping the future tells the server that nobody waits.
    pub(crate) async fn ask(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let mut call = self.exchange.begin(ask)?;
        if self.exchange.send(ask.message()).await.is_err() {
            return Err(self.why_unanswered(ask).await);
        }
        call.sent(ask);
        match call.hear(listener).await {
            Some(reply) => reply.map_err(|reply| ask.refused(reply, None)),
            None => Err(self.why_unanswered(ask).await),
        }
    }

    /// Sends a notification.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), ClientError> {
        self.exchange.send(message).await
    }

    /// Waits until nothing more can be read.
    pub(crate) async fn ended(&self) {
        self.exchange.ended().await;
    }

    /// The first line on stdout that was no message, if there was one.
    pub(crate) fn garbage(&self) -> Option<String> {
        match self.exchange.oddity() {
            Some(Oddity::Garbage(line)) => Some(line),
            _ => None,
        }
    }

    /// What may explain that no answer came.
    pub(crate) fn oddity(&self, ask: &Ask) -> Option<ClientError> {
        match self.exchange.oddity()? {
            Oddity::Garbage(line) => Some(ClientError::GarbageOnStdout { line }),
            Oddity::OtherId(theirs) => {
                Some(ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs })
            }
        }
    }

    /// Closes stdin, then waits for the child, asks it to end, and kills it.
    pub(crate) async fn close(&self) {
        self.exchange.close();
        self.process.lock().await.stop().await;
        // Grandchildren may hold the pipes open for ever.
        self.tasks.iter().for_each(JoinHandle::abort);
        self.exchange.end(Ended::AtMessageEnd, "it was closed");
    }

    /// Why nothing more can be read, once that is so.
    pub(crate) async fn why_ended(&self) -> ClientError {
        match self.exchange.has_ended() {
            _ if self.exchange.is_closed() => ClientError::ConnectionClosed,
            Some(Ended::TooLarge) => self.too_large(),
            _ => match self.remains().await {
                (Some(status), words) => ClientError::ProcessEnded { status, words },
                (None, words) => ClientError::OutputEnded { words },
            },
        }
    }

    async fn why_unanswered(&self, ask: &Ask) -> ClientError {
        let method = ask.method.name();
        if self.exchange.is_closed() {
            return ClientError::ConnectionClosed;
        }
        match timeout(AFTERMATH, self.exchange.ended()).await {
            Ok(Ended::MidMessage) => return ClientError::ClosedMidAnswer { method },
            Ok(Ended::TooLarge) => return self.too_large(),
            Ok(Ended::AtMessageEnd) | Err(_) => {}
        }
        match self.remains().await {
            (Some(status), words) => ClientError::ServerExited { method, status, words },
            (None, words) => ClientError::StdoutClosed { method, words },
        }
    }

    fn too_large(&self) -> ClientError {
        ClientError::MessageTooLarge { limit: self.exchange.limits().message_bytes }
    }

    /// The status of the child, if it has ended, and its last words.
    async fn remains(&self) -> (Option<String>, String) {
        let find = async || {
            let (status, mut words) = self.process.lock().await.ending().await;
            if words.is_empty() {
                words = self.garbage().unwrap_or_default();
            }
            (status, words)
        };
        self.remains.get_or_init(find).await.clone()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
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

async fn read(mut mouth: Mouth<impl Future<Output = ()> + Unpin>, exchange: Arc<Exchange>) {
    let mut lines = Lines::new(exchange.limits().message_bytes);
    let mut inbox = Inbox::new(&exchange);
    let ended = loop {
        match mouth.read(lines.room()).await {
            Ok(count @ 1..) => lines.filled(count),
            Ok(0) | Err(_) => {
                let rest = lines.rest();
                let is_whole = rest.is_none_or(|rest| inbox.take_last(rest));
                break if is_whole { Ended::AtMessageEnd } else { Ended::MidMessage };
            }
        }
        if !take_lines(&exchange, &mut inbox, &mut lines) {
            break Ended::TooLarge;
        }
        inbox.ebb().await;
    };
    exchange.end(ended, "its stdout is closed");
}

/// Takes all whole lines; false if one is too long, and nobody knows whose answer it is, or it does
/// not end.
fn take_lines(exchange: &Exchange, inbox: &mut Inbox, lines: &mut Lines) -> bool {
    loop {
        match lines.next_line() {
            Line::Complete(line) => {
                if !inbox.take(line) {
                    exchange.note(Oddity::Garbage(excerpt(line)));
                }
            }
            Line::TooLong => {
                if !exchange.take_long_reply(lines.long_line()) {
                    return false;
                }
            }
            Line::NeedMore => {
                let limit = exchange.limits().message_bytes;
                return lines.discarded() <= limit.saturating_mul(LONG_LINE_FACTOR);
            }
        }
    }
}
