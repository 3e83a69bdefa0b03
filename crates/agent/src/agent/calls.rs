//! The calls that one gateway makes to this agent: which run, and what came of them that has not
//! arrived. They outlive the link that brought them.

use super::delivery::{Delivery, Missing, Response};
use super::seen::Seen;
use crate::credit::{Allowance, Miscounted, Share, Sums};
use crate::limits::{CALLS_KEPT_MAX, LISTENING_MAX};
use crate::sync::{Mutex, MutexGuard};
use bytes::Bytes;
use haft_link::Kind;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// See above.
pub(super) struct Calls {
    known: Mutex<Known>,
    /// How many there are.
    count: watch::Sender<usize>,
    /// Those that have a deadline and run.
    timed: Arc<Places>,
    /// Those that have none and run.
    listening: Arc<Places>,
    /// The link that they come over.
    link: AtomicU64,
}

struct Known {
    calls: HashMap<u64, Arc<Call>>,
    seen: Seen,
    /// How many have been begun.
    begun: u64,
    /// Calls of before may have been begun that nothing is known of any more.
    has_forgotten: bool,
}

/// One of them.
pub(super) struct Call {
    delivery: Mutex<Delivery>,
    /// The link over which it was asked for last.
    link: AtomicU64,
    /// It goes on for as long as its caller likes.
    is_listening: bool,
    /// Its place among those that run, until it does not.
    running_as: Mutex<Option<Running>>,
    /// Told when there is more to send.
    more: Notify,
    /// Told when there is room for more.
    room: Notify,
    work: Mutex<Work>,
}

/// What works on it.
#[derive(Default)]
enum Work {
    /// Nothing yet.
    #[default]
    None,
    Task(AbortHandle),
    /// It is not wanted any more, whatever comes to work on it.
    Unwanted,
}

/// How many run of those that are alike, and may.
struct Places {
    taken: AtomicUsize,
    most: usize,
    /// Told when one does not any more.
    fewer: Notify,
}

/// One that runs.
struct Running(Arc<Places>);

/// What becomes of a call that a gateway wants to begin, or to go on with.
pub(super) enum Taken {
    /// It is sent over this stream now.
    Yes(Arc<Call>, Attached),
    /// It is not known, and will not be begun.
    NotBegun(&'static str),
    /// It was begun, and nothing is known of it.
    Lost(&'static str),
}

/// The number of a stream of a call: the greatest is the one that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attached(u64);

impl Calls {
    /// None so far; `has_forgotten`, if the gateway may have some.
    pub(super) fn new(slots: usize, has_forgotten: bool) -> Self {
        let known = Known { calls: HashMap::new(), seen: Seen::default(), begun: 0, has_forgotten };
        let (known, count) = (Mutex::new(known), watch::Sender::default());
        let (timed, listening) = (Places::new(slots), Places::new(LISTENING_MAX));
        Self { known, count, timed, listening, link: AtomicU64::default() }
    }

    /// Waits until another may run: what the gateway gave up comes on another stream than what it
    /// begins instead.
    pub(super) async fn has_room(&self, is_timed: bool) {
        let places = self.places(is_timed);
        loop {
            let fewer = places.fewer.notified();
            if places.has_room() {
                return;
            }
            fewer.await;
        }
    }

    fn places(&self, is_timed: bool) -> &Arc<Places> {
        if is_timed { &self.timed } else { &self.listening }
    }

    /// Another link is there, with that number, over which they come from now on.
    pub(super) fn come_over(&self, link: u64) {
        self.link.store(link, Ordering::Relaxed);
    }

    /// Begins one, unless it may have been before.
    pub(super) fn begin(&self, id: u64, window: Sums, share: Share, is_timed: bool) -> Taken {
        let mut known = self.lock();
        let places = self.places(is_timed);
        // All that begin do so here, under the lock.
        if !places.has_room() || known.calls.len() >= CALLS_KEPT_MAX {
            // It will not be begun later either.
            known.seen.note(id);
            return Taken::NotBegun("the agent works on as many calls as it may");
        }
        if !known.seen.note(id) {
            return Taken::Lost("the call was begun before");
        }
        let mut delivery = Delivery::new(window);
        delivery.shares(Some(share));
        let call = Arc::new(Call {
            delivery: Mutex::new(delivery),
            link: AtomicU64::new(self.link.load(Ordering::Relaxed)),
            is_listening: !is_timed,
            running_as: Mutex::new(Some(Running::at(places))),
            more: Notify::new(),
            room: Notify::new(),
            work: Mutex::default(),
        });
        known.calls.insert(id, Arc::clone(&call));
        known.begun += 1;
        self.count.send_replace(known.calls.len());
        Taken::Yes(call, Attached(0))
    }

    /// How many have been begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.lock().begun
    }

    /// Goes on with one over another link.
    pub(super) fn resume(&self, id: u64, received: u64, granted: Sums, share: Share) -> Taken {
        let mut known = self.lock();
        let Some(call) = known.calls.get(&id).map(Arc::clone) else {
            // From now on it must not be begun, should its request still come.
            return match known.seen.note(id) && !known.has_forgotten {
                true => Taken::NotBegun("the request did not arrive"),
                false => Taken::Lost("the agent has forgotten the call"),
            };
        };
        let resumed = lock(&call.delivery).resume(received, granted, share);
        let attached = match resumed {
            Ok(stream) => Attached(stream),
            Err(Missing) => return Taken::Lost("the agent does not have what is missing"),
        };
        call.link.store(self.link.load(Ordering::Relaxed), Ordering::Relaxed);
        // The stream before hears that it is not the one any more; and there may be room again.
        call.more.notify_waiters();
        call.room.notify_waiters();
        Taken::Yes(call, attached)
    }

    /// All that came of it has arrived, or nobody waits for it any more.
    pub(super) fn forget(&self, id: u64) {
        let mut known = self.lock();
        known.seen.note(id);
        if let Some(call) = known.calls.remove(&id) {
            call.abort();
        }
        self.count.send_replace(known.calls.len());
    }

    /// Nobody will ask for those that were asked for over that link last, or one before: what was
    /// said of them may have been lost with it.
    pub(super) fn forget_until(&self, link: u64) {
        let mut known = self.lock();
        known.calls.retain(|_, call| {
            let is_wanted = call.link.load(Ordering::Relaxed) > link;
            if !is_wanted {
                call.abort();
            }
            is_wanted
        });
        self.count.send_replace(known.calls.len());
    }

    /// Nobody will ask for any of them.
    pub(super) fn clear(&self) {
        let mut known = self.lock();
        known.calls.drain().for_each(|(_, call)| call.abort());
        self.count.send_replace(0);
    }

    /// Ends those that would go on for as long as their callers like.
    pub(super) fn end_listening(&self) {
        for call in self.lock().calls.values().filter(|call| call.is_listening) {
            if let Work::Task(work) = &*lock(&call.work) {
                work.abort();
            }
        }
    }

    /// Waits until there are none.
    pub(super) async fn at_rest(&self) {
        _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

impl Call {
    /// It is worked on by this.
    pub(super) fn is_work_of(&self, work: AbortHandle) {
        match &mut *lock(&self.work) {
            Work::Unwanted => work.abort(),
            none => *none = Work::Task(work),
        }
    }

    /// Adds what comes of it.
    pub(super) fn push(&self, kind: Kind, detail: &'static str, payload: Bytes) {
        self.push_first((kind, detail), payload, 0);
    }

    /// The same, of an answer of so many bytes.
    pub(super) fn push_first(&self, what: (Kind, &'static str), payload: Bytes, total: u64) {
        let mut delivery = lock(&self.delivery);
        if !delivery.is_over() {
            delivery.push(what, payload, total);
        }
        if delivery.is_over() {
            // Before it can be sent: whoever has heard it may begin another.
            *lock(&self.running_as) = None;
        }
        drop(delivery);
        self.more.notify_waiters();
    }

    /// Waits until there is room for more.
    pub(super) async fn room(&self) {
        loop {
            let room = self.room.notified();
            if lock(&self.delivery).has_room() {
                return;
            }
            room.await;
        }
    }

    /// More may be sent.
    pub(super) fn grant(&self, granted: Sums) -> Result<(), Miscounted> {
        lock(&self.delivery).grant(granted)?;
        self.more.notify_waiters();
        self.room.notify_waiters();
        Ok(())
    }

    /// What is sent next over that stream, of a link with that allowance; nothing, if all was or
    /// another stream is used.
    pub(super) async fn next(&self, at: Attached, allowance: &Allowance) -> Option<Response> {
        loop {
            let (more, allowed) = (self.more.notified(), allowance.more());
            {
                let mut delivery = lock(&self.delivery);
                if delivery.stream() != at.0 {
                    return None;
                }
                if let Some(response) = delivery.next() {
                    return Some(response);
                }
                if delivery.is_sent() {
                    return None;
                }
            }
            tokio::select! {
                biased;
                () = more => {}
                () = allowed => {}
            }
        }
    }

    /// Nobody will ask for it.
    fn abort(&self) {
        lock(&self.delivery).shares(None);
        *lock(&self.running_as) = None;
        if let Work::Task(work) = std::mem::replace(&mut *lock(&self.work), Work::Unwanted) {
            work.abort();
        }
    }
}

impl Running {
    fn at(places: &Arc<Places>) -> Self {
        places.taken.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(places))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
        self.0.fewer.notify_waiters();
    }
}

impl Places {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most, fewer: Notify::new() })
    }

    fn has_room(&self) -> bool {
        self.taken.load(Ordering::Relaxed) < self.most
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Sums = Sums { messages: 4, bytes: 100 };

    fn share() -> Share {
        Share::of(&Allowance::new(WINDOW))
    }

    fn begin(calls: &Calls, id: u64) -> Arc<Call> {
        let Taken::Yes(call, _) = calls.begin(id, WINDOW, share(), true) else {
            panic!("there is room")
        };
        call
    }

    fn is_known(calls: &Calls, id: u64) -> bool {
        matches!(calls.resume(id, 0, WINDOW, share()), Taken::Yes(..))
    }

    #[tokio::test]
    async fn calls_that_are_not_taken_up_over_the_next_link_are_not_kept_for_ever() {
        let calls = Calls::new(8, false);
        calls.come_over(1);
        // What was said of the first was lost with the link.
        let first = begin(&calls, 1);
        let work = tokio::spawn(std::future::pending::<()>());
        first.is_work_of(work.abort_handle());
        begin(&calls, 2);
        calls.come_over(2);
        begin(&calls, 3);
        assert!(is_known(&calls, 2));
        calls.forget_until(1);
        assert!(work.await.is_err_and(|error| error.is_cancelled()));
        assert!(!is_known(&calls, 1) && is_known(&calls, 2) && is_known(&calls, 3));
        // Whoever was forgotten is not begun again.
        assert!(matches!(calls.begin(1, WINDOW, share(), true), Taken::Lost(_)));
    }

    #[tokio::test]
    async fn so_many_listen_at_once_and_take_no_room_from_calls() {
        let calls = Calls::new(1, false);
        let listen = |id| calls.begin(id, WINDOW, share(), false);
        let most = LISTENING_MAX as u64;
        assert!((1..=most).all(|id| matches!(listen(id), Taken::Yes(..))));
        assert!(matches!(listen(most + 1), Taken::NotBegun(_)));
        begin(&calls, most + 2);
        calls.forget(1);
        assert!(matches!(listen(most + 3), Taken::Yes(..)));
        // Whoever was refused is not begun later either.
        calls.forget(2);
        assert!(matches!(listen(most + 1), Taken::Lost(_)));
    }

    #[tokio::test]
    async fn so_many_are_kept_until_somebody_has_their_answers() {
        let calls = Calls::new(CALLS_KEPT_MAX + 1, false);
        let most = CALLS_KEPT_MAX as u64;
        for id in 1..=most {
            // It does not run any more, and its answer waits.
            begin(&calls, id).push(Kind::End, "", Bytes::new());
        }
        let next = calls.begin(most + 1, WINDOW, share(), true);
        assert!(matches!(next, Taken::NotBegun(_)));
        calls.forget(1);
        begin(&calls, most + 2);
    }

    #[tokio::test]
    async fn a_call_waits_for_the_end_of_one_that_was_given_up_for_it() {
        let calls = Arc::new(Calls::new(1, false));
        begin(&calls, 1);
        let waiting = Arc::clone(&calls);
        let waiting = tokio::spawn(async move { waiting.has_room(true).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        calls.has_room(false).await;
        calls.forget(1);
        waiting.await.expect("it is told");
        begin(&calls, 2);
        assert!(matches!(calls.begin(3, WINDOW, share(), true), Taken::NotBegun(_)));
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_before_it_is_worked_on_is_not() {
        let calls = Calls::new(8, false);
        let call = begin(&calls, 1);
        calls.forget(1);
        let work = tokio::spawn(std::future::pending::<()>());
        call.is_work_of(work.abort_handle());
        assert!(work.await.is_err_and(|error| error.is_cancelled()));
    }
}
