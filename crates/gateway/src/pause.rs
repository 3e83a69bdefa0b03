//! How long to wait until what was lost is had again: longer each time in vain, and as short as at
//! first once it has served for longer than the pause that would come. Asked by `keeper` and
//! `subscriptions`; waits for nothing itself.

use crate::limits::{PAUSE_MIN, RECOVERED};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// See above.
#[derive(Debug)]
pub(crate) struct Pause {
    next: Duration,
    max: Duration,
}

impl Pause {
    pub(crate) fn new(max: Duration) -> Self {
        Self { next: PAUSE_MIN, max }
    }

    /// The first again.
    pub(crate) fn reset(&mut self) {
        self.next = PAUSE_MIN;
    }

    /// It is lost after so long, in which it has served somebody or not. One that dies of each
    /// request has served nobody, and one that dies at once has not served for long.
    pub(crate) fn lost(&mut self, up: Duration, has_served: bool) {
        if up >= RECOVERED || has_served && up >= self.next {
            self.reset();
        }
    }

    /// The pause that comes next.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// How long to wait really: no longer than that, and at least half of it, so that those who
    /// lost the same thing at once do not come back to it at once.
    pub(crate) fn spread(&self) -> Duration {
        let half = self.next / 2;
        let number = RandomState::new().hash_one(self.next);
        let share = u32::try_from(number >> 32).unwrap_or(u32::MAX);
        half + half.mul_f64(f64::from(share) / f64::from(u32::MAX))
    }

    /// It has been waited for that long.
    pub(crate) fn over(&mut self) {
        self.next = self.next.saturating_mul(2).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PAUSE_MAX;

    /// The pauses after lives that last so many milliseconds each.
    fn check(lives: &[(u64, bool)], expected: &[u128]) {
        let mut pause = Pause::new(PAUSE_MAX);
        let pauses = lives.iter().map(|(up, has_served)| {
            pause.lost(Duration::from_millis(*up), *has_served);
            let next = pause.next().as_millis();
            pause.over();
            next
        });
        assert_eq!(pauses.collect::<Vec<_>>(), expected, "{lives:?}");
    }

    #[test]
    fn pauses_double_up_to_a_limit_while_nobody_is_served() {
        let all = [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000];
        check(&[(0, false); 11], &all);
        check(&[(29_000, false); 11], &all);
        // Nor does one get by that dies after each answer.
        check(&[(90, true); 11], &all);
    }

    #[test]
    fn pauses_of_many_are_spread_and_none_is_longer() {
        let pause = Pause::new(PAUSE_MAX);
        let all: Vec<Duration> = (0..200).map(|_| pause.spread()).collect();
        assert!(all.iter().all(|one| (PAUSE_MIN / 2..=PAUSE_MIN).contains(one)), "{all:?}");
        let early = all.iter().filter(|one| **one < PAUSE_MIN * 3 / 4).count();
        // Each is as likely as not; that 200 are so uneven is not seen in a lifetime.
        assert!((20..=180).contains(&early), "{all:?}");
    }

    #[test]
    fn who_has_served_for_longer_than_the_pause_is_back_as_soon_as_at_first() {
        check(&[(250, true); 5], &[100; 5]);
        check(&[(0, false), (0, false), (400, true), (199, true)], &[100, 200, 100, 200]);
        check(&[(0, false), (0, false), (399, true), (900, true)], &[100, 200, 400, 100]);
        check(&[(0, false), (0, false), (30_000, false), (0, false)], &[100, 200, 100, 200]);
    }
}
