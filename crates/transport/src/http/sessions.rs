//! The sessions of legacy HTTP clients: begun by `initialize`, ended by DELETE or by idleness,
//! bounded in number. The modern era never comes here.

use super::news::News;
use super::roll::Attendee;
use super::streams::{Replays, Streams};
use crate::conversation::{Conversation, Kept};
use foldhash::fast::RandomState;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::session::Session as Agreed;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All sessions of one listener.
pub(super) struct Sessions {
    known: Mutex<Known>,
    clock: Clock,
    /// What is kept for clients that come back.
    replays: Arc<Replays>,
    limits: Arc<Limits>,
}

#[derive(Default)]
struct Known {
    by_id: HashMap<Box<str>, Arc<Session>, RandomState>,
    /// Those that were idle longest when somebody last looked, and since when; the oldest last.
    idlest: Vec<(u64, Box<str>)>,
}

/// How many of the idlest sessions are looked for at once: whoever begins sessions in a full table
/// must not make the server look through all of them each time.
const LOOKED_FOR: usize = 256;

/// How much of the name of a client is kept, in characters.
const CLIENT_CHARS_MAX: usize = 64;

/// One client between `initialize` and its end.
pub(super) struct Session {
    pub(super) conversation: Mutex<Conversation>,
    pub(super) agreed: Arc<Agreed>,
    pub(super) streams: Arc<Streams>,
    pub(super) news: News,
    /// What the client calls itself.
    client: Box<str>,
    /// By the clock of [`Sessions`].
    since: u64,
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

    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
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
            known: Mutex::default(),
            clock: Clock(Instant::now()),
            replays: Replays::new(limits),
            limits: Arc::clone(limits),
        }
    }

    /// Begins a session and returns its id.
    pub(super) fn begin(
        &self,
        agreed: Arc<Agreed>,
        conversation: Conversation,
        client: &str,
    ) -> Result<Box<str>, Refusal> {
        let id = random()?;
        // Of its own, as events are shown in places where an id must not be.
        let mark = random()? as u32;
        let id: Box<str> = format!("{id:032x}").into();
        let session = Arc::new(Session {
            conversation: Mutex::new(conversation),
            streams: Streams::new(agreed.revision(), mark, &self.limits, &self.replays),
            agreed,
            news: News::default(),
            client: client.chars().take(CLIENT_CHARS_MAX).collect(),
            since: self.clock.now(),
            open: AtomicUsize::new(0),
            last_used: AtomicU64::new(self.clock.now()),
            clock: self.clock,
        });
        let replaced = {
            let mut known = self.lock();
            let replaced = match known.by_id.len() >= self.limits.sessions {
                true => Some(known.forget_idlest().ok_or_else(|| self.all_busy())?),
                false => None,
            };
            known.by_id.insert(id.clone(), session);
            replaced
        };
        replaced.inspect(|session| session.end());
        Ok(id)
    }

    /// The session of that id, which counts as used now.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.lock().by_id.get(id).cloned()?;
        session.use_now();
        Some(session)
    }

    /// Ends a session; false if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.lock().by_id.remove(id);
        ended.inspect(|session| session.end()).is_some()
    }

    /// Ends all sessions.
    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut self.lock().by_id);
        ended.values().for_each(|session| session.end());
    }

    /// Forgets the sessions that have been idle for too long, and what others keep of old streams.
    pub(super) fn sweep(&self) {
        let (now, idle) = (self.clock.now(), nanos(self.limits.session_idle));
        let is_old = |session: &Session| {
            now.saturating_sub(session.last_used()) >= idle && session.is_idle()
        };
        let (forgotten, left): (Vec<_>, Vec<_>) = {
            let mut known = self.lock();
            known.idlest = Vec::new();
            let sessions = &mut known.by_id;
            let forgotten = sessions.extract_if(|_, session| is_old(session)).collect();
            if sessions.len() < sessions.capacity() / 4 {
                sessions.shrink_to_fit();
            }
            (forgotten, sessions.values().cloned().collect())
        };
        drop(forgotten);
        for session in left {
            let idle = self.limits.session_idle;
            session.streams.sweep(idle / 4, idle);
        }
    }

    /// How many there are, at that path, and the newest of them.
    pub(super) fn told(&self, most: usize, path: &str) -> (usize, Vec<Attendee>) {
        let mut all: Vec<_> = self.lock().by_id.values().cloned().collect();
        let count = all.len();
        all.sort_unstable_by_key(|session| Reverse(session.since));
        let now = self.clock.now();
        let ago = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        let told = all.iter().take(most).map(|session| Attendee {
            path: path.to_owned(),
            client: session.client.to_string(),
            revision: session.agreed.revision(),
            age: ago(session.since),
            idle: session.is_idle().then(|| ago(session.last_used())),
        });
        (count, told.collect())
    }

    /// How often to sweep.
    pub(super) fn sweep_interval(&self) -> Duration {
        (self.limits.session_idle / 4).clamp(Duration::from_nanos(10), Duration::from_secs(60))
    }

    fn all_busy(&self) -> Refusal {
        let limit = self.limits.sessions;
        Refusal::new(
            Mistake::Overloaded,
            format!("Overloaded: {limit} sessions are busy; try again"),
        )
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Makes room by forgetting the session that has been idle longest, or else has only listened.
    /// Its client is told that it is unknown, and begins another. `None` if all are busy.
    fn forget_idlest(&mut self) -> Option<Arc<Session>> {
        self.pop_idlest().or_else(|| {
            self.look_for(Session::is_idle);
            if self.idlest.is_empty() {
                self.look_for(|session| !session.is_busy());
            }
            self.pop_idlest()
        })
    }

    /// The first of those that were found which has not been used since.
    fn pop_idlest(&mut self) -> Option<Arc<Session>> {
        while let Some((since, id)) = self.idlest.pop() {
            let session = self.by_id.get(&id);
            if session.is_some_and(|session| session.last_used() == since && !session.is_busy()) {
                return self.by_id.remove(&id);
            }
        }
        None
    }

    fn look_for(&mut self, may_go: fn(&Session) -> bool) {
        let those = self.by_id.iter().filter(|(_, session)| may_go(session));
        let mut found: Vec<_> = those.map(|(id, session)| (session.last_used(), id)).collect();
        if found.len() > LOOKED_FOR {
            found.select_nth_unstable(LOOKED_FOR);
            found.truncate(LOOKED_FOR);
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        self.idlest = found.into_iter().map(|(since, id)| (since, id.clone())).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use haft_proto::service::Principal;
    use haft_proto::spec::client::ClientCapabilities;
    use haft_proto::version::Revision;

    fn begin(sessions: &Sessions) -> Result<Box<str>, Refusal> {
        let agreed = Agreed::new(Revision::LATEST_LEGACY, ClientCapabilities::default());
        let conversation = Conversation::new(Principal::Anonymous, &sessions.limits);
        sessions.begin(Arc::new(agreed), conversation, "a client")
    }

    /// Looks at a session without using it.
    fn is_known(sessions: &Sessions, id: &str) -> bool {
        sessions.lock().by_id.contains_key(id)
    }

    #[test]
    fn the_session_idle_longest_makes_room_however_many_come() {
        let limits = Limits { sessions: 1000, ..Limits::default() };
        let sessions = Sessions::new(&Arc::new(limits));
        let mut first: Vec<_> =
            (0..1000).map(|_| begin(&sessions).expect("there is room")).collect();
        let (used, streaming) = (first.remove(300), first.remove(2));
        let streaming_now = sessions.find(&streaming).expect("it is there").in_use();
        for (count, gone) in first.iter().enumerate() {
            if count % 100 == 0 {
                sessions.find(&used).expect("it is used");
            }
            assert!(is_known(&sessions, gone), "{count}");
            begin(&sessions).expect("another makes room");
            assert!(!is_known(&sessions, gone), "{count}");
        }
        assert!(is_known(&sessions, &used) && is_known(&sessions, &streaming));
        assert_eq!(sessions.lock().by_id.len(), 1000);
        drop(streaming_now);
    }

    #[test]
    fn where_all_stream_one_of_them_makes_room() {
        let limits = Limits { sessions: 2, ..Limits::default() };
        let sessions = Sessions::new(&Arc::new(limits));
        let ids = [begin(&sessions), begin(&sessions)].map(|id| id.expect("there is room"));
        let _streams = ids.clone().map(|id| sessions.find(&id).expect("it is there").in_use());
        begin(&sessions).expect("the first makes room");
        assert_eq!(ids.map(|id| is_known(&sessions, &id)), [false, true]);
    }
}
