//! How long a gateway is left alone before it is dialled again: twice as long each time, up to a
//! bound, and never as long as others wait.

use crate::limits::{REDIAL_MAX, REDIAL_MIN};
use std::time::Duration;

/// See above.
#[derive(Debug)]
pub(super) struct Pause {
    next: Duration,
    seed: u64,
}

impl Pause {
    pub(super) fn new(seed: u64) -> Self {
        // Like seeds shall not be like for long.
        Self { next: REDIAL_MIN, seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// A link was there for some time.
    pub(super) fn reset(&mut self) {
        self.next = REDIAL_MIN;
    }

    /// The next pause: between half and all of what it is without jitter.
    pub(super) fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(REDIAL_MAX);
        // xorshift: agents that lost one gateway in one moment shall not come back in one.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let half = whole / 2;
        half + half.mul_f64((self.seed >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_bound_and_differ() {
        let (mut one, mut other) = (Pause::new(1), Pause::new(2));
        let mut whole = REDIAL_MIN;
        for _ in 0..20 {
            let (ours, theirs) = (one.next(), other.next());
            assert!((whole / 2..=whole).contains(&ours), "{ours:?} of {whole:?}");
            assert_ne!(ours, theirs);
            whole = (whole * 2).min(REDIAL_MAX);
        }
        one.reset();
        assert!(one.next() <= REDIAL_MIN);
    }
}
