//! Numbers that look random and come again from the same seed: which packets of a wire are lost.

/// A source (xorshift64*).
pub(crate) struct Chance(u64);

impl Chance {
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

    /// Whether it is one of so many of a thousand.
    pub(crate) fn is_one_of(&mut self, per_mille: u64) -> bool {
        (self.next() >> 16) % 1000 < per_mille
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn a_seed_loses_the_same_packets_again_and_about_as_many_as_it_shall() {
        let lost = |seed| -> Vec<bool> {
            let mut chance = Chance::new(seed, 1);
            (0..10_000).map(|_| chance.is_one_of(10)).collect()
        };
        assert_eq!(lost(7), lost(7));
        assert_ne!(lost(7), lost(8));
        let count = lost(7).into_iter().filter(|is_lost| *is_lost).count();
        assert!((60..160).contains(&count), "{count}");
    }
}
