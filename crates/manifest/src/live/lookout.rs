//! Watches directories, and says when something may have happened in one. What it says is a hint:
//! whoever hears it looks for themselves. A path is watched by the directory that it is in, because
//! editors put another file in its place, and by the next one above, which may come and go.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

/// The most directories that one lookout watches; what is in others is looked at now and then.
pub(crate) const WATCHES_MAX: usize = 1024;
/// The most names of files that are known to be written.
const WRITTEN_MAX: usize = 1024;
/// How long it must be quiet before a hint is passed on, and how long that may take in all: saving
/// a file is several events.
const QUIET: Duration = Duration::from_millis(20);
const UNQUIET_MAX: Duration = Duration::from_millis(200);
/// How often everything is looked at without a hint: where the system tells of all, and where it
/// does not.
pub(crate) const LOOK: Duration = Duration::from_secs(2);
const LOOK_UNTOLD: Duration = Duration::from_millis(500);

/// See above. It holds nothing of the system's while it has nothing to watch.
pub(crate) struct Lookout {
    watcher: Option<RecommendedWatcher>,
    /// The directories that are watched, each by one of its paths: the system knows them by what
    /// they are, and so would end the watch of two paths with that of one.
    posts: BTreeMap<Identity, PathBuf>,
    /// Not all of them could be watched.
    is_untold: bool,
    hints: Arc<Hints>,
    /// How often to look where the system tells of all.
    look: Duration,
}

/// Which directory it is. A number alone is given to the next one, when one goes.
type Identity = (u64, u64, Option<SystemTime>);

#[derive(Default)]
struct Hints {
    heard: Mutex<Heard>,
    bell: Notify,
}

#[derive(Default)]
struct Heard {
    /// The names of files that somebody writes to and has not closed.
    written: BTreeSet<OsString>,
    /// The paths of what is watched.
    posts: BTreeSet<PathBuf>,
    /// One of them went, or something was not told.
    is_lost: bool,
}

impl Default for Lookout {
    fn default() -> Self {
        Self::looking_every(LOOK)
    }
}

impl Lookout {
    pub(crate) fn looking_every(look: Duration) -> Self {
        let (posts, hints) = (BTreeMap::new(), Arc::default());
        Self { watcher: None, posts, is_untold: false, hints, look }
    }

    /// Watches these directories from now on, and no others.
    pub(crate) fn watch(&mut self, wanted: &BTreeSet<PathBuf>) {
        let mut found = BTreeMap::new();
        for path in wanted {
            if let Some(identity) = identity(path) {
                found.entry(identity).or_insert(path);
            }
        }
        if found.is_empty() {
            *self = Self::looking_every(self.look);
            return;
        }
        let is_lost = std::mem::take(&mut self.hints.lock().is_lost);
        self.is_untold = found.len() > WATCHES_MAX;
        while found.len() > WATCHES_MAX {
            found.pop_last();
        }
        // One that is to end is rare, and begins all anew: nobody has to know what is left.
        if is_lost || self.posts.keys().any(|post| !found.contains_key(post)) {
            self.watcher = None;
            self.posts.clear();
        }
        if self.watcher.is_none() {
            let hints = Arc::clone(&self.hints);
            self.watcher = notify::recommended_watcher(move |event| hints.take(event)).ok();
        }
        let Some(watcher) = &mut self.watcher else {
            self.is_untold = true;
            return;
        };
        // Known before they are watched: one may go at once.
        self.hints.lock().posts = found.values().map(|path| (*path).clone()).collect();
        for (identity, path) in found {
            if self.posts.contains_key(&identity) {
                continue;
            }
            match watcher.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => _ = self.posts.insert(identity, path.clone()),
                Err(_) => self.is_untold = true,
            }
        }
    }

    /// Waits until something may have happened and it is quiet again, or it is time to look anyway;
    /// no longer than `at_most`.
    pub(crate) async fn heard(&self, at_most: Option<Duration>) {
        let look = if self.is_untold { LOOK_UNTOLD } else { self.look };
        let look = at_most.map_or(look, |most| most.min(look));
        if timeout(look, self.hints.bell.notified()).await.is_err() {
            return;
        }
        let last = Instant::now() + UNQUIET_MAX;
        let quiet = || last.min(Instant::now() + QUIET);
        while timeout_at(quiet(), self.hints.bell.notified()).await.is_ok() {
            if Instant::now() >= last {
                return;
            }
        }
    }

    /// Whether somebody may be in the middle of writing a file of this name.
    pub(crate) fn is_written(&self, path: &Path) -> bool {
        let heard = self.hints.lock();
        path.file_name().is_some_and(|name| heard.written.contains(name))
    }
}

impl Hints {
    fn take(&self, event: notify::Result<notify::Event>) {
        let mut heard = self.lock();
        match event {
            Ok(event) if event.need_rescan() => heard.lose(),
            Ok(event) => match event.kind {
                EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                    heard.close(&event.paths);
                }
                // Reading changes nothing.
                EventKind::Access(_) => return,
                EventKind::Modify(ModifyKind::Data(_)) => heard.write(&event.paths),
                EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                    heard.close(&event.paths);
                    heard.is_lost |= event.paths.iter().any(|path| heard.posts.contains(path));
                }
                _ => {}
            },
            Err(_) => heard.lose(),
        }
        drop(heard);
        self.bell.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn lose(&mut self) {
        self.is_lost = true;
        self.written.clear();
    }

    /// Only some systems tell of the end of writing as well.
    fn write(&mut self, paths: &[PathBuf]) {
        if cfg!(target_os = "linux") && self.written.len() < WRITTEN_MAX {
            self.written.extend(paths.iter().filter_map(|path| Some(path.file_name()?.to_owned())));
        }
    }

    fn close(&mut self, paths: &[PathBuf]) {
        for name in paths.iter().filter_map(|path| path.file_name()) {
            self.written.remove(name);
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino(), found.created().ok()))
}

/// The directories by which one hears of a path: the nearest there is, and the one above it.
pub(crate) fn posts(path: &Path) -> Vec<PathBuf> {
    let nearest = path.ancestors().skip(1).find(|part| part.is_dir());
    let above = nearest.and_then(Path::parent);
    nearest.into_iter().chain(above).map(Path::to_owned).collect()
}

/// A path, and the path of what it is a link to.
pub(crate) fn names(file: &Path) -> impl Iterator<Item = PathBuf> {
    let target = std::fs::canonicalize(file).ok().filter(|target| target != file);
    std::iter::once(file.to_owned()).chain(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// How long anything may take that should take milliseconds.
    const DEADLINE: Duration = Duration::from_secs(30);

    /// It never looks without a hint.
    fn lookout() -> (TempDir, Lookout) {
        let folder = TempDir::new().expect("there is a directory for temporary files");
        (folder, Lookout::looking_every(Duration::MAX))
    }

    fn all<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> BTreeSet<PathBuf> {
        paths.into_iter().cloned().collect()
    }

    /// Writes to a file of a name that nobody had before, and waits until that is heard.
    #[cfg(target_os = "linux")]
    async fn check_watched(lookout: &Lookout, directory: &Path, name: &str) {
        let path = directory.join(name);
        let mut file = File::create(&path).expect("it is ours");
        file.write_all(b"x").expect("it is ours");
        let heard = async {
            while !lookout.is_written(&path) {
                lookout.heard(None).await;
            }
            drop(file);
            while lookout.is_written(&path) {
                lookout.heard(None).await;
            }
        };
        timeout(DEADLINE, heard).await.unwrap_or_else(|_| panic!("nobody hears of {name}"));
    }

    #[tokio::test]
    async fn every_kind_of_edit_is_heard() {
        let (folder, mut lookout) = lookout();
        let path = |name: &str| folder.path().join(name);
        for name in ["written", "replaced", "removed", "away", "new"] {
            fs::write(path(name), "old").expect("it is ours");
        }
        let edits: [&dyn Fn() -> std::io::Result<()>; 6] = [
            &|| fs::write(path("written"), "new"),
            &|| fs::write(path("made"), "new"),
            &|| fs::rename(path("new"), path("replaced")),
            &|| fs::remove_file(path("removed")),
            &|| fs::rename(path("away"), folder.path().join("gone")),
            &|| fs::create_dir(path("directory")),
        ];
        for (index, edit) in edits.into_iter().enumerate() {
            // Nothing that came before is heard any more.
            lookout.watch(&BTreeSet::new());
            lookout.watch(&all([&folder.path().to_owned()]));
            edit().expect("it is ours");
            let heard = timeout(DEADLINE, lookout.heard(None)).await;
            heard.unwrap_or_else(|_| panic!("nobody hears of edit {index}"));
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_directory_that_takes_the_place_of_another_between_two_looks_is_watched() {
        let (folder, mut lookout) = lookout();
        let directory = folder.path().join("dist");
        let wanted = all([&directory]);
        for round in 0..20 {
            // The new one often gets the number of the old one.
            _ = fs::remove_dir_all(&directory);
            fs::create_dir(&directory).expect("it is ours");
            // What became of the old one is heard before it is looked for, or after.
            lookout.watch(&wanted);
            let look = async {
                while lookout.hints.lock().is_lost {
                    lookout.watch(&wanted);
                    lookout.heard(Some(QUIET)).await;
                }
            };
            timeout(DEADLINE, look).await.expect("it is watched again");
            check_watched(&lookout, &directory, &format!("a{round}")).await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn of_two_paths_of_a_directory_one_may_be_wanted_no_more() {
        let (folder, mut lookout) = lookout();
        let [directory, link, other] =
            ["real", "link", "other"].map(|name| folder.path().join(name));
        fs::create_dir(&directory).expect("it is ours");
        fs::create_dir(&other).expect("it is ours");
        symlink(&directory, &link).expect("it is ours");
        let wanted = [all([&directory, &link]), all([&link]), all([&directory, &other])];
        for (round, wanted) in wanted.iter().enumerate() {
            lookout.watch(wanted);
            check_watched(&lookout, &directory, &format!("a{round}")).await;
        }
        check_watched(&lookout, &other, "b").await;
    }

    #[test]
    fn so_many_directories_are_watched_and_no_more() {
        let (folder, mut lookout) = lookout();
        let paths: Vec<_> =
            (0..=WATCHES_MAX + 1).map(|number| folder.path().join(number.to_string())).collect();
        paths.iter().for_each(|path| fs::create_dir(path).expect("it is ours"));
        lookout.watch(&all(&paths));
        assert!(lookout.posts.len() <= WATCHES_MAX && lookout.is_untold);
        // Others than before.
        lookout.watch(&all(&paths[2..]));
        assert!(lookout.posts.len() <= WATCHES_MAX);
        lookout.watch(&all(&paths[..2]));
        assert_eq!(lookout.posts.len(), 2);
        lookout.watch(&BTreeSet::new());
        assert!(lookout.posts.is_empty() && lookout.watcher.is_none() && !lookout.is_untold);
    }
}
