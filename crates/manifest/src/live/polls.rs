//! Reads what programs print and servers answer again and again, where the file says so and while
//! somebody is subscribed to it, and tells when it is something else. Called by `fresh` whenever
//! the interest of clients changes; nothing runs for nobody.

use crate::limits::{FEED_TIMEOUT_MAX, POLLED_MAX, POLLS_RUNNING_MAX};
use crate::live::Live;
use crate::load::Manifest;
use crate::meant::Meant;
use crate::offer::Ways;
use crate::resource::{Resource, Source};
use crate::seen::Print;
use haft_proto::error::Mistake;
use haft_proto::spec::content::{Body, ResourceContents};
use haft_server::{Interest, Variables, uri_matched};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// What is read again, by its address.
pub(super) struct Polls {
    running: BTreeMap<Arc<str>, Poll>,
    turns: Arc<Semaphore>,
    /// For what it was settled last.
    settled: Option<(Interest, Arc<Manifest>)>,
}

/// One of them. It ends with this, and so does the program that it waits for.
struct Poll {
    /// Of the resource as it is read.
    print: Print,
    task: JoinHandle<()>,
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A resource that is to be read again and again.
struct Polled<'m> {
    resource: &'m Resource,
    print: Print,
    variables: Variables,
    every: Duration,
    since: SystemTime,
}

impl Default for Polls {
    fn default() -> Self {
        let turns = Arc::new(Semaphore::new(POLLS_RUNNING_MAX));
        Self { running: BTreeMap::new(), turns, settled: None }
    }
}

impl Polls {
    /// Reads again what somebody is subscribed to now, and nothing else.
    pub(super) fn settle(&mut self, live: &Arc<Live>, interest: &Interest) {
        let manifest = live.manifest();
        let is_same = |(known, of): &(Interest, Arc<Manifest>)| {
            known == interest && Arc::ptr_eq(of, &manifest)
        };
        if self.settled.as_ref().is_some_and(is_same) {
            return;
        }
        self.settled = Some((interest.clone(), Arc::clone(&manifest)));
        let wanted = polled(&manifest.meant, interest);
        self.running.retain(|uri, poll| {
            let is_same = |one: &Polled<'_>| one.print == poll.print;
            !poll.task.is_finished() && wanted.get(uri).is_some_and(is_same)
        });
        for (uri, one) in wanted {
            if self.running.contains_key(&uri) {
                continue;
            }
            let (live_on, told) = (Arc::clone(live), Arc::clone(&uri));
            let (ways, resource) =
                (Ways::new(&manifest.meant, &live.means), Arc::new(one.resource.clone()));
            let read = move || {
                let (resource, ways) = (Arc::clone(&resource), ways.clone());
                let variables = one.variables.clone();
                async move { look(&resource, variables, &ways).await }
            };
            let tell = move || live_on.resource_updated(&told);
            let task = tokio::spawn(repeat(one.every, Arc::clone(&self.turns), read, tell));
            self.running.insert(uri, Poll { print: one.print, task });
        }
    }
}

/// What somebody is subscribed to and is to be read again: of too many, those that somebody was
/// subscribed to first.
fn polled<'m>(meant: &'m Meant, interest: &Interest) -> BTreeMap<Arc<str>, Polled<'m>> {
    if !meant.resources.iter().any(|one| watch(one).is_some()) {
        return BTreeMap::new();
    }
    let find = |uri: &str| {
        let mut all = meant.resources.iter().zip(&meant.prints.resources);
        let single = all.clone().find(|(one, _)| one.uri.value == uri);
        let single = single.map(|(one, print)| (one, print, Variables::new()));
        single.or_else(|| {
            // An address belongs to the first that it fits.
            all.find_map(|(one, print)| Some((one, print, uri_matched(&one.uri.value, uri)?)))
        })
    };
    let polled = interest.resources.iter().filter_map(|(uri, since)| {
        let (resource, print, variables) = find(uri)?;
        let (every, print, since) = (watch(resource)?, *print, *since);
        Some((Arc::clone(uri), Polled { resource, print, variables, every, since }))
    });
    let mut polled: Vec<_> = polled.collect();
    if polled.len() > POLLED_MAX {
        polled.sort_by_key(|(_, one)| one.since);
        polled.truncate(POLLED_MAX);
    }
    polled.into_iter().collect()
}

/// How often it is to be read again.
fn watch(resource: &Resource) -> Option<Duration> {
    match &resource.source {
        Source::Feed(fed) => fed.watch,
        Source::Directory(_) | Source::File(_) | Source::Text(_) => None,
    }
}

/// Reads now and after each such time, for ever, and tells when something else was read.
async fn repeat<Reading: Future<Output = Option<u64>>>(
    every: Duration,
    turns: Arc<Semaphore>,
    read: impl Fn() -> Reading,
    tell: impl Fn(),
) {
    let mut known = None;
    loop {
        let now = match turns.acquire().await {
            Ok(_turn) => read().await,
            // It is never closed.
            Err(_) => return,
        };
        if now.is_some() && known.is_some() && now != known {
            tell();
        }
        // Where reading fails, what was there is what is known.
        known = now.or(known);
        sleep(every).await;
    }
}

/// What is there, in a number that other content does not have; nothing if it cannot be read.
async fn look(resource: &Resource, variables: Variables, ways: &Ways) -> Option<u64> {
    let reading = resource.read(variables, ways);
    let read = match timeout(FEED_TIMEOUT_MAX, reading).await.ok()? {
        Err(refusal) if refusal.mistake == Mistake::ResourceNotFound => None,
        read => read.ok()?,
    };
    let mut hasher = DefaultHasher::new();
    match read {
        None => 0.hash(&mut hasher),
        Some(ResourceContents { mime_type, body: Body::Text(text), .. }) => {
            (1, mime_type, text).hash(&mut hasher);
        }
        Some(ResourceContents { mime_type, body: Body::Blob(bytes), .. }) => {
            (2, mime_type, bytes).hash(&mut hasher);
        }
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Reading;
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;
    use std::fs;
    use tempfile::TempDir;
    use tokio::time::Instant;

    const YAML: &str = "server: { name: s }
resources:
  - { uri: 'a:one', command: [cat, one], watch: 1h }
  - { uri: 'a:quiet', command: [cat, one] }
  - { uri: 'f:{name}', command: [cat, '{{ name }}'], watch: 1h }
";

    fn folder() -> (TempDir, Arc<Live>) {
        let folder = TempDir::new().expect("there is a directory for temporary files");
        fs::write(folder.path().join("haft.yaml"), YAML).expect("it is ours");
        let live = Live::new(&folder.path().join("haft.yaml"), Reading::Orders, false);
        (folder, Arc::new(live.expect("it is right")))
    }

    fn interest(uris: &[&str]) -> Interest {
        let since = SystemTime::now();
        let resources = uris.iter().map(|uri| (Arc::from(*uri), since)).collect();
        Interest { resources, resource_lists: false }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_read_otherwise_is_told_each_time_and_once() {
        let says = [Some(1), Some(1), Some(2), None, Some(2), Some(3), None, Some(1)];
        let says = RefCell::new(VecDeque::from(says));
        let (told, began, every) = (RefCell::new(Vec::new()), Instant::now(), 30);
        let read = || {
            let said = says.borrow_mut().pop_front();
            async move {
                match said {
                    Some(said) => said,
                    None => std::future::pending().await,
                }
            }
        };
        let tell = || told.borrow_mut().push(began.elapsed().as_secs());
        let turns = Arc::new(Semaphore::new(1));
        let reading = repeat(Duration::from_secs(every), turns, read, tell);
        assert!(timeout(Duration::from_secs(3600), reading).await.is_err());
        assert_eq!(told.into_inner(), [2 * every, 5 * every, 7 * every]);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_read_at_once() {
        let (turns, running) = (Polls::default().turns, Cell::new(0));
        let read = || async {
            running.set(running.get() + 1);
            std::future::pending().await
        };
        let all = (0..POLLS_RUNNING_MAX + 1)
            .map(|_| repeat(Duration::from_secs(1), Arc::clone(&turns), &read, || {}));
        let mut all: Vec<_> = all.map(Box::pin).collect();
        for one in &mut all {
            assert!(timeout(Duration::from_secs(1), one).await.is_err());
        }
        assert_eq!(running.get(), POLLS_RUNNING_MAX);
    }

    #[tokio::test]
    async fn only_what_somebody_is_subscribed_to_is_read_again() {
        let (folder, live) = folder();
        let mut polls = Polls::default();
        let running = |polls: &Polls| polls.running.keys().cloned().collect::<Vec<_>>();
        polls.settle(&live, &interest(&["a:one", "a:quiet", "b:one", "f:x"]));
        assert_eq!(running(&polls), ["a:one".into(), "f:x".into()]);
        let task = polls.running["a:one"].task.abort_handle();
        // What is typed as it was goes on, wherever it stands.
        let edited = YAML.replace("resources:", "# Edited.\nresources:").replace("'{{", "'./{{");
        fs::write(folder.path().join("haft.yaml"), edited).expect("it is ours");
        let other = polls.running["f:x"].task.abort_handle();
        assert!(!live.reload().expect("it is right").is_empty());
        polls.settle(&live, &interest(&["a:one", "f:x"]));
        assert_eq!(polls.running["a:one"].task.id(), task.id());
        assert_ne!(polls.running["f:x"].task.id(), other.id());
        polls.settle(&live, &Interest::default());
        assert!(polls.running.is_empty());
        while !(task.is_finished() && other.is_finished()) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn other_content_is_another_number() {
        let (folder, live) = folder();
        let meant = &live.manifest().meant;
        let ways = Ways::new(meant, &live.means);
        let look = || look(&meant.resources[0], Variables::new(), &ways);
        assert_eq!(look().await, None, "it fails");
        let mut numbers = Vec::new();
        for content in [&b"a"[..], b"b", b"\xff", b"\xfe", b"", b"a"] {
            fs::write(folder.path().join("one"), content).expect("it is ours");
            numbers.push(look().await.expect("it is read"));
        }
        assert_eq!(numbers.first(), numbers.last());
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 5);
    }

    #[tokio::test]
    async fn of_too_many_those_are_read_again_that_came_first() {
        let (_folder, live) = folder();
        let meant = &live.manifest().meant;
        let uris: Vec<_> = (0..POLLED_MAX).map(|number| format!("f:{number}")).collect();
        let uris: Vec<_> = uris.iter().map(String::as_str).collect();
        let mut interest = interest(&uris);
        let later = SystemTime::now() + Duration::from_secs(60);
        interest.resources.insert("a:one".into(), later);
        assert_eq!(polled(meant, &interest).len(), POLLED_MAX);
        assert!(!polled(meant, &interest).contains_key("a:one"));
        interest.resources.insert("a:one".into(), SystemTime::UNIX_EPOCH);
        assert!(polled(meant, &interest).contains_key("a:one"));
    }
}
