//! Calls that fail are made again, after a pause that grows. Only tools that say of themselves that
//! doing it twice is like doing it once are ever called twice.

use super::{failure, is_repeatable, may_pass};
use crate::context::Context;
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::tool_result::{Cause, ToolResult};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Makes a call again that failed. A tool that is neither `readOnly` nor `idempotent` by its
/// annotations is called once, whatever this says. All attempts together, and the pauses, are
/// within the tool's time limit.
#[derive(Clone)]
pub struct Retry {
    attempts: u32,
    delay: Duration,
    delay_max: Duration,
    each: Option<Duration>,
    judge: Arc<dyn Fn(&ToolResult) -> bool + Send + Sync>,
}

impl Retry {
    /// The most attempts that there may be.
    pub const ATTEMPTS_MAX: u32 = 10;

    /// So many attempts in all, from 1 to [`Retry::ATTEMPTS_MAX`], for every failure that
    /// [`may_pass`]. The pause before the second is up to 100 ms, before each next one up to twice
    /// as long, and never longer than 10 s.
    #[must_use]
    pub fn new(attempts: u32) -> Self {
        Self {
            attempts: attempts.clamp(1, Self::ATTEMPTS_MAX),
            delay: Duration::from_millis(100),
            delay_max: Duration::from_secs(10),
            each: None,
            judge: Arc::new(may_pass),
        }
    }

    /// The longest pause before the second attempt.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The longest pause of all.
    #[must_use]
    pub fn delay_max(mut self, delay: Duration) -> Self {
        self.delay_max = delay;
        self
    }

    /// How long one attempt may take; what a person takes to answer does not count.
    #[must_use]
    pub fn each(mut self, limit: Duration) -> Self {
        self.each = Some(limit);
        self
    }

    /// Which failures are tried again.
    #[must_use]
    pub fn when(mut self, judge: impl Fn(&ToolResult) -> bool + Send + Sync + 'static) -> Self {
        self.judge = Arc::new(judge);
        self
    }

    async fn attempt(&self, context: &Context, handling: Handling) -> Outcome {
        let Some(limit) = self.each else { return handling.await };
        context.in_time(limit, handling).await.unwrap_or_else(|| {
            let late = ToolResult::error(format!("It took longer than {limit:?}."));
            Outcome::Tool(ToolResult { cause: Some(Cause::Timeout), ..late })
        })
    }

    /// How long to wait after so many attempts: anything up to a time that doubles, so that clients
    /// that failed together do not come back together.
    fn pause(&self, attempts: u32) -> Duration {
        let doubled = self.delay.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        let longest = u64::try_from(doubled.min(self.delay_max).as_nanos()).unwrap_or(u64::MAX);
        // Each state hashes nothing to a number of its own.
        Duration::from_nanos(RandomState::new().hash_one(()) % longest.saturating_add(1))
    }
}

impl Middleware for Retry {
    fn handle(&self, request: Request, next: Next) -> Handling {
        if self.attempts == 1 || !is_repeatable(&request) {
            return next.run(request);
        }
        let retry = self.clone();
        Box::pin(async move {
            let mut attempts = 1;
            loop {
                let context = request.context.attempt();
                let handling = next.clone().run(Request { context, ..request.clone() });
                let outcome = retry.attempt(&request.context, handling).await;
                let is_over = failure(&outcome).is_none_or(|result| !(retry.judge)(result));
                if is_over || attempts == retry.attempts {
                    return outcome;
                }
                tokio::time::sleep(retry.pause(attempts)).await;
                attempts += 1;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_limit() {
        let retry =
            Retry::new(9).delay(Duration::from_millis(8)).delay_max(Duration::from_millis(20));
        let longest = |attempts: u32| (0..500).map(|_| retry.pause(attempts)).max().expect("some");
        for (attempts, limit) in [(1, 8), (2, 16), (3, 20), (60, 20)] {
            let limit = Duration::from_millis(limit);
            let longest = longest(attempts);
            assert!(longest <= limit && longest > limit / 2, "{attempts}: {longest:?}");
        }
    }
}
