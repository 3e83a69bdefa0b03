//! What `Pace` was chosen over: the ratio to the least time, and a gradient of two averages. Only
//! the simulation calls them.

use std::time::{Duration, Instant};

use super::wire::Limiter;
use haft_link::limits::{PACE_MAX, PACE_MIN, PACE_START};

/// No limit.
pub(super) struct Nothing;

impl Limiter for Nothing {
    fn try_begin(&mut self) -> bool {
        true
    }

    fn ended(&mut self, _: Instant, _: Duration) {}

    fn limit(&self) -> usize {
        usize::MAX
    }
}

/// `clamp(srtt / min_rtt, 0.8, 1.2)`, and the part of the limit that is taken: grows by a twentieth
/// while nearly all is taken and times are near the least of 10 seconds, shrinks by the ratio.
pub(super) struct Ratio {
    limit: f64,
    in_flight: usize,
    smoothed: f64,
    least: [f64; 2],
    since: Option<Instant>,
    count: usize,
}

impl Ratio {
    pub(super) const fn new() -> Self {
        let (limit, least) = (PACE_START as f64, [f64::MAX; 2]);
        Self { limit, in_flight: 0, smoothed: 0.0, least, since: None, count: 0 }
    }
}

impl Limiter for Ratio {
    fn try_begin(&mut self) -> bool {
        let has_room = self.in_flight < self.limit();
        self.in_flight += usize::from(has_room);
        has_room
    }

    fn ended(&mut self, now: Instant, took: Duration) {
        let (took, load) = (took.as_secs_f64(), self.in_flight as f64 / self.limit);
        self.in_flight -= 1;
        let is_first = self.smoothed == 0.0;
        self.smoothed = if is_first { took } else { self.smoothed + (took - self.smoothed) / 8.0 };
        if now - *self.since.get_or_insert(now) > Duration::from_secs(5) {
            (self.least, self.since) = ([self.least[1], f64::MAX], Some(now));
        }
        self.least[1] = self.least[1].min(took);
        self.count += 1;
        if self.count < self.limit() {
            return;
        }
        self.count = 0;
        let ratio = (self.smoothed / self.least[0].min(self.least[1])).clamp(0.8, 1.2);
        if ratio < 1.1 && load > 0.8 {
            self.limit *= 1.05;
        } else if ratio >= 1.1 {
            self.limit /= ratio;
        }
        self.limit = self.limit.clamp(PACE_MIN as f64, PACE_MAX as f64);
    }

    fn limit(&self) -> usize {
        self.limit as usize
    }
}

/// A short average beside a long one of 600 calls, as in Netflix's `Gradient2Limit`: tolerance 1.5,
/// room for the root of the limit, smoothing 0.2.
pub(super) struct Gradient {
    limit: f64,
    in_flight: usize,
    long: f64,
}

impl Gradient {
    pub(super) const fn new() -> Self {
        Self { limit: PACE_START as f64, in_flight: 0, long: 0.0 }
    }
}

impl Limiter for Gradient {
    fn try_begin(&mut self) -> bool {
        let has_room = self.in_flight < self.limit();
        self.in_flight += usize::from(has_room);
        has_room
    }

    fn ended(&mut self, _: Instant, took: Duration) {
        let (short, in_flight) = (took.as_secs_f64(), self.in_flight);
        self.in_flight -= 1;
        self.long = if self.long == 0.0 { short } else { self.long + (short - self.long) / 300.0 };
        if self.long / short > 2.0 {
            self.long *= 0.95;
        }
        if (in_flight as f64) < self.limit / 2.0 {
            return;
        }
        let gradient = (1.5 * self.long / short).clamp(0.5, 1.0);
        let aim = self.limit * gradient + self.limit.sqrt();
        self.limit = (self.limit * 0.8 + aim * 0.2).clamp(PACE_MIN as f64, PACE_MAX as f64);
    }

    fn limit(&self) -> usize {
        self.limit as usize
    }
}
