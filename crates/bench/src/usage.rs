//! What a server on this machine uses: processor time and memory, of all processes that are it.
//! Read from /proc when a stretch of a run begins and ends. Nothing is known of servers elsewhere.

use crate::limits::PROCESSES_MAX;
use http::Uri;
use rustix::param::{clock_ticks_per_second, page_size};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

/// What some processes use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time since they began, of the kernel on their behalf as well, in ticks of the
    /// system; that of threads and children that are gone is in it.
    ticks: Duration,
    /// The same of the threads that are there, to the nanosecond; zero where nobody tells.
    exact: Duration,
    /// How many processes there are.
    processes: u32,
    /// Memory that is theirs or shared, in bytes (resident set).
    pub(crate) memory_bytes: u64,
}

/// How many ticks the two ways to count may differ by for each process: each look leaves out what
/// is less than one, twice.
const TICKS_APART: u32 = 3;

impl Usage {
    /// Processor time since an earlier look: exact, unless threads or children ended meanwhile.
    pub(crate) fn cpu_since(&self, before: &Self) -> Duration {
        let ticks = self.ticks.saturating_sub(before.ticks);
        let exact = self.exact.saturating_sub(before.exact);
        let apart = of_ticks(u64::from(TICKS_APART * self.processes.max(before.processes)));
        if self.exact.is_zero() || exact + apart < ticks { ticks } else { exact }
    }

    fn of(all: &[&Stat]) -> Self {
        let ticks = all.iter().map(|it| it.cpu_ticks).sum();
        let pages: u64 = all.iter().map(|it| it.pages).sum();
        Self {
            ticks: of_ticks(ticks),
            exact: all.iter().map(|it| exact(it.id)).sum(),
            processes: u32::try_from(all.len()).unwrap_or(u32::MAX),
            memory_bytes: pages * page_size() as u64,
        }
    }
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64)
}

/// The time on a processor of all threads of a process that are there.
fn exact(process: u32) -> Duration {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return Duration::ZERO;
    };
    let of_thread = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.flatten().filter_map(of_thread).sum())
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
    use std::net::TcpListener;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let text = "42 (a) b) S 1 40 40 0 -1 4194560 10 0 0 0 150 50 7 3 20 0 4 0 100 1000 77 1 1";
        let expected = Stat { id: 42, parent: 1, group: 40, cpu_ticks: 210, pages: 77 };
        assert_eq!(read_stat(text), Some(expected));
        assert_eq!(read_stat("42 (a"), None);
    }

    #[test]
    fn processor_time_is_finer_than_ticks_and_loses_no_thread_that_ended() {
        fn work(rounds: u64) -> u64 {
            (0..rounds).fold(1, |state, round| std::hint::black_box(state * 31 + round) % 1_000_003)
        }
        let at = |ticks, exact| Usage {
            ticks: of_ticks(ticks),
            exact: Duration::from_nanos(exact),
            processes: 1,
            memory_bytes: 0,
        };
        assert_eq!(at(11, 52_345).cpu_since(&at(10, 12_345)), Duration::from_nanos(40_000));
        let ended = at(200, 5_000).cpu_since(&at(100, 9_000));
        assert_eq!(ended, of_ticks(100), "what ended is in the ticks alone");

        let before = own();
        std::hint::black_box(work(1_000_000));
        let cpu = own().cpu_since(&before);
        let tick = of_ticks(1).as_nanos();
        assert!(cpu > Duration::ZERO && !cpu.as_nanos().is_multiple_of(tick), "{cpu:?}");
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
