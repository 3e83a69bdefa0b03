//! Texts of a document that models read, within bounds. Used wherever one is passed on.

/// A text of at most so many characters, without spaces around it; it ends at a word where one ends
/// nearby.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(characters) else { return text.to_owned() };
    let kept = &text[..end];
    let at = kept.rfind(char::is_whitespace).filter(|at| at * 4 > end * 3).unwrap_or(end);
    format!("{}…", kept[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_text_ends_at_a_word() {
        assert_eq!(cut("  short\n", 10), "short");
        assert_eq!(cut("one two three four five", 20), "one two three four…");
        assert_eq!(cut("ééééééééé", 3), "ééé…");
    }
}
