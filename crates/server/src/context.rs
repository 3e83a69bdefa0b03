//! What a running call may do besides answering: report how far it is. Given to handlers that
//! answer later; holds no request and no wire.

use haft_proto::encode::{self, Progress};
use haft_proto::service::Outlet;
use haft_proto::version::Revision;
use std::sync::{Arc, Mutex, PoisonError};

/// One call's way back to its client.
#[derive(Clone)]
pub struct Context {
    revision: Revision,
    /// Only where the client asked for progress.
    asked: Option<Arc<Asked>>,
}

/// Where a client wants progress to be told.
struct Asked {
    token: Box<str>,
    outlet: Arc<dyn Outlet>,
    /// What was told last.
    last: Mutex<f64>,
}

impl Context {
    pub(crate) fn new(revision: Revision, asked: Option<(&str, Arc<dyn Outlet>)>) -> Self {
        let asked = asked.map(|(token, outlet)| {
            Arc::new(Asked { token: token.into(), outlet, last: Mutex::new(f64::NEG_INFINITY) })
        });
        Self { revision, asked }
    }

    /// Says how far the call has come, if its client wants to know. What does not rise is not told
    /// (Progress: "MUST increase"). A client that reads slowly misses some; the result is never
    /// delayed.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(asked) = &self.asked else { return };
        {
            let mut last = asked.last.lock().unwrap_or_else(PoisonError::into_inner);
            if !progress.is_finite() || progress <= *last {
                return;
            }
            *last = progress;
        }
        let total = total.filter(|total| total.is_finite());
        let mut out = Vec::with_capacity(128);
        let now = Progress { progress, total, message };
        encode::progress(&mut out, self.revision, &asked.token, now);
        asked.outlet.send(out);
    }
}
