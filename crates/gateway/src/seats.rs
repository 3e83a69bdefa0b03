//! The places of an upstream's connections: one, or one for each of its `instances`. Who wants one
//! takes that which is asked the least; `keeper` fills a place, and is told who could not use what
//! is there. Used by `upstream`; connects to nothing itself.

use crate::upstream::State;
use arc_swap::ArcSwapOption;
use haft_client::Client;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, watch};

/// See above.
pub(crate) struct Seats {
    places: Box<[Arc<Place>]>,
    /// How each is doing.
    states: watch::Sender<Box<[State]>>,
    /// All of them are to end.
    stop: watch::Sender<bool>,
}

#[derive(Default)]
struct Place {
    client: ArcSwapOption<Client>,
    /// Told when somebody could not reach it.
    doubt: Notify,
    /// How many requests use it.
    running: AtomicU64,
    /// How many wait for answers of clients that have gone to answer.
    waiting: AtomicU64,
    /// How many did and do.
    taken: AtomicU64,
    /// Told when none does any more.
    rest: Notify,
    restarts: AtomicU64,
    /// Since it was last asked, this connection or one before it has answered a request.
    has_served: AtomicBool,
}

/// A connection that somebody uses, until this is dropped.
pub(crate) struct Taken {
    // Dropped before the place hears of it: nobody else then holds the connection.
    client: Arc<Client>,
    number: usize,
    /// Whose it is, if it is one session's.
    own: Option<Arc<Seats>>,
    using: Using,
}

struct Using(Arc<Place>);

/// A request that may outlive the use of its connection: while it waits, others are asked over
/// another one, if there is one.
pub(crate) struct Waiting(Arc<Place>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for Taken {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Taken {
    /// The connection, for a request that may outlive this use of it.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// A request of a client has been answered.
    pub(crate) fn served(&self) {
        self.using.0.has_served.store(true, Ordering::Relaxed);
    }

    /// Counts such a request, until what is returned is dropped.
    pub(crate) fn waiting(&self) -> Waiting {
        let place = &self.using.0;
        place.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(place))
    }

    /// The same of one session's.
    pub(crate) fn of(self, seats: Arc<Seats>) -> Self {
        Self { own: Some(seats), ..self }
    }

    pub(crate) fn own(&self) -> Option<&Seats> {
        self.own.as_deref()
    }
}

impl Using {
    /// Nothing, if not so many use it any more.
    fn begin(place: &Arc<Place>, running: u64) -> Option<Self> {
        let counted = place.running.compare_exchange(
            running,
            running + 1,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        counted.is_ok().then(|| Self(Arc::clone(place)))
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::Release) == 1 {
            self.0.rest.notify_waiters();
        }
    }
}

impl Seats {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            places: (0..count).map(|_| Arc::default()).collect(),
            states: watch::Sender::new(vec![State::Connecting; count].into()),
            stop: watch::Sender::new(false),
        }
    }

    /// The connection that is asked the least, if there is any.
    pub(crate) fn take(&self) -> Option<Taken> {
        loop {
            let all = self.places.iter().enumerate();
            let there =
                all.filter_map(|(number, place)| Some((number, place, place.client.load_full()?)));
            let asked = there.map(|one| (one.1.running.load(Ordering::Relaxed), one));
            // One that waits here may ask, and of several that do nobody knows which.
            let load = |(running, one): &(u64, (usize, &Arc<Place>, Arc<Client>))| {
                running + one.1.waiting.load(Ordering::Relaxed)
            };
            let (running, (number, place, client)) = asked.min_by_key(load)?;
            // Of two who see the same one idle, one looks again.
            if let Some(using) = Using::begin(place, running) {
                place.taken.fetch_add(1, Ordering::Relaxed);
                return Some(Taken { client, number, own: None, using });
            }
        }
    }

    /// How each is doing.
    pub(crate) fn states(&self) -> Box<[State]> {
        self.states.borrow().clone()
    }

    /// The same, to be waited for.
    pub(crate) fn watch(&self) -> watch::Receiver<Box<[State]>> {
        self.states.subscribe()
    }

    /// What is asked through each, and how often it was started again.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.places.iter().map(move |place| (of(&place.running), of(&place.restarts)))
    }

    /// Any connection, to be looked at.
    pub(crate) fn any(&self) -> Option<Arc<Client>> {
        self.places.iter().find_map(|place| place.client.load_full())
    }

    /// One is in another state; there is a connection only if it is ready.
    pub(crate) fn set(&self, number: usize, state: State, client: Option<Arc<Client>>) {
        self.places[number].client.store(client);
        self.states.send_modify(|states| states[number] = state);
    }

    /// Whether a request of a client has been answered since this was last asked.
    pub(crate) fn has_served(&self, number: usize) -> bool {
        self.places[number].has_served.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn note_restart(&self, number: usize) {
        self.places[number].restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// A request could not be brought to an end over this connection: nobody else shall use it
    /// before it has been looked at.
    pub(crate) fn suspect(&self, taken: &Taken) {
        let place = &self.places[taken.number];
        let current = place.client.compare_and_swap(&taken.client, None);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &taken.client)) {
            // Unless it has been stopped meanwhile.
            self.turn(taken.number, &State::Ready);
            place.doubt.notify_one();
        }
    }

    /// Somebody waited in vain: whether it hangs is to be found out, while others go on.
    pub(crate) fn doubt(&self, taken: &Taken) {
        self.places[taken.number].doubt.notify_one();
    }

    /// Waits until somebody could not use it; whether it has been taken away since.
    pub(crate) async fn doubted(&self, number: usize) -> bool {
        let place = &self.places[number];
        place.doubt.notified().await;
        place.client.load().is_none()
    }

    /// Somebody needs those that were ended because nobody did.
    pub(crate) fn demand(&self) {
        (0..self.places.len()).for_each(|number| self.turn(number, &State::Idle));
    }

    /// Waits until somebody needs it.
    pub(crate) async fn demanded(&self, number: usize) {
        // It cannot end before this.
        _ = self.states.subscribe().wait_for(|states| states[number] != State::Idle).await;
    }

    /// Waits until no request uses it.
    pub(crate) async fn at_rest(&self, number: usize) {
        let place = &self.places[number];
        loop {
            let rest = place.rest.notified();
            tokio::pin!(rest);
            rest.as_mut().enable();
            if place.running.load(Ordering::Acquire) == 0 {
                return;
            }
            rest.await;
        }
    }

    /// All are to end.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// How many requests have begun so far, unless one still runs.
    pub(crate) fn taken_at_rest(&self) -> Option<u64> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let is_at_rest = self.places.iter().all(|place| of(&place.running) == 0);
        is_at_rest.then(|| self.places.iter().map(|place| of(&place.taken)).sum())
    }

    /// Whether they are to.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Waits until they are to.
    pub(crate) async fn stopped(&self) {
        _ = self.stop.subscribe().wait_for(|is_over| *is_over).await;
    }

    /// From this state, one is being connected to.
    fn turn(&self, number: usize, from: &State) {
        self.states.send_if_modified(|states| {
            let is_it = states[number] == *from;
            if is_it {
                states[number] = State::Connecting;
            }
            is_it
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn a_demand_that_was_met_wakes_nobody_later() {
        let seats = Seats::new(2);
        seats.set(0, State::Idle, None);
        // Two calls come before the first is seen.
        seats.demand();
        seats.demand();
        seats.demanded(0).await;
        seats.set(0, State::Ready, None);
        seats.demand();
        seats.set(0, State::Idle, None);
        assert!(timeout(Duration::from_secs(60), seats.demanded(0)).await.is_err());
        assert_eq!(*seats.states(), [State::Idle, State::Connecting]);
    }

    #[tokio::test]
    async fn an_order_to_stop_is_heard_however_late() {
        let seats = Seats::new(1);
        seats.stop();
        seats.stopped().await;
        seats.at_rest(0).await;
    }
}
