//! Patterns of names, in which `*` is any text: of tools, of addresses, of the segments of a path.
//! Read by `rules` and `openapi`; knows no kind of thing.

/// A text that names may fit: `*` is any part of one, which may be none; all else is itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        fits(&self.0, name)
    }

    /// Whether several names may fit.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.contains('*')
    }

    /// As it is typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text fits a pattern; each part is looked for once, so that no pattern is slow.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = text.strip_suffix(last) else { return false };
    for part in middle.split('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("search", "search", true),
            ("search", "search_code", false),
            ("search_*", "search_code", true),
            ("search_*", "search_", true),
            ("search_*", "research_code", false),
            ("*_code", "search_code", true),
            ("*", "", true),
            ("s*_*e", "search_code", true),
            ("s*r*s", "search_code", false),
            ("aa*aa", "aaa", false),
            ("docs://*/a", "docs://x/y/a", true),
            ("a.c", "abc", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
