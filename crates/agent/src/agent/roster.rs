//! To which gateways there are links, one to each, by whatever address it was found; and the calls
//! of each, which are kept for a while when its link is lost.

use super::Shared;
use super::calls::Calls;
use crate::limits::KEPT_TIME;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::sleep;

/// See above, by the names of the gateways.
#[derive(Default)]
pub(super) struct Roster(Mutex<HashMap<Box<str>, Entry>>);

struct Entry {
    calls: Arc<Calls>,
    /// How many links there have been.
    links: u64,
    is_linked: bool,
}

/// A link to a gateway, until this is dropped.
pub(super) struct Linked {
    shared: Arc<Shared>,
    gateway: Box<str>,
    link: u64,
    pub(super) calls: Arc<Calls>,
}

impl Roster {
    /// The only link to a gateway; nothing, if there is one already. `goes_on`, if the gateway
    /// knows calls of before.
    pub(super) fn enter(shared: &Arc<Shared>, gateway: &str, goes_on: bool) -> Option<Linked> {
        let mut entries = lock(&shared.roster.0);
        let before = entries.get(gateway);
        if before.is_some_and(|entry| entry.is_linked) {
            return None;
        }
        let links = before.map_or(0, |entry| entry.links) + 1;
        let calls = match before {
            Some(entry) if goes_on => Arc::clone(&entry.calls),
            before => {
                if let Some(entry) = before {
                    entry.calls.clear();
                }
                // What was forgotten here and not there may have been done.
                Arc::new(Calls::new(shared.settings.slots, goes_on))
            }
        };
        calls.come_over(links);
        let entry = Entry { calls: Arc::clone(&calls), links, is_linked: true };
        entries.insert(gateway.into(), entry);
        let shared = Arc::clone(shared);
        Some(Linked { shared, gateway: gateway.into(), link: links, calls })
    }

    /// Whether there is a link to that gateway.
    pub(super) fn is_linked(&self, gateway: &str) -> bool {
        lock(&self.0).get(gateway).is_some_and(|entry| entry.is_linked)
    }

    /// The calls of that link have been kept for long enough; if there has been another, those of
    /// them that the gateway has not taken up over that.
    fn expire(&self, gateway: &str, link: u64) {
        let mut entries = lock(&self.0);
        let Some(entry) = entries.get(gateway) else { return };
        if entry.links > link || entry.is_linked {
            return entry.calls.forget_until(link);
        }
        entry.calls.clear();
        entries.remove(gateway);
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        if let Some(entry) = lock(&self.shared.roster.0).get_mut(&self.gateway) {
            entry.is_linked = false;
        }
        let (shared, gateway, link) =
            (Arc::clone(&self.shared), std::mem::take(&mut self.gateway), self.link);
        // Only as the whole agent ends there is no runtime.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                sleep(KEPT_TIME).await;
                shared.roster.expire(&gateway, link);
            });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
