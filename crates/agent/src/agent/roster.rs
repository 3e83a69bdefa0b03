//! To which gateways there are links: one to each, by whatever address it was found.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See above.
#[derive(Debug, Default)]
pub(super) struct Roster(Arc<Mutex<HashMap<Box<str>, u64>>>);

/// The link to a gateway is this one's, until it is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    gateway: Box<str>,
    roster: Arc<Mutex<HashMap<Box<str>, u64>>>,
}

impl Roster {
    /// The only link to a gateway; nothing, if there is one already.
    pub(super) fn enter(&self, gateway: &str, epoch: u64) -> Option<Entry> {
        let mut entries = lock(&self.0);
        if entries.contains_key(gateway) {
            return None;
        }
        entries.insert(gateway.into(), epoch);
        Some(Entry { gateway: gateway.into(), roster: Arc::clone(&self.0) })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        lock(&self.roster).remove(&self.gateway);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
