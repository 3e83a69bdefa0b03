//! Numbers that look random and come again from the same seed. Everybody of a soak has such a
//! source of its own; no system is asked.

use std::time::Duration;

/// A source (xorshift64*).
pub(crate) struct Chance(u64);

impl Chance {
    /// That of one of many, by its number.
    pub(crate) fn new(seed: u64, who: u64) -> Self {
        let mixed = seed.wrapping_add(who.wrapping_mul(0x9E37_79B9_7F4A_7C15)) ^ 0x2545_F491;
        let mut chance = Self(mixed.max(1));
        // The first numbers of seeds that are alike are alike.
        (0..8).for_each(|_| _ = chance.next());
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16) % end
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let end = u64::try_from(all.len()).ok().filter(|end| *end > 0)?;
        all.get(usize::try_from(self.below(end)).ok()?)
    }

    /// Half of this at least.
    pub(crate) fn pause(&mut self, ms_max: u64) -> Duration {
        Duration::from_millis(ms_max / 2 + self.below(ms_max / 2 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn a_seed_gives_the_same_again_and_each_its_own() {
        let some = |seed, who| -> Vec<u64> {
            let mut chance = Chance::new(seed, who);
            (0..20).map(|_| chance.below(1000)).collect()
        };
        assert_eq!(some(7, 1), some(7, 1));
        assert_ne!(some(7, 1), some(7, 2));
        assert_ne!(some(7, 1), some(8, 1));
        assert!(some(0, 0).iter().any(|number| *number > 500));
    }
}
