//! Watches directories, and says where something may have happened. What it says is a hint:
//! whoever hears it looks for themselves. A path is watched by the directory that it is in, because
//! editors put another file in its place, and by the next one above, which may come and go.

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

/// The most directories that one lookout watches; what is in others is looked at now and then.
pub(crate) const WATCHES_MAX: usize = 1024;
/// The most paths that are remembered between two looks; beyond, it may have happened anywhere.
const HEARD_MAX: usize = 1024;
/// How long it must be quiet before a hint is passed on, and how long that may take in all: saving
/// a file is several events.
const QUIET: Duration = Duration::from_millis(20);
const UNQUIET_MAX: Duration = Duration::from_millis(200);
/// How often everything is looked at without a hint: where the system tells of all, and where it
/// does not.
const LOOK: Duration = Duration::from_secs(2);
const LOOK_UNTOLD: Duration = Duration::from_millis(500);

/// See above. It holds nothing of the system's while it has nothing to watch.
#[derive(Default)]
pub(crate) struct Lookout {
    watcher: Option<RecommendedWatcher>,
    /// Each directory that is watched, and which one it was.
    posts: BTreeMap<PathBuf, (u64, u64)>,
    /// Not all of them could be watched.
    is_untold: bool,
    hints: Arc<Hints>,
    /// What was heard and not passed on yet: whoever waits may give up.
    unsaid: Heard,
}

#[derive(Default)]
struct Hints {
    heard: Mutex<Heard>,
    bell: Notify,
}

/// Where something may have happened.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    paths: BTreeSet<PathBuf>,
    is_anywhere: bool,
}

impl Heard {
    /// Whether something may have happened to this path, or to what it is in.
    pub(crate) fn is_about(&self, path: &Path) -> bool {
        self.is_anywhere || path.ancestors().any(|part| self.paths.contains(part))
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_anywhere
    }

    fn add(&mut self, more: Self) {
        self.paths.extend(more.paths);
        self.is_anywhere |= more.is_anywhere;
    }
}

impl Lookout {
    /// Watches these directories from now on, and no others.
    pub(crate) fn watch(&mut self, wanted: &BTreeSet<PathBuf>) {
        if wanted.is_empty() {
            (self.watcher, self.is_untold) = (None, false);
            self.posts.clear();
            return;
        }
        if self.watcher.is_none() {
            let hints = Arc::clone(&self.hints);
            self.watcher = notify::recommended_watcher(move |event| hints.take(event)).ok();
        }
        self.is_untold = wanted.len() > WATCHES_MAX;
        let Some(watcher) = &mut self.watcher else {
            self.is_untold = true;
            return;
        };
        let gone: Vec<_> =
            self.posts.keys().filter(|post| !wanted.contains(*post)).cloned().collect();
        for post in gone {
            self.posts.remove(&post);
            // It may have gone by itself.
            _ = watcher.unwatch(&post);
        }
        for post in wanted.iter().take(WATCHES_MAX) {
            let Some(identity) = identity(post) else { continue };
            if self.posts.get(post) == Some(&identity) {
                continue;
            }
            // Another one has taken its place.
            _ = watcher.unwatch(post);
            match watcher.watch(post, RecursiveMode::NonRecursive) {
                Ok(()) => _ = self.posts.insert(post.clone(), identity),
                Err(_) => {
                    self.posts.remove(post);
                    self.is_untold = true;
                }
            }
        }
    }

    /// Waits until something may have happened and it is quiet again, or it is time to look anyway.
    pub(crate) async fn heard(&mut self) -> Heard {
        let look = if self.is_untold { LOOK_UNTOLD } else { LOOK };
        if self.unsaid.is_empty()
            && timeout_at(Instant::now() + look, self.hints.bell.notified()).await.is_err()
        {
            return self.hints.drain();
        }
        let last = Instant::now() + UNQUIET_MAX;
        loop {
            let more = self.hints.drain();
            let is_quiet = more.is_empty();
            self.unsaid.add(more);
            if is_quiet || Instant::now() > last {
                return std::mem::take(&mut self.unsaid);
            }
            sleep(QUIET).await;
        }
    }
}

impl Hints {
    fn take(&self, event: notify::Result<notify::Event>) {
        let mut heard = self.lock();
        match event {
            Ok(event) if is_harmless(event.kind) && !event.need_rescan() => return,
            Ok(event) if !event.need_rescan() && heard.paths.len() < HEARD_MAX => {
                heard.paths.extend(event.paths);
            }
            _ => heard.is_anywhere = true,
        }
        drop(heard);
        self.bell.notify_one();
    }

    fn drain(&self) -> Heard {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reading changes nothing.
fn is_harmless(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino()))
}

/// The directories by which one hears of a path: the nearest there is, and the one above it.
pub(crate) fn posts(path: &Path) -> Vec<PathBuf> {
    let nearest = path.ancestors().skip(1).find(|part| part.is_dir());
    let above = nearest.and_then(Path::parent);
    nearest.into_iter().chain(above).map(Path::to_owned).collect()
}

/// Which file something was when it was looked at, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Option<[i64; 6]>);

impl Stamp {
    /// Of what is at a path.
    pub(crate) fn of(path: &Path) -> Self {
        Self::new(std::fs::metadata(path).ok().as_ref())
    }

    pub(crate) fn new(found: Option<&std::fs::Metadata>) -> Self {
        Self(found.map(|found| {
            let whole = |number: u64| i64::from_ne_bytes(number.to_ne_bytes());
            let (dev, ino, size) = (found.dev(), found.ino(), found.size());
            let [dev, ino, size] = [dev, ino, size].map(whole);
            [dev, ino, size, found.mtime(), found.mtime_nsec(), found.ctime_nsec()]
        }))
    }
}
