//! The sessions of legacy HTTP clients: begun by `initialize`, ended by DELETE or by idleness,
//! bounded in number. The modern era never comes here.

use crate::conversation::{Conversation, Kept};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All sessions of one listener.
pub(super) struct Sessions {
    by_id: Mutex<HashMap<Box<str>, Arc<Session>>>,
    /// What ages are counted from.
    epoch: Instant,
    limits: Limits,
}

/// One client between `initialize` and its end.
pub(super) struct Session {
    pub(super) conversation: Mutex<Conversation>,
    /// Milliseconds since the epoch of [`Sessions`].
    last_used: AtomicU64,
}

impl Sessions {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { by_id: Mutex::new(HashMap::new()), epoch: Instant::now(), limits: limits.clone() }
    }

    /// Begins a session and returns its id.
    pub(super) fn begin(
        &self,
        agreed: Arc<haft_proto::session::Session>,
    ) -> Result<Box<str>, Refusal> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| {
            Refusal::new(Mistake::Internal, format!("Internal error: no random numbers: {error}"))
        })?;
        let id: Box<str> = format!("{:032x}", u128::from_ne_bytes(random)).into();
        let mut conversation = Conversation::new(Principal::Anonymous, &self.limits);
        conversation.agreed = Some(agreed);
        let session = Arc::new(Session {
            conversation: Mutex::new(conversation),
            last_used: AtomicU64::new(self.now()),
        });
        let mut sessions = self.lock();
        if sessions.len() >= self.limits.sessions && !forget_idlest(&mut sessions) {
            return Err(Refusal::new(
                Mistake::Overloaded,
                format!("Overloaded: {} sessions are busy; try again", self.limits.sessions),
            ));
        }
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    /// The session of that id, which counts as used now.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        session.last_used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session and cancels its requests; false if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.lock().remove(id);
        ended.inspect(|session| session.conversation.with(Conversation::cancel_all)).is_some()
    }

    /// Ends all sessions.
    pub(super) fn end_all(&self) {
        for (_, session) in self.lock().drain() {
            session.conversation.with(Conversation::cancel_all);
        }
    }

    /// Forgets the sessions that have been idle for too long.
    pub(super) fn sweep(&self) {
        let idle = u64::try_from(self.limits.session_idle.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        self.lock().retain(|_, session| {
            let is_fresh = now.saturating_sub(session.last_used.load(Ordering::Relaxed)) < idle;
            is_fresh || !session.conversation.with(|kept| kept.is_idle())
        });
    }

    /// How often to sweep.
    pub(super) fn sweep_interval(&self) -> Duration {
        (self.limits.session_idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room by forgetting the session that has been idle longest; false if all are busy. Its
/// client is told that it is unknown, and begins another.
fn forget_idlest(sessions: &mut HashMap<Box<str>, Arc<Session>>) -> bool {
    let is_idle = |session: &Session| session.conversation.with(|kept| kept.is_idle());
    let idlest = sessions
        .iter()
        .filter(|(_, session)| is_idle(session))
        .min_by_key(|(_, session)| session.last_used.load(Ordering::Relaxed))
        .map(|(id, _)| id.clone());
    idlest.is_some_and(|id| sessions.remove(&id).is_some())
}
