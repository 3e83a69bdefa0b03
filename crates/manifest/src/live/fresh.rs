//! Tells clients of resources that change: those that somebody is subscribed to, and the lists of
//! directories while somebody listens to lists. Nothing is watched for nobody. What clients may
//! not read is not looked at either: a file is looked at as it is opened for them.

use crate::below::open_file;
use crate::limits::WATCHED_MAX;
use crate::live::Live;
use crate::live::lookout::{LOOK, Lookout, names, posts};
use crate::live::polls::Polls;
use crate::load::Manifest;
use crate::meant::Meant;
use crate::resource::{Below, Source};
use crate::stamp::{COARSE, Stamp};
use crate::walk::Walked;
use haft_server::{Interest, uri_decoded};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often a directory that grows while it is looked at is looked at again.
const LOOKS_MAX: usize = 8;
/// How long a list stays as it was told: who writes many files makes many lists.
const LIST_AGE_MIN: Duration = Duration::from_secs(1);
/// Looking takes so small a part of the time, whatever there is to look at.
const RESTS: u32 = 4;

impl Live {
    /// Tells clients of what changes, for ever. What goes wrong with that is told by `warn`, which
    /// may block its thread.
    pub async fn watch_resources(self: Arc<Self>, warn: impl Fn(&str) + Send + Sync + 'static) {
        let warn = Arc::new(warn);
        let mut fresh = Fresh::default();
        let mut polls = Polls::default();
        let mut swaps = self.swaps();
        loop {
            // Before the interest is read, so that no change of it is missed.
            let interest_changed = self.interest_changed();
            let (live, interest) = (Arc::clone(&self), self.interest());
            polls.settle(&self, &interest);
            let (is_asleep, warn) = (interest == Interest::default(), Arc::clone(&warn));
            let began = Instant::now();
            let looked = spawn_blocking(move || {
                fresh.look(&live, &interest, &*warn);
                fresh
            });
            let Ok(looked) = looked.await else {
                // It panicked, and has said so. What it knew is lost, and nothing else.
                fresh = Fresh::default();
                sleep(LOOK).await;
                continue;
            };
            fresh = looked;
            sleep((began.elapsed() * RESTS).min(LOOK)).await;
            tokio::select! {
                () = fresh.lookout.heard(fresh.again), if !is_asleep => {}
                () = interest_changed => {}
                // It lasts as long as this.
                _ = swaps.changed() => {}
            }
        }
    }
}

/// What was seen when it was looked at last.
#[derive(Default)]
struct Fresh {
    lookout: Lookout,
    known: BTreeMap<Arc<str>, Stamp>,
    /// When a list was told last.
    listed: Option<Instant>,
    /// Why a list could not be told.
    failure: Option<String>,
    /// When to look again, if not for a hint.
    again: Option<Duration>,
}

/// A resource that somebody is subscribed to.
struct Watched<'m> {
    uri: Arc<str>,
    since: SystemTime,
    target: Target<'m>,
}

/// What is behind an address.
enum Target<'m> {
    /// A file below a directory, by its path from there.
    Below(&'m Below, String),
    /// A file that the author names.
    File(&'m Path),
}

impl Fresh {
    fn look(&mut self, live: &Live, interest: &Interest, warn: &(dyn Fn(&str) + Send + Sync)) {
        self.again = None;
        let manifest = live.manifest();
        let watched = watched(&manifest.meant, interest);
        let mut files = BTreeSet::new();
        let mut roots = BTreeMap::new();
        for one in &watched {
            files.extend(one.target.names(&mut roots).iter().flat_map(|name| posts(name)));
        }
        let listed = if interest.resource_lists { listed(&manifest.meant) } else { Vec::new() };
        let failure = self.look_at_lists(live, &manifest, &listed, files).err();
        if let Some(failure) = failure.iter().find(|_| failure != self.failure) {
            warn(failure);
        }
        self.failure = failure;
        for uri in self.changed(watched) {
            live.resource_updated(&uri);
        }
    }

    /// Watches all, and tells of other lists. What is watched is looked at after that, so that
    /// nothing falls between.
    fn look_at_lists(
        &mut self,
        live: &Live,
        manifest: &Arc<Manifest>,
        listed: &[&Below],
        files: BTreeSet<PathBuf>,
    ) -> Result<(), String> {
        let mut found: Vec<Walked> = listed.iter().map(|below| below.listing().clone()).collect();
        for _ in 0..LOOKS_MAX {
            let mut wanted = files.clone();
            for (below, found) in listed.iter().zip(&found) {
                let root = &below.directory.path;
                wanted.extend(posts(root));
                wanted.extend(found.directories.iter().map(|(path, _)| root.join(path)));
            }
            self.lookout.watch(&wanted);
            let mut is_deeper = false;
            for (below, found) in listed.iter().zip(&mut found) {
                if below.directory.is_still(found) {
                    continue;
                }
                // Where looking fails, what was there is what is known.
                let Ok(now) = below.directory.list() else { continue };
                is_deeper |= now.is_deeper_than(found);
                *found = now;
            }
            // It may have directories that are not watched yet.
            if !is_deeper {
                break;
            }
        }
        let stamps = || found.iter().flat_map(|found| &found.directories);
        if !stamps().all(|(_, stamp)| stamp.is_settled()) {
            self.again = Some(COARSE);
        }
        let differs = |(below, found): (&&Below, &Walked)| !below.listing().lists_as(found);
        if !listed.iter().zip(&found).any(differs) {
            for (below, found) in listed.iter().zip(found) {
                below.list_as(found);
            }
            return Ok(());
        }
        let rest = self.listed.and_then(|at| LIST_AGE_MIN.checked_sub(at.elapsed()));
        if let Some(rest) = rest {
            self.again = Some(rest);
            return Ok(());
        }
        self.listed = Some(Instant::now());
        let listings = listed.iter().copied().zip(found).collect();
        live.list_again(manifest, listings).map_err(|error| {
            format!("the files of a directory cannot be listed as they are now: {error}")
        })
    }

    /// The addresses of what is not what it was, or may not be what it was when somebody began to
    /// watch it.
    fn changed(&mut self, watched: Vec<Watched<'_>>) -> Vec<Arc<str>> {
        let mut before = std::mem::take(&mut self.known);
        let mut changed = Vec::new();
        for Watched { uri, since, target } in watched {
            let before = before.remove(&uri);
            // Where looking fails, what was there is what is known.
            let Some(now) = target.stamp().or(before) else { continue };
            let is_changed = match before {
                Some(before) => !before.is_still(now),
                None => now.may_be_since(since),
            };
            if !now.is_settled() {
                self.again = Some(COARSE);
            }
            if is_changed {
                changed.push(Arc::clone(&uri));
            }
            self.known.insert(uri, now);
        }
        changed
    }
}

impl Target<'_> {
    /// By which paths one hears of it. `roots` are the directories as the system names them.
    fn names<'t>(&'t self, roots: &mut BTreeMap<&'t Path, Option<PathBuf>>) -> Vec<PathBuf> {
        match self {
            Self::File(path) => names(path).collect(),
            Self::Below(below, path) => {
                let root = below.directory.path.as_path();
                let real = roots.entry(root).or_insert_with(|| std::fs::canonicalize(root).ok());
                let whole = root.join(path);
                // A link may lead out, and who is out there is nobody's business.
                let inner = real.as_ref().and_then(|real| {
                    std::fs::canonicalize(&whole).ok().filter(|inner| inner.starts_with(real))
                });
                std::iter::once(whole).chain(inner).collect()
            }
        }
    }

    /// Of what is there, if clients may read it; nothing if it cannot be looked at now.
    fn stamp(&self) -> Option<Stamp> {
        let looking = SystemTime::now();
        let opened = match self {
            Self::File(path) => open_file(path),
            Self::Below(below, path) => below.directory.open(path),
        };
        match opened.ok()? {
            Some(file) => Some(Stamp::new(&file.metadata().ok()?, looking)),
            None => Some(Stamp::NOTHING),
        }
    }
}

/// What is behind the addresses that somebody is subscribed to: behind so many of them, those first
/// that somebody began to watch first.
fn watched<'m>(meant: &'m Meant, interest: &Interest) -> Vec<Watched<'m>> {
    let single = meant.resources.iter().filter(|one| !matches!(one.source, Source::Directory(_)));
    let known: BTreeMap<&str, &Source> =
        single.map(|one| (one.uri.value.as_str(), &one.source)).collect();
    let targets = interest.resources.iter().filter_map(|(uri, since)| {
        let target = match known.get(&**uri) {
            Some(Source::File(stored)) => Target::File(&stored.path.value),
            Some(_) => return None,
            None => below(meant, uri)?,
        };
        Some(Watched { uri: Arc::clone(uri), since: *since, target })
    });
    let mut targets: Vec<_> = targets.collect();
    if targets.len() > WATCHED_MAX {
        targets.sort_by_key(|one| one.since);
        targets.truncate(WATCHED_MAX);
    }
    targets
}

/// The file below a directory that has this address.
fn below<'m>(meant: &'m Meant, uri: &str) -> Option<Target<'m>> {
    meant.resources.iter().find_map(|resource| {
        let Source::Directory(below) = &resource.source else { return None };
        let rest = uri.strip_prefix(&below.prefix)?;
        let path = uri_decoded(rest).filter(|_| below.has_slashes || !rest.contains('/'))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;
    use std::fs;
    use tempfile::TempDir;

    const YAML: &str = "server: { name: s }
resources:
  - { uri: 'a:one', file: one }
  - { uri: 'd:{+path}', directory: . }
";

    /// Two files, and what is meant by them.
    fn folder() -> (TempDir, Manifest) {
        let folder = TempDir::new().expect("there is a directory for temporary files");
        for name in ["one", "two"] {
            fs::write(folder.path().join(name), "old").expect("it is ours");
        }
        let manifest = parse(&folder.path().join("haft.yaml"), YAML).expect("it is right");
        (folder, manifest)
    }

    /// Somebody is subscribed since so many seconds before or after now.
    fn interest(uris: &[&str], seconds: i64) -> Interest {
        let by = Duration::from_secs(seconds.unsigned_abs());
        let now = SystemTime::now();
        let since = if seconds < 0 { now - by } else { now + by };
        let resources = uris.iter().map(|uri| (Arc::from(*uri), since)).collect();
        Interest { resources, resource_lists: false }
    }

    fn changed(fresh: &mut Fresh, manifest: &Manifest, interest: &Interest) -> Vec<String> {
        let changed = fresh.changed(watched(&manifest.meant, interest));
        changed.iter().map(|uri| uri.to_string()).collect()
    }

    /// Nothing that is told from now on is told because it may have been missed.
    fn settle(fresh: &mut Fresh, manifest: &Manifest, interest: &Interest) {
        changed(fresh, manifest, interest);
        while !fresh.known.values().all(|stamp| stamp.is_settled()) {
            std::thread::yield_now();
            changed(fresh, manifest, interest);
        }
    }

    #[test]
    fn what_changed_since_somebody_subscribed_is_told_however_late_it_is_looked_at() {
        let (_folder, manifest) = folder();
        let uris = ["a:one", "d:nowhere", "d:two"];
        let told = changed(&mut Fresh::default(), &manifest, &interest(&uris, -3600));
        assert_eq!(told, uris);
        // What is not there may have been there.
        let mut fresh = Fresh::default();
        assert_eq!(changed(&mut fresh, &manifest, &interest(&uris, 3600)), ["d:nowhere"]);
        let none = ["d:../one", "b:one", "d:"];
        let told = changed(&mut Fresh::default(), &manifest, &interest(&none, -3600));
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    fn every_change_is_told_though_it_may_leave_no_trace() {
        let (folder, manifest) = folder();
        let (interest, mut fresh) = (interest(&["a:one"], 3600), Fresh::default());
        let path = folder.path().join("one");
        for round in 0..200 {
            // As long as before, and within a tick of the clock.
            fs::write(&path, format!("{round:03}")).expect("it is ours");
            if round > 0 {
                assert_eq!(changed(&mut fresh, &manifest, &interest), ["a:one"], "{round}");
            } else {
                changed(&mut fresh, &manifest, &interest);
            }
        }
        settle(&mut fresh, &manifest, &interest);
        assert!(changed(&mut fresh, &manifest, &interest).is_empty());
        fs::remove_file(&path).expect("it is ours");
        assert_eq!(changed(&mut fresh, &manifest, &interest), ["a:one"]);
        assert!(changed(&mut fresh, &manifest, &interest).is_empty());
    }

    #[test]
    fn what_happens_beside_a_file_is_no_change_of_it() {
        let (folder, manifest) = folder();
        let (interest, mut fresh) = (interest(&["a:one", "d:two"], 3600), Fresh::default());
        settle(&mut fresh, &manifest, &interest);
        for number in 0..100 {
            fs::write(folder.path().join(number.to_string()), "new").expect("it is ours");
        }
        fs::File::open(folder.path().join("one")).expect("it is there");
        assert!(changed(&mut fresh, &manifest, &interest).is_empty());
    }

    #[test]
    fn of_too_many_those_are_watched_that_came_first() {
        let (_folder, manifest) = folder();
        let uris: Vec<_> = (0..WATCHED_MAX).map(|number| format!("d:x{number}")).collect();
        let uris: Vec<_> = uris.iter().map(String::as_str).collect();
        let mut interest = interest(&uris, -60);
        interest.resources.insert("a:one".into(), SystemTime::now());
        let watched = watched(&manifest.meant, &interest);
        assert_eq!(watched.len(), WATCHED_MAX);
        assert!(watched.iter().all(|one| &*one.uri != "a:one"));
        interest.resources.insert("a:one".into(), SystemTime::UNIX_EPOCH);
        let watched = self::watched(&manifest.meant, &interest);
        assert!(watched.iter().any(|one| &*one.uri == "a:one"));
    }
}
