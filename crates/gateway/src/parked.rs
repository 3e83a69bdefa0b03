//! A request that an upstream is being asked, and that can outlive the request of the client: where
//! the client answers in another request, the first waits here for that, and goes on. Where it is
//! not found any more it is made again, or refused, by `asking`. Bounded in number and in time.

use crate::asking::declined;
use crate::limits::{GATHERED, PARKED_BYTES_MAX, PARKED_MAX, PARKED_TIME_MAX};
use haft_client::{Asks, Client, ClientError, Passed};
use haft_proto::method::Method;
use haft_server::{Answers, AskError, Context, Inquiry};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::mem::take;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

type Work = Pin<Box<dyn Future<Output = Result<Passed, ClientError>> + Send>>;
type Teller = Arc<Mutex<Option<Context>>>;

/// A request that an upstream is being asked. Dropping it takes it back.
pub(crate) struct Calling {
    work: Work,
    asked: mpsc::Receiver<Asks>,
    /// Over this connection.
    over: Weak<Client>,
    /// What was asked and not answered.
    open: Vec<(Inquiry, Asks)>,
    /// How many questions there were.
    count: usize,
    /// About how much of memory it takes, without what is asked.
    bytes: usize,
    /// Who is told what the upstream says meanwhile, while somebody is there.
    teller: Teller,
}

impl Calling {
    /// `bytes` is about how much of memory the work takes.
    pub(crate) fn new(
        work: Work,
        asked: mpsc::Receiver<Asks>,
        teller: Teller,
        bytes: usize,
    ) -> Self {
        Self { work, asked, over: Weak::new(), open: Vec::new(), count: 0, bytes, teller }
    }

    /// The same over this connection.
    pub(crate) fn over(self, client: &Arc<Client>) -> Self {
        Self { over: Arc::downgrade(client), ..self }
    }

    fn bytes(&self) -> usize {
        // A question is there as it came and as it is put.
        let open = self.open.iter().map(|(inquiry, _)| 2 * inquiry.params.len());
        self.bytes + open.sum::<usize>()
    }

    /// Carries it on for this client: to its end or, where the client answers in another request,
    /// to a question; then it is parked by a ticket that is kept under `key`.
    pub(crate) async fn carry(
        self,
        lot: &Arc<Lot>,
        context: &Context,
        key: &str,
    ) -> Result<Passed, ClientError> {
        *lock(&self.teller) = Some(context.clone());
        let mut held = Held { calling: Some(self), ticket: None, lot, context };
        let calling = held.calling.as_mut().expect("it is held until the end");
        let mut passing = JoinSet::new();
        if !calling.open.is_empty() {
            held.ticket = Some(ticket(context, key));
            let open = calling.open.iter().map(|(inquiry, _)| inquiry.clone()).collect();
            passing.spawn(pass(context.clone(), open));
        }
        // Where the client is asked by the end of this request, what is asked at the same time goes
        // together.
        let pause = if context.revision().asks_in_rounds() { GATHERED } else { Duration::ZERO };
        let mut gathered: Vec<Inquiry> = Vec::new();
        loop {
            tokio::select! {
                biased;
                Some(asks) = calling.asked.recv() => {
                    calling.count += 1;
                    let inquiry = inquiry(&asks, calling.count);
                    if let Err(error) = context.can_be_asked(&inquiry) {
                        asks.answer(Err(declined(&error)));
                        continue;
                    }
                    held.ticket.get_or_insert_with(|| ticket(context, key));
                    gathered.push(inquiry.clone());
                    calling.open.push((inquiry, asks));
                    if pause.is_zero() {
                        passing.spawn(pass(context.clone(), take(&mut gathered)));
                    }
                }
                Some(passed) = passing.join_next() => {
                    // If it panicked, its questions stay open until the call is over.
                    if let Ok((keys, answers)) = passed {
                        calling.answer(&keys, answers);
                    }
                }
                () = sleep(pause), if !gathered.is_empty() => {
                    _ = passing.spawn(pass(context.clone(), take(&mut gathered)));
                }
                ended = &mut calling.work => return ended,
            }
        }
    }

    fn answer(&mut self, keys: &[String], answers: Result<Vec<Box<RawValue>>, AskError>) {
        for (place, key) in keys.iter().enumerate() {
            let at = self.open.iter().position(|(inquiry, _)| inquiry.key == *key);
            let Some((_, asks)) = at.map(|at| self.open.swap_remove(at)) else { continue };
            asks.answer(match &answers {
                Ok(answers) => Ok(answers[place].clone()),
                Err(error) => Err(declined(error)),
            });
        }
    }
}

/// Puts questions to the client; their keys, and the answers in that order.
async fn pass(
    context: Context,
    asked: Vec<Inquiry>,
) -> (Vec<String>, Result<Vec<Box<RawValue>>, AskError>) {
    let answers = context.pass(&asked, Answers::Kept).await;
    (asked.into_iter().map(|inquiry| inquiry.key).collect(), answers)
}

/// What tells it from the others of the call, the same when the call is made again.
fn inquiry(asks: &Asks, count: usize) -> Inquiry {
    let kind = match asks.method {
        Method::Elicit => "elicitation",
        Method::CreateMessage => "sampling",
        _ => "roots",
    };
    Inquiry { key: format!("{kind}-{count}"), method: asks.method, params: asks.params.clone() }
}

/// A ticket for this round, which nobody else has.
fn ticket(context: &Context, key: &str) -> String {
    // Each state hashes the same to numbers of its own.
    let random = RandomState::new();
    let ticket = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
    context.keep(key, &ticket);
    ticket
}

/// A request that is carried on. If its client goes to answer, it is parked.
struct Held<'a> {
    calling: Option<Calling>,
    ticket: Option<String>,
    lot: &'a Arc<Lot>,
    context: &'a Context,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let calling = self.calling.take().filter(|calling| !calling.open.is_empty());
        if let (Some(calling), Some(ticket)) = (calling, self.ticket.take())
            && self.context.is_asking()
        {
            // Its client is another by then, and whoever holds the call holds no server.
            *lock(&calling.teller) = None;
            self.lot.park(ticket, calling);
        }
    }
}

/// Requests that wait for the answers of their clients, by their tickets.
#[derive(Default)]
pub(crate) struct Lot(Mutex<HashMap<String, Parked>>);

struct Parked {
    calling: Calling,
    since: Instant,
    bytes: usize,
    _expiry: Expiry,
}

/// Ends its wait when dropped.
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Lot {
    /// Takes it back out.
    pub(crate) fn take(&self, ticket: &str) -> Option<Calling> {
        let parked = lock(&self.0).remove(ticket)?;
        Some(parked.calling)
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Takes all of this connection back.
    pub(crate) fn clear(&self, client: &Arc<Client>) {
        let is_over = |parked: &Parked| parked.calling.over.as_ptr() == Arc::as_ptr(client);
        let mut all = lock(&self.0);
        let gone: Vec<_> = all.extract_if(|_, parked| is_over(parked)).collect();
        drop(all);
        // They tell their upstream, with the lot free.
        drop(gone);
    }

    /// One too many, or too large, takes the place of those that wait longest.
    fn park(self: &Arc<Self>, ticket: String, calling: Calling) {
        let (lot, name) = (Arc::downgrade(self), ticket.clone());
        let expiring = tokio::spawn(async move {
            sleep(PARKED_TIME_MAX).await;
            let gone = lot.upgrade().and_then(|lot| lock(&lot.0).remove(&name));
            drop(gone);
        });
        let (since, bytes) = (Instant::now(), calling.bytes());
        let parked = Parked { calling, since, bytes, _expiry: Expiry(expiring.abort_handle()) };
        let mut gone = Vec::new();
        let mut all = lock(&self.0);
        while all.len() >= PARKED_MAX
            || all.values().map(|one| one.bytes).sum::<usize>() + bytes > PARKED_BYTES_MAX
        {
            let oldest = all.iter().min_by_key(|(_, parked)| parked.since);
            let Some(oldest) = oldest.map(|(ticket, _)| ticket.clone()) else { break };
            gone.extend(all.remove(&oldest));
        }
        all.insert(ticket, parked);
        drop(all);
        // They tell their upstream, with the lot free.
        drop(gone);
    }
}

/// A thread that panicked left it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::error::TryRecvError;

    fn calling(bytes: usize) -> (Calling, mpsc::Receiver<()>) {
        let (alive, gone) = mpsc::channel(1);
        let work = Box::pin(async move {
            let _alive: mpsc::Sender<()> = alive;
            std::future::pending().await
        });
        (Calling::new(work, mpsc::channel(1).1, Arc::default(), bytes), gone)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_parked_is_bounded_in_number_and_in_time() {
        let lot = Arc::new(Lot::default());
        let mut alive = Vec::new();
        for number in 0..=PARKED_MAX {
            let (calling, gone) = calling(1);
            lot.park(number.to_string(), calling);
            alive.push(gone);
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // Without waiting: time would pass, and end it.
        assert_eq!(alive[0].try_recv(), Err(TryRecvError::Disconnected), "the oldest has gone");
        assert!(lot.take("0").is_none());
        assert!(lot.take("1").is_some());
        assert!(lot.take("1").is_none(), "it is taken once");
        let began = Instant::now();
        assert_eq!(alive[PARKED_MAX].recv().await, None);
        assert!(began.elapsed() <= PARKED_TIME_MAX);
        assert!(lock(&lot.0).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_parked_is_bounded_in_bytes() {
        let lot = Arc::new(Lot::default());
        let mut alive = Vec::new();
        for (number, bytes) in [PARKED_BYTES_MAX / 2, PARKED_BYTES_MAX / 2, 1].iter().enumerate() {
            let (calling, gone) = calling(*bytes);
            lot.park(number.to_string(), calling);
            alive.push(gone);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // Without waiting: time would pass, and end it.
        assert_eq!(alive[0].try_recv(), Err(TryRecvError::Disconnected), "the oldest has gone");
        assert!(lot.take("1").is_some() && lot.take("2").is_some());
    }
}
