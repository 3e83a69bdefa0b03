//! "Did you mean": the known word that somebody probably meant. Used by every error that names an
//! unknown tool, key or argument.

/// The candidate most like `word`, if any is alike at all: by the measure of Jaro and Winkler, of
/// which more than 0.8. Between names of ASCII it takes a few steps for each letter of a candidate,
/// and few for those that are much shorter or longer than the word; between others the product of
/// both lengths. A word of more than 128 bytes is like none.
///
/// ```
/// assert_eq!(haft_server::nearest("wordcount", ["greet", "word_count"]), Some("word_count"));
/// assert_eq!(haft_server::nearest("xyz", ["greet", "word_count"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes the product of both lengths, and a peer chooses this one.
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let letters = Letters::of(word);
    let mut found = (LIKENESS, None);
    for candidate in candidates {
        let likeness = match &letters {
            Some(letters) if candidate.is_ascii() => {
                letters.likeness(candidate.as_bytes(), found.0)
            }
            _ => Some(strsim::jaro_winkler(candidate, word)),
        };
        // Of those that are as like, the last.
        if let Some(likeness) = likeness
            && (likeness > found.0 || likeness == found.0 && found.1.is_some())
        {
            found = (likeness, Some(candidate));
        }
    }
    found.1
}

/// No name or key that anybody mistypes is longer.
const WORD_BYTES_MAX: usize = u128::BITS as usize;

/// What is less like a word is not meant.
const LIKENESS: f64 = 0.8;

/// What is more like a word than this is lifted if it begins as the word does, by so many letters.
const LIFTED: f64 = 0.7;
const PREFIX_MAX: usize = 4;

/// Room for where a letter of ASCII stands.
const KINDS: usize = 128;

/// Where each letter of a word of ASCII stands.
struct Letters<'w> {
    word: &'w [u8],
    /// By letter: bit i is set if it is the word's letter i.
    places: [u128; KINDS],
}

impl<'w> Letters<'w> {
    fn of(word: &'w str) -> Option<Self> {
        let mut places = [0; KINDS];
        for (index, letter) in word.bytes().enumerate() {
            *places.get_mut(usize::from(letter))? |= 1 << index;
        }
        Some(Self { word: word.as_bytes(), places })
    }

    /// How like the word a candidate of ASCII is, as `strsim::jaro_winkler` has it; `None` if that
    /// is less than `least`, which may be seen before all of it is looked at.
    fn likeness(&self, candidate: &[u8], least: f64) -> Option<f64> {
        let (ours, theirs) = (self.word.len(), candidate.len());
        if ours == 0 || theirs == 0 {
            return (ours == theirs).then_some(1.0);
        }
        let alike = candidate.iter().zip(self.word).take(PREFIX_MAX).take_while(|(a, b)| a == b);
        let lift = 0.1 * alike.count() as f64;
        // From the likeness back to how many letters have to be found: too few, if not exactly.
        let before_lift = ((least - lift) / (1.0 - lift)).max(LIFTED);
        let shares = 1.0 / ours as f64 + 1.0 / theirs as f64;
        let least_matches = (3.0 * before_lift - 1.0) / shares - 1e-6;
        if least_matches > ours.min(theirs) as f64 {
            return None;
        }
        let most_misses = theirs as f64 - least_matches;
        let is_absent = |letter: &&u8| self.places[usize::from(**letter)] == 0;
        if candidate.iter().filter(is_absent).count() as f64 > most_misses {
            return None;
        }
        let reach = (ours.max(theirs) / 2).saturating_sub(1);
        let (mut taken, mut missed) = (0_u128, 0.0);
        let mut matched: [u8; WORD_BYTES_MAX] = [0; WORD_BYTES_MAX];
        let mut matches = 0;
        for (index, letter) in candidate.iter().enumerate() {
            let within = self.places[usize::from(*letter)] & !taken & window(index, reach);
            if within == 0 {
                missed += 1.0;
                if missed > most_misses {
                    return None;
                }
                continue;
            }
            // The first of them.
            taken |= within & within.wrapping_neg();
            matched[matches] = *letter;
            matches += 1;
        }
        let mut swaps = 0;
        for letter in &matched[..matches] {
            let place = taken.trailing_zeros() as usize;
            taken &= taken - 1;
            swaps += usize::from(self.word[place] != *letter);
        }
        let (matched, in_order) = (matches as f64, (matches - swaps / 2) as f64);
        let jaro = (matched / theirs as f64 + matched / ours as f64 + in_order / matched) / 3.0;
        let likeness = if jaro > LIFTED { jaro + lift * (1.0 - jaro) } else { jaro };
        Some(likeness).filter(|likeness| *likeness >= least)
    }
}

/// The bits that are `reach` or less from a place.
fn window(index: usize, reach: usize) -> u128 {
    let last = WORD_BYTES_MAX - 1;
    let (from, to) = (index.saturating_sub(reach), (index + reach).min(last));
    if from > last { 0 } else { u128::MAX >> (last - to) & u128::MAX << from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same without a shortcut.
    fn slowly<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
        candidates
            .iter()
            .map(|candidate| (strsim::jaro_winkler(candidate, word), *candidate))
            .filter(|(likeness, _)| *likeness > LIKENESS)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, candidate)| candidate)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn shortcuts_change_nothing(
            word in "[a-d_]{0,12}|[a-dé]{0,8}|[ab]{100,130}",
            candidates in prop::collection::vec("[a-d_]{0,12}|[a-dé]{0,8}|[ab]{90,150}", 0..12),
        ) {
            let candidates: Vec<_> = candidates.iter().map(String::as_str).collect();
            let expected = slowly(&word, &candidates).filter(|_| word.len() <= WORD_BYTES_MAX);
            prop_assert_eq!(nearest(&word, candidates), expected);
        }
    }
}
