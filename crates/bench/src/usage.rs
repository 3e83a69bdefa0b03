//! What a server on this machine uses: processor time and memory, of all processes that are it.
//! Read from /proc when a stretch of a run begins and ends. Nothing is known of servers elsewhere.

use crate::limits::PROCESSES_MAX;
use http::Uri;
use rustix::param::{clock_ticks_per_second, page_size};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

/// What some processes use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time since they began, of the kernel on their behalf as well, in ticks of the
    /// system; that of children that are gone is in it.
    ticks: Duration,
    /// The same of each process without its children, to the nanosecond, that of threads that are
    /// gone is in it; of none where nobody tells.
    exact: BTreeMap<u32, Duration>,
    /// Memory that is theirs or shared, in bytes (resident set).
    pub(crate) memory_bytes: u64,
}

/// How many ticks the two ways to count may differ by for each process: each look leaves out what
/// is less than one, twice.
const TICKS_APART: u64 = 3;

impl Usage {
    /// Processor time since an earlier look: exact, unless a process ended meanwhile. Of one that
    /// was there before, that is known; of one that came and went, it is taken to be so where ticks
    /// tell of more than [`TICKS_APART`] beyond, and what is less is lost.
    pub(crate) fn cpu_since(&self, before: &Self) -> Duration {
        let ticks = self.ticks.saturating_sub(before.ticks);
        let has_lost = before.exact.keys().any(|process| !self.exact.contains_key(process));
        let of_one = |(process, now): (&u32, &Duration)| {
            now.saturating_sub(before.exact.get(process).copied().unwrap_or_default())
        };
        let exact: Duration = self.exact.iter().map(of_one).sum();
        let apart = of_ticks(TICKS_APART * self.exact.len() as u64);
        if self.exact.is_empty() || has_lost || exact + apart < ticks { ticks } else { exact }
    }

    fn of(all: &[&Stat]) -> Self {
        let ticks = all.iter().map(|it| it.cpu_ticks).sum();
        let pages: u64 = all.iter().map(|it| it.pages).sum();
        Self {
            ticks: of_ticks(ticks),
            exact: all.iter().filter_map(|it| Some((it.id, exact(it.id)?))).collect(),
            memory_bytes: pages * page_size() as u64,
        }
    }
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64)
}

/// The time on a processor of all threads that a process has or had, by its own clock
/// (clock_getcpuclockid(3)).
#[cfg(target_os = "linux")]
fn exact(process: u32) -> Option<Duration> {
    let process = nix::unistd::Pid::from_raw(i32::try_from(process).ok()?);
    let clock = nix::time::clock_getcpuclockid(process).ok()?;
    clock.now().ok().map(Duration::from)
}

/// Without /proc there is no process to ask for.
#[cfg(not(target_os = "linux"))]
fn exact(_process: u32) -> Option<Duration> {
    None
}

/// Which processes are the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Processes {
    /// All of these process groups.
    Groups(BTreeSet<u32>),
    /// These and what they started.
    Trees(BTreeSet<u32>),
}

/// What one process says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    id: u32,
    parent: u32,
    group: u32,
    cpu_ticks: u64,
    pages: u64,
}

/// Whether a URL is of this machine alone.
///
/// ```
/// assert!(haft_bench::is_near("http://127.0.0.1:7300/mcp"));
/// assert!(!haft_bench::is_near("https://mcp.example.com/"));
/// ```
#[must_use]
pub fn is_near(url: &str) -> bool {
    url.parse().is_ok_and(|uri: Uri| is_loopback(&uri))
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

impl Processes {
    /// Those that listen at the port of a URL of this machine, if they are ours to look into.
    pub(crate) fn behind(uri: &Uri) -> Option<Self> {
        let port = uri
            .port_u16()
            .unwrap_or_else(|| if uri.scheme_str() == Some("https") { 443 } else { 80 });
        if !is_loopback(uri) {
            return None;
        }
        let mut inodes = BTreeSet::new();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let text = std::fs::read_to_string(table).unwrap_or_default();
            inodes.extend(text.lines().filter_map(|line| listener(line, port)));
        }
        let found: BTreeSet<u32> =
            all().into_iter().map(|stat| stat.id).filter(|&id| holds(id, &inodes)).collect();
        (!found.is_empty()).then_some(Self::Trees(found))
    }

    /// What they use at this moment; `None` if none of them is left.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let all = all();
        let mut of_it: Vec<&Stat> = match self {
            Self::Groups(groups) => all.iter().filter(|it| groups.contains(&it.group)).collect(),
            Self::Trees(roots) => all.iter().filter(|it| roots.contains(&it.id)).collect(),
        };
        if let Self::Trees(roots) = self {
            let mut known = roots.clone();
            // Children have greater numbers than their parents, mostly; those that have not are
            // found in another round.
            loop {
                let is_new = |it: &&Stat| known.contains(&it.parent) && !known.contains(&it.id);
                let found: Vec<&Stat> = all.iter().filter(is_new).collect();
                if found.is_empty() {
                    break;
                }
                known.extend(found.iter().map(|it| it.id));
                of_it.extend(found);
            }
        }
        (!of_it.is_empty()).then(|| Usage::of(&of_it))
    }
}

/// What this process uses.
pub(crate) fn own() -> Usage {
    let stat = stat(Path::new("/proc/self"));
    stat.map_or_else(Usage::default, |stat| Usage::of(&[&stat]))
}

/// Every process that can be seen.
fn all() -> Vec<Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_process = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let entries = entries.flatten().filter(|entry| is_process(&entry.file_name()));
    entries.take(PROCESSES_MAX).filter_map(|entry| stat(&entry.path())).collect()
}

fn stat(process: &Path) -> Option<Stat> {
    read_stat(&std::fs::read_to_string(process.join("stat")).ok()?)
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)); the name may have anything in it, brackets too.
fn read_stat(text: &str) -> Option<Stat> {
    let (id, rest) = text.split_once(' ')?;
    let (_, rest) = rest.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let mut field = |skip: usize| fields.nth(skip).and_then(|field| field.parse::<u64>().ok());
    // The state comes first; then parent and group, fields 4 and 5.
    let (parent, group) = (field(1)?, field(0)?);
    // Fields 14 and 15 are its own time, 16 and 17 that of its children that are gone, 24 the
    // pages.
    let (user, system) = (field(8)?, field(0)?);
    let (gone_user, gone_system) = (field(0)?, field(0)?);
    let pages = field(6)?;
    let small = |number: u64| u32::try_from(number).ok();
    let cpu_ticks = user + system + gone_user + gone_system;
    Some(Stat {
        id: id.parse().ok()?,
        parent: small(parent)?,
        group: small(group)?,
        cpu_ticks,
        pages,
    })
}

/// The socket's number, if a line of `/proc/net/tcp` is about one that listens at `port` of this
/// machine.
fn listener(line: &str, port: u16) -> Option<u64> {
    const LISTENING: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, found) = fields.get(1)?.rsplit_once(':')?;
    if fields.get(3)? != &LISTENING || u16::from_str_radix(found, 16).ok()? != port {
        return None;
    }
    let is_here = match address.len() {
        8 => {
            let ip = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.swap_bytes());
            ip.is_loopback() || ip.is_unspecified()
        }
        _ => {
            let word = |at: usize| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok();
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?.swap_bytes().to_be_bytes());
            }
            let ip = Ipv6Addr::from(bytes);
            let mapped = ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback());
            ip.is_loopback() || ip.is_unspecified() || mapped
        }
    };
    is_here.then(|| fields.get(9)?.parse().ok())?
}

/// Whether a process has one of these sockets.
fn holds(process: u32, inodes: &BTreeSet<u64>) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    entries.flatten().any(|entry| {
        let Ok(link) = std::fs::read_link(entry.path()) else { return false };
        let name = link.to_string_lossy();
        let inode = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| inodes.contains(&inode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::time::{ClockId, clock_gettime};
    use std::io::{self, BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::process::{Command, Stdio};
    use std::thread;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let text = "42 (a) b) S 1 40 40 0 -1 4194560 10 0 0 0 150 50 7 3 20 0 4 0 100 1000 77 1 1";
        let expected = Stat { id: 42, parent: 1, group: 40, cpu_ticks: 210, pages: 77 };
        assert_eq!(read_stat(text), Some(expected));
        assert_eq!(read_stat("42 (a"), None);
    }

    #[test]
    fn processor_time_of_a_process_that_ended_is_in_the_ticks() {
        let at = |ticks, exact: &[(u32, u64)]| Usage {
            ticks: of_ticks(ticks),
            exact: exact.iter().map(|&(id, nanos)| (id, Duration::from_nanos(nanos))).collect(),
            memory_bytes: 0,
        };
        let check = |before: Usage, after: Usage, expected| {
            assert_eq!(after.cpu_since(&before), expected, "{before:?} {after:?}");
        };
        let nanos = Duration::from_nanos;
        check(at(10, &[(1, 12_345)]), at(11, &[(1, 52_345)]), nanos(40_000));
        check(at(10, &[(1, 5)]), at(10, &[(1, 7), (2, 9)]), nanos(11));
        check(at(10, &[(1, 5), (2, 9_000_000)]), at(12, &[(1, 9)]), of_ticks(2));
        check(at(100, &[(1, 9_000)]), at(200, &[(1, 9_500)]), of_ticks(100));
        check(at(1, &[]), at(3, &[]), of_ticks(2));
    }

    /// Says to a process of this test that it is to work.
    const WORKS: &str = "HAFT_BENCH_TEST_WORKS";

    #[test]
    fn processor_time_of_a_thread_that_ended_is_not_lost() {
        if std::env::var_os(WORKS).is_some() {
            return work_in_a_thread();
        }
        let mut child = Command::new(std::env::current_exe().expect("it runs"))
            .args(["--nocapture", "--exact"])
            .arg("usage::tests::processor_time_of_a_thread_that_ended_is_not_lost")
            .env(WORKS, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can run again");
        let mut tell = child.stdin.take().expect("a pipe");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut wait_for = |word: &str| {
            let has_it = |line: io::Result<String>| line.is_ok_and(|line| line.ends_with(word));
            assert!(lines.any(has_it), "it says {word}");
        };
        let server = Processes::Trees(BTreeSet::from([child.id()]));
        wait_for("worked");
        let before = server.usage().expect("it runs");
        tell.write_all(b"more\n").expect("it listens");
        wait_for("ended");
        let cpu = server.usage().expect("it runs").cpu_since(&before);
        drop(tell);
        assert!(child.wait().expect("it is ours").success());
        let tick = of_ticks(1).as_nanos();
        assert!(cpu >= LATER && cpu < EARLIER && !cpu.as_nanos().is_multiple_of(tick), "{cpu:?}");
    }

    /// What a thread works before the first look, and before the second: less than the ticks that
    /// the ways to count may differ by.
    const EARLIER: Duration = Duration::from_millis(300);
    const LATER: Duration = Duration::from_millis(15);

    fn work_in_a_thread() {
        let say = |word: &str| writeln!(io::stdout(), "{word}").expect("a pipe");
        let thread = thread::spawn(move || {
            work(EARLIER);
            say("worked");
            io::stdin().read_line(&mut String::new()).expect("a pipe");
            work(LATER);
        });
        thread.join().expect("it works");
        say("ended");
        io::stdin().read_line(&mut String::new()).expect("a pipe");
    }

    fn work(time: Duration) {
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("some time");
        let end = now() + time;
        while now() < end {}
    }

    #[test]
    fn a_server_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let uri: Uri = format!("http://127.0.0.1:{port}/mcp").parse().expect("a URI");
        let found = Processes::behind(&uri).expect("it listens");
        assert_eq!(found, Processes::Trees(BTreeSet::from([std::process::id()])));
        let usage = found.usage().expect("it runs");
        assert!(usage.memory_bytes > 100_000, "{usage:?}");
        drop(listener);
        assert_eq!(Processes::behind(&uri), None);
        let elsewhere: Uri = format!("http://10.0.0.1:{port}/mcp").parse().expect("a URI");
        assert_eq!(Processes::behind(&elsewhere), None);
    }
}
