//! The sessions of legacy HTTP clients: begun by `initialize`, ended by DELETE or by idleness,
//! bounded in number. The modern era never comes here.

use super::bounds::Bound;
use super::news::News;
use super::streams::Streams;
use crate::conversation::{Conversation, Kept};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::session::Session as Agreed;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All sessions of one listener.
pub(super) struct Sessions {
    by_id: Mutex<HashMap<Box<str>, Arc<Session>>>,
    clock: Clock,
    /// Bytes that are kept for clients that come back.
    replays: Arc<Bound>,
    limits: Arc<Limits>,
}

/// One client between `initialize` and its end.
pub(super) struct Session {
    pub(super) conversation: Mutex<Conversation>,
    pub(super) agreed: Arc<Agreed>,
    pub(super) streams: Arc<Streams>,
    pub(super) news: News,
    /// How many streams are open.
    open: AtomicUsize,
    /// By the clock of [`Sessions`].
    last_used: AtomicU64,
    clock: Clock,
}

/// A session with an open stream, which is not idle.
pub(super) struct InUse(Arc<Session>);

/// Nanoseconds since something began, so that no two uses come at the same time.
#[derive(Clone, Copy)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> u64 {
        nanos(self.0.elapsed())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Session {
    /// Not idle until the guard is dropped.
    pub(super) fn in_use(self: &Arc<Self>) -> InUse {
        self.open.fetch_add(1, Ordering::SeqCst);
        InUse(Arc::clone(self))
    }

    /// Cancels its requests and ends its streams.
    fn end(&self) {
        self.conversation.with(Conversation::end);
        self.streams.live().iter().for_each(|call| call.end());
        self.news.end();
    }

    fn use_now(&self) {
        self.last_used.store(self.clock.now(), Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        self.conversation.with(|kept| !kept.is_idle())
    }

    fn is_idle(&self) -> bool {
        self.open.load(Ordering::SeqCst) == 0 && !self.is_busy()
    }
}

impl InUse {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.use_now();
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sessions {
    pub(super) fn new(limits: &Arc<Limits>) -> Self {
        Self {
            by_id: Mutex::default(),
            clock: Clock(Instant::now()),
            replays: Bound::new(limits.replays_bytes),
            limits: Arc::clone(limits),
        }
    }

    /// Begins a session and returns its id.
    pub(super) fn begin(
        &self,
        agreed: Arc<Agreed>,
        conversation: Conversation,
    ) -> Result<Box<str>, Refusal> {
        let id = random()?;
        // Of its own, as events are shown in places where an id must not be.
        let mark = random()? as u32;
        let id: Box<str> = format!("{id:032x}").into();
        let held = self.replays.share();
        let session = Arc::new(Session {
            conversation: Mutex::new(conversation),
            streams: Arc::new(Streams::new(agreed.revision(), mark, &self.limits, held)),
            agreed,
            news: News::default(),
            open: AtomicUsize::new(0),
            last_used: AtomicU64::new(self.clock.now()),
            clock: self.clock,
        });
        let replaced = {
            let mut sessions = self.lock();
            let replaced = match sessions.len() >= self.limits.sessions {
                true => Some(self.forget_idlest(&mut sessions)?),
                false => None,
            };
            sessions.insert(id.clone(), session);
            replaced
        };
        replaced.inspect(|session| session.end());
        Ok(id)
    }

    /// The session of that id, which counts as used now.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        session.use_now();
        Some(session)
    }

    /// Ends a session; false if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.lock().remove(id);
        ended.inspect(|session| session.end()).is_some()
    }

    /// Ends all sessions.
    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut *self.lock());
        ended.values().for_each(|session| session.end());
    }

    /// Forgets the sessions that have been idle for too long, and what others keep of old streams.
    pub(super) fn sweep(&self) {
        let (now, idle) = (self.clock.now(), nanos(self.limits.session_idle));
        let is_old = |session: &Session| {
            now.saturating_sub(session.last_used.load(Ordering::Relaxed)) >= idle
                && session.is_idle()
        };
        let (forgotten, left): (Vec<_>, Vec<_>) = {
            let mut sessions = self.lock();
            let forgotten = sessions.extract_if(|_, session| is_old(session)).collect();
            if sessions.len() < sessions.capacity() / 4 {
                sessions.shrink_to_fit();
            }
            (forgotten, sessions.values().cloned().collect())
        };
        drop(forgotten);
        for session in left {
            session.streams.sweep(self.limits.session_idle / 4);
        }
    }

    /// How often to sweep.
    pub(super) fn sweep_interval(&self) -> Duration {
        (self.limits.session_idle / 4).clamp(Duration::from_nanos(10), Duration::from_secs(60))
    }

    /// Makes room by forgetting the session that has been idle longest, or else has only listened.
    /// Its client is told that it is unknown, and begins another.
    fn forget_idlest(
        &self,
        sessions: &mut HashMap<Box<str>, Arc<Session>>,
    ) -> Result<Arc<Session>, Refusal> {
        let idlest = |may_go: fn(&Session) -> bool| {
            let last_used = |session: &Session| session.last_used.load(Ordering::Relaxed);
            let those = sessions.iter().filter(|(_, session)| may_go(session));
            those.min_by_key(|(_, session)| last_used(session)).map(|(id, _)| id.clone())
        };
        let id = idlest(Session::is_idle).or_else(|| idlest(|session| !session.is_busy()));
        id.and_then(|id| sessions.remove(&id)).ok_or_else(|| {
            Refusal::new(
                Mistake::Overloaded,
                format!("Overloaded: {} sessions are busy; try again", self.limits.sessions),
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that nobody can guess.
pub(super) fn random() -> Result<u128, Refusal> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        Refusal::new(Mistake::Internal, format!("Internal error: no random numbers: {error}"))
    })?;
    Ok(u128::from_ne_bytes(random))
}
