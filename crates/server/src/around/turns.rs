//! So many calls at once and no more; so many that wait for their turn, and the rest is told to
//! come back later.

use super::is_call;
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use haft_proto::spec::tool_result::{Cause, ToolResult};
use haft_stages::{Stage, mark};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Lets a number of calls run at once and a number wait. Around one tool it counts the calls of
/// that tool, around a server or shared between tools (it is cheap to clone) all of theirs
/// together.
#[derive(Clone, Debug)]
pub struct Turns {
    /// How many run.
    turns: Arc<Semaphore>,
    /// How many run or wait.
    places: Arc<Semaphore>,
    running_max: usize,
    waiting_max: usize,
}

impl Turns {
    /// The most calls that may run, and the most that may wait.
    pub const MAX: usize = 1 << 20;

    /// So many calls at once, at least one, and so many more that wait, in the order in which they
    /// came. Their time limit runs while they wait.
    #[must_use]
    pub fn new(running_max: usize, waiting_max: usize) -> Self {
        let running_max = running_max.clamp(1, Self::MAX);
        let waiting_max = waiting_max.min(Self::MAX);
        Self {
            turns: Arc::new(Semaphore::new(running_max)),
            places: Arc::new(Semaphore::new(running_max + waiting_max)),
            running_max,
            waiting_max,
        }
    }

    fn busy(&self, tool: &str) -> ToolResult {
        let busy = ToolResult::error(format!(
            "The tool `{tool}` is busy: {} calls run and {} wait already. Call it again later.",
            self.running_max, self.waiting_max
        ));
        ToolResult { cause: Some(Cause::Busy), ..busy }
    }
}

impl Middleware for Turns {
    fn handle(&self, mut request: Request, next: Next) -> Handling {
        if !is_call(&request) {
            return next.run(request);
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let busy = Outcome::Tool(self.busy(&request.name));
            return Box::pin(std::future::ready(busy));
        };
        let (turns, came) = (Arc::clone(&self.turns), Instant::now());
        Box::pin(async move {
            let _place = place;
            mark(Stage::Handler);
            // The semaphore is never closed.
            let Ok(_turn) = turns.acquire().await else {
                return Outcome::Tool(ToolResult::error("The server is stopping."));
            };
            mark(Stage::Queue);
            // What is left of it is what those within can see pass.
            request.time_limit = request.time_limit.saturating_sub(came.elapsed());
            next.run(request).await
        })
    }
}
