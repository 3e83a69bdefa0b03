//! Processes that moved out of their call's group and have lost their parent. The process that
//! serves adopts them, knows by a mark in their environment whose they are, kills those whose call
//! is over and waits for all that have ended. Told by `group` of every call; starts nothing.
//!
//! Only what haft did not start itself is ever waited for or signalled here, and as nobody else
//! waits for those, their numbers cannot become another's in between. Out of reach stays what
//! wiped the mark from its environment, or runs as another user.

use crate::command::dumps::forbid_dumps;
use crate::command::guardian::Guardian;
use crate::command::process::{Process, VARIABLE, environment, marked};
use crate::limits::{ORPHANS_BYTES_MAX, ORPHANS_GRACE};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, waitid,
};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, timeout_at};

/// Of the process, once it adopts.
static ORPHANS: OnceLock<Orphans> = OnceLock::new();

/// What programs leave behind is adopted, and ends with the call that started it.
#[derive(Debug)]
pub struct Adoption(&'static Orphans);

impl Adoption {
    /// Makes this process the parent of all orphans below it, until it ends. `None` where the
    /// system has no such thing, or does not tell of children; then a call's group is all that ends
    /// with it. Must be called in a runtime. From then on this process must start no programs but
    /// those of tools and by [`Call::start`]: others would have their status taken.
    #[must_use]
    pub fn begin() -> Option<Self> {
        if ORPHANS.get().is_none() {
            let orphans = Orphans::new().ok()?;
            become_reaper().ok()?;
            // Whoever was faster has the same.
            _ = ORPHANS.set(orphans);
        }
        let orphans = ORPHANS.get()?;
        let mut ends = signal(SignalKind::child()).ok()?;
        tokio::spawn(async move {
            while ends.recv().await.is_some() {
                orphans.sweep();
            }
        });
        Some(Self(orphans))
    }

    /// The same, and if this process is killed, what it leaves is ended by another one, which runs
    /// this command and in it [`watch_over`](crate::watch_over). That one is started with the first
    /// program of a tool, or the first child that [`Call::guard`] is told of.
    #[must_use]
    pub fn guarded(self, by: std::process::Command) -> Self {
        *lock(&self.0.guardian) = Some(Guardian::new(by));
        self
    }

    /// Kills all that is left of any call, and waits for it. No program is started afterwards.
    pub async fn end(self) {
        let Ok(mut ends) = signal(SignalKind::child()) else { return };
        let leaders: Vec<Pid> = {
            let mut state = self.0.state();
            state.is_over = true;
            state.calls.clear();
            state.leaders.iter().copied().collect()
        };
        for leader in &leaders {
            // Whose end nobody has taken still has its number.
            if waitid(WaitId::Pid(*leader), LOOKING).is_ok() {
                _ = kill_process_group(*leader, Signal::KILL);
            }
        }
        let until = Instant::now() + ORPHANS_GRACE;
        while leaders.iter().any(|leader| is_running(*leader)) || self.0.sweep() {
            if !matches!(timeout_at(until, ends.recv()).await, Ok(Some(()))) {
                return;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn become_reaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(getpid()))?)
}

#[cfg(not(target_os = "linux"))]
fn become_reaper() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A call whose program was started, or another program whose orphans are to end with it. Dropped
/// when its first process has been waited for.
#[derive(Debug)]
pub struct Call {
    orphans: &'static Orphans,
    number: u64,
    leader: Pid,
    is_guarded: bool,
}

impl Call {
    /// Starts the program of a call, marked as such if orphans are adopted.
    ///
    /// # Errors
    /// It cannot be started, or the server is stopping.
    pub fn start(command: &mut Command) -> io::Result<(Child, Pid, Option<Self>)> {
        let Some(orphans) = ORPHANS.get() else {
            let (leader, id) = spawn(command)?;
            return Ok((leader, id, None));
        };
        forbid_dumps();
        orphans.watch();
        let number = orphans.starts()?;
        command.env(VARIABLE, orphans.mark(number));
        let spawned = spawn(command);
        let mut state = orphans.state();
        state.starting -= 1;
        match spawned {
            Ok((leader, id)) => {
                state.leaders.insert(id);
                Ok((leader, id, Some(Self { orphans, number, leader: id, is_guarded: false })))
            }
            Err(error) => {
                state.calls.remove(&number);
                Err(error)
            }
        }
    }

    /// If this process is killed, this program shall not be left behind, though it may hide.
    pub fn guard(&mut self) {
        let Some(leader) = Process::of(self.leader) else { return };
        let orphans = self.orphans;
        let mut guardian = lock(&orphans.guardian);
        let Some(guardian) = &mut *guardian else { return };
        // It may be that a process is started, which nobody else must wait for meanwhile.
        orphans.state().starting += 1;
        guardian.take(leader.identity, &orphans.prefix);
        orphans.state().starting -= 1;
        self.is_guarded = true;
    }

    /// Kills the orphans that it has, and those that it will have when they come.
    pub fn forsake(&self) {
        self.orphans.state().calls.remove(&self.number);
        self.orphans.sweep();
    }

    /// Kills all that it left behind. Of these, the ends of some may make orphans of others, which
    /// are killed then.
    pub(crate) fn over(self) {
        let orphans = self.orphans;
        drop(self);
        orphans.sweep();
    }

    /// The same, and waits for all of that, though not for ever.
    pub async fn end(self, ends: &mut Signals) {
        let orphans = self.orphans;
        drop(self);
        let until = Instant::now() + ORPHANS_GRACE;
        while orphans.sweep() {
            if !matches!(timeout_at(until, ends.recv()).await, Ok(Some(()))) {
                return;
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.is_guarded
            && let Some(guardian) = &mut *lock(&self.orphans.guardian)
        {
            guardian.release(self.leader);
        }
        let mut state = self.orphans.state();
        state.calls.remove(&self.number);
        state.leaders.remove(&self.leader);
    }
}

fn spawn(command: &mut Command) -> io::Result<(Child, Pid)> {
    let leader = command.spawn()?;
    let id = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let id = id.ok_or_else(|| io::Error::other("the program has no process id"))?;
    Ok((leader, id))
}

/// The orphans of this process, and whose they may be.
#[derive(Debug)]
struct Orphans {
    /// The numbers of the children of the main thread: those that were adopted are there.
    children: File,
    /// The marks of the calls around this process, and the start of its own.
    prefix: String,
    /// Where programs are started: this process's group and session.
    here: Process,
    state: Mutex<State>,
    /// Locked before `state`, if both are.
    guardian: Mutex<Option<Guardian>>,
}

#[derive(Debug, Default)]
struct State {
    /// How many calls have begun so far.
    begun: u64,
    /// Those that are not over.
    calls: HashSet<u64>,
    /// How many programs are being started, of which the number is not known yet.
    starting: usize,
    /// The first processes of calls, for which the runtime waits.
    leaders: HashSet<Pid>,
    /// Whose orphans are that were alive when they were looked at.
    known: HashMap<Pid, Option<u64>>,
    /// Since when the system has been asked to end orphans that are still there.
    killed: HashMap<Pid, Instant>,
    is_over: bool,
}

impl Orphans {
    /// Somebody watches from before the first program on: this process may be killed before it has
    /// told of that.
    fn watch(&self) {
        let mut guardian = lock(&self.guardian);
        let Some(guardian) = guardian.as_mut().filter(|guardian| !guardian.is_there()) else {
            return;
        };
        // It may be that a process is started, which nobody else must wait for meanwhile.
        self.state().starting += 1;
        guardian.start(&self.prefix);
        self.state().starting -= 1;
    }

    fn new() -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let around = std::env::var(VARIABLE).unwrap_or_default();
        let prefix = format!("{around} {:016x}.", u64::from_ne_bytes(random));
        let id = std::process::id();
        let children = File::open(format!("/proc/self/task/{id}/children"))?;
        Ok(Self {
            children,
            prefix: prefix.trim_start().to_owned(),
            here: Process::of(getpid()).ok_or(io::ErrorKind::Unsupported)?,
            state: Mutex::default(),
            guardian: Mutex::default(),
        })
    }

    /// What holds in between is true whenever a thread may panic.
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The number of a new call whose program is about to be started.
    fn starts(&self) -> io::Result<u64> {
        let mut state = self.state();
        if state.is_over {
            return Err(io::Error::other("the server is stopping"));
        }
        state.begun += 1;
        state.starting += 1;
        let number = state.begun;
        state.calls.insert(number);
        Ok(number)
    }

    fn mark(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    /// Waits for the orphans that have ended and kills those whose call is over. Whether any of
    /// these is still there, those left out that no signal has ended in all this time: calls to
    /// come should not wait for what hangs in the system.
    fn sweep(&self) -> bool {
        // Held to the end: nobody else waits for an orphan meanwhile.
        let mut state = self.state();
        let mut listed = [0; 1024];
        let listed = match self.children.read_at(&mut listed, 0) {
            Ok(length) if length < listed.len() => listed[..length].to_vec(),
            Ok(_) => read_all(&self.children, ORPHANS_BYTES_MAX),
            Err(_) => return false,
        };
        let orphans: Vec<Pid> =
            numbers(&listed).filter(|child| !state.leaders.contains(child)).collect();
        if !state.known.is_empty() || !state.killed.is_empty() {
            let there: HashSet<Pid> = orphans.iter().copied().collect();
            state.known.retain(|orphan, _| there.contains(orphan));
            state.killed.retain(|orphan, _| there.contains(orphan));
        }
        let mut is_any_left = false;
        for orphan in orphans {
            if is_running(orphan) {
                let whose = self.whose(orphan, &mut state);
                if whose.is_some_and(|number| !state.calls.contains(&number)) {
                    // If it may not be killed, there is nothing to wait for.
                    let now = Instant::now();
                    let since = *state.killed.entry(orphan).or_insert(now);
                    let is_killed = kill_process(orphan, Signal::KILL).is_ok();
                    is_any_left |= is_killed && now < since + ORPHANS_GRACE;
                }
            } else if state.starting == 0 || self.is_adopted(orphan) {
                _ = waitid(WaitId::Pid(orphan), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
                state.known.remove(&orphan);
                state.killed.remove(&orphan);
            }
        }
        is_any_left
    }

    /// The call that an orphan that runs is from, if it is one of ours.
    fn whose(&self, orphan: Pid, state: &mut State) -> Option<u64> {
        if let Some(known) = state.known.get(&orphan) {
            return *known;
        }
        let bytes = environment(orphan).ok()?;
        let whose = marked(&bytes, &self.prefix);
        // One that is becoming another program has none for a moment, and what is being started
        // shows ours.
        if !bytes.is_empty() && state.starting == 0 {
            state.known.insert(orphan, whose);
        }
        whose
    }

    /// That a child cannot be one that is just being started: those are in our session, and in
    /// our group or one of their own.
    fn is_adopted(&self, child: Pid) -> bool {
        let is_started_here = Process::of(child).is_some_and(|process| {
            process.session == self.here.session
                && [child.as_raw_pid(), self.here.group].contains(&process.group)
        });
        !is_started_here
    }
}

/// That a child has not ended. Its status is not taken.
fn is_running(child: Pid) -> bool {
    matches!(waitid(WaitId::Pid(child), LOOKING), Ok(None))
}

/// Whether a child has ended, which stays as it is.
const LOOKING: WaitIdOptions =
    WaitIdOptions::EXITED.union(WaitIdOptions::NOWAIT).union(WaitIdOptions::NOHANG);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file from its start, within a limit.
fn read_all(file: &File, limit: usize) -> Vec<u8> {
    let mut bytes = vec![0; limit];
    let mut length = 0;
    while let Ok(read @ 1..) = file.read_at(&mut bytes[length..], length as u64) {
        length += read;
    }
    bytes.truncate(length);
    bytes
}

/// The numbers in a list that may be cut: each has a space behind it.
fn numbers(list: &[u8]) -> impl Iterator<Item = Pid> {
    let whole = list.split_inclusive(|&byte| byte == b' ').filter(|word| word.ends_with(b" "));
    whole.filter_map(|word| Pid::from_raw(std::str::from_utf8(word).ok()?.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_list_of_children_that_is_too_long_is_read_as_far_as_it_may() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"12 345 678 ").expect("it is ours");
        let read =
            |limit| -> Vec<i32> { numbers(&read_all(&file, limit)).map(Pid::as_raw_pid).collect() };
        assert_eq!(read(11), [12, 345, 678]);
        // Half a number would be another process.
        assert_eq!(read(9), [12, 345]);
        assert!(read(0).is_empty());
    }
}
