//! One agent, as its gateway knows it: whether it is there, over which link, and how many calls it
//! has room for. A link that is lost leaves its calls waiting for the next one for a while.

use super::gate::{Gate, NoRoom, Room};
use super::told::{State, Told, ToldLink};
use super::words::Words;
use crate::ending::Ending;
use crate::limits::{AWAY_PATIENCE, KEPT_TIME, PROBE_TIME_MAX};
use crate::link::Link;
use haft_client::Uncarried;
use haft_link::Outcome;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// Whether an agent is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is not, and nothing waits for it.
    #[default]
    Absent,
    /// It is, with what it has; both numbers grow.
    Here {
        /// Another each time that it was started again.
        session: u64,
        /// Another each time that it says that it has something else.
        revision: u64,
    },
    /// Its link is lost, and its calls wait for the next one.
    Away {
        /// As above.
        session: u64,
    },
}

impl Presence {
    /// As which session it is known.
    #[must_use]
    pub fn session(self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Here { session, .. } | Self::Away { session } => Some(session),
        }
    }
}

/// See above.
#[derive(Debug)]
pub struct Member {
    name: Box<str>,
    /// For whoever needs it for longer than it is called.
    me: Weak<Self>,
    known: Mutex<Option<Known>>,
    presence: watch::Sender<Presence>,
    sessions: AtomicU64,
    /// How many links there have been.
    links: AtomicU64,
    /// How many calls were lost.
    lost: AtomicU64,
}

/// What an agent says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) id: [u8; 16],
    /// How long it keeps calls whose link is lost.
    pub(super) keeps: Duration,
}

/// What is known of an agent that is there, or was a moment ago.
#[derive(Debug)]
struct Known {
    session: Session,
    number: u64,
    live: Option<Arc<Live>>,
    words: Arc<Words>,
    /// For calls; nothing before it has said how many it works on.
    gate: Option<Arc<Gate>>,
    slots: u32,
    /// How often it has said what it has.
    said: u64,
    /// Of the next call.
    stream_id: u64,
    /// It stops.
    is_draining: bool,
    lost: Option<Instant>,
}

/// A link that is there.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) link: Link,
    since: Instant,
    pub(super) words: Arc<Words>,
    /// What the last answer to a ping brought back.
    pub(super) ponged: watch::Sender<u64>,
}

/// A place for a call at an agent.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) session: u64,
    pub(super) session_id: [u8; 16],
    pub(super) stream_id: u64,
    pub(super) words: Arc<Words>,
    /// Those that go on for as long as their caller likes need none.
    room: Option<Room>,
}

impl Member {
    pub(super) fn new(name: &str) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            name: name.into(),
            me: Weak::clone(me),
            known: Mutex::default(),
            presence: watch::Sender::default(),
            sessions: AtomicU64::new(0),
            links: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        })
    }

    /// The same, for as long as somebody has it.
    pub(super) fn kept(&self) -> Arc<Self> {
        self.me.upgrade().expect("it is there, as it was called")
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is there, now and from now on.
    #[must_use]
    pub fn presence(&self) -> watch::Receiver<Presence> {
        self.presence.subscribe()
    }

    /// How many calls are under way to it, or wait for that.
    #[must_use]
    pub fn load(&self) -> u64 {
        let known = self.lock();
        known.as_ref().and_then(|known| known.gate.as_ref()).map_or(0, |gate| gate.load())
    }

    /// What it is like now.
    pub(super) fn told(&self) -> Told {
        let known = self.lock();
        let state = match known.as_ref() {
            None => State::Absent,
            Some(Known { live: None, .. }) => State::Away,
            Some(Known { is_draining: true, .. }) => State::Draining,
            Some(_) => State::Here,
        };
        let live = known.as_ref().and_then(|known| known.live.as_ref());
        let gate = known.as_ref().and_then(|known| known.gate.as_ref());
        let (limit, in_flight, waiting) = gate.map_or((0, 0, 0), |gate| gate.told());
        Told {
            name: self.name.clone(),
            state,
            links: self.links.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            link: live.map(|live| ToldLink::of(&live.link, live.since.elapsed())),
            slots: known.as_ref().map_or(0, |known| known.slots),
            limit,
            in_flight,
            waiting,
        }
    }

    /// Whether there is a link to it.
    pub(super) fn is_linked(&self) -> bool {
        let known = self.lock();
        let live = known.as_ref().and_then(|known| known.live.as_ref());
        live.is_some_and(|live| !live.link.has_ended())
    }

    /// Whether an agent with this session may come now: the number of what it goes on with, if
    /// there is that.
    pub(super) async fn may_come(&self, session: &Session) -> Result<Option<u64>, Ending> {
        let (same, live) = match &*self.lock() {
            None => return Ok(None),
            Some(known) => (known.number_of(session), known.live.clone()),
        };
        match live {
            // It says itself whether this link is to take the place of the other.
            Some(_) if same.is_some() => {}
            Some(live) if live.answers().await => return Err(Ending::Taken),
            Some(live) => live.link.end(Ending::Replaced),
            None => {}
        }
        Ok(same)
    }

    /// It has come, over this link, and was told that it goes on with that.
    pub(super) fn comes(
        &self,
        (session, goes_on): (Session, Option<u64>),
        link: &Link,
    ) -> Result<Arc<Live>, Ending> {
        let mut slot = self.lock();
        let same = slot.as_ref().and_then(|known| known.number_of(&session));
        if same != goes_on {
            // It was told something else than holds by now, and is to ask again.
            return Err(Ending::Replaced);
        }
        if same.is_none() {
            let alive = slot.as_ref().and_then(|known| known.live.as_ref());
            if alive.is_some_and(|live| !live.link.has_ended()) {
                return Err(Ending::Taken);
            }
            *slot = Some(Known::new(session, self.sessions.fetch_add(1, Ordering::Relaxed)));
        }
        let known = slot.as_mut().expect("it has just been filled");
        if let Some(before) = &known.live {
            before.link.end(Ending::Replaced);
        }
        let ponged = watch::Sender::default();
        self.links.fetch_add(1, Ordering::Relaxed);
        let (words, since) = (Arc::clone(&known.words), Instant::now());
        let live = Arc::new(Live { link: link.clone(), since, words, ponged });
        (known.live, known.lost) = (Some(Arc::clone(&live)), None);
        self.presence.send_replace(known.presence());
        Ok(live)
    }

    /// It says how many calls it works on at once, and that it has something else than before.
    pub(super) fn registers(&self, live: &Arc<Live>, slots: u32) {
        let mut slot = self.lock();
        let Some(known) = slot.as_mut().filter(|known| known.is_over(live)) else { return };
        // What it works on now is what this says, and those under way are soon over.
        if known.slots != slots || known.gate.is_none() {
            known.gate = Some(Gate::new(slots));
        }
        (known.slots, known.said) = (slots, known.said + 1);
        self.presence.send_replace(known.presence());
    }

    /// It will not take calls any more.
    pub(super) fn drains(&self, live: &Arc<Live>) {
        let mut slot = self.lock();
        if let Some(known) = slot.as_mut().filter(|known| known.is_over(live)) {
            known.is_draining = true;
            self.presence.send_replace(known.presence());
        }
    }

    /// The link is lost: since when, and how long its calls wait for the next one; nothing, if
    /// there is one.
    pub(super) fn leaves(&self, live: &Arc<Live>) -> Option<(Instant, Duration)> {
        let mut slot = self.lock();
        let known = slot.as_mut().filter(|known| known.is_over(live))?;
        let now = Instant::now();
        (known.live, known.lost) = (None, Some(now));
        self.presence.send_replace(known.presence());
        let keeps = known.session.keeps.min(KEPT_TIME);
        // One that stops has nothing that could be waited for.
        Some((now, if known.is_draining { Duration::ZERO } else { keeps }))
    }

    /// Its calls have waited long enough, if it has not come since.
    pub(super) fn forget(&self, lost: Instant) {
        let mut slot = self.lock();
        if slot.as_ref().is_some_and(|known| known.lost == Some(lost)) {
            *slot = None;
            self.presence.send_replace(Presence::Absent);
        }
    }

    /// A place for a call; waits while all are taken, and a moment for a lost link. One that is
    /// not timed takes none of them.
    ///
    /// # Errors
    /// It is not there, or too many wait.
    pub(super) async fn place(&self, is_timed: bool) -> Result<Place, Uncarried> {
        let (session, gate) = self.gate().await?;
        let room = match is_timed {
            false => None,
            true => Some(gate.enter().await.map_err(|why| match why {
                NoRoom::Full => self.not_begun("too many calls wait for it already; try later"),
                NoRoom::Closed => self.gone(),
            })?),
        };
        let mut slot = self.lock();
        let known = slot.as_mut().filter(|known| known.number == session);
        let known = known.ok_or_else(|| self.gone())?;
        known.stream_id += 1;
        let (session_id, stream_id) = (known.session.id, known.stream_id);
        let words = Arc::clone(&known.words);
        Ok(Place { session, session_id, stream_id, words, room })
    }

    /// Another number for a call that was never begun.
    pub(super) fn renumber(&self, place: &mut Place) -> Result<(), Uncarried> {
        let mut slot = self.lock();
        let known = slot.as_mut().filter(|known| known.number == place.session);
        let known = known.ok_or_else(|| self.gone())?;
        known.stream_id += 1;
        place.stream_id = known.stream_id;
        Ok(())
    }

    /// The link of that session; waits for it as long as its calls are kept. Nothing once they are
    /// not.
    pub(super) async fn link_of(&self, session: u64) -> Option<Arc<Live>> {
        let mut presence = self.presence();
        loop {
            let now = *presence.borrow_and_update();
            if now.session() != Some(session) {
                return None;
            }
            // Another session may have begun since.
            let live = self.live_of(session);
            if let Some(live) = live.filter(|live| !live.link.has_ended()) {
                return Some(live);
            }
            presence.changed().await.ok()?;
        }
    }

    fn live_of(&self, session: u64) -> Option<Arc<Live>> {
        self.lock().as_ref().filter(|known| known.number == session)?.live.clone()
    }

    /// Where it has room, if it is there or soon is.
    async fn gate(&self) -> Result<(u64, Arc<Gate>), Uncarried> {
        let mut presence = self.presence();
        let here = async {
            loop {
                match &*self.lock() {
                    None => return Err(self.not_begun("it is not connected")),
                    Some(known) if known.is_draining => {
                        return Err(self.not_begun("it is about to stop"));
                    }
                    Some(Known { lost: Some(lost), .. }) if lost.elapsed() > AWAY_PATIENCE => {
                        let away = lost.elapsed().as_secs();
                        return Err(self.not_begun(&format!("its link is lost since {away} s")));
                    }
                    Some(Known { gate: Some(gate), lost: None, number, .. }) => {
                        return Ok((*number, Arc::clone(gate)));
                    }
                    Some(_) => {}
                }
                _ = presence.changed().await;
            }
        };
        let late = |_| self.not_begun("its link is lost");
        timeout(AWAY_PATIENCE, here).await.map_err(late)?
    }

    fn gone(&self) -> Uncarried {
        self.not_begun("it has gone")
    }

    pub(super) fn not_begun(&self, why: &str) -> Uncarried {
        Uncarried::NotBegun(format!("agent `{}`: {why}", self.name).into())
    }

    pub(super) fn lost(&self, why: &str) -> Uncarried {
        self.lost.fetch_add(1, Ordering::Relaxed);
        Uncarried::Lost(format!("agent `{}`: {why}", self.name).into())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn new(session: Session, number: u64) -> Self {
        let (words, live, gate, lost) = (Arc::default(), None, None, None);
        let (slots, said, stream_id, is_draining) = (0, 0, 0, false);
        #[rustfmt::skip]
        let known = Self {
            session, number, live, words, gate, slots, said, stream_id, is_draining, lost,
        };
        known
    }

    /// Its number, if it is of that session.
    fn number_of(&self, session: &Session) -> Option<u64> {
        (self.session.id == session.id).then_some(self.number)
    }

    fn presence(&self) -> Presence {
        match &self.live {
            Some(_) if !self.is_draining => {
                Presence::Here { session: self.number, revision: self.said }
            }
            _ => Presence::Away { session: self.number },
        }
    }

    fn is_over(&self, live: &Arc<Live>) -> bool {
        self.live.as_ref().is_some_and(|mine| Arc::ptr_eq(mine, live))
    }
}

impl Place {
    /// What came of its call.
    pub(super) fn ended(&mut self, outcome: Outcome) {
        if let Some(room) = &mut self.room {
            room.ended(outcome);
        }
    }

    /// Its answer has begun.
    pub(super) fn is_read_slowly(&mut self) {
        if let Some(room) = &mut self.room {
            room.is_read_slowly();
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        // Nobody waits for what is not there any more.
        if let Some(gate) = &self.gate {
            gate.close();
        }
    }
}

impl Live {
    /// Asks whether somebody is there: what the answer brings back.
    pub(super) fn ask(&self) -> u64 {
        let nonce = self.ponged.borrow().wrapping_add(1);
        self.words.ping(nonce);
        nonce
    }

    /// Whether somebody is there who answers.
    async fn answers(&self) -> bool {
        let mut ponged = self.ponged.subscribe();
        let nonce = self.ask();
        tokio::select! {
            answered = ponged.wait_for(|ponged| *ponged == nonce) => answered.is_ok(),
            _ = self.link.ended() => false,
            () = sleep(PROBE_TIME_MAX) => false,
        }
    }
}
