//! Looks into the servers that a load has started, if they are haft: from when answers count to the
//! end, how long requests were in each stage, and where the processor was. `inside.rs` is the other
//! side, in each of those servers.

use crate::exit::{Exit, Failure};
use crate::inside::{HAFT_INSIDE, Order, Seen};
use crate::profile::{Picture, Profile};
use haft_bench::{Plan, Target};
use haft_stages::Snapshot;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long servers that were started may take to open their doors. Ours do so first of all.
const OPENING_TIME_MAX: Duration = Duration::from_secs(5);
/// How long one may take to answer; a flame graph takes it some seconds to draw.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// The longest answer, a flame graph included.
const ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What to look at.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Inside")]
pub(crate) struct LookArgs {
    /// Show how long requests were in each stage of the server: read, decode, validate, queue,
    /// handler, encode, write. For a server that this starts and that is haft
    #[arg(long, conflicts_with_all = ["cold", "compare", "compare_command"])]
    pub(crate) stages: bool,
    /// Write a flame graph of that server's processor time, an SVG
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cold", "compare", "compare_command"])]
    pub(crate) profile: Option<PathBuf>,
}

/// A place where servers that are started can be looked into.
pub(crate) struct Look {
    /// Where they come, until all are there.
    entry: Option<(UnixListener, TempDir)>,
    picture: Option<Picture>,
    order: Order,
    doors: Vec<BufReader<UnixStream>>,
    is_begun: bool,
}

impl Look {
    /// Prepares a plan's servers to be looked into; `None` if nobody wants that.
    ///
    /// # Errors
    /// They cannot be: they are not started by this, say.
    pub(crate) fn into(plan: &mut Plan, args: &LookArgs) -> Result<Option<Self>, Failure> {
        let option = match args {
            LookArgs { stages: true, .. } => "--stages",
            LookArgs { profile: Some(_), .. } => "--profile",
            _ => return Ok(None),
        };
        let Target::Command(launch) = &mut plan.target else {
            let message = format!(
                "{option} looks into a server that this starts: a .yaml file, or a --command \
                 that is haft"
            );
            let hint = match option {
                "--stages" => "haft serve FILE --stages --metrics :9464 tells of one that runs",
                _ => "haft serve FILE --profile out.svg draws one that you start",
            };
            return Err(Failure::usage(message).hint(hint));
        };
        if plan.load.requests_per_connection.is_some() {
            let message = format!("{option} needs servers that stay; {SHORT} ends them");
            return Err(Failure::usage(message));
        }
        let picture = match &args.profile {
            Some(_) if plan.load.connections > 1 => {
                let message = "--profile draws one server, and each connection is one over stdio";
                return Err(Failure::usage(message).hint("--in-flight asks one server more"));
            }
            Some(path) => {
                Profile::begin()?;
                Some(Picture::at(path)?)
            }
            None => None,
        };
        // Whoever connects is believed.
        let owner_only = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("haft-").permissions(owner_only).tempdir()?;
        let path = folder.path().join("inside");
        let listener = UnixListener::bind(&path)?;
        *launch = launch.clone().variables([(HAFT_INSIDE, path)]);
        let order = Order::Begin { stages: args.stages, profile: picture.is_some() };
        let (doors, is_begun) = (Vec::new(), false);
        Ok(Some(Self { entry: Some((listener, folder)), picture, order, doors, is_begun }))
    }

    /// Waits until all servers have opened their doors.
    ///
    /// # Errors
    /// They are no haft.
    pub(crate) fn meet(&mut self, count: usize) -> Result<(), Failure> {
        // Closed then: a haft that one of their tools runs is not meant, and must not wait.
        let Some((listener, _folder)) = self.entry.take() else { return Ok(()) };
        let deadline = Instant::now() + OPENING_TIME_MAX;
        while self.doors.len() < count {
            if !is_there(&listener, deadline)? {
                let message = "the server does not let itself be looked into: it is no haft, or an \
                               old one";
                return Err(Failure::usage(message).hint(NO_HAFT));
            }
            let (door, _) = listener.accept()?;
            door.set_read_timeout(Some(ANSWER_TIME_MAX))?;
            self.doors.push(BufReader::new(door));
        }
        Ok(())
    }

    /// From here on. More than once is once.
    ///
    /// # Errors
    /// A server does not do it.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.tell(self.order)?;
        }
        Ok(())
    }

    /// Until here: the stages of all servers together, if they were wanted.
    ///
    /// # Errors
    /// A server has gone, or the picture cannot be written.
    pub(crate) fn end(mut self) -> Result<Option<Snapshot>, Failure> {
        let (mut all, mut svg) = (None::<Snapshot>, None);
        for Seen { stages, profile, .. } in self.tell(Order::End)? {
            if let Some(stages) = stages {
                all.get_or_insert_default().add(&stages);
            }
            svg = svg.or(profile);
        }
        if let (Some(picture), Some(svg)) = (self.picture, svg) {
            picture.draw(&svg)?;
        }
        Ok(all)
    }

    fn tell(&mut self, order: Order) -> Result<Vec<Seen>, Failure> {
        let mut line = serde_json::to_string(&order).map_err(io::Error::from)?;
        line.push('\n');
        for door in &self.doors {
            door.get_ref().write_all(line.as_bytes()).map_err(|error| gone(&error))?;
        }
        let mut all = Vec::new();
        for door in &mut self.doors {
            let mut answer = String::new();
            let mut bounded = door.take(ANSWER_BYTES_MAX);
            bounded.read_line(&mut answer).map_err(|error| gone(&error))?;
            let seen: Seen = serde_json::from_str(&answer).map_err(|error| gone(&error))?;
            if let Some(problem) = seen.problem {
                return Err(Failure::new(Exit::Other, problem));
            }
            all.push(seen);
        }
        Ok(all)
    }
}

const SHORT: &str = "--requests-per-connection";
const NO_HAFT: &str =
    "--stages and --profile are for a .yaml file and for --command 'haft serve …'";

fn gone(error: &dyn std::fmt::Display) -> Failure {
    let message = format!("what the server looks like inside is not known: {error}");
    Failure::new(Exit::Unreachable, message)
}

/// Waits until somebody is there, or until it is too late.
fn is_there(listener: &UnixListener, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.try_into().map_err(io::Error::other)?;
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
