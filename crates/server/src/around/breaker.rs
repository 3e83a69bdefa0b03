//! A tool that fails again and again is left in peace for a while: its callers hear so at once, and
//! what it stands on can recover.

use super::stopped::{Stopped, Watch};
use super::{is_call, may_pass};
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::tool_result::{Cause, ToolResult};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A circuit breaker. After so many failures in a row it is open: calls are answered with an error
/// that says when to come back. After a time one call is let through; if that succeeds, it is
/// closed again, else it stays open for as long once more. A call that is stopped by its time
/// limit, and one that panics, is a failure. One that its client cancels, or that asks its client
/// and is made again, is neither failure nor success, as is one that is refused or finds no turn:
/// they say nothing of what the tool stands on. A call that ends when the breaker has opened or
/// closed since it began is of no account.
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
    /// How often it opened, was tried or closed.
    turn: u64,
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

    /// Whether a call may pass, and in which turn of the circuit, or how long it has to wait.
    fn admit(&self, tool: &str) -> Result<u64, Duration> {
        let mut circuits = self.circuits();
        let Some(circuit) = circuits.get_mut(tool) else { return Ok(0) };
        let Some(until) = circuit.open_until else { return Ok(circuit.turn) };
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
        circuit.turn += 1;
        Ok(circuit.turn)
    }

    /// What a call says that began in that turn.
    fn settle(&self, tool: &str, turn: u64, ending: Ending) {
        let mut circuits = self.circuits();
        if circuits.get(tool).map_or(0, |circuit| circuit.turn) != turn {
            return;
        }
        match ending {
            // Only what was open once is remembered: others are told from it by their turn.
            Ending::Success if turn == 0 => drop(circuits.remove(tool)),
            Ending::Success => {
                if let Some(circuit) = circuits.get_mut(tool) {
                    let turn = turn + u64::from(circuit.open_until.is_some());
                    *circuit = Circuit { turn, ..Circuit::default() };
                }
            }
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
                    circuit.turn += 1;
                }
            }
        }
    }

    /// What an outcome says of the tool.
    fn judge(&self, outcome: &Outcome) -> Ending {
        match outcome {
            Outcome::Tool(result) if result.cause == Some(Cause::Busy) => Ending::Unknown,
            Outcome::Tool(result) if result.is_error && (self.judge)(result) => Ending::Failure,
            Outcome::Refused(_) => Ending::Unknown,
            Outcome::Prompt(_) | Outcome::Relayed(_) | Outcome::Resource(_) | Outcome::Tool(_) => {
                Ending::Success
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
    turn: u64,
    watch: Watch,
    is_over: bool,
}

impl Passing {
    fn end(mut self, ending: Ending) {
        self.is_over = true;
        self.breaker.settle(&self.tool, self.turn, ending);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let ending = match self.watch.stopped() {
            Stopped::Panicked | Stopped::TimedOut => Ending::Failure,
            Stopped::Asked | Stopped::Cancelled | Stopped::Refused => Ending::Unknown,
        };
        self.breaker.settle(&self.tool, self.turn, ending);
    }
}

impl Middleware for Breaker {
    fn handle(&self, request: Request, next: Next) -> Handling {
        if !is_call(&request) {
            return next.run(request);
        }
        let turn = match self.admit(&request.name) {
            Ok(turn) => turn,
            Err(left) => {
                let open = self.open(&request.name, left);
                return Box::pin(std::future::ready(Outcome::Tool(open)));
            }
        };
        let passing = Passing {
            breaker: self.clone(),
            tool: request.name.clone(),
            turn,
            watch: Watch::new(&request),
            is_over: false,
        };
        Box::pin(async move {
            let outcome = next.run(request).await;
            let ending = passing.breaker.judge(&outcome);
            passing.end(ending);
            outcome
        })
    }
}
