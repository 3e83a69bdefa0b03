//! All upstreams of one server: which there are, as its file says, also after an edit; and that
//! what they have is added to what the file has. Begun and stopped by whoever serves the file.

use crate::admin::Admin;
use crate::catalogue::{Catalogue, Now, Offer};
use crate::circle::{Above, Mark};
use crate::early::Early;
use crate::fit::Wardrobe;
use crate::keeper::{Report, Seat, keep};
use crate::limits::{LINES_MAX, STOP_TIME_MAX};
use crate::news::{Change, Event, News, Telling};
use crate::recent::Recent;
use crate::room::{For, Room};
use crate::subscriptions;
use crate::tailor;
use crate::told::Told;
use crate::upstream::Upstream;
use haft_agent::Hub;
use haft_manifest::{Live, Rules};
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use std::collections::HashSet;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{Instant, timeout};

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
    /// For processes of upstreams.
    room: Arc<Room>,
    /// What was made of tools for views.
    wardrobe: Arc<Wardrobe>,
    /// Those that are ended.
    retiring: Mutex<JoinSet<()>>,
    /// Told when one has answered, or failed to.
    pub(crate) settled: watch::Sender<()>,
    /// Told when one has something else than before.
    pub(crate) changed: Notify,
    tell: Telling,
    agents: Option<Arc<Hub>>,
    mark: Arc<Mark>,
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
    /// Why each of its connections is down, as it was told.
    down: Box<[Option<Arc<str>>]>,
    /// Since when each is lost, or cannot be had.
    lost: Box<[Option<Instant>]>,
    /// What is served until this one has settled: the same before it was edited. It has something.
    before: Option<Box<Self>>,
    keeper: Keeper,
}

/// A task that ends with this, and ends what it keeps when the upstream is to stop.
struct Keeper(JoinHandle<()>, Arc<Upstream>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
        self.1.seats.stop();
    }
}

impl Gateway {
    /// Begins to connect to all upstreams of a file, and follows what becomes of the file; agents
    /// come to the hub, if there is one. In a runtime.
    #[must_use]
    pub fn begin(live: Arc<Live>, agents: Option<Arc<Hub>>, tell: Telling) -> Self {
        let mut swaps = live.swaps();
        let room = Arc::new(Room::new(Arc::clone(&live)));
        let shared = Arc::new(Shared {
            live,
            kept: Mutex::default(),
            catalogue: Mutex::default(),
            told: Mutex::default(),
            recent: Arc::default(),
            room,
            wardrobe: Arc::default(),
            retiring: Mutex::default(),
            settled: watch::Sender::default(),
            changed: Notify::new(),
            tell,
            agents,
            mark: Arc::new(Mark::new()),
        });
        shared.follow_file();
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).publish());
        tasks.spawn(subscriptions::follow(Arc::clone(&shared)));
        let followed = Arc::clone(&shared);
        tasks.spawn(async move {
            while swaps.changed().await.is_ok() {
                followed.follow_file();
            }
        });
        Self { shared, tasks }
    }

    /// Waits until every upstream has answered or failed to, but no longer than `limit`; the names
    /// of those that have not.
    pub fn unsettled(&self, limit: Duration) -> impl Future<Output = Vec<String>> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            let mut settled = shared.settled.subscribe();
            _ = timeout(limit, settled.wait_for(|()| shared.have_all_settled())).await;
            let kept = lock(&shared.kept);
            let late = kept.iter().filter(|one| !one.has_settled);
            late.map(|one| one.upstream.name().to_owned()).collect()
        }
    }

    /// A service that answers as `service` does, which is the server of the file; but while
    /// upstreams begin, what is asked of those that have not answered waits for them for so long,
    /// and so do lists.
    #[must_use]
    pub fn patient(
        &self,
        service: Arc<dyn Service>,
        limits: &Limits,
        wait: Duration,
    ) -> Arc<dyn Service> {
        self.patience(limits, wait)(service)
    }

    /// The same for services that are still to come.
    pub fn patience(
        &self,
        limits: &Limits,
        wait: Duration,
    ) -> impl Fn(Arc<dyn Service>) -> Arc<dyn Service> + Send + use<> {
        let (shared, limits) = (Arc::clone(&self.shared), limits.clone());
        move |service| match lock(&shared.kept).is_empty() {
            true => service,
            false => Arc::new(Early::new(service, &shared, &limits, wait)),
        }
    }

    /// What whoever runs it may see and do.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(&self.shared)
    }

    /// Ends all of them, politely where there is time for it.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
        let mut closing = take(&mut *lock(&self.shared.retiring));
        for kept in take(&mut *lock(&self.shared.kept)) {
            closing.spawn(kept.retire());
        }
        _ = timeout(STOP_TIME_MAX, async { while closing.join_next().await.is_some() {} }).await;
    }
}

impl Kept {
    /// Begins to keep an upstream, once `superseded` has ended: the same before it was edited,
    /// which never came to be served.
    fn new(
        shared: &Arc<Shared>,
        mut upstream: Upstream,
        before: Option<Box<Self>>,
        superseded: Option<Self>,
    ) -> Self {
        let older = before.as_deref().or(superseded.as_ref());
        let is_drained = older.is_some_and(|older| older.is_drained);
        upstream.sake = if before.is_some() { For::Another } else { For::Itself };
        let (count, upstream) = (upstream.settings.instances, Arc::new(upstream));
        let rules = Arc::clone(&upstream.settings.rules);
        let keeping = {
            let (shared, upstream) = (Arc::downgrade(shared), Arc::clone(&upstream));
            async move {
                if let Some(superseded) = superseded {
                    superseded.retire().await;
                }
                let mut all = JoinSet::new();
                for number in 0..count {
                    let (shared, reported) = (shared.clone(), Arc::downgrade(&upstream));
                    let seats = Arc::clone(&upstream.seats);
                    let seat = Seat { upstream: Arc::clone(&upstream), seats, number };
                    let report = move |report| {
                        if let (Some(shared), Some(upstream)) =
                            (shared.upgrade(), reported.upgrade())
                        {
                            shared.take(&upstream, number, report);
                        }
                    };
                    all.spawn(keep(seat, None, report));
                }
                while all.join_next().await.is_some() {}
                upstream.own.ended().await;
            }
        };
        let keeper = Keeper(tokio::spawn(keeping), Arc::clone(&upstream));
        let (offer, has_settled) = (None, false);
        let (down, lost) = (vec![None; count].into(), vec![None; count].into());
        Self { upstream, is_drained, rules, offer, has_settled, down, lost, before, keeper }
    }

    /// What is served of it: what it has, or had before it was edited.
    pub(crate) fn serving(&self) -> Option<(&Self, &Arc<Offer>)> {
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
        self.offer.is_some() || self.is_down()
    }

    /// A connection cannot be had; whether that is new, or has a new reason.
    fn is_lost(&mut self, number: usize, reason: &Arc<str>) -> bool {
        let before = self.down[number].replace(Arc::clone(reason));
        if self.is_down() {
            self.offer = None;
        }
        before.as_ref() != Some(reason)
    }

    /// There is no way to it.
    fn is_down(&self) -> bool {
        self.down.iter().all(Option::is_some)
    }

    /// Ends it, once nobody uses it any more.
    async fn retire(mut self) {
        let before = self.before.take();
        self.upstream.seats.stop();
        _ = (&mut self.keeper.0).await;
        if let Some(before) = before {
            Box::pin(before.retire()).await;
        }
    }
}

impl Shared {
    /// Keeps those that the file has now. Those that it has as before go on as they are.
    fn follow_file(self: &Arc<Self>) {
        let manifest = self.live.manifest();
        self.room.follow_file();
        // It looks at the file system, which may take its time.
        let above = Above::children_of(manifest.path());
        let mut kept = lock(&self.kept);
        let mut before = take(&mut *kept);
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
                    let shares = (Arc::clone(&self.recent), Arc::clone(&self.room));
                    let circle = (Arc::clone(&self.mark), above.clone());
                    let tell = Arc::clone(&self.tell);
                    let agents = self.agents.as_deref();
                    let upstream = Upstream::new(settings.clone(), shares, circle, agents, tell);
                    self.keep(upstream, known)
                }
            });
        }
        drop(kept);
        before.into_iter().for_each(|gone| self.retire(gone));
        self.settled.send_replace(());
        self.changed.notify_one();
    }

    /// Keeps an upstream in the place of one that may be known. Of each there are two at most: the
    /// one that is served, and the latest.
    fn keep(self: &Arc<Self>, upstream: Upstream, known: Option<Kept>) -> Kept {
        let (serving, superseded) = match known {
            None => (None, None),
            Some(mut known) => {
                let before = known.before.take();
                match known.offer {
                    Some(_) => {
                        before.into_iter().for_each(|before| self.retire(*before));
                        (Some(Box::new(known)), None)
                    }
                    None => (before, Some(known)),
                }
            }
        };
        Kept::new(self, upstream, serving, superseded)
    }

    /// Ends one, without waiting for that.
    fn retire(&self, gone: Kept) {
        let mut retiring = lock(&self.retiring);
        while retiring.try_join_next().is_some() {}
        retiring.spawn(gone.retire());
    }

    /// Whether all have answered, or failed to.
    pub(crate) fn have_all_settled(&self) -> bool {
        lock(&self.kept).iter().all(|one| one.has_settled)
    }

    /// Told when one has answered, or failed to.
    pub(crate) fn settling(&self) -> watch::Receiver<()> {
        self.settled.subscribe()
    }

    /// An upstream has something, or one of its connections is down.
    fn take(&self, upstream: &Arc<Upstream>, number: usize, report: Report) {
        let mut all = lock(&self.kept);
        let Some(kept) = all.iter_mut().find(|kept| Arc::ptr_eq(&kept.upstream, upstream)) else {
            return;
        };
        let instance = (kept.down.len() > 1).then_some(number + 1);
        if !matches!(report, Report::Has(_)) {
            kept.lost[number].get_or_insert_with(Instant::now);
        }
        let change = match report {
            Report::Has(offer) => {
                // What is the same is not made anew.
                let is_first = kept.offer.is_none();
                let before = kept.offer.take().filter(|before| before.is_same(&offer));
                kept.offer = Some(before.unwrap_or_else(|| Arc::new(offer)));
                kept.down[number] = None;
                match kept.lost[number].take() {
                    Some(since) => Some(Change::Back { after: since.elapsed() }),
                    None => is_first.then_some(Change::Ready),
                }
            }
            Report::Restarts(reason) => {
                upstream.seats.note_restart(number);
                Some(Change::Restarts { reason })
            }
            // What there was before the edit is served meanwhile.
            Report::Full(reason) if kept.before.is_some() => Some(Change::Unedited { reason }),
            Report::Down(reason) | Report::Full(reason) => {
                kept.is_lost(number, &reason).then_some(Change::Down { reason })
            }
        };
        drop(all);
        if let Some(change) = change {
            (self.tell)(News::Upstream(Event { upstream: upstream.name(), instance, change }));
        }
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
            let Ok(mut told) = spawn_blocking(move || shared.publish_now()).await else { continue };
            take(&mut told.altered).iter().for_each(|line| self.warn(line));
            let lines: HashSet<String> = told.lines().collect();
            let mut new = told.lines().filter(|line| !before.contains(line));
            new.by_ref().take(LINES_MAX).for_each(|line| self.warn(&line));
            let untold = new.count() + told.more();
            if untold > 0 && untold != untold_before {
                self.warn(&format!("{untold} more warnings like these"));
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
            let prefix = kept.upstream.settings.prefix.clone();
            all.push(Now { name, prefix, rules, there });
        }
        let own = self.live.owned();
        let (mut guests, mut told) = lock(&self.catalogue).gather(all, &own);
        let views = self.live.manifest();
        tailor::odd(views.views(), &own, &guests, &self.wardrobe, &mut told.odd);
        let wardrobe = Arc::clone(&self.wardrobe);
        guests.tailor = Some(Arc::new(move |view, own, guests| {
            tailor::tools(view, own, guests, &wardrobe, &mut |_| {})
        }));
        guests.list_meta = Some(self.mark.meta());
        let is_served = self.live.set_guests(guests).inspect_err(|error| {
            self.warn(&format!("what upstreams have cannot be served: {error}"));
        });
        for kept in lock(&self.kept).iter_mut() {
            let is_told = has_told.iter().any(|told| Arc::ptr_eq(told, &kept.upstream));
            kept.has_settled |= is_told && (is_served.is_ok() || kept.is_down());
        }
        told
    }

    fn warn(&self, line: &str) {
        (self.tell)(News::Odd(line));
    }

    /// What was there before an edit is ended where what came of it is served, or is down.
    fn settle(&self) {
        let mut kept = lock(&self.kept);
        let settled = kept.iter_mut().filter(|one| one.has_settled);
        let before: Vec<_> = settled.filter_map(|one| one.before.take()).collect();
        drop(kept);
        before.into_iter().for_each(|gone| self.retire(*gone));
        self.settled.send_replace(());
    }
}

/// A thread that panicked left it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
