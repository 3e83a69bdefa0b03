//! Other endpoints of a listener, at paths of their own: who answers there, and what becomes of it
//! when that changes. Looked into by `endpoint` for paths that are not its own; answers nothing.

use super::endpoint::Endpoint;
use haft_proto::service::Service;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// Who answers at another path than that of the listener: with sessions of its own, and within the
/// listener's limits.
#[derive(Clone)]
pub struct Beside {
    /// The whole path, from its `/` on.
    pub path: String,
    /// Who answers. The same one at the same path goes on with its sessions.
    pub service: Arc<dyn Service>,
}

/// All of them, which may change while they are served.
pub type Besides = watch::Receiver<Vec<Beside>>;

/// Those beside an endpoint.
#[derive(Default)]
pub(super) struct Others(RwLock<Vec<Arc<Endpoint>>>);

impl Others {
    /// The one at a path.
    pub(super) fn at(&self, path: &str) -> Option<Arc<Endpoint>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let exactly = all.iter().find(|other| other.path == path);
        exactly.or_else(|| all.iter().find(|other| is_same_path(&other.path, path))).cloned()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Endpoint>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether two paths differ by a slash at their end at most, which clients add and lose.
pub(super) fn is_same_path(one: &str, other: &str) -> bool {
    let bare = |path| str::strip_suffix(path, "/").unwrap_or(path);
    bare(one) == bare(other)
}

impl Endpoint {
    /// Serves these beside itself, in place of those before. What was there and is not any more
    /// ends its sessions and streams, and answers what it was asked.
    pub(super) fn stand_beside(&self, besides: &[Beside]) {
        let mut before = self.others.all();
        let mut now = Vec::with_capacity(besides.len());
        for Beside { path, service } in besides {
            let is_it =
                |other: &Arc<Self>| other.path == *path && Arc::ptr_eq(&other.service, service);
            now.push(match before.iter().position(is_it) {
                Some(place) => before.swap_remove(place),
                None => Arc::new(self.beside(path.clone(), Arc::clone(service))),
            });
        }
        *self.others.0.write().unwrap_or_else(PoisonError::into_inner) = now;
        for gone in before {
            gone.stopping.stop();
            gone.sessions.end_all();
        }
    }

    /// Tells all streams that would never end that the server stops.
    pub(super) fn stop(&self) {
        self.stopping.stop();
        self.others.all().iter().for_each(|other| other.stopping.stop());
    }

    /// Forgets sessions that have been idle for too long.
    pub(super) fn sweep_sessions(&self) {
        self.packed_lists.sweep();
        self.sessions.sweep();
        self.others.all().iter().for_each(|other| other.sessions.sweep());
    }

    /// Ends all sessions.
    pub(super) fn end_sessions(&self) {
        self.sessions.end_all();
        self.others.all().iter().for_each(|other| other.sessions.end_all());
    }
}
