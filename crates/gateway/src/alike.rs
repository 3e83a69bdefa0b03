//! Requests that are alike, of one client, are asked of an upstream once while they run: what is
//! read twice at the same time is read once, and each who asked is answered. Asked by `catalogue`
//! for what changes nothing; calls of tools are not looked at here.

use crate::asking::can_be_asked;
use crate::forward::{Forward, members};
use crate::gateway::lock;
use crate::upstream::Upstream;
use bytestring::ByteString;
use haft_manifest::Sessions;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_proto::service::Principal;
use haft_server::{Relayed, Relaying};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The requests of an upstream that run, by what is asked.
#[derive(Default)]
pub(crate) struct Alike {
    running: Mutex<HashMap<Key, (u64, Weak<Flight>)>>,
    /// How many were begun.
    begun: AtomicU64,
    /// How many were answered with another's answer.
    joined: AtomicU64,
}

/// Who asks for what.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    principal: Principal,
    method: Method,
    /// Its name there, and what else the parameters say, as text.
    asked: Box<str>,
}

/// A request for all who wait for it. It is taken back when nobody does.
struct Flight {
    answer: Arc<Mutex<Option<Ended>>>,
    /// Closed when the answer is there.
    end: watch::Receiver<()>,
    asking: JoinHandle<()>,
    /// Whoever began it has gone; what the upstream asks back was for that one.
    is_orphaned: AtomicBool,
}

/// What several may share is all there.
type Ended = Result<ByteString, Refusal>;

impl Drop for Flight {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

/// Says that the first who asked has gone, unless it was answered.
struct First<'a>(Option<&'a Flight>);

impl Drop for First<'_> {
    fn drop(&mut self) {
        if let Some(flight) = self.0 {
            flight.is_orphaned.store(true, Ordering::Relaxed);
        }
    }
}

impl Alike {
    /// How many requests were answered with another's answer.
    pub(crate) fn joined(&self) -> u64 {
        self.joined.load(Ordering::Relaxed)
    }

    /// The upstream has said that something changed: what is asked from now on is asked anew, as
    /// what runs may have been answered before that. Called before anybody else is told.
    pub(crate) fn part(&self) {
        lock(&self.running).clear();
    }

    /// Passes on a request, or waits for the answer to one that is alike.
    pub(crate) async fn relay(way: Forward, asked: Relaying) -> Result<Relayed, Refusal> {
        // What is asked back is for one client, whose request must end, and wait, by itself; and
        // what else one says of its request is not what another says.
        let context = &asked.context;
        let may_join = !can_be_asked(context.client()) && context.carried().is_none();
        let Some(key) = Key::of(&way, &asked)?.filter(|_| may_join) else {
            return way.relay(asked).await;
        };
        let alike = &way.upstream.alike;
        let (flight, is_first) = alike.join(&key, &way, &asked);
        let mut first = First(is_first.then_some(&*flight));
        // It says nothing but that it ends.
        _ = flight.end.clone().changed().await;
        first.0 = None;
        let is_orphaned = !is_first && flight.is_orphaned.load(Ordering::Relaxed);
        match flight.take() {
            Some(Err(_)) if is_orphaned => way.clone().relay(asked).await,
            Some(answer) => {
                alike.joined.fetch_add(u64::from(!is_first), Ordering::Relaxed);
                answer.map(Relayed::Whole)
            }
            // It panicked, and has said so.
            None => Err(Refusal::new(Mistake::Internal, "Internal error: the request was lost")),
        }
    }

    /// The request that is alike, or a new one, and whether it is new.
    fn join(&self, key: &Key, way: &Forward, asked: &Relaying) -> (Arc<Flight>, bool) {
        let mut running = lock(&self.running);
        if let Some(flight) = running.get(key).and_then(|(_, flight)| flight.upgrade()) {
            return (flight, false);
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let (close, end) = watch::channel(());
        let answer = Arc::<Mutex<Option<Ended>>>::default();
        let left = Left { upstream: Arc::clone(&way.upstream), number, key: key.clone() };
        let asking = tokio::spawn({
            let (way, asked, answer) = (way.clone(), asked.clone(), Arc::clone(&answer));
            async move {
                let whole = async { way.relay(asked).await?.whole().await };
                let ended = whole.await;
                *lock(&answer) = Some(ended);
                // Whoever comes from now on asks anew.
                drop(left);
                drop(close);
            }
        });
        let is_orphaned = AtomicBool::new(false);
        let flight = Arc::new(Flight { answer, end, asking, is_orphaned });
        running.insert(key.clone(), (number, Arc::downgrade(&flight)));
        (flight, true)
    }
}

impl Flight {
    /// The answer; the last who waits for it need not copy it.
    fn take(self: &Arc<Self>) -> Option<Ended> {
        let mut answer = lock(&self.answer);
        if Arc::strong_count(self) == 1 { answer.take() } else { answer.clone() }
    }
}

/// Forgets a request that is over, or was taken back.
struct Left {
    upstream: Arc<Upstream>,
    number: u64,
    key: Key,
}

impl Drop for Left {
    fn drop(&mut self) {
        let mut running = lock(&self.upstream.alike.running);
        // Another one may have taken the place of one that was taken back.
        if running.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            running.remove(&self.key);
        }
    }
}

impl Key {
    /// Nothing, if it is no beginning but goes on with what was asked back, or if each session has
    /// an upstream of its own.
    fn of(way: &Forward, asked: &Relaying) -> Result<Option<Self>, Refusal> {
        if way.upstream.settings.sessions == Sessions::Own {
            return Ok(None);
        }
        let goes_on = |key: &str| member(&asked.params, key).is_some();
        if goes_on("inputResponses") || goes_on("requestState") {
            return Ok(None);
        }
        let mut text = format!("{:?}", way.name);
        for (key, value) in members(&asked.params)? {
            // Writing to a string cannot fail.
            _ = write!(text, "\n{key}\n{value}");
        }
        let principal = asked.context.principal().clone();
        Ok(Some(Self { principal, method: asked.method, asked: text.into() }))
    }
}
