//! A program and everything that it starts, as one group of processes that lives as long as its
//! call and not a moment longer. Run by `command`; what the output means is not looked at.
//!
//! The group has the number of its first process. That number stays taken until that process has
//! been waited for, so the group is only ever signalled before that: later the number could belong
//! to somebody else. A program that starts a session of its own leaves the group; `orphans` gets
//! those, where this process adopts.

use crate::command::orphans::Call;
use crate::limits::LEFT_BEHIND_GRACE;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

/// What a program said until it ended.
#[derive(Debug)]
pub(crate) struct Spoken {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it printed.
    pub(crate) out: Vec<u8>,
    /// The last of what it wrote to stderr.
    pub(crate) last_words: Vec<u8>,
    /// It printed more than the limit, and was killed.
    pub(crate) is_cut: bool,
}

/// Runs a program to its end. Dropping the future kills it and all that it started, at once. The
/// limits are those of its output and of the last words that are kept, in bytes.
///
/// # Errors
/// It cannot be started.
pub(crate) async fn run(
    mut command: Command,
    stdin: Option<Vec<u8>>,
    (out_limit, words_limit): (usize, usize),
) -> io::Result<Spoken> {
    // Before the program runs, so that its end is not missed.
    let mut ends = signal(SignalKind::child())?;
    let input = if stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut group = Group::start(&mut command)?;
    let (mut out, mut last_words) = (Vec::new(), Vec::new());
    let (pipe, stdout, stderr) = group.pipes();
    let mut talk = Talk { is_fed: false, is_heard: false, has_ended: false, is_cut: false };
    {
        let feeding = feed(pipe, stdin);
        let hearing = async {
            tokio::try_join!(hear(stdout, &mut out, out_limit), async {
                overhear(stderr, &mut last_words, words_limit).await;
                Ok(())
            })
        };
        let ending = has_ended(group.id, &mut ends);
        tokio::pin!(feeding, hearing, ending);
        let mut patience: Option<Patience> = None;
        while !talk.is_over() {
            let limit = patience.as_ref().map_or_else(Instant::now, |patience| patience.until);
            tokio::select! {
                () = &mut feeding, if !talk.is_fed => talk.is_fed = true,
                heard = &mut hearing, if !talk.is_heard => {
                    talk.is_heard = true;
                    talk.is_cut = heard.is_err();
                }
                () = &mut ending, if !talk.has_ended => {
                    talk.has_ended = true;
                    patience = Some(Patience::new());
                }
                () = sleep_until(limit), if patience.is_some() => {
                    // Something else holds the pipes open: first what the program left behind is
                    // killed, then what is out of reach is no longer listened to.
                    talk.is_heard = patience.as_mut().is_some_and(|patience| {
                        group.kill();
                        patience.is_lost()
                    });
                }
            }
        }
    }
    let status = group.end(&mut ends).await?;
    Ok(Spoken { status, out, last_words, is_cut: talk.is_cut })
}

/// How far a program has come.
struct Talk {
    is_fed: bool,
    is_heard: bool,
    has_ended: bool,
    is_cut: bool,
}

impl Talk {
    fn is_over(&self) -> bool {
        self.is_cut || (self.is_heard && self.has_ended)
    }
}

/// How long the pipes of a program that has ended may stay open.
struct Patience {
    until: Instant,
    is_lost: bool,
}

impl Patience {
    fn new() -> Self {
        Self { until: Instant::now() + LEFT_BEHIND_GRACE, is_lost: false }
    }

    /// Whether it was lost before; it is given once more.
    fn is_lost(&mut self) -> bool {
        self.until = Instant::now() + LEFT_BEHIND_GRACE;
        std::mem::replace(&mut self.is_lost, true)
    }
}

/// A group of processes.
struct Group {
    /// The first process, until it has been waited for: then its number may be somebody else's.
    leader: Option<Child>,
    id: Pid,
    call: Option<Call>,
}

type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Group {
    fn start(command: &mut Command) -> io::Result<Self> {
        let (leader, id, mut call) = Call::start(command)?;
        if let Some(call) = &mut call {
            call.guard();
        }
        Ok(Self { leader: Some(leader), id, call })
    }

    fn pipes(&mut self) -> Pipes {
        let Some(leader) = &mut self.leader else { return (None, None, None) };
        (leader.stdin.take(), leader.stdout.take(), leader.stderr.take())
    }

    /// Kills whatever is left of the group and has left it. There may be nothing left to kill.
    fn kill(&self) {
        if self.leader.is_some() {
            _ = kill_process_group(self.id, Signal::KILL);
        }
        if let Some(call) = &self.call {
            call.forsake();
        }
    }

    /// Kills what is left, and waits for the first process.
    async fn end(mut self, ends: &mut Signals) -> io::Result<ExitStatus> {
        _ = kill_process_group(self.id, Signal::KILL);
        let leader = self.leader.as_mut().expect("nothing else waits for it");
        let status = leader.wait().await;
        self.leader = None;
        if let Some(call) = self.call.take() {
            call.end(ends).await;
        }
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        // Without a call to be told, the runtime waits for a killed process by itself.
        if let (Some(mut leader), Some(call)) = (self.leader.take(), self.call.take())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                _ = leader.wait().await;
                call.over();
            });
        }
    }
}

/// Waits until a process has ended, without taking its status: it stays a zombie, and its number
/// stays its own.
async fn has_ended(id: Pid, ends: &mut Signals) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    // An error means that there is no such child, which is no reason to wait either.
    while matches!(waitid(WaitId::Pid(id), options), Ok(None)) {
        if ends.recv().await.is_none() {
            return;
        }
    }
}

/// Writes all, as far as the program reads it: one that reads nothing is free to do so.
async fn feed(stdin: Option<ChildStdin>, bytes: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(bytes)) = (stdin, bytes) {
        _ = stdin.write_all(&bytes).await;
    }
}

/// More was printed than is kept.
struct TooMuch;

/// Keeps what a program prints, to its end.
async fn hear(
    stdout: Option<impl AsyncRead + Unpin>,
    out: &mut Vec<u8>,
    limit: usize,
) -> Result<(), TooMuch> {
    let Some(mut stdout) = stdout else { return Ok(()) };
    while let Ok(1..) = stdout.read_buf(out).await {
        if out.len() > limit {
            return Err(TooMuch);
        }
    }
    Ok(())
}

/// Keeps the last of what a program writes.
async fn overhear(stderr: Option<impl AsyncRead + Unpin>, last_words: &mut Vec<u8>, limit: usize) {
    let Some(mut stderr) = stderr else { return };
    while let Ok(1..) = stderr.read_buf(last_words).await {
        if last_words.len() > 4 * limit {
            last_words.drain(..last_words.len() - limit);
        }
    }
    let spare = last_words.len().saturating_sub(limit);
    last_words.drain(..spare);
}
