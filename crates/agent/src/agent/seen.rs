//! Which calls have been begun, so that none is begun twice: the numbers of the last few thousand,
//! and of older ones that they are old.

/// How many numbers are told apart.
const WINDOW: u64 = 4096;

/// See above. Numbers begin at 1.
#[derive(Debug)]
pub(super) struct Seen {
    /// One bit for each number up to the latest.
    bits: Box<[u64; (WINDOW / 64) as usize]>,
    latest: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { bits: Box::new([0; (WINDOW / 64) as usize]), latest: 0 }
    }
}

impl Seen {
    /// Whether it may have been.
    pub(super) fn has(&self, id: u64) -> bool {
        id == 0 || id + WINDOW <= self.latest || (id <= self.latest && self.bit(id))
    }

    /// Notes it; false if it may have been before.
    pub(super) fn note(&mut self, id: u64) -> bool {
        if self.has(id) {
            return false;
        }
        if id > self.latest {
            // What leaves the window makes room.
            let fresh = (self.latest + 1)..=id;
            match id - self.latest >= WINDOW {
                true => self.bits.fill(0),
                false => fresh.for_each(|id| self.set(id, false)),
            }
            self.latest = id;
        }
        self.set(id, true);
        true
    }

    fn bit(&self, id: u64) -> bool {
        let at = id % WINDOW;
        self.bits[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, id: u64, value: bool) {
        let at = id % WINDOW;
        let bit = 1 << (at % 64);
        let word = &mut self.bits[(at / 64) as usize];
        *word = if value { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn what_is_too_old_counts_as_seen() {
        let mut seen = Seen::default();
        assert!(!seen.note(0));
        assert!(seen.note(1) && !seen.note(1));
        assert!(seen.note(WINDOW + 1));
        assert!(!seen.note(1));
        assert!(seen.note(2));
        assert!(seen.note(u64::MAX - WINDOW - 1));
        assert!(!seen.note(3));
    }

    proptest! {
        #[test]
        fn no_number_is_new_twice(ids in proptest::collection::vec(1_u64..20_000, 0..400)) {
            let (mut seen, mut known, mut latest) = (Seen::default(), HashSet::new(), 0);
            for id in ids {
                let is_new = seen.note(id);
                prop_assert!(!is_new || !known.contains(&id));
                // Within the window all that are new are said to be.
                prop_assert_eq!(is_new, id + WINDOW > latest && !known.contains(&id));
                if is_new {
                    known.insert(id);
                }
                latest = latest.max(id);
            }
        }
    }
}
