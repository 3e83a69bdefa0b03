//! A file that is served while people edit it: read anew, compared with what was there, and swapped
//! in as a whole; what cannot be read changes nothing. `edits` sees when to, `fresh` tells of
//! resources that change, `lookout` watches the disk for both, `polls` reads what no disk tells of,
//! `views` shows parts of it elsewhere. Called by the command line.

mod edit;
mod edits;
mod fresh;
mod guests;
mod lookout;
mod polls;
mod views;

pub use edit::{Difference, Edit};
pub use edits::Edits;
pub use guests::{Guest, Guests, Owned, Tailor};

use crate::around::Standings;
use crate::command::dumps::forbid_dumps;
use crate::fault::Fault;
use crate::live::views::Shown;
use crate::load::{Manifest, load_seen};
use crate::meant::Meant;
use crate::offer::{self, Means};
use crate::openapi::known::Documents;
use crate::problem::Problem;
use crate::resource::{Below, Source};
use crate::seen::{Print, Seen};
use crate::stamp::Stamp;
use crate::state::Kept;
use crate::walk::Walked;
use haft_server::{BuildError, Server, ServerBuilder};
use haft_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

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
    reading: Reading,
    /// What all readings have in common.
    means: Means,
    /// One reading at a time, to the end: what was read last is served last.
    order: Mutex<()>,
    /// Held while what is served is swapped, all of it or a list.
    swapping: Mutex<()>,
    /// Held to read or write what is in it, and for nothing that takes time.
    now: Mutex<Now>,
    /// Told when another manifest is served.
    swapped: watch::Sender<()>,
}

struct Now {
    manifest: Arc<Manifest>,
    /// What the last reading read, or tried to, and what each was before.
    files: BTreeMap<PathBuf, Stamp>,
    documents: Documents,
    /// What state is kept in, once a tool keeps some, and what the file said of it then.
    store: Option<(Kept, Store)>,
    standings: Arc<Standings>,
    guests: Arc<Guests>,
    views: Vec<Shown>,
}

impl Live {
    /// Reads a file, and makes a server of it. `measured` is whether requests are counted and timed
    /// ([`haft_server::around::Measure`]).
    ///
    /// # Errors
    /// The first [`Fault`] of the file.
    pub fn new(path: &Path, reading: Reading, measured: bool) -> Result<Self, Fault> {
        let seen = Seen::with(Documents::default(), reading == Reading::Edits);
        let manifest = load_seen(path, &seen)?;
        if seen.secrets_count() > 0 {
            forbid_dumps();
        }
        let store = manifest.store()?;
        let mut means = Means { measured, ..Means::new(store.clone()) };
        let standings =
            Arc::new(offer::standings(&manifest.meant, &manifest.meant, &Standings::new()));
        means.standings = Arc::clone(&standings);
        let builder = offer::builder(&manifest.meant, &means, None);
        let built = reading.settle(builder, &manifest.meant).build();
        let server = built.map_err(|error| manifest.refused(&error))?;
        let store = store.map(|store| (manifest.meant.state.clone(), store));
        let (documents, files) = seen.into_parts();
        let views = views::begin(&manifest, &means, reading)?;
        let (manifest, guests) = (Arc::new(manifest), Arc::default());
        let now = Now { manifest, files, documents, store, standings, guests, views };
        let (path, order, swapping) = (path.to_owned(), Mutex::default(), Mutex::default());
        let (now, swapped) = (Mutex::new(now), watch::Sender::default());
        Ok(Self { path, server, reading, means, order, swapping, now, swapped })
    }

    /// The server: always the same, whatever it offers.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What is served now.
    #[must_use]
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&lock(&self.now).manifest)
    }

    /// Tells when another manifest is served.
    #[must_use]
    pub fn swaps(&self) -> watch::Receiver<()> {
        self.swapped.subscribe()
    }

    /// [`Live::reload`] on a thread that may block.
    ///
    /// # Errors
    /// Those of [`Live::reload`].
    pub async fn read_again(self: &Arc<Self>) -> Result<Edit, Fault> {
        let live = Arc::clone(self);
        let stopped = |_| {
            let reason = "its reader stopped in the middle".to_owned();
            Err(Fault::of_file(&self.path, Problem::Unreadable { reason }))
        };
        spawn_blocking(move || live.reload()).await.unwrap_or_else(stopped)
    }

    /// Reads the file again, and swaps it in if it says something else than before: requests in
    /// flight finish on what they began with. State stays where it is, and calls that run count
    /// where so many may run. Reads files, and documents from the web if the file names some, and
    /// so blocks its thread.
    ///
    /// # Errors
    /// The first [`Fault`] of the file, and then nothing has changed.
    pub fn reload(&self) -> Result<Edit, Fault> {
        let began = Instant::now();
        let _order = lock(&self.order);
        let may_be_old = self.reading == Reading::Edits;
        let seen = Seen::with(lock(&self.now).documents.clone(), may_be_old);
        let read = load_seen(&self.path, &seen);
        if seen.secrets_count() > 0 {
            forbid_dumps();
        }
        let (mut documents, files) = seen.into_parts();
        if read.is_ok() {
            documents.forget_unused();
        }
        let before = {
            let mut now = lock(&self.now);
            (now.files, now.documents) = (files, documents);
            Arc::clone(&now.manifest)
        };
        let manifest = Arc::new(read?);
        let mut edit = Edit::between(&before.meant, &manifest.meant);
        if !edit.is_empty() {
            self.swap(&before, &manifest)?;
        }
        let now = lock(&self.now);
        let is_elsewhere = |(kept, _): &(Kept, Store)| !kept.is_same(&manifest.meant.state);
        edit.state = manifest.keeps_state() && now.store.as_ref().is_some_and(is_elsewhere);
        edit.took = began.elapsed();
        Ok(edit)
    }

    fn swap(&self, before: &Manifest, manifest: &Arc<Manifest>) -> Result<(), Fault> {
        let (store, standings) = {
            let now = lock(&self.now);
            (now.store.clone(), Arc::clone(&now.standings))
        };
        let store = match store {
            Some(store) => Some(store),
            None => manifest.store()?.map(|store| (manifest.meant.state.clone(), store)),
        };
        let standings = Arc::new(offer::standings(&manifest.meant, &before.meant, &standings));
        let means = Means {
            store: store.as_ref().map(|(_, store)| store.clone()),
            standings: Arc::clone(&standings),
            ..self.means.clone()
        };
        {
            let _swapping = lock(&self.swapping);
            let guests = Arc::clone(&lock(&self.now).guests);
            let refused = |error| manifest.refused(&error);
            self.server.replace(guests.join(manifest, &means, None)).map_err(refused)?;
            let views = self.show(manifest, &means, &guests).map_err(refused)?;
            let mut now = lock(&self.now);
            (now.store, now.standings, now.views) = (store, standings, views);
            now.manifest = Arc::clone(manifest);
        }
        for uri in rewritten(&before.meant, &manifest.meant) {
            self.resource_updated(uri);
        }
        self.swapped.send_replace(());
        Ok(())
    }

    /// Lists other files of these directories, if they are those that are served.
    fn list_again(
        &self,
        manifest: &Arc<Manifest>,
        listings: Vec<(&Below, Walked)>,
    ) -> Result<(), BuildError> {
        let _swapping = lock(&self.swapping);
        // A file that was swapped in meanwhile has lists of its own.
        if !Arc::ptr_eq(&lock(&self.now).manifest, manifest) {
            return Ok(());
        }
        let listings = listings.into_iter();
        let before: Vec<_> =
            listings.map(|(below, listing)| (below, below.list_as(listing))).collect();
        let guests = Arc::clone(&lock(&self.now).guests);
        let replaced = self.replace_resources(manifest, &guests);
        if replaced.is_err() {
            // It is tried again.
            before.into_iter().for_each(|(below, listing)| _ = below.list_as(listing));
        }
        replaced
    }

    /// What the last reading read, or tried to, and what each was before.
    fn files(&self) -> BTreeMap<PathBuf, Stamp> {
        lock(&self.now).files.clone()
    }
}

/// A thread that panicked left it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reading {
    /// Tells clients of what may change, and of nothing else.
    fn settle(self, builder: ServerBuilder, meant: &Meant) -> ServerBuilder {
        match self {
            // What upstreams have is found out while it is served.
            _ if !meant.upstreams.is_empty() => builder.open_ended(),
            Self::Edits => builder.open_ended(),
            Self::Orders => builder,
            Self::Never if !fresh::listed(meant).is_empty() => builder.only_resources_change(),
            Self::Never if meant.resources.iter().any(|one| one.source.is_told()) => {
                builder.only_contents_change()
            }
            Self::Never => builder.fixed(),
        }
    }
}

/// What the file says of a content.
#[derive(PartialEq, Eq)]
enum Said<'m> {
    /// A program or a server has it.
    Feed(Print),
    Text(&'m str),
}

/// The addresses whose content stands in the file, or comes from what the file names, and is not
/// what it was. What is in other files is looked at by `fresh`.
fn rewritten<'m>(before: &'m Meant, now: &'m Meant) -> BTreeSet<&'m str> {
    let said = |meant: &'m Meant| -> BTreeMap<&'m str, Said<'m>> {
        let all = meant.resources.iter().zip(&meant.prints.resources);
        let said = all.filter_map(|(one, print)| match &one.source {
            Source::Feed(_) => Some((&*one.uri.value, Said::Feed(*print))),
            source => Some((&*one.uri.value, Said::Text(source.text()?))),
        });
        said.collect()
    };
    let (before, now) = (said(before), said(now));
    let uris = before.keys().chain(now.keys()).copied();
    uris.filter(|uri| before.get(uri) != now.get(uri)).collect()
}

#[cfg(test)]
mod tests {
    use super::rewritten;
    use crate::load::parse;
    use std::path::Path;

    #[test]
    fn an_edit_of_a_text_or_a_command_is_a_change_of_its_content() {
        let read = |resources: &str| {
            let yaml = format!("server: {{ name: s }}\nresources: [{resources}]");
            parse(Path::new("haft.yaml"), &yaml).expect("it is right").meant
        };
        let (text, command) = ("{ uri: 'a:t', text: T }", "{ uri: 'a:c', command: [ls] }");
        let before = read(&format!("{text}, {command}, {{ uri: 'a:f', file: f }}"));
        for (now, expected) in [
            (format!("{command}, {text}"), &[][..]),
            (format!("{command}, {}", text.replace('T', "U")), &["a:t"]),
            (format!("{}, {text}", command.replace("ls", "pwd")), &["a:c"]),
            (text.to_owned(), &["a:c"]),
        ] {
            let now = read(&now);
            let found: Vec<_> = rewritten(&before, &now).into_iter().collect();
            assert_eq!(found, expected);
        }
    }
}
