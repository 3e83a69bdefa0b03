//! A file that is served while people edit it: read anew, compared with what was there, and swapped
//! in as a whole; what cannot be read changes nothing. `edits` sees when to, `fresh` tells of
//! resources that change, `lookout` watches the disk for both. Called by the command line.

mod edit;
mod edits;
mod fresh;
mod lookout;

pub use edit::{Difference, Edit};
pub use edits::Edits;

use crate::fault::Fault;
use crate::load::{Manifest, load_seen};
use crate::offer;
use crate::seen::Seen;
use haft_server::{Server, ServerBuilder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// A manifest that is served, and may be read anew.
pub struct Live {
    path: PathBuf,
    server: Server,
    now: Mutex<Now>,
    /// Told when another manifest is served.
    swapped: Notify,
}

struct Now {
    manifest: Arc<Manifest>,
    /// What the last reading read, or tried to.
    files: BTreeSet<PathBuf>,
}

impl Live {
    /// Reads a file, and makes a server of it. `settle` has the last word on the server that is
    /// built: how it may grow.
    ///
    /// # Errors
    /// The first [`Fault`] of the file.
    pub fn new(
        path: &Path,
        settle: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Result<Self, Fault> {
        let seen = Seen::default();
        let manifest = load_seen(path, &seen)?;
        let built = settle(offer::builder(&manifest.meant)).build();
        let server = built.map_err(|error| manifest.refused(&error))?;
        let now = Now { manifest: Arc::new(manifest), files: seen.into_files() };
        let (path, now) = (path.to_owned(), Mutex::new(now));
        Ok(Self { path, server, now, swapped: Notify::new() })
    }

    /// The server: always the same, whatever it offers.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What is served now.
    #[must_use]
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&self.lock().manifest)
    }

    /// Reads the file again, and swaps it in if it says something else than before: requests in
    /// flight finish on what they began with. Reads files, and so blocks its thread.
    ///
    /// # Errors
    /// The first [`Fault`] of the file, and then nothing has changed.
    pub fn reload(&self) -> Result<Edit, Fault> {
        let began = Instant::now();
        let seen = Seen::default();
        let read = load_seen(&self.path, &seen);
        // One reading at a time, to the end: what was read last is served last.
        let mut now = self.lock();
        now.files = seen.into_files();
        let manifest = read?;
        let mut edit = Edit::between(&now.manifest.meant, &manifest.meant);
        if !edit.is_empty() {
            let replaced = self.server.replace(offer::builder(&manifest.meant));
            replaced.map_err(|error| manifest.refused(&error))?;
            now.manifest = Arc::new(manifest);
            self.swapped.notify_one();
        }
        edit.took = began.elapsed();
        Ok(edit)
    }

    /// What the last reading read, or tried to.
    fn files(&self) -> BTreeSet<PathBuf> {
        self.lock().files.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
