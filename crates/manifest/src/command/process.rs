//! A process as the system tells of it: who it is, whatever its number is used for later, and
//! whose. Read by `orphans` and `guardian`; decides nothing.

use crate::limits::ENVIRON_BYTES_MAX;
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io::{self, Read};

/// The variable that has the mark of a call, behind those of the calls around it.
pub(crate) const VARIABLE: &str = "HAFT_CALL";

/// A process and no other: its number, and when it was started, in ticks since the machine was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) id: Pid,
    pub(crate) start: u64,
}

/// See above. Group, session and parent are 0 if they began outside of the namespace of processes
/// that this one is in, as in a container that somebody entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// It has ended, and its parent has not heard of it.
    pub(crate) has_ended: bool,
}

impl Process {
    /// The process of that number, if there is one and the system tells of it.
    pub(crate) fn of(id: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{}/stat", id.as_raw_pid())).ok()?;
        Self::read(id, &stat)
    }

    /// All that the system tells of.
    pub(crate) fn all() -> Vec<Self> {
        let Ok(listed) = std::fs::read_dir("/proc") else { return Vec::new() };
        let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| Self::of(Pid::from_raw(name.parse().ok()?)?)).collect()
    }

    /// What `stat` says (proc_pid_stat(5)).
    fn read(id: Pid, stat: &[u8]) -> Option<Self> {
        // The name before the last bracket may have anything in it. Behind it: state, parent,
        // group, session, and as the twentieth the start.
        let name = stat.iter().rposition(|&byte| byte == b')')?;
        let text = std::str::from_utf8(&stat[name + 1..]).ok()?;
        let mut words = text.split_ascii_whitespace();
        let has_ended = matches!(words.next()?, "Z" | "X");
        let mut number = || words.next()?.parse().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let start = words.nth(15)?.parse().ok()?;
        Some(Self { identity: Identity { id, start }, parent, group, session, has_ended })
    }

    /// That another one, which is still there, is its parent, or leads its group or its session.
    pub(crate) fn is_below(&self, other: Identity) -> bool {
        let other = other.id.as_raw_pid();
        [self.parent, self.group, self.session].contains(&other)
    }
}

impl Identity {
    /// Signals it, and nobody who has got its number since.
    #[cfg(target_os = "linux")]
    pub(crate) fn send(self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        // From here on it is either this process that is signalled, or none.
        let Ok(process) = pidfd_open(self.id, PidfdFlags::empty()) else { return };
        if Process::of(self.id).is_some_and(|there| there.identity == self) {
            // It fails if it has ended, or is another user's.
            _ = pidfd_send_signal(process, signal);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn send(self, _: Signal) {}
}

/// The environment with which a process was started, as far as it is looked at.
pub(crate) fn environment(id: Pid) -> io::Result<Vec<u8>> {
    let environ = File::open(format!("/proc/{}/environ", id.as_raw_pid()))?;
    beginning(environ, ENVIRON_BYTES_MAX)
}

/// The start of an environment.
fn beginning(environ: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    environ.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The number of the call whose mark is in an environment, after this prefix.
pub(crate) fn marked(environ: &[u8], prefix: &str) -> Option<u64> {
    let mark = environ.split(|&byte| byte == 0).find_map(|variable| {
        variable
            .strip_prefix(VARIABLE.as_bytes())?
            .strip_prefix(b"=")?
            .strip_prefix(prefix.as_bytes())
    })?;
    // Behind it are those of calls within that call.
    let number = mark.split(|&byte| byte == b' ').next()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_known_among_those_of_other_calls() {
        for (environ, expected) in [
            ("A=1\0HAFT_CALL=ab.7\0B=2\0", Some(7)),
            ("HAFT_CALL=ab.7 cd.9\0", Some(7)),
            ("HAFT_CALL=cd.7\0", None),
            ("XHAFT_CALL=ab.7\0", None),
            ("HAFT_CALL=ab.\0", None),
            ("HAFT_CALL=ab.7", Some(7)),
            ("", None),
        ] {
            assert_eq!(marked(environ.as_bytes(), "ab."), expected, "{environ}");
        }
        assert_eq!(marked(b"HAFT_CALL=cd.9 ab.7\0", "cd.9 ab."), Some(7));
    }

    #[test]
    fn of_a_long_environment_the_start_is_searched() {
        let environ = format!("A={}\0HAFT_CALL=ab.7\0", "x".repeat(100));
        let whose = |limit| {
            let start = beginning(environ.as_bytes(), limit).expect("it is in memory");
            marked(&start, "ab.")
        };
        assert_eq!((whose(environ.len()), whose(100)), (Some(7), None));
    }

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let id = Pid::from_raw(7).expect("a number");
        let rest = "S 1 2 3 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 8823 5 6";
        let read = |stat: String| Process::read(id, stat.as_bytes());
        let expected = Process {
            identity: Identity { id, start: 8823 },
            parent: 1,
            group: 2,
            session: 3,
            has_ended: false,
        };
        assert_eq!(read(format!("7 (a) Z 9 (b) {rest}")), Some(expected));
        let ended = read(format!("7 (a) {}", rest.replacen('S', "Z", 1)));
        assert!(ended.is_some_and(|process| process.has_ended));
        assert_eq!(read("7 (a) S 1 2 3".to_owned()), None);
        let this = Process::of(rustix::process::getpid()).expect("it runs");
        assert!(Process::all().contains(&this));
    }
}
