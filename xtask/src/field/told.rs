//! A program that runs, and what it says on stderr. Gateways and agents are such; what they say is
//! for others to judge.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::command;
use crate::failure::Failure;
use crate::soak::pause_a_bit;

/// How many of its lines are kept; it is ended long before it says more.
const LINES: usize = 100_000;

/// It, until it is dropped.
pub(crate) struct Told {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Told {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Failure> {
        let line = command::line(command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| Failure::file(line, source))?;
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let said = Arc::<Mutex<Vec<String>>>::default();
        let keep = Arc::clone(&said);
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut said = keep.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() < LINES {
                    said.push(line);
                }
            }
        });
        Ok(Self { child, said })
    }

    /// Waits until a line has these words.
    pub(crate) fn says(&self, words: &str, within: Duration) -> Result<(), Failure> {
        let began = Instant::now();
        while self.count(words) == 0 {
            if began.elapsed() > within {
                let last = self.last();
                return Err(Failure::Disproved(format!("nobody said {words:?}, but {last:?}")));
            }
            pause_a_bit();
        }
        Ok(())
    }

    /// How many lines have these words.
    pub(super) fn count(&self, words: &str) -> usize {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().filter(|line| line.contains(words)).count()
    }

    pub(super) fn last(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.last().cloned().unwrap_or_default()
    }

    /// All that it has said.
    pub(super) fn all(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // By SIGKILL; both fail only if it is gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
