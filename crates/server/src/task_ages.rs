//! Which tasks there are, by when they expire and in which order they ended. Kept beside tasks by
//! whoever keeps them; it reads no clock and holds no result.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// See above.
#[derive(Default)]
pub(crate) struct Ages {
    all: HashMap<Arc<str>, Age>,
    by_expiry: BTreeSet<(u64, Arc<str>)>,
    /// Those that are over, in the order in which they ended.
    over: BTreeMap<u64, Arc<str>>,
    /// How many have ended so far.
    ends: u64,
}

struct Age {
    expires_ms: u64,
    /// Where it stands in `over`.
    end: Option<u64>,
}

impl Ages {
    /// There is one that has not ended. One of that id is not there any more.
    pub(crate) fn add(&mut self, id: &Arc<str>, expires_ms: u64) {
        self.forget(id);
        self.all.insert(Arc::clone(id), Age { expires_ms, end: None });
        self.by_expiry.insert((expires_ms, Arc::clone(id)));
    }

    /// It has ended, unless it is not there, or ended before.
    pub(crate) fn end(&mut self, id: &Arc<str>) {
        let Some(age) = self.all.get_mut(id).filter(|age| age.end.is_none()) else { return };
        age.end = Some(self.ends);
        self.over.insert(self.ends, Arc::clone(id));
        self.ends += 1;
    }

    pub(crate) fn forget(&mut self, id: &Arc<str>) {
        let Some(age) = self.all.remove(id) else { return };
        self.by_expiry.remove(&(age.expires_ms, Arc::clone(id)));
        age.end.and_then(|end| self.over.remove(&end));
    }

    /// The one that expires first, if it has expired by then.
    pub(crate) fn first_expired(&self, now_ms: u64) -> Option<Arc<str>> {
        let (expires_ms, id) = self.by_expiry.first()?;
        (*expires_ms < now_ms).then(|| Arc::clone(id))
    }

    /// The one that has been over for longest.
    pub(crate) fn oldest_over(&self) -> Option<Arc<str>> {
        self.over.first_key_value().map(|(_, id)| Arc::clone(id))
    }

    /// How many there are, over or not.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// How many are not over.
    pub(crate) fn running(&self) -> usize {
        self.all.len() - self.over.len()
    }
}
