//! What a running call may do besides answering: report how far it is. Given to handlers that
//! answer later; holds no request and no wire.

use haft_proto::encode::{self, Progress};
use haft_proto::service::Outlet;
use haft_proto::version::Revision;
use std::sync::Arc;

/// One call's way back to its client.
#[derive(Clone)]
pub struct Context {
    revision: Revision,
    /// Only where the client asked for progress.
    asked: Option<(Box<str>, Arc<dyn Outlet>)>,
}

impl Context {
    pub(crate) fn new(revision: Revision, asked: Option<(Box<str>, Arc<dyn Outlet>)>) -> Self {
        Self { revision, asked }
    }

    /// Says how far the call has come, if its client wants to know. `progress` must rise from call
    /// to call. A client that reads slowly misses some; the result is never delayed.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some((token, outlet)) = &self.asked else { return };
        let mut out = Vec::with_capacity(128);
        encode::progress(&mut out, self.revision, token, Progress { progress, total, message });
        outlet.send(out);
    }
}
