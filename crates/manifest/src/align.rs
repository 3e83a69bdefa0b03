//! Where a part of a text stands in the file that the text was read from, whatever quotes, escapes,
//! folds and indentation YAML had around it. Used to point into templates; a spot that cannot be
//! found is the whole text.

use crate::place::Place;
use std::ops::Range;

/// The place of `part`, a range of bytes of `value`, which stands at `whole` in the file.
pub(crate) fn narrow(file: &str, whole: Place, value: &str, part: Range<usize>) -> Place {
    let source = file.get(whole.start..whole.end).unwrap_or_default();
    let Some(start) = offset(source, value, part.start) else { return whole };
    let last = part.end.saturating_sub(1).max(part.start);
    let end = offset(source, value, last).unwrap_or(start);
    let length = source.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    Place { start: whole.start + start, end: whole.start + end + length }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    DoubleQuoted,
    Plain,
    SingleQuoted,
}

/// The byte of `source` that makes the character of `value` at or around byte `target`.
fn offset(source: &str, value: &str, target: usize) -> Option<usize> {
    let style = match source.chars().next() {
        Some('"') => Style::DoubleQuoted,
        Some('\'') => Style::SingleQuoted,
        _ => Style::Plain,
    };
    let mut at = usize::from(style != Style::Plain);
    for (begin, wanted) in value.char_indices() {
        let is_target = (begin..begin + wanted.len_utf8()).contains(&target);
        loop {
            let rest = source.get(at..)?;
            let character = rest.chars().next()?;
            let length = spelled_length(style, rest);
            let is_escaped = style == Style::DoubleQuoted && character == '\\';
            let is_line_end = character == '\n' && matches!(wanted, ' ' | '\n');
            if is_escaped && rest[1..].starts_with('\n') {
                // An escaped line end is nothing at all.
            } else if is_escaped || character == wanted || is_line_end {
                if is_target {
                    return Some(at);
                }
                at += length;
                break;
            }
            // Indentation, or the other white space of a fold.
            at += length;
        }
    }
    (target == value.len()).then_some(at)
}

/// How many bytes of the file make one character here.
fn spelled_length(style: Style, rest: &str) -> usize {
    let mut characters = rest.chars();
    let length = match (style, characters.next(), characters.next()) {
        (Style::DoubleQuoted, Some('\\'), Some('x')) => 4,
        (Style::DoubleQuoted, Some('\\'), Some('u')) => 6,
        (Style::DoubleQuoted, Some('\\'), Some('U')) => 10,
        (Style::DoubleQuoted, Some('\\'), Some(other)) => 1 + other.len_utf8(),
        (Style::SingleQuoted, Some('\''), Some('\'')) => 2,
        (_, Some(character), _) => character.len_utf8(),
        _ => 1,
    };
    length.min(rest.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `file` is a text alone; the part of its value must be found where it is spelled.
    #[track_caller]
    fn check(file: &str, value: &str, part: &str, expected: usize) {
        let start = value.find(part).expect("the value has the part");
        let whole = Place { start: 0, end: file.len() };
        let place = narrow(file, whole, value, start..start + part.len());
        assert_eq!(place.start, expected, "{place:?}");
    }

    #[test]
    fn a_part_is_found_through_every_spelling() {
        check("say {{ x }}", "say {{ x }}", "x", 7);
        check(r#""a\tb\n{{ x }}""#, "a\tb\n{{ x }}", "x", 10);
        check(r#""\u00e9\\{{ x }}""#, "é\\{{ x }}", "x", 12);
        check("'it''s {{ x }}'", "it's {{ x }}", "x", 10);
        check("one\n    two {{ x }}\n", "one\ntwo {{ x }}\n", "x", 15);
        check("folded\n   {{ x }}", "folded {{ x }}", "x", 13);
        check("日本 {{ x }}", "日本 {{ x }}", "x", 10);
    }

    #[test]
    fn what_is_not_found_is_the_whole() {
        let whole = Place { start: 0, end: 3 };
        assert_eq!(narrow("abc", whole, "xyz", 1..2), whole);
        assert_eq!(narrow("abc", Place { start: 9, end: 12 }, "x", 0..1).start, 9);
    }
}
