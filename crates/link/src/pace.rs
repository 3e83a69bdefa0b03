//! How many calls may be under way to one agent: as many as keep it busy, and no more, by how long
//! they take. Whoever sends calls owns one and asks it before each; it queues nothing and reads no
//! clock.
//!
//! After as many calls as the limit allows at once, and [`PACE_WINDOW_MIN`] at least, the limit is
//! weighed: it grows by half of its root while calls take no longer than [`PACE_TOLERANCE`] times
//! what they take without a queue, and shrinks in proportion when they do. What they take without a
//! queue is looked up again every [`PACE_PROBE_EVERY`], and sooner after a fall, by fewer calls for
//! a moment: so a longer route is not taken for a queue for ever, nor a lasting queue for a route.

use std::time::{Duration, Instant};

use crate::limits::{
    PACE_MAX, PACE_MIN, PACE_PROBE_EVERY, PACE_START, PACE_TOLERANCE, PACE_WINDOW_MIN,
};

/// What came of a call, for whoever sets the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An answer came, be it an error of the tool.
    Answered,
    /// None came in time.
    TooLate,
    /// It says nothing about time: cancelled, refused, or lost with its link.
    Untold,
}

/// The limit on calls that are under way, and how many are.
#[derive(Clone, Debug)]
pub struct Pace {
    most: f64,
    limit: f64,
    in_flight: usize,
    /// What calls take without a queue, in seconds. None until the first calls have told.
    base: Option<f64>,
    window: Window,
    state: State,
    /// The limit while that is looked up.
    probe: f64,
    /// What the limit was when that was last looked up.
    limit_then: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Since when the base holds; nothing has ended before the first.
    Weighing(Option<Instant>),
    /// Waiting until calls of before, whose times tell of a queue, have ended.
    Draining { left: usize },
    /// What ends now had no queue before it that we made.
    Probing,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    count: usize,
    seconds: f64,
    late: usize,
    most_in_flight: usize,
}

impl Pace {
    /// With room for [`PACE_START`] calls at first, and never for more than `most`, of which
    /// [`PACE_MIN`] to [`PACE_MAX`] count: the slots that the agent has.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.clamp(PACE_MIN, PACE_MAX);
        Self {
            most: most as f64,
            limit: PACE_START.min(most) as f64,
            in_flight: 0,
            base: None,
            window: Window::default(),
            state: State::Weighing(None),
            probe: 0.0,
            limit_then: f64::MAX,
        }
    }

    /// How many calls may be under way now.
    #[must_use]
    pub fn limit(&self) -> usize {
        let limit = match self.state {
            State::Weighing(_) => self.limit,
            State::Draining { .. } | State::Probing => self.probe,
        };
        (limit as usize).max(PACE_MIN)
    }

    /// How many calls are under way.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Counts a call as begun, if there is room for it. Each that is must be told to
    /// [`ended`](Self::ended) once.
    #[must_use]
    pub fn try_begin(&mut self) -> bool {
        let has_room = self.in_flight < self.limit();
        if has_room {
            self.in_flight += 1;
            self.window.most_in_flight = self.window.most_in_flight.max(self.in_flight);
        }
        has_room
    }

    /// A call that was begun has ended now, after that time.
    pub fn ended(&mut self, now: Instant, took: Duration, outcome: Outcome) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let State::Draining { left } = &mut self.state {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.state = State::Probing;
                self.window = Window::default();
            }
            return;
        }
        match outcome {
            Outcome::Untold => return,
            Outcome::TooLate => self.window.late += 1,
            Outcome::Answered => {}
        }
        self.window.count += 1;
        self.window.seconds += took.as_secs_f64();
        self.window.most_in_flight = self.window.most_in_flight.max(self.in_flight + 1);
        if self.window.count >= self.limit().max(PACE_WINDOW_MIN) {
            let window = std::mem::take(&mut self.window);
            self.weigh(now, &window);
        }
    }

    fn weigh(&mut self, now: Instant, window: &Window) {
        let mean = window.seconds / window.count as f64;
        let base = match self.state {
            // Slowly, as the least of many means is less than what is usual.
            State::Weighing(Some(_)) => {
                self.base.map_or(mean, |base| base + (mean - base).min(0.0) / 8.0)
            }
            // All others are without a queue, as far as we know.
            _ => mean,
        };
        self.base = Some(base);
        let State::Weighing(Some(since)) = self.state else {
            self.state = State::Weighing(Some(now));
            return;
        };
        if window.most_in_flight * 2 < self.limit as usize {
            // The limit holds nobody back, so these times say nothing about it.
            (self.base, self.state) = (Some(mean), State::Weighing(Some(now)));
            return;
        }
        // Several that come too late at once tell more than their times, which a deadline cuts.
        let is_late = window.late * 10 > window.count;
        let gradient = (PACE_TOLERANCE * base / mean.max(f64::EPSILON)).clamp(0.5, 1.0);
        let gradient = if is_late { gradient.min(0.8) } else { gradient };
        let room = if is_late { 0.0 } else { self.limit.sqrt() };
        // Half way: one window of unlucky calls is not yet a queue.
        let aim = self.limit.mul_add(gradient, room);
        self.limit = f64::midpoint(self.limit, aim).clamp(PACE_MIN as f64, self.most);
        // A limit that fell so far may have been mistaken; so may the one of the first calls.
        let is_doubted = self.limit < self.limit_then / 2.0;
        let holds = if is_doubted { PACE_PROBE_EVERY / 5 } else { PACE_PROBE_EVERY };
        if now.saturating_duration_since(since) >= holds {
            self.limit_then = self.limit;
            // As many as are worked on or on their way, by Little's law; and less, as the base may
            // be of a queue itself.
            self.probe = self.limit * (0.75 * base / mean.max(f64::EPSILON)).min(0.5);
            let left = self.in_flight + self.probe as usize;
            self.state = State::Draining { left };
        }
    }
}
