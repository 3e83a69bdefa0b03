//! The files that this process has open: opening one again is joining it. Called by `store`.

use crate::error::StoreError;
use crate::store::Opened;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

static FILES: Mutex<BTreeMap<PathBuf, Weak<Opened>>> = Mutex::new(BTreeMap::new());
/// Some file has been closed.
static CLOSED: Condvar = Condvar::new();

/// The place of a file among those that are open; dropped when the file is closed.
pub(crate) struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        files().remove(&self.0);
        CLOSED.notify_all();
    }
}

/// The store of a file: the one that is open, or the one that `open` makes.
pub(crate) fn join(
    path: &Path,
    open: impl FnOnce(Place) -> Result<Opened, StoreError>,
) -> Result<Arc<Opened>, StoreError> {
    let path = whole(path);
    let mut files = files();
    while let Some(known) = files.get(&path) {
        match known.upgrade() {
            Some(opened) => return Ok(opened),
            // It is about to be closed.
            None => files = CLOSED.wait(files).unwrap_or_else(PoisonError::into_inner),
        }
    }
    // Who comes now waits until it is open, or finds nothing and tries as well.
    files.insert(path.clone(), Weak::new());
    drop(files);
    let opened = Arc::new(open(Place(path.clone()))?);
    self::files().insert(path, Arc::downgrade(&opened));
    CLOSED.notify_all();
    Ok(opened)
}

/// The path from the root without links; the file itself need not be there.
fn whole(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new(".")).canonicalize();
    match (path.canonicalize(), parent, path.file_name()) {
        (Ok(whole), ..) => whole,
        (_, Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

fn files() -> MutexGuard<'static, BTreeMap<PathBuf, Weak<Opened>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
