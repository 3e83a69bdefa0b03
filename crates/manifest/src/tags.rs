//! The tags of a template, as far as faults need them: where a name stands, which filters and tests
//! it calls. Called by `template` on sources; what the tags do is the engine's business.

use std::ops::Range;

/// What a name in a tag calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// `x | name`
    Filter,
    /// `x is name`
    Test,
}

impl Tag {
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Test => "test",
        }
    }
}

const OPENINGS: [(&str, &str); 3] = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")];

/// Whether there is anything to compile.
pub(crate) fn has_any(source: &str) -> bool {
    OPENINGS.iter().any(|(open, _)| source.contains(open))
}

/// Whether the end of the source is inside of a tag.
pub(crate) fn is_inside(source: &str) -> bool {
    Tags::new(source).any(|tag| !tag.is_closed)
}

/// The variable, if the source is `{{ name }}` and nothing else.
pub(crate) fn only_variable(source: &str) -> Option<&str> {
    let mut tags = Tags::new(source);
    let tag = tags.next().filter(|tag| tag.start == 0 && tag.end == source.len())?;
    match &*tag.words {
        [only] if tag.is_closed && source.starts_with("{{") && is_name(&source[only.clone()]) => {
            Some(&source[only.clone()])
        }
        _ => None,
    }
}

/// The expression, if the source is `{{ expression }}` and nothing else.
pub(crate) fn only_expression(source: &str) -> Option<&str> {
    let mut tags = Tags::new(source);
    let tag = tags.next().filter(|tag| tag.start == 0 && tag.end == source.len())?;
    let (first, last) = (tag.words.first()?, tag.words.last()?);
    (tag.is_closed && source.starts_with("{{")).then(|| &source[first.start..last.end])
}

/// Whether every tag is `{{ name }}`, and so decides nothing.
pub(crate) fn only_names(source: &str) -> bool {
    Tags::new(source).all(|tag| match &*tag.words {
        [only] => source[tag.start..].starts_with("{{") && is_name(&source[only.clone()]),
        _ => false,
    })
}

/// A part of a source whose tags only name variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part<'s> {
    /// A whole tag.
    Name(Range<usize>, &'s str),
    Text(&'s str),
}

/// The parts of a source, if every tag is `{{ name }}`.
pub(crate) fn parts(source: &str) -> Option<Vec<Part<'_>>> {
    if !only_names(source) {
        return None;
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for tag in Tags::new(source) {
        // `{{-` takes the white space before it away.
        parts.push(Part::Text(source[from..tag.start].trim()));
        let name = &source[tag.words.first()?.clone()];
        parts.push(Part::Name(tag.start..tag.end, name));
        from = tag.end;
    }
    parts.push(Part::Text(source[from..].trim()));
    parts.retain(|part| *part != Part::Text(""));
    Some(parts)
}

/// The variable that a source begins with.
pub(crate) fn leading_variable(source: &str) -> Option<&str> {
    let tag = Tags::new(source).next().filter(|tag| tag.start == 0 && source.starts_with("{{"))?;
    tag.words.first().map(|word| &source[word.clone()]).filter(|word| is_name(word))
}

/// Where the first tag begins.
pub(crate) fn find_first(source: &str) -> Option<usize> {
    Tags::new(source).next().map(|tag| tag.start)
}

/// Whether there is a `{% … %}`.
pub(crate) fn has_statement(source: &str) -> bool {
    Tags::new(source).any(|tag| source[tag.start..].starts_with("{%"))
}

/// Where a character stands first that is no part of a tag.
pub(crate) fn find_outside(source: &str, wanted: &[char]) -> Option<usize> {
    outside(source).into_iter().find_map(|range| {
        let found = source[range.clone()].find(wanted)?;
        Some(range.start + found)
    })
}

/// The parts between the characters that are no part of a tag.
pub(crate) fn split_outside(source: &str, separator: char) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(at) = find_outside(&source[from..], &[separator]) {
        parts.push(from..from + at);
        from += at + separator.len_utf8();
    }
    parts.push(from..source.len());
    parts
}

/// The source with something else in place of each tag.
pub(crate) fn with_stand_in(source: &str, stand_in: &str) -> String {
    let parts: Vec<_> = outside(source).into_iter().map(|range| &source[range]).collect();
    parts.join(stand_in)
}

/// What is between the tags: one more than there are tags.
fn outside(source: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for tag in Tags::new(source) {
        parts.push(from..tag.start);
        from = tag.end;
    }
    parts.push(from..source.len());
    parts
}

/// Every filter and test that is called, and where it is named.
pub(crate) fn names(source: &str) -> Vec<(Tag, &str, Range<usize>)> {
    let mut found = Vec::new();
    for tag in Tags::new(source) {
        let word = |index: usize| tag.words.get(index).map(|range| &source[range.clone()]);
        for (index, range) in tag.words.iter().enumerate().skip(1) {
            let name = &source[range.clone()];
            let before = word(index - 1);
            let is_test_after =
                |at: usize| word(at) == Some("is") && at.checked_sub(1).and_then(word) != Some(".");
            let kind = match before {
                Some("|") => Tag::Filter,
                Some("filter") if index == 1 => Tag::Filter,
                Some("not") if index > 1 && is_test_after(index - 2) => Tag::Test,
                Some("is") if name != "not" && is_test_after(index - 1) => Tag::Test,
                _ => continue,
            };
            if is_name(name) {
                found.push((kind, name, range.clone()));
            }
        }
    }
    found
}

/// Where a variable is named first.
pub(crate) fn find_variable(source: &str, name: &str) -> Option<Range<usize>> {
    Tags::new(source).find_map(|tag| {
        let is_variable = |index: &usize| {
            let before = index.checked_sub(1).and_then(|before| tag.words.get(before));
            let is_part = before.is_some_and(|range| matches!(&source[range.clone()], "." | "|"));
            source[tag.words[*index].clone()] == *name && !is_part
        };
        (0..tag.words.len()).find(is_variable).map(|index| tag.words[index].clone())
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// A tag: its range, and its words but for texts in quotes.
struct Found {
    start: usize,
    end: usize,
    is_closed: bool,
    words: Vec<Range<usize>>,
}

/// Tags in order; comments and `raw` blocks have no words.
struct Tags<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Tags<'a> {
    fn new(source: &'a str) -> Self {
        Self { source, at: 0 }
    }

    /// The words up to the closing delimiter, and where the tag ends.
    fn words(&self, from: usize, close: &str) -> (Vec<Range<usize>>, Option<usize>) {
        let mut words = Vec::new();
        let mut at = from;
        while let Some(first) = self.source[at..].chars().next() {
            let rest = &self.source[at..];
            // `-` before the delimiter removes white space.
            if rest.starts_with(close) {
                return (words, Some(at + close.len()));
            }
            let length = match first {
                '"' | '\'' => quoted_length(rest, first),
                _ if is_name(rest) => name_length(rest),
                _ => first.len_utf8(),
            };
            // Anywhere else it is a sign.
            let is_trim =
                matches!(first, '-' | '+') && (at == from || rest[1..].starts_with(close));
            if !first.is_whitespace() && !is_trim {
                words.push(at..at + length);
            }
            at += length;
        }
        (words, None)
    }
}

impl Iterator for Tags<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let rest = self.source.get(self.at..)?;
        let open = |(open, close)| rest.find(open).map(|at| (self.at + at, open, close));
        let (start, open, close): (usize, &str, &str) =
            OPENINGS.into_iter().filter_map(open).min_by_key(|(at, ..)| *at)?;
        let from = start + open.len();
        let (words, end) = match open {
            "{#" => (Vec::new(), self.source[from..].find(close).map(|at| from + at + close.len())),
            _ => self.words(from, close),
        };
        let is_raw =
            open == "{%" && words.first().is_some_and(|word| &self.source[word.clone()] == "raw");
        let is_closed = end.is_some();
        let end = end.unwrap_or(self.source.len());
        self.at = match self.source[end..].find("endraw") {
            Some(at) if is_raw => end + at,
            _ => end,
        };
        Some(Found { start, end, is_closed, words })
    }
}

fn name_length(rest: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    rest.find(|character| !is_part(character)).unwrap_or(rest.len())
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn just_a_variable_is_recognised() {
        assert_eq!(only_variable("{{ name }}"), Some("name"));
        assert_eq!(only_variable("{{-name-}}"), Some("name"));
        for other in ["a{{ b }}", "{{ a }} ", "{{ a.b }}", "{{ a | b }}", "{{ 'a' }}", "{% a %}"] {
            assert_eq!(only_variable(other), None, "{other}");
        }
        // A sign is no trim.
        for other in ["{{ -a }}", "{{ - a }}", "{{- -a }}"] {
            assert_eq!(only_variable(other), None, "{other}");
        }
    }

    #[test]
    fn filters_and_tests_are_found() {
        let source = "{{ a|upper | join('|no') }}{% if b is not even %}{% filter trim %}{# x|y #}\
            {% raw %}{{ c|d }}{% endraw %}{{ e.is.f }}{{ 'g is h' }}{% if i is none %}";
        let found: Vec<_> = names(source).into_iter().map(|(tag, name, _)| (tag, name)).collect();
        let expected = [
            (Tag::Filter, "upper"),
            (Tag::Filter, "join"),
            (Tag::Test, "even"),
            (Tag::Filter, "trim"),
            (Tag::Test, "none"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_variable_is_found_where_it_is_one() {
        assert_eq!(find_variable("a {{ b.a | a }}{{ a }}", "a"), Some(18..19));
        assert_eq!(find_variable("a {{ 'a' }}", "a"), None);
    }

    #[test]
    fn what_is_in_a_tag_does_not_separate() {
        assert_eq!(find_outside("a{{ b ? c }}?d", &['?']), Some(12));
        assert_eq!(find_outside("{{ '?' }}", &['?']), None);
        let source = "a={{ b & c }}&d{% if e&f %}";
        let parts: Vec<_> =
            split_outside(source, '&').into_iter().map(|range| &source[range]).collect();
        assert_eq!(parts, ["a={{ b & c }}", "d{% if e&f %}"]);
        assert_eq!(with_stand_in("/a/{{ b }}/{% c %}", "x"), "/a/x/x");
    }

    #[test]
    fn an_open_tag_is_noticed() {
        assert!(is_inside("a {{ b"));
        assert!(is_inside("{{ '}}'"));
        assert!(!is_inside("{{ b }} c"));
        assert!(!is_inside("{ b"));
    }
}
