//! Why a request is dropped before its end: known to whoever is dropped with it. Used by `breaker`
//! and `measure`.

use crate::context::{Context, Stop};
use crate::middleware::Request;
use std::time::Duration;
use tokio::time::Instant;

/// A request under way.
pub(super) struct Watch {
    context: Context,
    began: Instant,
    /// How long the call had waited for its client by then.
    waited: Duration,
    time_limit: Duration,
}

/// What stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Its client is asked, and makes the request again.
    Asked,
    /// Nobody waits for it any more.
    Cancelled,
    Panicked,
    /// Its client cannot be asked.
    Refused,
    TimedOut,
}

impl Watch {
    pub(super) fn new(request: &Request) -> Self {
        let (context, time_limit) = (request.context.clone(), request.time_limit);
        let waited = context.desk().waited();
        Self { context, began: Instant::now(), waited, time_limit }
    }

    /// How long it has been under way.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What has stopped it, asked while it is dropped. Its driver says whether its time was over:
    /// only that knows the limit of a task. A call within another one has a limit of its own, in
    /// which waiting for the client does not count.
    pub(super) fn stopped(&self) -> Stopped {
        if std::thread::panicking() {
            return Stopped::Panicked;
        }
        let (stop, waited) = {
            let desk = self.context.desk();
            (desk.stopped, desk.waited().saturating_sub(self.waited))
        };
        let is_within = self.context.is_within();
        match stop {
            Some(Stop::Asked) => Stopped::Asked,
            Some(Stop::Refused) => Stopped::Refused,
            Some(Stop::TimedOut) if !is_within => Stopped::TimedOut,
            _ if is_within && self.began.elapsed().saturating_sub(waited) >= self.time_limit => {
                Stopped::TimedOut
            }
            Some(Stop::TimedOut) | None => Stopped::Cancelled,
        }
    }
}
