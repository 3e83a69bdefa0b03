//! Threads for the calls of one tool, resource or prompt that computes or blocks. Used by the
//! handlers that are made from such functions; never more threads than were said.

use crate::handler::BLOCKING_MAX;
use haft_stages::{Stage, mark};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The threads that the calls of one function may have: [`BLOCKING_MAX`]; the next calls wait.
/// Clones share them.
#[derive(Clone, Debug)]
pub struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BLOCKING_MAX)))
    }
}

impl Room {
    /// Runs a call on a thread; `None` if the server is stopping. The room is left by the call
    /// itself, so that no thread is forgotten. A panic of the call goes on here.
    pub fn run<R, F>(&self, call: F) -> impl Future<Output = Option<R>> + use<R, F>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let room = Arc::clone(&self.0);
        async move {
            mark(Stage::Handler);
            let place = room.acquire_owned().await.ok()?;
            mark(Stage::Queue);
            let work = tokio::task::spawn_blocking(move || {
                let _place = place;
                call()
            });
            match work.await {
                Ok(result) => Some(result),
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => None,
                },
            }
        }
    }
}
