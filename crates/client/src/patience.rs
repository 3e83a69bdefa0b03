//! The time of requests, which rests while somebody is asked on their behalf. Kept by `desk` for a
//! connection, and by `passing` for a single request; used by `wire`. It asks nobody.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// See above.
#[derive(Debug)]
pub(crate) struct Patience(watch::Sender<Busy>);

/// Whether somebody is being asked.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    open: usize,
    /// When the last question was answered.
    since: Option<Instant>,
}

/// While it lives, the time rests.
#[derive(Debug)]
pub(crate) struct Rest(Arc<Patience>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.0.send_modify(|busy| {
            busy.open -= 1;
            busy.since = Some(Instant::now());
        });
    }
}

impl Patience {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::default()))
    }

    /// Whether somebody is being asked.
    pub(crate) fn rests(&self) -> bool {
        self.0.borrow().open > 0
    }

    /// Lets the time rest, unless it does so for that many questions already.
    pub(crate) fn rest(self: &Arc<Self>, limit: usize) -> Option<Rest> {
        let is_in = self.0.send_if_modified(|busy| {
            let has_room = busy.open < limit;
            busy.open += usize::from(has_room);
            has_room
        });
        is_in.then(|| Rest(Arc::clone(self)))
    }

    /// Waits for `work` as long as `limit`, not counting the time in which somebody is asked;
    /// after an answer the whole limit begins anew.
    pub(crate) async fn wait<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let began = Instant::now();
        let mut busy = self.0.subscribe();
        let mut work = pin!(work);
        loop {
            let impatience = async {
                let since = busy.wait_for(|busy| busy.open == 0).await.map(|busy| busy.since);
                sleep_until(after(since.ok().flatten(), began, limit)).await;
            };
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = impatience => {}
            }
            let Busy { open, since } = *self.0.borrow();
            if open == 0 && after(since, began, limit) <= Instant::now() {
                return None;
            }
        }
    }
}

/// When the time is over. A time that cannot be told is far away.
fn after(since: Option<Instant>, began: Instant, limit: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    since.map_or(began, |since| since.max(began)) + limit.min(FAR)
}
