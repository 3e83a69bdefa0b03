//! What stands between the parts of JSON that mean something: white space, comments, commas. Used
//! by `json` to find commas and the ends of lines; the text has been parsed before.

use std::ops::Range;

/// A piece between two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trivia {
    BlockComment,
    Comma,
    LineComment,
    /// Ends a line.
    NewLine,
    Space,
}

/// The pieces from `start` on, up to the first byte that belongs to none, each with its place.
pub(super) fn trivia(text: &str, start: usize) -> impl Iterator<Item = (Trivia, Range<usize>)> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (kind, length) = match rest.as_bytes() {
            [b',', ..] => (Trivia::Comma, 1),
            [b'\n', ..] => (Trivia::NewLine, 1),
            [b'\r', b'\n', ..] => (Trivia::NewLine, 2),
            [b'/', b'/', ..] => {
                let end = rest.find('\n').unwrap_or(rest.len());
                let end = if rest[..end].ends_with('\r') { end - 1 } else { end };
                (Trivia::LineComment, end)
            }
            [b'/', b'*', ..] => {
                (Trivia::BlockComment, rest.find("*/").map_or(rest.len(), |end| end + 2))
            }
            _ => {
                let is_space = |character: char| character.is_whitespace() && character != '\n';
                let end = rest.find(|character| !is_space(character)).unwrap_or(rest.len());
                let end = if rest[end..].starts_with('\n') && rest[..end].ends_with('\r') {
                    end - 1
                } else {
                    end
                };
                if end == 0 {
                    return None;
                }
                (Trivia::Space, end)
            }
        };
        let range = at..at + length;
        at += length;
        Some((kind, range))
    })
}

/// Where the first comma after `start` is, if nothing but white space and comments is before it.
pub(super) fn comma(text: &str, start: usize) -> Option<usize> {
    let mut pieces = trivia(text, start);
    pieces.find(|(kind, _)| *kind == Trivia::Comma).map(|(_, range)| range.start)
}

/// The end of the last comment that begins on the line of `start`; `start` if there is none.
pub(super) fn end_of_remarks(text: &str, start: usize) -> usize {
    let mut end = start;
    for (kind, range) in trivia(text, start) {
        match kind {
            Trivia::BlockComment | Trivia::LineComment => end = range.end,
            Trivia::Space => {}
            Trivia::Comma | Trivia::NewLine => break,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_comments_are_none() {
        assert_eq!(comma(" /* , */ // ,\r\n , x", 0), Some(16));
        assert_eq!(comma(" // ,", 0), None);
        assert_eq!(comma(" x ,", 0), None);
    }

    #[test]
    fn remarks_end_with_their_line() {
        let text = "1 /* a */ // b\r\n // c\n}";
        assert_eq!(&text[..end_of_remarks(text, 1)], "1 /* a */ // b");
        assert_eq!(end_of_remarks("1 \n// c", 1), 1);
    }
}
