//! "Did you mean": the known word that somebody probably meant. Used by every error that names an
//! unknown tool, key or argument.

/// The candidate most like `word`, if any is alike at all.
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
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// No name or key that anybody mistypes is longer.
const WORD_BYTES_MAX: usize = 128;
