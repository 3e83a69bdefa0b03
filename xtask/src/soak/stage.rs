//! What all threads of a soak share: the gateway, the servers behind it, what happened to each of
//! them and when, and whether it is time to act, to be quiet or to end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::upstreams::{self, Upstream};
use super::{limits, pause_a_bit};

/// See above.
pub(super) struct Stage {
    pub(super) gate: Gate,
    pub(super) upstreams: Vec<Upstream>,
    fates: Mutex<Fates>,
    is_quiet: AtomicBool,
    is_over: AtomicBool,
    /// Threads that are in the midst of something.
    acting: AtomicUsize,
}

/// What became of each upstream.
struct Fates {
    is_there: Vec<bool>,
    edits: Vec<u64>,
    /// When they were last killed or edited; what is too long ago for any call is forgotten.
    blows: Vec<Vec<Instant>>,
}

impl Stage {
    pub(super) fn new(gate: Gate, upstreams: Vec<Upstream>) -> Self {
        let count = upstreams.len();
        let fates = Fates {
            is_there: vec![true; count],
            edits: vec![0; count],
            blows: vec![Vec::new(); count],
        };
        Self {
            gate,
            upstreams,
            fates: Mutex::new(fates),
            is_quiet: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            acting: AtomicUsize::new(0),
        }
    }

    /// Does this once and again until the end, with a pause after each, but while all is quiet.
    pub(super) fn act(&self, mut once: impl FnMut() -> Duration) {
        while !self.is_over.load(Ordering::SeqCst) {
            self.acting.fetch_add(1, Ordering::SeqCst);
            let mut pause = Duration::ZERO;
            if !self.is_quiet.load(Ordering::SeqCst) {
                pause = once();
            }
            self.acting.fetch_sub(1, Ordering::SeqCst);
            let began = Instant::now();
            pause_a_bit();
            while began.elapsed() < pause && !self.is_over.load(Ordering::SeqCst) {
                pause_a_bit();
            }
        }
    }

    /// Nobody begins anything, and what was begun is done.
    pub(super) fn hush(&self) {
        self.is_quiet.store(true, Ordering::SeqCst);
        while self.acting.load(Ordering::SeqCst) > 0 {
            pause_a_bit();
        }
    }

    pub(super) fn go_on(&self) {
        self.is_quiet.store(false, Ordering::SeqCst);
    }

    pub(super) fn end(self) -> Gate {
        self.gate
    }

    pub(super) fn finish(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// The upstreams that can be called now.
    pub(super) fn there(&self) -> Vec<usize> {
        let fates = self.fates();
        let all = fates.is_there.iter().enumerate();
        all.filter(|(_, is_there)| **is_there).map(|(at, _)| at).collect()
    }

    /// Something is done to an upstream, now.
    pub(super) fn strike(&self, at: usize) {
        let blows = &mut self.fates().blows[at];
        blows.retain(|blow| blow.elapsed() < limits::AFTERMATH + limits::ANSWER * 2);
        blows.push(Instant::now());
    }

    /// How often something was done to it that a call may have noticed which began then.
    pub(super) fn blows_since(&self, at: usize, began: Instant) -> usize {
        let is_felt = |blow: &&Instant| began.saturating_duration_since(**blow) < limits::AFTERMATH;
        self.fates().blows[at].iter().filter(is_felt).count()
    }

    /// An upstream comes, goes or is changed; the gateway reads the file.
    pub(super) fn edit(&self, at: usize, is_there: bool) -> Result<(), String> {
        self.strike(at);
        let text = {
            let mut fates = self.fates();
            fates.edits[at] += 1;
            // Nobody calls what is about to go, nor what is not there yet.
            let was_there = fates.is_there[at];
            fates.is_there[at] = is_there;
            let text = upstreams::file(&self.upstreams, &fates.is_there, &fates.edits);
            fates.is_there[at] = is_there && was_there;
            text
        };
        self.gate.reload(&text)?;
        self.strike(at);
        self.fates().is_there[at] = is_there;
        Ok(())
    }

    /// How many children the gateway has when all is well: its guardian is one.
    pub(super) fn children(&self) -> u64 {
        let all = self.there().into_iter().map(|at| self.upstreams[at].processes());
        u64::try_from(all.sum::<usize>() + 1).unwrap_or(u64::MAX)
    }

    fn fates(&self) -> MutexGuard<'_, Fates> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
