//! A tool that fails again and again is left in peace for a while: its callers hear so at once, and
//! what it stands on can recover.

use super::{failure, is_call, may_pass};
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::tool_result::ToolResult;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A circuit breaker. After so many failures in a row it is open: calls are answered with an error
/// that says when to come back. After a time one call is let through; if that succeeds, it is
/// closed again, else it stays open for as long once more. A call that is stopped by its time
/// limit, and one that panics, is a failure; one that its client cancels is none.
#[derive(Clone)]
pub struct Breaker {
    failures: u32,
    open_for: Duration,
    judge: Arc<dyn Fn(&ToolResult) -> bool + Send + Sync>,
    circuits: Arc<Mutex<FxHashMap<Box<str>, Circuit>>>,
}

/// How it stands with one tool.
#[derive(Clone, Copy, Debug, Default)]
struct Circuit {
    /// In a row.
    failures: u32,
    /// Until when nobody is let through.
    open_until: Option<Instant>,
    /// Since when somebody tries whether it works again.
    tried_since: Option<Instant>,
}

impl Breaker {
    /// Opens after so many failures in a row, at least one, for so long.
    #[must_use]
    pub fn new(failures: u32, open_for: Duration) -> Self {
        let judge = Arc::new(may_pass);
        Self { failures: failures.max(1), open_for, judge, circuits: Arc::default() }
    }

    /// Which failures count; without it, those that [`may_pass`].
    #[must_use]
    pub fn when(mut self, judge: impl Fn(&ToolResult) -> bool + Send + Sync + 'static) -> Self {
        self.judge = Arc::new(judge);
        self
    }

    fn circuits(&self) -> MutexGuard<'_, FxHashMap<Box<str>, Circuit>> {
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may pass, or how long it has to wait.
    fn admit(&self, tool: &str) -> Result<(), Duration> {
        let mut circuits = self.circuits();
        let Some(circuit) = circuits.get_mut(tool) else { return Ok(()) };
        let Some(until) = circuit.open_until else { return Ok(()) };
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        // Who tries and never ends, because a person is asked or it became a task, is not waited
        // for.
        let tried = circuit.tried_since.map(|since| now.saturating_duration_since(since));
        let left =
            left.max(tried.map_or(Duration::ZERO, |tried| self.open_for.saturating_sub(tried)));
        if !left.is_zero() {
            return Err(left);
        }
        circuit.tried_since = Some(now);
        Ok(())
    }

    fn settle(&self, tool: &str, ending: Ending) {
        let mut circuits = self.circuits();
        match ending {
            Ending::Success => drop(circuits.remove(tool)),
            Ending::Unknown => {
                if let Some(circuit) = circuits.get_mut(tool) {
                    circuit.tried_since = None;
                }
            }
            Ending::Failure => {
                let circuit = circuits.entry(tool.into()).or_default();
                circuit.failures = circuit.failures.saturating_add(1);
                circuit.tried_since = None;
                if circuit.failures >= self.failures {
                    let now = Instant::now();
                    circuit.open_until = Some(now.checked_add(self.open_for).unwrap_or(now));
                }
            }
        }
    }

    fn open(&self, tool: &str, left: Duration) -> ToolResult {
        let seconds = left.as_secs() + 1;
        ToolResult::error(format!(
            "The tool `{tool}` has failed {} times in a row and rests. Try again in {seconds} s.",
            self.failures
        ))
    }
}

/// What a call says of its tool.
#[derive(Clone, Copy)]
enum Ending {
    Failure,
    Success,
    Unknown,
}

/// A call under way. Dropped before its end, it was stopped by its time limit, by a panic, or by a
/// client.
struct Passing {
    breaker: Breaker,
    tool: String,
    began: Instant,
    time_limit: Duration,
    is_over: bool,
}

impl Passing {
    fn end(mut self, ending: Ending) {
        self.is_over = true;
        self.breaker.settle(&self.tool, ending);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let is_failure = std::thread::panicking() || self.began.elapsed() >= self.time_limit;
        let ending = if is_failure { Ending::Failure } else { Ending::Unknown };
        self.breaker.settle(&self.tool, ending);
    }
}

impl Middleware for Breaker {
    fn handle(&self, request: Request, next: Next) -> Handling {
        if !is_call(&request) {
            return next.run(request);
        }
        if let Err(left) = self.admit(&request.name) {
            return Box::pin(std::future::ready(Outcome::Tool(self.open(&request.name, left))));
        }
        let passing = Passing {
            breaker: self.clone(),
            tool: request.name.clone(),
            began: Instant::now(),
            time_limit: request.time_limit,
            is_over: false,
        };
        Box::pin(async move {
            let outcome = next.run(request).await;
            let has_failed =
                failure(&outcome).is_some_and(|result| (passing.breaker.judge)(result));
            passing.end(if has_failed { Ending::Failure } else { Ending::Success });
            outcome
        })
    }
}
