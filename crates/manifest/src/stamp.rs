//! Which file something was when it was looked at, as far as the system tells. Kept by `seen`,
//! `below` and `live`, which compare it with what is there later; reads no content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How coarse the clock of files is: of two changes within it, the second may leave no trace.
pub(crate) const COARSE: Duration = Duration::from_millis(20);

/// See above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// Nothing if there was nothing.
    found: Option<[i64; 7]>,
    /// What changes after it was looked at cannot look the same.
    is_settled: bool,
}

impl Stamp {
    /// That there was nothing.
    pub(crate) const NOTHING: Self = Self { found: None, is_settled: true };

    /// Of what is at a path; of nothing if it cannot be seen.
    pub(crate) fn of(path: &Path) -> Self {
        let looking = SystemTime::now();
        std::fs::metadata(path).map_or(Self::NOTHING, |found| Self::new(&found, looking))
    }

    /// Of what was found by somebody who began to look then.
    pub(crate) fn new(found: &Metadata, looking: SystemTime) -> Self {
        let whole = |number: u64| i64::from_ne_bytes(number.to_ne_bytes());
        let [dev, ino, size] = [found.dev(), found.ino(), found.size()].map(whole);
        let (mtime, ctime) = (found.mtime(), found.ctime());
        let stamp = [dev, ino, size, mtime, found.mtime_nsec(), ctime, found.ctime_nsec()];
        // Where another machine keeps the time, that may be in the future.
        let age = time(ctime, found.ctime_nsec()).and_then(|at| looking.duration_since(at).ok());
        Self { found: Some(stamp), is_settled: age.is_none_or(|age| age >= COARSE) }
    }

    /// Whether what changes from then on cannot look the same.
    pub(crate) fn is_settled(self) -> bool {
        self.is_settled
    }

    /// Whether both look the same.
    pub(crate) fn looks_like(self, other: Self) -> bool {
        self.found == other.found
    }

    /// Whether nothing has changed since, for certain.
    pub(crate) fn is_still(self, now: Self) -> bool {
        self.is_settled && self.looks_like(now)
    }

    /// Whether it may have changed since then. What is not there may have gone.
    pub(crate) fn may_be_since(self, since: SystemTime) -> bool {
        let Some([.., mtime, mtime_nsec, ctime, ctime_nsec]) = self.found else { return true };
        let times = [time(mtime, mtime_nsec), time(ctime, ctime_nsec)];
        times.into_iter().flatten().any(|changed| changed + COARSE >= since)
    }
}

fn time(seconds: i64, nanos: i64) -> Option<SystemTime> {
    let (seconds, nanos) = (u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
    // A file may claim any time at all.
    UNIX_EPOCH
        .checked_add(Duration::new(seconds, nanos))
        .filter(|at| at.checked_add(COARSE).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_just_now_may_change_again_unseen() {
        let file = tempfile::NamedTempFile::new().expect("there is room");
        let found = file.as_file().metadata().expect("it is ours");
        let changed = time(found.ctime(), found.ctime_nsec()).expect("it has a time");
        let at = |after: Duration| Stamp::new(&found, changed + after);
        assert!(!at(Duration::ZERO).is_settled() && at(COARSE).is_settled());
        assert!(!at(Duration::ZERO).is_still(at(COARSE)) && at(COARSE).is_still(at(COARSE)));
        let ahead = Stamp::new(&found, changed - Duration::from_secs(1));
        assert!(ahead.is_settled(), "a clock that is ahead must not keep us busy");
        let stamp = at(COARSE);
        assert!(stamp.may_be_since(changed) && stamp.may_be_since(changed + COARSE));
        assert!(!stamp.may_be_since(changed + 2 * COARSE));
        assert!(Stamp::NOTHING.may_be_since(changed) && !Stamp::NOTHING.looks_like(stamp));
    }
}
