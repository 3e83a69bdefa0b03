//! A server that listens, from when it answers to when it is dropped. `measure` starts two; nothing
//! is asked of them here.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::server;
use crate::command;
use crate::failure::Failure;

/// How long a server may take until it listens; an interpreted one takes seconds.
const START_MAX: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(20);

/// A server on a port of its own.
pub(crate) struct Running {
    words: Vec<String>,
    child: Child,
    port: u16,
}

impl Running {
    /// Starts the program of these words, made for a port, and waits until it listens.
    pub(crate) fn start(
        words: impl FnOnce(u16) -> Vec<String>,
        tools: Option<usize>,
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        Self::at(port, words(port), tools)
    }

    /// The same for words that were made for this port.
    pub(super) fn at(port: u16, words: Vec<String>, tools: Option<usize>) -> Result<Self, Failure> {
        let mut command = server::command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.envs(tools.map(|count| ("TOOLS", count.to_string())));
        let child = command.spawn();
        let child = child.map_err(|source| Failure::file(words.join(" "), source))?;
        // The guard is there before anything can fail.
        let mut running = Self { words, child, port };
        running.wait()?;
        Ok(running)
    }

    /// What started it.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// What the system counts as its memory now, in bytes. None where the system does not tell.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        resident(&fs::read_to_string(path).ok()?)
    }

    /// The processor time of all of its threads until now, in nanoseconds, finer than the ticks of
    /// `stat`. None where the system does not tell.
    pub(super) fn cpu_nanos(&self) -> Option<u64> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?;
        let each = |thread: fs::DirEntry| {
            on_processor(&fs::read_to_string(thread.path().join("schedstat")).ok()?)
        };
        threads.flatten().map(each).sum()
    }

    /// Asks it to end, and waits until it has: what it writes at its end is there.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        let line = self.words.join(" ");
        command::run(Command::new("kill").args(["-TERM", &self.child.id().to_string()]))?;
        let status = self.child.wait().map_err(|source| Failure::file(&line, source))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::SuiteBroken(format!("`{line}` ended with {status}")))
    }

    #[expect(clippy::disallowed_methods, reason = "nothing else is to be done meanwhile")]
    fn wait(&mut self) -> Result<(), Failure> {
        let line = &self.words.join(" ");
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let ended = self.child.try_wait().map_err(|source| Failure::file(line, source))?;
            if let Some(status) = ended {
                return Err(Failure::SuiteBroken(format!("`{line}` ended with {status}")));
            }
            if began.elapsed() > START_MAX {
                return Err(Failure::SuiteBroken(format!("`{line}` does not listen")));
            }
            thread::sleep(RETRY);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago; not every peer can be asked to find one.
pub(super) fn free_port() -> Result<u16, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    bound.map(|address| address.port()).map_err(|source| Failure::file("a free port", source))
}

/// The resident memory in `/proc/PID/status`, which is told in KiB.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// The time on a processor in `/proc/PID/task/TID/schedstat`, in nanoseconds.
fn on_processor(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{on_processor, resident};

    #[test]
    fn the_time_on_a_processor_is_the_first_number() {
        assert_eq!(on_processor("2304320 17 3\n"), Some(2_304_320));
        assert_eq!(on_processor(""), None);
    }

    #[test]
    fn resident_memory_is_found() {
        let status = "Name:\thaft\nVmHWM:\t    9000 kB\nVmRSS:\t    4100 kB\nThreads:\t2\n";
        assert_eq!(resident(status), Some(4_198_400));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
    }
}
