//! All upstreams of one server: which there are, as its file says, also after an edit; and that
//! what they have is added to what the file has. Begun and stopped by whoever serves the file.

use crate::admin::Admin;
use crate::catalogue::{Catalogue, Now, Offer, Told};
use crate::keeper::{Report, end, keep};
use crate::limits::{LINES_MAX, STOP_TIME_MAX};
use crate::recent::Recent;
use crate::upstream::{State, Upstream};
use haft_manifest::{Live, Rules};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::timeout;

/// What happens to upstreams, told as it happens: one line each.
pub type Telling = Arc<dyn Fn(&str) + Send + Sync>;

/// The upstreams of a file that is served. Dropping it ends them at once; [`Gateway::stop`] is
/// polite.
pub struct Gateway {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

pub(crate) struct Shared {
    pub(crate) live: Arc<Live>,
    /// In the file's order.
    pub(crate) kept: Mutex<Vec<Kept>>,
    /// What was made of what they have; held while that is served.
    catalogue: Mutex<Catalogue>,
    pub(crate) told: Mutex<Told>,
    pub(crate) recent: Arc<Recent>,
    /// Told when one has answered, or failed to.
    settled: watch::Sender<()>,
    /// Told when one has something else than before.
    pub(crate) changed: Notify,
    tell: Telling,
}

/// An upstream and what is known of it.
pub(crate) struct Kept {
    pub(crate) upstream: Arc<Upstream>,
    /// Nothing of it is served, as somebody wants it so.
    pub(crate) is_drained: bool,
    /// What the file says of what it has.
    rules: Arc<Rules>,
    offer: Option<Arc<Offer>>,
    /// What it has is served, or why it has nothing.
    has_settled: bool,
    /// Why it is down, as it was told.
    down: Option<Arc<str>>,
    /// What is served until this one has settled: the same before it was edited.
    before: Option<Box<Self>>,
    keeper: Keeper,
}

/// A task that ends with this.
struct Keeper(JoinHandle<()>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Gateway {
    /// Begins to connect to all upstreams of a file, and follows what becomes of the file. In a
    /// runtime.
    #[must_use]
    pub fn begin(live: Arc<Live>, tell: Telling) -> Self {
        let mut swaps = live.swaps();
        let shared = Arc::new(Shared {
            live,
            kept: Mutex::default(),
            catalogue: Mutex::default(),
            told: Mutex::default(),
            recent: Arc::default(),
            settled: watch::Sender::default(),
            changed: Notify::new(),
            tell,
        });
        shared.follow_file();
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).publish());
        let followed = Arc::clone(&shared);
        tasks.spawn(async move {
            while swaps.changed().await.is_ok() {
                followed.follow_file();
            }
        });
        Self { shared, tasks }
    }

    /// Waits until every upstream has answered or failed to, but no longer than `limit`; whether
    /// all have.
    pub async fn settled(&self, limit: Duration) -> bool {
        let mut settled = self.shared.settled.subscribe();
        let all = settled.wait_for(|()| lock(&self.shared.kept).iter().all(|one| one.has_settled));
        timeout(limit, all).await.is_ok()
    }

    /// The names of the upstreams, and how they are doing.
    #[must_use]
    pub fn states(&self) -> Vec<(String, State)> {
        let kept = lock(&self.shared.kept);
        kept.iter().map(|one| (one.upstream.name().to_owned(), one.upstream.state())).collect()
    }

    /// What whoever runs it may see and do.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(&self.shared)
    }

    /// Ends all of them, politely where there is time for it.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
        let mut closing = JoinSet::new();
        for kept in std::mem::take(&mut *lock(&self.shared.kept)) {
            closing.spawn(kept.retire());
        }
        _ = timeout(STOP_TIME_MAX, async { while closing.join_next().await.is_some() {} }).await;
    }
}

impl Kept {
    fn new(shared: &Arc<Shared>, upstream: Upstream, before: Option<Box<Self>>) -> Self {
        let is_drained = before.as_ref().is_some_and(|before| before.is_drained);
        let (rules, upstream) = (Arc::clone(&upstream.settings.rules), Arc::new(upstream));
        let report = {
            let (shared, upstream) = (Arc::downgrade(shared), Arc::downgrade(&upstream));
            move |report| {
                if let (Some(shared), Some(upstream)) = (shared.upgrade(), upstream.upgrade()) {
                    shared.take(&upstream, report);
                }
            }
        };
        let keeper = Keeper(tokio::spawn(keep(Arc::clone(&upstream), report)));
        let (offer, has_settled, down) = (None, false, None);
        Self { upstream, is_drained, rules, offer, has_settled, down, before, keeper }
    }

    /// What is served of it: what it has, or had before it was edited.
    fn serving(&self) -> Option<(&Self, &Arc<Offer>)> {
        if self.is_drained {
            return None;
        }
        match &self.before {
            Some(before) if !self.has_settled && !self.has_told() => before.serving(),
            _ => Some((self, self.offer.as_ref()?)),
        }
    }

    /// It has answered, or is down.
    fn has_told(&self) -> bool {
        self.offer.is_some() || self.down.is_some()
    }

    /// Ends it, once nobody uses it any more.
    async fn retire(mut self) {
        let before = self.before.take();
        self.keeper.0.abort();
        _ = (&mut self.keeper.0).await;
        end(self.upstream.set(State::Stopped, None)).await;
        if let Some(before) = before {
            Box::pin(before.retire()).await;
        }
    }
}

impl Shared {
    /// Keeps those that the file has now. Those that it has as before go on as they are.
    fn follow_file(self: &Arc<Self>) {
        let manifest = self.live.manifest();
        let mut kept = lock(&self.kept);
        let mut before = std::mem::take(&mut *kept);
        if before.is_empty() && manifest.upstreams().is_empty() {
            return;
        }
        for settings in manifest.upstreams() {
            let place = before.iter().position(|one| one.upstream.name() == settings.name);
            let known = place.map(|place| before.remove(place));
            kept.push(match known {
                Some(known) if known.upstream.settings.reaches_as(settings) => {
                    Kept { rules: Arc::clone(&settings.rules), ..known }
                }
                known => {
                    let upstream = Upstream::new(settings.clone(), Arc::clone(&self.recent));
                    Kept::new(self, upstream, known.map(Box::new))
                }
            });
        }
        drop(kept);
        for gone in before {
            tokio::spawn(gone.retire());
        }
        self.settled.send_replace(());
        self.changed.notify_one();
    }

    /// An upstream has something, or is down.
    fn take(&self, upstream: &Arc<Upstream>, report: Report) {
        let mut all = lock(&self.kept);
        let Some(kept) = all.iter_mut().find(|kept| Arc::ptr_eq(&kept.upstream, upstream)) else {
            return;
        };
        let name = upstream.name();
        let told = match report {
            Report::Has(offer) => {
                // What is the same is not made anew.
                let before = kept.offer.take().filter(|before| before.is_same(&offer));
                let offer = before.unwrap_or_else(|| Arc::new(offer));
                (kept.offer, kept.down) = (Some(offer), None);
                None
            }
            Report::Restarts(reason) => {
                upstream.note_restart();
                Some(format!("the upstream `{name}` is started again: {reason}"))
            }
            Report::Down(reason) => {
                let is_known = kept.down.as_ref() == Some(&reason);
                (kept.offer, kept.down) = (None, Some(Arc::clone(&reason)));
                (!is_known).then(|| format!("the upstream `{name}` is down: {reason}"))
            }
        };
        drop(all);
        told.inspect(|line| (self.tell)(line));
        self.settled.send_replace(());
        self.changed.notify_one();
    }

    /// Serves what upstreams have, for ever, whenever that has changed.
    async fn publish(self: Arc<Self>) {
        let (mut before, mut untold_before) = (HashSet::new(), 0);
        loop {
            self.changed.notified().await;
            let shared = Arc::clone(&self);
            // Many schemas are much work. If it panics, it has said so.
            let Ok(told) = spawn_blocking(move || shared.publish_now()).await else { continue };
            let lines: HashSet<String> = told.lines().collect();
            let mut new = told.lines().filter(|line| !before.contains(line));
            new.by_ref().take(LINES_MAX).for_each(|line| (self.tell)(&line));
            let untold = new.count() + told.left_out_more;
            if untold > 0 && untold != untold_before {
                (self.tell)(&format!("{untold} more things of upstreams are left out"));
            }
            (before, untold_before) = (lines, untold);
            *lock(&self.told) = told;
            self.settle();
        }
    }

    /// Serves it, and says what came of it.
    fn publish_now(&self) -> Told {
        let (mut has_told, mut all) = (Vec::new(), Vec::new());
        for kept in lock(&self.kept).iter() {
            has_told.extend(kept.has_told().then(|| Arc::clone(&kept.upstream)));
            let there = match kept.serving() {
                Some((one, offer)) => Ok((Arc::clone(&one.upstream), Arc::clone(offer))),
                None => Err(kept.upstream.missing()),
            };
            let (name, rules) = (kept.upstream.name().to_owned(), Arc::clone(&kept.rules));
            all.push(Now { name, rules, there });
        }
        let own = self.live.owned();
        let (guests, told) = lock(&self.catalogue).gather(all, &own);
        let is_served = self.live.set_guests(guests).inspect_err(|error| {
            (self.tell)(&format!("what upstreams have cannot be served: {error}"));
        });
        for kept in lock(&self.kept).iter_mut() {
            let is_told = has_told.iter().any(|told| Arc::ptr_eq(told, &kept.upstream));
            kept.has_settled |= is_told && (is_served.is_ok() || kept.down.is_some());
        }
        told
    }

    /// What was there before an edit is ended where what came of it is served, or is down.
    fn settle(&self) {
        let mut kept = lock(&self.kept);
        let settled = kept.iter_mut().filter(|one| one.has_settled);
        let before: Vec<_> = settled.filter_map(|one| one.before.take()).collect();
        drop(kept);
        for gone in before {
            tokio::spawn(gone.retire());
        }
        self.settled.send_replace(());
    }
}

/// A thread that panicked left it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
