//! An answer that is passed on while it comes, at the pace at which its client takes it. One that
//! nobody takes for a time is given up, with what it holds: its place among the requests in flight,
//! and the connection over which it comes. Made for `modern`; hyper asks for the pieces.

use super::answer::BrokenOff;
use crate::bounds::Share;
use bytes::Bytes;
use haft_proto::service::Rest;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// See above.
pub(super) struct LongAnswer {
    begun: Option<Bytes>,
    held: Arc<Mutex<Held>>,
    watch: AbortHandle,
}

impl Drop for LongAnswer {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// What an answer holds until its end.
struct Held {
    /// `None` once it was given up.
    rest: Option<Box<dyn Rest>>,
    pace: Pace,
    _place: Option<Share>,
}

/// Who made the last step.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// Its client, which waits for more.
    Waits,
    /// Its client, which took something since somebody looked.
    Takes,
    /// Nobody since then.
    Rests,
}

impl LongAnswer {
    /// Its client may take nothing for as long as `stall`.
    pub(super) fn new(
        begun: Vec<u8>,
        rest: Box<dyn Rest>,
        place: Option<Share>,
        stall: Duration,
    ) -> Self {
        let held = Held { rest: Some(rest), pace: Pace::Takes, _place: place };
        let held = Arc::new(Mutex::new(held));
        let watch = tokio::spawn(watch(Arc::downgrade(&held), stall)).abort_handle();
        Self { begun: Some(begun.into()), held, watch }
    }

    pub(super) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        let mut held = lock(&self.held);
        let polled = match (self.begun.take(), &mut held.rest) {
            (Some(begun), _) => Poll::Ready(Some(Ok(begun))),
            (None, Some(rest)) => rest.poll_next(cx).map_err(|_| BrokenOff),
            (None, None) => Poll::Ready(Some(Err(BrokenOff))),
        };
        held.pace = if polled.is_pending() { Pace::Waits } else { Pace::Takes };
        polled
    }
}

/// Gives it up if its client takes nothing of it for so long, or up to twice that.
async fn watch(held: Weak<Mutex<Held>>, stall: Duration) {
    loop {
        sleep(stall).await;
        let Some(held) = held.upgrade() else { return };
        let mut held = lock(&held);
        match held.pace {
            Pace::Waits => {}
            Pace::Takes => held.pace = Pace::Rests,
            Pace::Rests => {
                (held.rest, held._place) = (None, None);
                return;
            }
        }
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
