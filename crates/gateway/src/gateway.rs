//! All upstreams of one server: they are kept, each by a task of its own, and what they have is
//! added to what the server's file has. Begun and stopped by whoever serves the file.

use crate::catalogue::{self, Catalogue, LeftOut, Offer};
use crate::keeper::{Report, end, keep};
use crate::limits::STOP_TIME_MAX;
use crate::upstream::{State, Upstream};
use haft_manifest::Live;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What happens to upstreams, told as it happens: one line each.
pub type Telling = Arc<dyn Fn(&str) + Send + Sync>;

/// The upstreams of a file that is served. Dropping it ends them at once; [`Gateway::stop`] is
/// polite.
pub struct Gateway {
    shared: Arc<Shared>,
    keepers: JoinSet<()>,
}

struct Shared {
    live: Arc<Live>,
    upstreams: Vec<Arc<Upstream>>,
    /// By their places, what those have that are up.
    offers: Mutex<BTreeMap<usize, Offer>>,
    /// Those that have answered, or failed to.
    settled: watch::Sender<BTreeSet<usize>>,
    changed: Notify,
    tell: Telling,
}

impl Gateway {
    /// Begins to connect to all upstreams of a file. In a runtime.
    #[must_use]
    pub fn begin(live: Arc<Live>, tell: Telling) -> Self {
        let manifest = live.manifest();
        let upstreams = manifest.upstreams().iter();
        let upstreams = upstreams.map(|one| Arc::new(Upstream::new(one.clone()))).collect();
        let shared = Arc::new(Shared {
            live,
            upstreams,
            offers: Mutex::default(),
            settled: watch::Sender::default(),
            changed: Notify::new(),
            tell,
        });
        let mut keepers = JoinSet::new();
        for (place, upstream) in shared.upstreams.iter().enumerate() {
            let publish = {
                let shared = Arc::clone(&shared);
                move |report| shared.take(place, report)
            };
            keepers.spawn(keep(Arc::clone(upstream), publish));
        }
        keepers.spawn(Arc::clone(&shared).publish());
        Self { shared, keepers }
    }

    /// Waits until every upstream has answered or failed to, but no longer than `limit`; whether
    /// all have.
    pub async fn settled(&self, limit: Duration) -> bool {
        let count = self.shared.upstreams.len();
        let mut settled = self.shared.settled.subscribe();
        timeout(limit, settled.wait_for(|settled| settled.len() == count)).await.is_ok()
    }

    /// The names of the upstreams, and how they are doing.
    pub fn states(&self) -> impl Iterator<Item = (&str, State)> {
        self.shared.upstreams.iter().map(|upstream| (upstream.name(), upstream.state()))
    }

    /// Ends all of them, politely where there is time for it.
    pub async fn stop(mut self) {
        self.keepers.shutdown().await;
        let mut closing = JoinSet::new();
        for upstream in &self.shared.upstreams {
            closing.spawn(end(upstream.set(State::Stopped, None)));
        }
        _ = timeout(STOP_TIME_MAX, async { while closing.join_next().await.is_some() {} }).await;
    }
}

impl Shared {
    /// An upstream has something, or is down.
    fn take(&self, place: usize, report: Report) {
        let name = self.upstreams[place].name();
        match report {
            Report::Has(offer) => _ = lock(&self.offers).insert(place, offer),
            Report::Restarts(reason) => {
                (self.tell)(&format!("the upstream `{name}` is started again: {reason}"));
                return;
            }
            Report::Down(reason) => {
                (self.tell)(&format!("the upstream `{name}` is down: {reason}"));
                // What it had has been taken back before, if it was down already.
                if lock(&self.offers).remove(&place).is_none() {
                    return self.settle([place]);
                }
            }
        }
        self.changed.notify_one();
    }

    fn settle(&self, places: impl IntoIterator<Item = usize>) {
        self.settled.send_modify(|settled| settled.extend(places));
    }

    /// Serves what upstreams have, for ever, whenever that has changed.
    async fn publish(self: Arc<Self>) {
        let mut told = HashSet::new();
        loop {
            self.changed.notified().await;
            let shared = Arc::clone(&self);
            // Many schemas are much work.
            let published = tokio::task::spawn_blocking(move || shared.publish_now()).await;
            let Ok((left_out, places)) = published else { continue };
            for one in &left_out {
                if !told.contains(one) {
                    let LeftOut { kind, upstream, name, reason } = one;
                    (self.tell)(&format!(
                        "the {kind} `{name}` of the upstream `{upstream}` is left out: {reason}"
                    ));
                }
            }
            told = left_out.into_iter().collect();
            self.settle(places);
        }
    }

    /// What was left out, and whose offers are served now.
    fn publish_now(&self) -> (Vec<LeftOut>, Vec<usize>) {
        let offers = lock(&self.offers).clone();
        let own = self.live.owned();
        let there = offers.iter().map(|(place, offer)| (&self.upstreams[*place], offer));
        let Catalogue { guests, left_out } = catalogue::gather(there, &own);
        if let Err(error) = self.live.set_guests(guests) {
            (self.tell)(&format!("what the upstreams have cannot be served: {error}"));
        }
        (left_out, offers.into_keys().collect())
    }
}

/// A thread that panicked left it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
