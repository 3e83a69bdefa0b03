//! Tells clients of resources that change: those that somebody is subscribed to, and the lists of
//! directories while somebody listens to lists. Nothing is watched for nobody. What clients may
//! not read is not looked at either: a file below a directory is looked at as it is opened.

use crate::below::Walked;
use crate::live::Live;
use crate::live::edits::names;
use crate::live::lookout::{Heard, Lookout, Stamp, posts};
use crate::meant::Meant;
use crate::resource::{Below, Source};
use haft_server::Interest;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;

impl Live {
    /// Tells clients of what changes, for ever.
    pub async fn watch_resources(self: Arc<Self>) {
        let mut fresh = Fresh { since: SystemTime::now(), known: BTreeMap::new() };
        let mut lookout = Lookout::default();
        let mut heard = None;
        loop {
            // Before the interest is read, so that no change of it is missed.
            let interest_changed = self.server.interest_changed();
            let (live, interest) = (Arc::clone(&self), self.server.interest());
            let is_asleep = interest == Interest::default();
            let looked = spawn_blocking(move || {
                fresh.look(&live, &interest, heard.as_ref(), &mut lookout);
                (fresh, lookout)
            });
            let Ok(looked) = looked.await else { return };
            (fresh, lookout) = looked;
            heard = tokio::select! {
                heard = lookout.heard(), if !is_asleep => Some(heard),
                () = interest_changed => None,
                () = self.swapped.notified() => None,
            };
        }
    }
}

/// What was seen when it was looked at last.
struct Fresh {
    /// When that was.
    since: SystemTime,
    known: BTreeMap<Arc<str>, Stamp>,
}

/// What is behind an address.
enum Target<'m> {
    /// A file below a directory, by its path from there.
    Below(&'m Below, String),
    /// A file that the author names.
    File(PathBuf),
}

/// Files whose time says that they changed a little before somebody subscribed may have changed
/// after it: the clock of files is coarse.
const COARSE: Duration = Duration::from_millis(20);
/// How often a directory that changes while it is looked at is looked at again; then it waits for
/// the next hint.
const LOOKS_MAX: usize = 8;
/// How long it may take to hear of somebody's interest.
const JUST_NOW: Duration = Duration::from_secs(1);

impl Fresh {
    fn look(
        &mut self,
        live: &Live,
        interest: &Interest,
        heard: Option<&Heard>,
        lookout: &mut Lookout,
    ) {
        let manifest = live.manifest();
        let meant = &manifest.meant;
        let looking = SystemTime::now();
        // It may have been long since anybody was interested.
        self.since = self.since.max(looking - JUST_NOW);
        let targets: Vec<_> = interest
            .resources
            .iter()
            .filter_map(|uri| Some((Arc::clone(uri), target(meant, uri)?)))
            .collect();
        let mut files = BTreeSet::new();
        for (_, target) in &targets {
            files.extend(target.names().iter().flat_map(|name| posts(name)));
        }
        let listed = if interest.resource_lists { listed(meant) } else { Vec::new() };
        for _ in 0..LOOKS_MAX {
            let mut wanted = files.clone();
            for below in &listed {
                let root = &below.directory.path;
                wanted.extend(posts(root));
                wanted.insert(root.clone());
                wanted.extend(below.listing().directories.iter().map(|path| root.join(path)));
            }
            // Watched first and looked at then: nothing falls between.
            lookout.watch(&wanted);
            let is_new = |below: &&Below| below.directory.list() != *below.listing();
            if !listed.iter().any(is_new) {
                break;
            }
            // It may have directories that are not watched yet.
            live.list_again(&manifest);
        }
        self.known.retain(|uri, _| targets.iter().any(|(kept, _)| kept == uri));
        for (uri, target) in targets {
            if self.has_changed(&uri, &target, heard) {
                live.server.resource_updated(&uri);
            }
        }
        self.since = looking;
    }

    fn has_changed(&mut self, uri: &Arc<str>, target: &Target<'_>, heard: Option<&Heard>) -> bool {
        let found = target.found();
        let stamp = Stamp::new(found.as_ref());
        match self.known.insert(Arc::clone(uri), stamp) {
            Some(known) if known != stamp => true,
            Some(_) => {
                let heard = heard.filter(|_| found.is_some());
                heard.is_some_and(|heard| target.names().iter().any(|name| heard.is_about(name)))
            }
            // It may have changed after somebody subscribed and before it was looked at.
            None => {
                let changed = found.and_then(|found| found.modified().ok());
                changed.is_some_and(|changed| changed + COARSE >= self.since)
            }
        }
    }
}

impl Target<'_> {
    /// By which paths one hears of it.
    fn names(&self) -> Vec<PathBuf> {
        match self {
            Self::File(path) => names(path).collect(),
            Self::Below(below, path) => {
                let root = &below.directory.path;
                let whole = root.join(path);
                // A link may lead out, and who is out there is nobody's business.
                let inner = std::fs::canonicalize(root).ok().and_then(|root| {
                    std::fs::canonicalize(&whole).ok().filter(|inner| inner.starts_with(root))
                });
                match inner {
                    Some(inner) => vec![whole, inner],
                    None => vec![whole],
                }
            }
        }
    }

    /// What is there, if clients may read it.
    fn found(&self) -> Option<Metadata> {
        match self {
            Self::File(path) => std::fs::metadata(path).ok(),
            Self::Below(below, path) => below.directory.open(path).ok()??.metadata().ok(),
        }
    }
}

/// What is behind an address; nothing if that never changes, or there is nothing.
fn target<'m>(meant: &'m Meant, uri: &str) -> Option<Target<'m>> {
    if let Some(resource) = meant.resources.iter().find(|known| known.uri.value == *uri) {
        return match &resource.source {
            Source::File(stored) => Some(Target::File(stored.path.value.clone())),
            Source::Directory(_) | Source::Feed(_) | Source::Text(_) => None,
        };
    }
    meant.resources.iter().find_map(|resource| {
        let Source::Directory(below) = &resource.source else { return None };
        let rest = uri.strip_prefix(&below.prefix)?;
        let path = decoded(rest).filter(|_| below.has_slashes || !rest.contains('/'))?;
        below.directory.is_served(&path).then_some(Target::Below(below, path))
    })
}

/// The directories whose files are listed.
pub(super) fn listed(meant: &Meant) -> Vec<&Below> {
    let below = meant.resources.iter().filter_map(|resource| match &resource.source {
        Source::Directory(below) => Some(below),
        Source::Feed(_) | Source::File(_) | Source::Text(_) => None,
    });
    below.filter(|below| below.listed.is_some()).collect()
}

/// Percent-decodes; nothing for what cannot be.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

impl Live {
    /// Lists the files of directories anew.
    fn list_again(&self, manifest: &Arc<crate::load::Manifest>) {
        let now = self.lock();
        // A file that was swapped in meanwhile has lists of its own.
        if !Arc::ptr_eq(&now.manifest, manifest) {
            return;
        }
        for below in listed(&manifest.meant) {
            let listing: Walked = below.directory.list();
            below.list_as(listing);
        }
        let (resources, templates) = crate::offer::readable(&manifest.meant, &self.clients);
        // They were accepted with other files already; what cannot be is left as it was.
        _ = self.server.replace_resources(resources, templates);
    }
}
