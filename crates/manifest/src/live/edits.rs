//! Sees when a file that is served has been edited, or one that it names, and reads it anew. Called
//! by `haft dev`, which tells of each edit.

use crate::fault::Fault;
use crate::live::lookout::{Lookout, Stamp, posts};
use crate::live::{Edit, Live};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a file that has a fault may be in the middle of being written.
const UNFINISHED: Duration = Duration::from_millis(100);

/// The edits of a file, from when this is made.
pub struct Edits {
    live: Arc<Live>,
    lookout: Lookout,
    /// What is read, and what it was when it was read.
    files: BTreeMap<PathBuf, Stamp>,
    /// What was wrong when it was read last.
    fault: Option<Fault>,
}

impl Edits {
    /// Watches a file that is served.
    #[must_use]
    pub fn new(live: Arc<Live>) -> Self {
        Self { live, lookout: Lookout::default(), files: BTreeMap::new(), fault: None }
    }

    /// Waits for an edit that is worth telling, which is served by then; or for a fault that was
    /// not told before, and then nothing has changed.
    ///
    /// # Errors
    /// The [`Fault`].
    pub async fn next(&mut self) -> Result<Edit, Fault> {
        loop {
            if !self.is_touched() {
                let heard = self.lookout.heard().await;
                let is_about = |file: &PathBuf| names(file).any(|name| heard.is_about(&name));
                if !self.files.keys().any(is_about) && !self.is_touched() {
                    continue;
                }
            }
            let mut read = self.read().await;
            if read.is_err() && timeout(UNFINISHED, self.lookout.heard()).await.is_ok() {
                read = self.read().await;
            }
            match read {
                Ok(edit) if edit.is_empty() && self.fault.is_none() => {}
                Ok(edit) => {
                    self.fault = None;
                    return Ok(edit);
                }
                Err(fault) if self.fault.as_ref() == Some(&fault) => {}
                Err(fault) => {
                    self.fault = Some(fault.clone());
                    return Err(fault);
                }
            }
        }
    }

    /// Whether something is not what it was. Watches it from then on.
    fn is_touched(&mut self) -> bool {
        let files = self.live.files();
        let wanted: BTreeSet<_> =
            files.iter().flat_map(|file| names(file)).flat_map(|name| posts(&name)).collect();
        self.lookout.watch(&wanted);
        let is_same = |file: &PathBuf| self.files.get(file) == Some(&Stamp::of(file));
        files.len() != self.files.len() || !files.iter().all(is_same)
    }

    async fn read(&mut self) -> Result<Edit, Fault> {
        // Looked at before it is read: what is written meanwhile is seen the next time.
        let stamp = |file: PathBuf| (Stamp::of(&file), file);
        let before = self.live.files().into_iter().map(stamp);
        let mut before: BTreeMap<_, _> = before.map(|(stamp, file)| (file, stamp)).collect();
        let live = Arc::clone(&self.live);
        let read = spawn_blocking(move || live.reload()).await;
        // A file that is new is read once more, in case it changed before it was watched.
        let files = self.live.files();
        before.retain(|file, _| files.contains(file));
        self.files = before;
        read.unwrap_or_else(|_| Ok(Edit::default()))
    }
}

/// A path, and the path of what it is a link to.
pub(super) fn names(file: &Path) -> impl Iterator<Item = PathBuf> {
    let target = std::fs::canonicalize(file).ok().filter(|target| target != file);
    std::iter::once(file.to_owned()).chain(target)
}
