//! The child process behind a stdio connection: started in a process group of its own, so that it
//! can be stopped with everything that it started. Used by the stdio wire, and by those who speak
//! over its pipes themselves; what is said there is not known here.

use crate::environment::Inherit;
use crate::error::{ClientError, excerpt};
use crate::plain::plain;
use haft_proto::framing::{Line, Lines};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::future::pending;
use std::hash::Hash;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A server to be started as a child process.
#[derive(Clone)]
pub struct Launch {
    program: OsString,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    stderr: Stderr,
    inherit: Inherit,
    nursery: Option<Arc<dyn Nursery>>,
    hearing: Option<Hearing>,
}

/// Hears each line of a child's stderr as it comes: without what steers a terminal, and no longer
/// than 8 KiB: of a longer line its beginning. Empty lines are not heard.
pub type Hearing = Arc<dyn Fn(&str) + Send + Sync>;

/// Who starts children, and finds what they leave behind when they have moved out of their group:
/// a program that adopts orphans.
pub trait Nursery: fmt::Debug + Send + Sync {
    /// Starts a child.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&self, command: &mut Command) -> io::Result<(Child, Box<dyn Ward>)>;
}

/// What a nursery knows of a child. Dropped once the child has been waited for, and not before.
pub trait Ward: fmt::Debug + Send + Sync {
    /// Kills what has left the child's group, at once and when more of it comes.
    fn forsake(&self);

    /// The child has been waited for: kills what is left and waits for that, though not for ever.
    fn end(self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Without the values of variables, which may be secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("variables", &names)
            .field("directory", &self.directory)
            .field("stderr", &self.stderr)
            .field("inherit", &self.inherit)
            .finish_non_exhaustive()
    }
}

/// What becomes of a child's stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stderr {
    /// It is read and forgotten, but for some last lines that errors quote.
    #[default]
    Captured,
    /// It goes where ours goes.
    Inherited,
}

impl Launch {
    /// Runs `program` with `args`, never through a shell. Its stderr is captured.
    pub fn new(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let (variables, directory, stderr) = (Vec::new(), None, Stderr::default());
        let (program, inherit, nursery) = (program.into(), Inherit::default(), None);
        Self { program, args, variables, directory, stderr, inherit, nursery, hearing: None }
    }

    /// What is run: a path, or a name that is looked for in PATH.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Its arguments.
    #[must_use]
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// What tells it from others. Not to be shown: it has the values of variables.
    pub(crate) fn identity(&self) -> impl Hash {
        (&self.program, &self.args, &self.directory, &self.variables)
    }

    /// The same with these variables added to those of our own environment.
    #[must_use]
    pub fn variables(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let pair = |(name, value): (_, _)| (Into::into(name), Into::into(value));
        self.variables.extend(variables.into_iter().map(pair));
        self
    }

    /// The same in another working directory than our own.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The same with another use of stderr.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// The same with these variables of our own environment.
    #[must_use]
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// The same, started by somebody else.
    #[must_use]
    pub fn nursery(mut self, nursery: Arc<dyn Nursery>) -> Self {
        self.nursery = Some(nursery);
        self
    }

    /// Its stderr is heard, where it is captured.
    #[must_use]
    pub fn hearing(mut self, hearing: Hearing) -> Self {
        self.hearing = Some(hearing);
        self
    }
}

/// How long a child may take to end after each kind of order.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long pipes are waited for after the process that held them ended.
const AFTERMATH: Duration = Duration::from_millis(500);
/// How many lines of a captured stderr are kept, and how long each may be.
const WORDS_LINES_MAX: usize = 20;
const WORDS_LINE_BYTES_MAX: usize = 8 * 1024;

/// A running child. Dropping it kills its group at once; [`Process::stop`] is polite.
#[derive(Debug)]
pub struct Process {
    /// Until this is dropped.
    child: Option<Child>,
    ward: Option<Box<dyn Ward>>,
    words: Words,
    listening: Option<JoinHandle<()>>,
}

/// The last lines of a captured stderr.
type Words = Arc<Mutex<VecDeque<String>>>;

impl Process {
    /// Starts a child and returns its pipes.
    ///
    /// # Errors
    /// [`ClientError::CannotStart`].
    pub fn start(launch: &Launch) -> Result<(Self, ChildStdin, ChildStdout), ClientError> {
        let cannot_start = |reason: String| ClientError::CannotStart {
            program: launch.program.to_string_lossy().into_owned(),
            reason,
        };
        let stderr = match launch.stderr {
            Stderr::Captured => Stdio::piped(),
            Stderr::Inherited => Stdio::inherit(),
        };
        let mut command = Command::new(&launch.program);
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        launch.inherit.apply(&mut command);
        command
            .args(&launch.args)
            .envs(launch.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .kill_on_drop(true);
        let started = match &launch.nursery {
            Some(nursery) => nursery.start(&mut command).map(|(child, ward)| (child, Some(ward))),
            None => command.spawn().map(|child| (child, None)),
        };
        let (mut child, ward) = started.map_err(|error| {
            // The system says the same of a program and of a directory that is not there.
            let missing = launch.directory.as_ref().filter(|directory| !directory.is_dir());
            cannot_start(match missing {
                Some(directory) => format!("its directory {} does not exist", directory.display()),
                None if error.kind() == io::ErrorKind::NotFound => {
                    format!("{error}; check its name and PATH")
                }
                None => error.to_string(),
            })
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let words = Words::default();
        let listening = child
            .stderr
            .take()
            .map(|stderr| tokio::spawn(listen(stderr, Arc::clone(&words), launch.hearing.clone())));
        let process = Self { child: Some(child), ward, words, listening };
        match pipes {
            (Some(stdin), Some(stdout)) => Ok((process, stdin, stdout)),
            _ => Err(cannot_start("it has no pipes".to_owned())),
        }
    }

    /// Whether the child ended and how, waiting a moment for it; and its last words. What it left
    /// behind is killed.
    pub async fn ending(&mut self) -> (Option<String>, String) {
        let ending = async {
            self.ended().await;
            self.signal(Signal::KILL);
            self.wait().await
        };
        let status = timeout(AFTERMATH, ending).await;
        if let Some(listening) = &mut self.listening
            && timeout(AFTERMATH, listening).await.is_ok()
        {
            self.listening = None;
        }
        let status = status.ok().flatten().map(|status| status.to_string());
        if let Some(ward) = self.ward.take_if(|_| status.is_some()) {
            tokio::spawn(ward.end());
        }
        (status, self.last_words())
    }

    /// Ends the child, whose stdin has been closed: waits, then asks, then kills. Whatever it
    /// started and left behind is killed with it, before its number can be another's.
    pub async fn stop(&mut self) {
        for order in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            order.inspect(|signal| self.signal(*signal));
            if timeout(PATIENCE, self.ended()).await.is_ok() {
                break;
            }
        }
        self.signal(Signal::KILL);
        if matches!(timeout(PATIENCE, self.wait()).await, Ok(Some(_)))
            && let Some(ward) = self.ward.take()
        {
            ward.end().await;
        }
    }

    /// Takes the child's status, once it has ended.
    async fn wait(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.wait().await.ok()
    }

    /// Its number, which is that of its group; `None` once it has ended.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Ends when the child has ended, without taking its status.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let id = self.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        async move {
            // Its status has been taken.
            let Some(id) = id else { return };
            let Ok(mut ends) = signal(SignalKind::child()) else { return pending().await };
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            // An error means that there is no such child, which is no reason to wait either.
            while matches!(waitid(WaitId::Pid(id), options), Ok(None)) {
                ends.recv().await;
            }
        }
    }

    /// Signals the whole group, but only while its leader has not been waited for: after that its
    /// number may be another's.
    fn signal(&self, signal: Signal) {
        let id = self.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            // It fails only if there is nothing left to signal.
            _ = kill_process_group(group, signal);
        }
    }

    /// The line that most likely says why: the last one that speaks of an error, else the last.
    fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let is_telling = |line: &&String| line.to_ascii_lowercase().contains("error");
        words.iter().rev().find(is_telling).or_else(|| words.back()).cloned().unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(listening) = &self.listening {
            listening.abort();
        }
        let Some(ward) = self.ward.take() else { return };
        ward.forsake();
        // Without a runtime nobody takes its status, and what it leaves is forsaken already.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(async move {
                _ = child.wait().await;
                ward.end().await;
            });
        }
    }
}

async fn listen(mut stderr: ChildStderr, words: Words, hearing: Option<Hearing>) {
    let take = |line: &[u8]| {
        keep(&words, line);
        if let Some(hear) = &hearing {
            let text = plain(line, WORDS_LINE_BYTES_MAX);
            if !text.is_empty() {
                hear(&text);
            }
        }
    };
    let mut lines = Lines::new(WORDS_LINE_BYTES_MAX);
    while let Ok(count @ 1..) = stderr.read(lines.room()).await {
        lines.filled(count);
        loop {
            match lines.next_line() {
                Line::Complete(line) => take(line),
                Line::TooLong => take(lines.long_line()),
                Line::NeedMore => break,
            }
        }
    }
    if let Some(rest) = lines.rest() {
        take(rest);
    }
}

fn keep(words: &Words, line: &[u8]) {
    let line = excerpt(line);
    if line.is_empty() {
        return;
    }
    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
    if words.len() == WORDS_LINES_MAX {
        words.pop_front();
    }
    words.push_back(line);
}
