//! What ends the children of this process if it is killed and cannot do so itself: a small process
//! of the same program, which waits until nobody holds the other end of its standard input any more
//! and then ends what is left. Started by `orphans` with the first program; it
//! starts nothing itself, and signals nothing that it cannot tell to be of its haft.

use crate::command::process::{Identity, Process, environment, marked};
use crate::limits::{
    GUARDED_MAX, GUARDIAN_GRACE, GUARDIAN_PAUSE, GUARDIAN_TIME_MAX, UNTOLD_BYTES_MAX,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, getpid};
use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// The way to the process that waits, held by the one that it waits for.
#[derive(Debug)]
pub(crate) struct Guardian {
    command: Command,
    line: Option<Line>,
    /// The children that it has been told of.
    children: HashSet<Identity>,
}

impl Guardian {
    /// `command` runs [`watch_over`].
    pub(crate) fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What a terminal sends to this process's group is not for it, and it holds no directory.
        command.process_group(0).current_dir("/");
        Self { command, line: None, children: HashSet::new() }
    }

    /// There is another child. One that has ended is started again; one that does not read is left
    /// alone: to take its pipe away would be to tell it that this process is gone.
    pub(crate) fn take(&mut self, child: Identity, prefix: &str) {
        if self.children.len() == GUARDED_MAX || !self.children.insert(child) {
            return;
        }
        if let Some(line) = &self.line {
            match line.tell(told('+', child).as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.line = None,
                _ => return,
            }
        }
        self.start(prefix);
    }

    /// Whether it watches already.
    pub(crate) fn is_there(&self) -> bool {
        self.line.is_some()
    }

    /// It watches from now on over what has the mark, and the children that it has been told of.
    pub(crate) fn start(&mut self, prefix: &str) {
        let Ok(mut started) = self.command.spawn() else { return };
        let Some(line) = started.stdin.take().and_then(|pipe| Line::new(pipe).ok()) else { return };
        let children = self.children.iter().map(|child| told('+', *child));
        let all = format!("{prefix}\n{}", children.collect::<String>());
        if line.tell(all.as_bytes()).is_ok() {
            self.line = Some(line);
        }
    }

    /// A child has been waited for.
    pub(crate) fn release(&mut self, id: Pid) {
        let child = self.children.iter().find(|child| child.id == id).copied();
        if let Some(child) = child.filter(|child| self.children.remove(child))
            && let Some(line) = &self.line
        {
            // Of one that is not there any more, it ends nothing.
            _ = line.tell(told('-', child).as_bytes());
        }
    }
}

/// What is told to it, in whole lines and their order, however slowly it reads. Nobody waits for
/// that, and the pipe stays open: its end would mean that this process is gone.
#[derive(Debug)]
struct Line {
    /// Closed by the system when this process is gone, however that comes about.
    pipe: Arc<ChildStdin>,
    /// What the pipe had no room for. While there is some, a thread tells it.
    untold: Arc<Mutex<Vec<u8>>>,
}

impl Line {
    fn new(pipe: ChildStdin) -> io::Result<Self> {
        ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe: Arc::new(pipe), untold: Arc::default() })
    }

    fn tell(&self, words: &[u8]) -> io::Result<()> {
        let mut untold = self.untold();
        if !untold.is_empty() {
            // It does not read. What it is not told of, it may still know by its mark.
            if untold.len() + words.len() <= UNTOLD_BYTES_MAX {
                untold.extend_from_slice(words);
            }
            return Ok(());
        }
        let count = written(&self.pipe, words)?;
        if count == words.len() {
            return Ok(());
        }
        untold.extend_from_slice(&words[count..]);
        let line = Self { pipe: Arc::clone(&self.pipe), untold: Arc::clone(&self.untold) };
        // A thread needs no runtime, which may be at its end.
        thread::Builder::new().name("haft-guardian".to_owned()).spawn(move || line.tell_rest())?;
        Ok(())
    }

    /// Tells what is untold, until all is or nobody reads.
    fn tell_rest(self) {
        loop {
            let mut room = [PollFd::new(&*self.pipe, PollFlags::OUT)];
            if poll(&mut room, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            let mut untold = self.untold();
            match written(&self.pipe, &untold) {
                Ok(count) => _ = untold.drain(..count),
                // Whoever tells it something next starts another one.
                Err(_) => untold.clear(),
            }
            if untold.is_empty() {
                return;
            }
        }
    }

    fn untold(&self) -> MutexGuard<'_, Vec<u8>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much of it the pipe had room for.
fn written(mut pipe: &ChildStdin, words: &[u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < words.len() {
        match pipe.write(&words[count..]) {
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

fn told(sign: char, child: Identity) -> String {
    format!("{sign}{} {}\n", child.id.as_raw_pid(), child.start)
}

/// Waits until the process at the other end of standard input is gone, then ends all that it left:
/// what has its mark, the children that it told of, and what these have started. Asks first, and
/// kills what does not listen.
///
/// # Errors
/// Standard input cannot be read, or says nothing; then nothing is ended.
pub fn watch_over() -> io::Result<()> {
    let (prefix, children) = heard(io::stdin().lock())?;
    let pause = Timespec { tv_sec: 0, tv_nsec: GUARDIAN_PAUSE.subsec_nanos().into() };
    let (began, mut asked) = (Instant::now(), HashSet::new());
    while began.elapsed() < GUARDIAN_TIME_MAX {
        let left = left(&Process::all(), &children, |id| {
            environment(id).is_ok_and(|environ| marked(&environ, &prefix).is_some())
        });
        if left.is_empty() {
            break;
        }
        let is_patient = began.elapsed() < GUARDIAN_GRACE;
        for process in left {
            if !is_patient {
                process.send(Signal::KILL);
            } else if asked.insert(process) {
                process.send(Signal::TERM);
            }
        }
        _ = poll(&mut [], Some(&pause));
    }
    Ok(())
}

/// What is said until the other end is gone: the mark, and the children that are left.
fn heard(said: impl BufRead) -> io::Result<(String, HashSet<Identity>)> {
    let mut lines = said.lines();
    let prefix = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??;
    if prefix.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut children = HashSet::new();
    for line in lines.map_while(Result::ok) {
        match (line.get(..1), line.get(1..).and_then(read)) {
            (Some("+"), Some(child)) if children.len() < GUARDED_MAX => {
                children.insert(child);
            }
            (Some("-"), Some(child)) => {
                children.remove(&child);
            }
            _ => {}
        }
    }
    Ok((prefix, children))
}

fn read(told: &str) -> Option<Identity> {
    let (id, start) = told.split_once(' ')?;
    Some(Identity { id: Pid::from_raw(id.parse().ok()?)?, start: start.parse().ok()? })
}

/// Which of all processes are to be ended.
fn left(
    all: &[Process],
    children: &HashSet<Identity>,
    is_marked: impl Fn(Pid) -> bool,
) -> Vec<Identity> {
    // A group keeps its number for as long as it has members, unless that is somebody else's.
    let is_taken = |child: &Identity| {
        all.iter().any(|one| one.identity.id == child.id && one.identity.start != child.start)
    };
    let groups: Vec<i32> =
        children.iter().filter(|one| !is_taken(one)).map(|one| one.id.as_raw_pid()).collect();
    let is_ours = |one: &Process| {
        children.contains(&one.identity)
            || groups.contains(&one.group)
            || is_marked(one.identity.id)
    };
    let there = all.iter().filter(|one| one.identity.id != getpid() && !one.has_ended);
    let (ours, mut others): (Vec<Process>, Vec<Process>) = there.partition(|one| is_ours(one));
    let mut ours: Vec<Identity> = ours.into_iter().map(|one| one.identity).collect();
    // What they started may have wiped its environment, or moved.
    loop {
        let is_below = |one: &Process| ours.iter().any(|known| one.is_below(*known));
        let (more, rest): (Vec<Process>, Vec<Process>) = others.into_iter().partition(is_below);
        if more.is_empty() {
            return ours;
        }
        ours.extend(more.into_iter().map(|one| one.identity));
        others = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(id: i32, start: u64) -> Identity {
        Identity { id: Pid::from_raw(id).expect("a number"), start }
    }

    fn process(id: i32, start: u64, [parent, group, session]: [i32; 3]) -> Process {
        Process { identity: identity(id, start), parent, group, session, has_ended: false }
    }

    #[test]
    fn one_that_is_told_of_thousands_is_told_of_all_and_of_no_end_before() {
        let out = tempfile::NamedTempFile::new().expect("a file");
        let mut command = Command::new("sh");
        command.args(["-c", "cat > \"$0\""]).arg(out.path());
        let mut guardian = Guardian::new(command);
        let count: i32 = 20_000;
        guardian.children.extend((1..count).map(|id| identity(id, 123_456_789)));
        guardian.take(identity(count, 1), "ab.");
        let line = guardian.line.as_ref().expect("it goes on, whatever room there is");
        let pipe = Arc::downgrade(&line.pipe);
        guardian.release(identity(count, 1).id);
        let heard = || {
            let all = std::fs::read(out.path()).expect("it is ours");
            all.ends_with(b"-20000 1\n").then(|| heard(&*all).expect("a mark"))
        };
        let since = Instant::now();
        let (prefix, children) = loop {
            match heard() {
                Some(heard) => break heard,
                None => assert!(since.elapsed().as_secs() < 20, "it is not told"),
            }
            thread::yield_now();
        };
        assert_eq!((prefix.as_str(), children), ("ab.", guardian.children.clone()));
        // And the end is the end.
        drop(guardian);
        while pipe.strong_count() > 0 {
            assert!(since.elapsed().as_secs() < 20, "its pipe is held");
            thread::yield_now();
        }
    }

    #[test]
    fn what_was_said_last_counts() {
        let said = b"ab.\n+12 7\n+13 8\n-12 7\n-13 9\n+14 x\n+15 1".as_slice();
        let (prefix, children) = heard(said).expect("a mark");
        assert_eq!((prefix.as_str(), children.len()), ("ab.", 2));
        assert!([identity(13, 8), identity(15, 1)].iter().all(|child| children.contains(child)));
        assert!(heard(b"".as_slice()).is_err() && heard(b"\n+1 1\n".as_slice()).is_err());
    }

    #[test]
    fn what_is_left_is_found_by_its_mark_its_parent_its_group_and_its_session() {
        let (shell, mark) = ([1, 50, 50], identity(109, 9).id);
        let all = [
            process(1, 1, [0, 1, 1]),
            process(50, 2, shell),
            // A child without the mark, in a group of its own, and what it started.
            process(100, 5, [1, 100, 50]),
            process(101, 6, [100, 100, 50]),
            process(102, 6, [101, 102, 102]),
            process(103, 6, [1, 103, 102]),
            // The leader of this group has ended.
            process(105, 6, [1, 104, 50]),
            // The number of this child is another's by now, and so is its group.
            process(106, 9, [1, 106, 50]),
            process(107, 9, [106, 106, 50]),
            // With the mark, and below.
            process(109, 9, [1, 109, 109]),
            process(110, 9, [109, 109, 109]),
        ];
        let children = HashSet::from([identity(100, 5), identity(104, 5), identity(106, 5)]);
        let left = left(&all, &children, |id| id == mark);
        let mut left: Vec<i32> = left.iter().map(|one| one.id.as_raw_pid()).collect();
        left.sort_unstable();
        assert_eq!(left, [100, 101, 102, 103, 105, 109, 110]);
    }
}
