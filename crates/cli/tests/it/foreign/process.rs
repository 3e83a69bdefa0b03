//! Starts programs for `foreign` and stops them: a client or a browser that must end by itself, and
//! the server under test, which must not. It never leaves a child behind, and never waits without a
//! deadline.

use crate::guard::Guard;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A client does its whole work in a few seconds, and gives up a step after 20. On a busy machine
/// the inspector, which starts anew for each step, takes the longest.
const CLIENT_DEADLINE: Duration = Duration::from_secs(90);

/// How long the server may take until it says where it listens.
const LISTEN_DEADLINE: Duration = Duration::from_secs(20);

/// Between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Http,
    Stdio,
}

impl Wire {
    pub(super) const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    /// Where a client finds the server that this command line starts, which gets one more flag
    /// that says over which wire it is to serve.
    pub(super) fn target(self, words: Vec<OsString>) -> Target {
        match self {
            Self::Http => Target::Http(Server::start(&words)),
            Self::Stdio => Target::Stdio([words, vec!["--stdio".into()]].concat()),
        }
    }
}

/// Where a client finds the server.
pub(super) enum Target {
    /// Somebody else's server.
    At(String),
    Http(Server),
    /// The client launches it.
    Stdio(Vec<OsString>),
}

/// The binary under test with the first example.
pub(super) fn quickstart() -> Vec<OsString> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/haft.yaml");
    [PathBuf::from(env!("CARGO_BIN_EXE_haft")), "serve".into(), file].map(OsString::from).into()
}

/// What a client left behind.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a client to its end. Its pipes are read until nobody holds them any more, so a server
/// that a client launched and that outlives it is a failure too.
pub(super) fn finish(mut command: Command) -> Finished {
    finish_within(&mut command, CLIENT_DEADLINE).unwrap_or_else(|| {
        panic!("{command:?} or the server that it launched ran longer than {CLIENT_DEADLINE:?}")
    })
}

/// The same of a program that is given so long. What runs longer is killed, and so are those that
/// it has started if it leads a group.
pub(crate) fn finish_within(command: &mut Command, deadline: Duration) -> Option<Finished> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guard(command.spawn().expect("it was installed, so it starts"));
    let end = Instant::now() + deadline;
    let stdout = read_all(child.0.stdout.take().expect("stdout is piped"));
    let stderr = read_all(child.0.stderr.take().expect("stderr is piped"));
    let rest = |pipe: mpsc::Receiver<String>| {
        pipe.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
    };
    let (Some(stdout), Some(stderr)) = (rest(stdout), rest(stderr)) else {
        // Who leads none has no group of this number.
        _ = kill_process_group(Pid::from_child(&child.0), Signal::KILL);
        return None;
    };
    let status = child.0.wait().expect("the child is ours, and nobody else waits for it");
    Some(Finished { status, stdout, stderr })
}

/// A server on a free port of the loopback interface, until it is dropped.
pub(super) struct Server {
    /// The endpoint, as the server itself announced it.
    pub(super) url: String,
    _child: Guard,
}

impl Server {
    fn start(words: &[OsString]) -> Self {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--http", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Guard(command.spawn().expect("the server was built for this test"));
        let announced = announcement(child.0.stderr.take().expect("stderr is piped"));
        match announced.recv_timeout(LISTEN_DEADLINE) {
            Ok(Ok(url)) => Self { url, _child: child },
            Ok(Err(said)) => panic!("the server ended without serving, it said: {said}"),
            Err(_) => panic!("the server did not say within {LISTEN_DEADLINE:?} where it listens"),
        }
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Waits for `serving NAME at URL`, and gives the URL, or all that was said instead. The pipe is
/// emptied to its end, because a server that cannot log would stand still.
fn announcement(pipe: impl Read + Send + 'static) -> mpsc::Receiver<Result<String, String>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut said = String::new();
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once("serving ")
                && let Some((_, url)) = rest.rsplit_once(" at ")
            {
                // Only the first is waited for; a full channel must not stop the reading.
                let _ = sender.try_send(Ok(url.to_owned()));
            }
            said += &line;
            said.push('\n');
        }
        let _ = sender.try_send(Err(said));
    });
    receiver
}
