//! What is still said to a server after nobody waits any more: that a request, a task or a
//! subscription is over. Said by guards when they are dropped; closing a connection waits for it,
//! but not long.

use crate::auth::asking_nobody;
use crate::limits::{FAREWELL, FAREWELLS_MAX};
use std::sync::{Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The last words of one connection.
#[derive(Debug, Default)]
pub(crate) struct Farewells(Mutex<JoinSet<()>>);

impl Farewells {
    /// Says something, if there is a runtime to say it. Nobody hears whether it worked: a server
    /// that cannot be told works in vain.
    pub(crate) fn say<T>(&self, words: impl Future<Output = T> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        if tasks.len() < FAREWELLS_MAX {
            let words = async {
                _ = timeout(FAREWELL, asking_nobody(words)).await;
            };
            tasks.spawn_on(words, &runtime);
        }
    }

    /// Waits until everything is said.
    pub(crate) async fn wait(&self) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.join_all().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn farewells_are_short_and_few() {
        let farewells = Farewells::default();
        (0..2 * FAREWELLS_MAX).for_each(|_| farewells.say(pending::<()>()));
        assert_eq!(farewells.0.lock().expect("no panics").len(), FAREWELLS_MAX);
        let began = tokio::time::Instant::now();
        farewells.wait().await;
        assert_eq!(began.elapsed().as_secs(), FAREWELL.as_secs());
    }
}
