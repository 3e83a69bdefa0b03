//! Which threads of `haft serve` answer over HTTP, seen from outside: their names, their number and
//! the processors that they may use, as the system tells them (Linux).
#![cfg(target_os = "linux")]

use crate::desk::Desk;
use crate::guard::Guard;
use crate::haft::haft;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;

/// `where` tells where the program that it starts may run.
const FILE: &str = r#"
server: { name: desk }
tools:
  - { name: echo, description: Says it., text: hello }
  - { name: where, description: Tells it., command: [grep, Cpus_allowed_list, /proc/self/status] }
"#;

struct Served {
    url: String,
    child: Guard,
}

/// A server that has answered eight connections at once, so that each thread of eight has worked.
fn serve(desk: &Desk, more: &[&str]) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", desk.file(), "--http", "127.0.0.1:0"]).args(more);
    let mut child = Guard(command.stderr(Stdio::piped()).spawn().expect("it is built"));
    let mut said = BufReader::new(child.0.stderr.take().expect("stderr is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("stderr is text");
    let (_, url) = line.trim_end().rsplit_once(" at ").unwrap_or_else(|| panic!("{line}"));
    let served = Served { url: url.to_owned(), child };
    let asked = ["bench", &served.url, "echo", "-n", "32", "-c", "8", "--warmup", "0"];
    haft(asked).printed();
    served
}

impl Served {
    /// The processors that a program may use that a tool starts.
    fn of_program(&self) -> Vec<usize> {
        allowed(haft(["call", &self.url, "where"]).printed())
    }

    /// How many sockets listen at its port.
    fn sockets_that_listen(&self) -> usize {
        let port = self.url.split(':').nth(2).and_then(|rest| rest.split('/').next());
        let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
        let local = format!("0100007F:{port:04X}");
        let table = fs::read_to_string("/proc/self/net/tcp").expect("Linux tells");
        let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // 0A is LISTEN.
        fields.filter(|fields| fields[1] == local && fields[3] == "0A").count()
    }

    /// The processors that each thread of such a name may use, ordered by the names.
    fn threads(&self, name: &str) -> Vec<(String, Vec<usize>)> {
        let folder = format!("/proc/{}/task", self.child.0.id());
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).expect("it runs") {
            let path = entry.expect("it runs").path();
            // A thread may end meanwhile.
            let Ok(comm) = fs::read_to_string(path.join("comm")) else { continue };
            let Ok(status) = fs::read_to_string(path.join("status")) else { continue };
            if comm.starts_with(name) {
                found.push((comm.trim_end().to_owned(), allowed(&status)));
            }
        }
        found.sort();
        found
    }

    /// Checks how many threads share all connections. One more, of the same name, may look for
    /// changes of files, and ends when there is nothing to look at.
    fn is_shared_by(&self, count: usize) {
        let found = self.threads("tokio-rt-worker").len();
        assert!((count..=count + 1).contains(&found), "{found} for {count}");
    }
}

/// The processors of a line like `Cpus_allowed_list: 0,2-3`.
fn allowed(status: &str) -> Vec<usize> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let ranges = line.unwrap_or_else(|| panic!("{status}")).trim().split(',');
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        number(first)..=number(last)
    };
    ranges.flat_map(range).collect()
}

/// The processors that this thread may use, and so those that it starts.
fn mine() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("the system tells");
    (0..CpuSet::MAX_CPU).filter(|&number| set.is_set(number)).collect()
}

#[test]
fn as_many_threads_share_the_connections_as_are_asked_for() {
    let desk = Desk::with(FILE);
    for threads in [1, 3, 6] {
        let served = serve(&desk, &["--threads", &threads.to_string()]);
        served.is_shared_by(threads);
        assert_eq!(served.threads("haft-http"), []);
    }
}

#[test]
fn without_a_number_there_are_as_many_as_processors_that_it_may_use() {
    let desk = Desk::with(FILE);
    serve(&desk, &[]).is_shared_by(mine().len());
    let on_one = || {
        let mut only = CpuSet::new();
        only.set(mine()[0]);
        sched_setaffinity(None, &only).expect("it is one of its own");
        serve(&desk, &[]).is_shared_by(1);
        assert_eq!(serve(&desk, &["--per-core"]).threads("haft-http").len(), 1);
    };
    thread::scope(|scope| scope.spawn(on_one).join()).expect("it says what is wrong");
}

#[test]
fn threads_of_their_own_go_where_the_system_likes() {
    let desk = Desk::with(FILE);
    let served = serve(&desk, &["--per-core", "--threads", "3"]);
    let threads = [0, 1, 2].map(|number| (format!("haft-http-{number}"), mine()));
    assert_eq!(served.threads("haft-http"), threads);
    served.is_shared_by(1);
    assert_eq!(served.of_program(), mine());
}

#[test]
fn every_thread_listens_for_itself_where_that_is_asked_for() {
    let desk = Desk::with(FILE);
    let served = serve(&desk, &["--per-core", "--threads", "3"]);
    assert_eq!(served.sockets_that_listen(), 1);
    let served = serve(&desk, &["--per-core", "--threads", "3", "--reuse-port"]);
    assert_eq!(served.sockets_that_listen(), 3);
    let names = served.threads("haft-http").into_iter().map(|(name, _)| name);
    assert_eq!(names.collect::<Vec<_>>(), ["haft-http-0", "haft-http-1", "haft-http-2"]);
    let address = served.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let second = haft(["serve", desk.file(), "--http", address, "--per-core", "--reuse-port"]);
    let refused = format!("error: cannot listen on {address}: ");
    assert!(second.stderr.starts_with(&refused), "{}", second.stderr);
}

#[test]
fn threads_that_are_pinned_answer_and_stay_with_their_programs_on_one_processor_each() {
    let desk = Desk::with(FILE);
    let served = serve(&desk, &["--per-core", "--pin", "--threads", "3"]);
    let processors = mine();
    let one = |number: usize| vec![processors[number % processors.len()]];
    let threads = [0, 1, 2].map(|number| (format!("haft-http-{number}"), one(number)));
    assert_eq!(served.threads("haft-http"), threads);
    assert_eq!(served.threads("haft")[0], ("haft".to_owned(), processors.clone()));
    assert_eq!(served.of_program(), one(0));
}
