//! The gateway: started, asked to read its file again, looked at from outside, and ended. What is
//! right about what is seen is `soak`'s business.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::asking::exchange;
use super::{limits, pause_a_bit, upstreams};
use crate::failure::Failure;

/// How many lines of its log are kept for a report.
const LINES: usize = 40;

/// It, until it is dropped.
pub(super) struct Gate {
    pub(super) address: String,
    admin: String,
    child: Child,
    folder: PathBuf,
    said: Arc<Mutex<VecDeque<String>>>,
}

/// What it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) processes: u64,
    pub(super) descriptors: u64,
    pub(super) threads: u64,
    pub(super) resident_bytes: u64,
}

impl Gate {
    /// Starts it with the file of that folder.
    pub(super) fn start(haft: &Path, folder: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(haft);
        command.arg("serve").arg(file(folder)).args(["--http", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0"]).env(upstreams::MARK, folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let unusable = |source| Failure::file(haft.display(), source);
        let mut child = command.spawn().map_err(unusable)?;
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut gate = Self {
            address: String::new(),
            admin: String::new(),
            child,
            folder: folder.to_owned(),
            said: Arc::default(),
        };
        while gate.address.is_empty() || gate.admin.is_empty() {
            let mut line = String::new();
            stderr.read_line(&mut line).map_err(unusable)?;
            let Some((before, rest)) = line.split_once("http://") else {
                return Err(Failure::SuiteBroken(format!("the gateway does not serve: {line}")));
            };
            let host = rest.split('/').next().unwrap_or_default().trim_end().to_owned();
            if before.contains("admin at") { gate.admin = host } else { gate.address = host }
        }
        let said = Arc::clone(&gate.said);
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() == LINES {
                    said.pop_front();
                }
                said.push_back(line);
            }
        });
        Ok(gate)
    }

    /// Writes the file anew and has it read.
    pub(super) fn reload(&self, text: &str) -> Result<(), String> {
        fs::write(file(&self.folder), text).map_err(|error| format!("its file: {error}"))?;
        let request = format!("POST /admin/v1/reload HTTP/1.0\r\nhost: {}\r\n\r\n", self.admin);
        let told = exchange(&self.admin, &request)?;
        if told.contains(" 200 ") { Ok(()) } else { Err(format!("no reload: {told}")) }
    }

    /// The latest lines of its log.
    pub(super) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Itself, its guardian and its children, also those that nobody waits for.
    pub(super) fn family(&self) -> Vec<u32> {
        let mark = format!("{}={}\0", upstreams::MARK, self.folder.display());
        let mut marked = processes();
        marked.retain(|process| {
            let environ = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environ.windows(mark.len()).any(|here| here == mark.as_bytes())
        });
        marked
    }

    /// Its children and whose upstream each is, by the words that started it.
    pub(super) fn children(&self) -> Vec<(u32, String)> {
        let ours = self.child.id();
        let is_child = |process: &u32| parent(*process) == Some(ours);
        let words = |process: u32| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            (process, String::from_utf8_lossy(&line).replace('\0', " "))
        };
        processes().into_iter().filter(is_child).map(words).collect()
    }

    pub(super) fn taken(&self) -> Result<Taken, String> {
        let process = format!("/proc/{}", self.child.id());
        let status = fs::read_to_string(format!("{process}/status"))
            .map_err(|error| format!("the gateway is gone: {error}"))?;
        let number = |key: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = fs::read_dir(format!("{process}/fd")).map_or(0, Iterator::count);
        let (threads, kib) = number("Threads:")
            .zip(number("VmRSS:"))
            .ok_or_else(|| "the gateway has ended".to_owned())?;
        Ok(Taken {
            processes: u64::try_from(self.children().len()).unwrap_or(u64::MAX),
            descriptors: u64::try_from(descriptors).unwrap_or(u64::MAX),
            threads,
            resident_bytes: kib * 1024,
        })
    }

    /// Asks it to end; says what is wrong with how it does, and who is left.
    pub(super) fn stop(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        signal("-TERM", self.child.id());
        let began = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if began.elapsed() < limits::END => pause_a_bit(),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        match status {
            Some(status) if status.success() => {}
            Some(status) => wrong.push(format!("the gateway ended with {status}")),
            None => wrong.push("the gateway does not end".to_owned()),
        }
        while !self.family().is_empty() && began.elapsed() < limits::END {
            pause_a_bit();
        }
        for process in self.family() {
            wrong.push(format!("process {process} is left after the gateway's end"));
            signal("-KILL", process);
        }
        wrong
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// That it may be gone already is no matter.
pub(super) fn signal(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args([signal, &process.to_string()]).stderr(Stdio::null()).status();
}

pub(super) fn file(folder: &Path) -> PathBuf {
    folder.join("gate.json")
}

fn processes() -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
