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
use crate::meant::Meant;
use crate::offer::{self, Means};
use crate::seen::Seen;
use haft_fetch::Clients;
use haft_server::{Server, ServerBuilder};
use haft_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// When a file that is served is read again, and so what clients are told may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// When it is edited, as [`Edits`] says. Anything may come and go.
    Edits,
    /// Now and then, when somebody calls [`Live::reload`].
    Orders,
    /// Never: only what is behind resources changes.
    Never,
}

/// A manifest that is served, and may be read anew.
pub struct Live {
    path: PathBuf,
    server: Server,
    clients: Clients,
    measured: bool,
    /// One reading at a time, to the end: what was read last is served last.
    reading: Mutex<()>,
    now: Mutex<Now>,
    /// Told when another manifest is served.
    swapped: Notify,
}

struct Now {
    manifest: Arc<Manifest>,
    /// What the last reading read, or tried to.
    files: BTreeSet<PathBuf>,
    /// Where state is kept, once a tool keeps some.
    store: Option<Store>,
}

impl Live {
    /// Reads a file, and makes a server of it. `measured` is whether requests are counted and timed
    /// ([`haft_server::around::Measure`]).
    ///
    /// # Errors
    /// The first [`Fault`] of the file.
    pub fn new(path: &Path, reading: Reading, measured: bool) -> Result<Self, Fault> {
        let seen = Seen::default();
        let manifest = load_seen(path, &seen)?;
        let means = Means { measured, ..Means::new(manifest.store()?) };
        let builder = offer::builder(&manifest.meant, &means);
        let built = reading.settle(builder, &manifest.meant).build();
        let server = built.map_err(|error| manifest.refused(&error))?;
        let Means { store, clients, measured } = means;
        let now = Now { manifest: Arc::new(manifest), files: seen.into_files(), store };
        let (path, reading, now) = (path.to_owned(), Mutex::default(), Mutex::new(now));
        Ok(Self { path, server, clients, measured, reading, now, swapped: Notify::new() })
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
    /// flight finish on what they began with. State stays where it is. Reads files, and documents
    /// from the web if the file names some, and so blocks its thread.
    ///
    /// # Errors
    /// The first [`Fault`] of the file, and then nothing has changed.
    pub fn reload(&self) -> Result<Edit, Fault> {
        let began = Instant::now();
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Seen::default();
        let read = load_seen(&self.path, &seen);
        let mut now = self.lock();
        now.files = seen.into_files();
        let manifest = read?;
        let mut edit = Edit::between(&now.manifest.meant, &manifest.meant);
        edit.state &= now.store.is_some();
        if !edit.is_empty() {
            let store = match &now.store {
                Some(store) => Some(store.clone()),
                None => manifest.store()?,
            };
            let means = Means { store, clients: self.clients.clone(), measured: self.measured };
            let replaced = self.server.replace(offer::builder(&manifest.meant, &means));
            replaced.map_err(|error| manifest.refused(&error))?;
            now.store = means.store;
            let before = std::mem::replace(&mut now.manifest, Arc::new(manifest));
            for uri in rewritten(&before.meant, &now.manifest.meant) {
                self.server.resource_updated(uri);
            }
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

impl Reading {
    /// Tells clients of what may change, and of nothing else.
    fn settle(self, builder: ServerBuilder, meant: &Meant) -> ServerBuilder {
        match self {
            Self::Edits => builder.open_ended(),
            Self::Orders => builder,
            Self::Never if !fresh::listed(meant).is_empty() => builder.only_resources_change(),
            Self::Never if meant.resources.iter().any(|one| one.source.text().is_none()) => {
                builder.only_contents_change()
            }
            Self::Never => builder.fixed(),
        }
    }
}

/// The addresses whose content stands in the file and is not what it was. What is elsewhere is
/// looked at by `fresh`.
fn rewritten<'m>(before: &'m Meant, now: &'m Meant) -> BTreeSet<&'m str> {
    let texts = |meant: &'m Meant| -> BTreeMap<&'m str, &'m str> {
        let all = meant.resources.iter();
        all.filter_map(|one| Some((&*one.uri.value, one.source.text()?))).collect()
    };
    let (before, now) = (texts(before), texts(now));
    let uris = before.keys().chain(now.keys()).copied();
    uris.filter(|uri| before.get(uri) != now.get(uri)).collect()
}
