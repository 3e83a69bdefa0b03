//! The event streams of one legacy session: how their events are named, which of them go on, and
//! what is kept of them for a client that comes back. The modern era never comes here.

use super::call_stream::CallStream;
use super::replay::{Kind, Place, Replay, Waiting};
use super::unkept::unkept;
use crate::bounds::Bound;
use bytes::Bytes;
use haft_proto::limits::Limits;
use haft_proto::version::Revision;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// See the head of this file.
pub(super) struct Streams {
    revision: Revision,
    /// What all ids of its events begin with, so that no other session's are taken for its own.
    mark: u32,
    /// What times are counted from.
    epoch: Instant,
    pub(super) limits: Arc<Limits>,
    kept: Mutex<Streaming>,
    replays: Arc<Replays>,
    /// Its number among those.
    number: u64,
}

/// What one listener keeps for all its sessions.
pub(super) struct Replays {
    held: Arc<Bound>,
    /// What of it waits, and no session gives away.
    promised: Arc<Bound>,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    by_number: BTreeMap<u64, Weak<Streams>>,
    last: u64,
    /// Whose sent events go next.
    turn: u64,
}

struct Streaming {
    replay: Replay,
    /// What the last stream was numbered; 0 is the stream of news.
    last: u64,
    /// The calls whose stream has begun and whose answer has not been sent.
    live: Vec<(u64, Weak<CallStream>)>,
}

/// The stream of news.
pub(super) const NEWS: u64 = 0;

/// What a client comes back to.
pub(super) enum Resumed {
    /// A call that goes on.
    Live(Arc<CallStream>),
    /// The rest of a stream that has ended.
    Rest(Vec<Bytes>),
}

impl Streams {
    pub(super) fn new(
        revision: Revision,
        mark: u32,
        limits: &Arc<Limits>,
        replays: &Arc<Replays>,
    ) -> Arc<Self> {
        let replay = Replay::new(limits, replays.held.share(), replays.promised.share());
        replays.add(|number| Self {
            revision,
            mark,
            epoch: Instant::now(),
            limits: Arc::clone(limits),
            kept: Mutex::new(Streaming { replay, last: NEWS, live: Vec::new() }),
            replays: Arc::clone(replays),
            number,
        })
    }

    /// Whether a client may come back to a stream that was broken.
    pub(super) fn can_resume(&self) -> bool {
        self.revision.has_stream_resumption()
    }

    /// Whether a client may be sent away to come back later.
    pub(super) fn can_poll(&self) -> bool {
        self.revision.has_stream_polling()
    }

    /// A call's answer becomes a stream, which is numbered.
    pub(super) fn begin(&self, call: &Arc<CallStream>) -> u64 {
        let mut kept = self.lock();
        kept.last += 1;
        let number = kept.last;
        if self.can_resume() {
            kept.live.push((number, Arc::downgrade(call)));
        }
        number
    }

    /// A stream's last event has been sent, or there is none.
    pub(super) fn ended(&self, stream: u64) {
        let mut kept = self.lock();
        kept.live.retain(|(number, _)| *number != stream);
        if kept.live.is_empty() {
            kept.live = Vec::new();
        }
    }

    /// A message as an event that is sent now, and kept if a client may come back for it.
    pub(super) fn sent(&self, at: Place, message: &[u8], kind: Kind) -> Bytes {
        let event = self.event(at, message);
        if self.can_resume() {
            self.lock().replay.keep(at, &event, kind, Some(self.now()));
        }
        event
    }

    /// Keeps a message for a client that is away, if there is room.
    pub(super) fn keep(&self, at: Place, message: &[u8], kind: Kind) {
        let event = self.event(at, message);
        self.lock().replay.keep(at, &event, kind, None);
    }

    /// Keeps a result for a client that is away: in place of what other clients have been sent, if
    /// it must be, and an error in its own place if nothing helps. Where there is no room for that
    /// either, whoever comes back is refused.
    pub(super) fn keep_result(&self, at: Place, message: &[u8]) {
        if !self.find_room(at, message, false) {
            self.find_room(at, &unkept(message), true);
        }
    }

    fn find_room(&self, at: Place, message: &[u8], is_error: bool) -> bool {
        let event = self.event(at, message);
        let result = Waiting { at, event, since: self.now(), is_error };
        // Nothing goes where that could not help.
        if !self.lock().replay.promise(&result) {
            return false;
        }
        let keep = || self.lock().replay.keep_waiting(&result);
        let is_kept = keep()
            || self.replays.forget_sent_until(keep)
            || self.lock().replay.keep_at_all_costs(&result);
        if !is_kept {
            self.lock().replay.break_promise(&result);
        }
        is_kept
    }

    fn event(&self, at: Place, message: &[u8]) -> Bytes {
        let mut event = Vec::with_capacity(message.len() + 64);
        if self.can_resume() {
            event.extend_from_slice(format!("id: {}\n", self.id_of(at)).as_bytes());
        }
        event.extend_from_slice(b"event: message\ndata: ");
        event.extend_from_slice(message);
        event.extend_from_slice(b"\n\n");
        event.into()
    }

    /// An event without a message, by which a client can come back before the first message
    /// (2025-11-25, "Sending Messages to the Server"). Clients of earlier revisions would take it
    /// for a message.
    pub(super) fn priming(&self, at: Place) -> Bytes {
        let retry = self.limits.retry.as_millis();
        format!("id: {}\nretry: {retry}\ndata: \n\n", self.id_of(at)).into()
    }

    /// The later events of a stream, which are sent now.
    pub(super) fn after(&self, last: Place) -> Vec<Bytes> {
        self.lock().replay.after(last, self.now())
    }

    /// What there is to come back to after an event: `None` if nothing is kept, or the event is not
    /// of this session.
    pub(super) fn resume(&self, last: Place) -> Option<Resumed> {
        let live = {
            let kept = self.lock();
            let live = kept.live.iter().find(|(number, _)| *number == last.stream);
            live.and_then(|(_, call)| call.upgrade())
        };
        if let Some(call) = live {
            return Some(Resumed::Live(call));
        }
        let rest = self.after(last);
        (!rest.is_empty()).then_some(Resumed::Rest(rest))
    }

    /// The place that an id names, if it is one of this session.
    pub(super) fn place_of(&self, id: &str) -> Option<Place> {
        let mut parts = id.split('-').skip(1).map(str::parse);
        let (Some(Ok(stream)), Some(Ok(number))) = (parts.next(), parts.next()) else {
            return None;
        };
        let place = Place { stream, number };
        (self.id_of(place) == id).then_some(place)
    }

    /// Forgets what was sent longer ago than that, and what has waited for longer than that.
    pub(super) fn sweep(&self, sent: Duration, waiting: Duration) {
        let before = |time: Duration| {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            self.now().saturating_sub(time)
        };
        let mut kept = self.lock();
        kept.replay.forget_waiting_before(before(waiting));
        kept.replay.forget_sent_before(before(sent));
    }

    /// The calls whose streams go on.
    pub(super) fn live(&self) -> Vec<Arc<CallStream>> {
        self.lock().live.iter().filter_map(|(_, call)| call.upgrade()).collect()
    }

    fn id_of(&self, Place { stream, number }: Place) -> String {
        format!("{:08x}-{stream}-{number}", self.mark)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Streaming> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.replays.lock().by_number.remove(&self.number);
    }
}

impl Replays {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let bound = || Bound::new(limits.replays_bytes);
        Arc::new(Self { held: bound(), promised: bound(), all: Mutex::default() })
    }

    fn add(&self, make: impl FnOnce(u64) -> Streams) -> Arc<Streams> {
        let mut all = self.lock();
        all.last += 1;
        let streams = Arc::new(make(all.last));
        all.by_number.insert(streams.number, Arc::downgrade(&streams));
        streams
    }

    /// Forgets what clients have been sent, one session after the other, until something fits that
    /// did not. Who gave last time is asked last.
    fn forget_sent_until(&self, mut fits: impl FnMut() -> bool) -> bool {
        // Whoever is dropped here removes itself, which must not find this locked.
        let everyone: Vec<_> = {
            let all = self.lock();
            let (before, after) =
                (all.by_number.range(..all.turn), all.by_number.range(all.turn..));
            after.chain(before).filter_map(|(_, streams)| streams.upgrade()).collect()
        };
        everyone.iter().any(|streams| {
            streams.lock().replay.forget_sent_before(u64::MAX);
            self.lock().turn = streams.number + 1;
            fits()
        })
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
