//! Threads for the calls of one tool that computes or blocks. Used by the handlers that are made
//! from such functions; never more threads than were said.

use crate::handler::BLOCKING_MAX;
use haft_proto::error::Refusal;
use haft_proto::spec::tool_result::ToolResult;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The threads that the calls of one tool may have.
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BLOCKING_MAX)))
    }
}

impl Room {
    /// Runs a call on a thread. The room is left by the call itself, so that no thread is
    /// forgotten.
    pub(crate) fn run<F>(
        &self,
        call: F,
    ) -> impl Future<Output = Result<ToolResult, Refusal>> + use<F>
    where
        F: FnOnce() -> Result<ToolResult, Refusal> + Send + 'static,
    {
        let room = Arc::clone(&self.0);
        async move {
            let stopping = || Ok(ToolResult::error("The server is stopping."));
            let Ok(place) = room.acquire_owned().await else { return stopping() };
            let work = tokio::task::spawn_blocking(move || {
                let _place = place;
                call()
            });
            match work.await {
                Ok(result) => result,
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => stopping(),
                },
            }
        }
    }
}
