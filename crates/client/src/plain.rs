//! Makes a line that a program wrote fit for a terminal and a log: without escape sequences, other
//! control characters, and what changes the direction of writing. Used by `process` and `error`.

/// The line as text of `bytes_max` bytes at most, without blanks at its end.
pub(crate) fn plain(line: &[u8], bytes_max: usize) -> String {
    let head = line.get(..bytes_max).unwrap_or(line);
    let decoded = String::from_utf8_lossy(head);
    let mut rest = decoded.chars();
    let (mut text, mut utf8) = (String::new(), [0; 4]);
    while let Some(character) = rest.next() {
        let shown = match character {
            '\x1b' => {
                skip_sequence(&mut rest);
                continue;
            }
            '\u{9b}' => {
                skip_control(&mut rest);
                continue;
            }
            '\t' => "    ",
            _ if steers(character) => continue,
            _ => character.encode_utf8(&mut utf8),
        };
        if text.len() + shown.len() > bytes_max {
            break;
        }
        text.push_str(shown);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Whether a character is none that is shown: a control character, or one that changes the
/// direction of writing.
pub(crate) fn steers(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what follows an escape: a control sequence, a string with its end, or one character. A
/// string that does not end in the line loses its introducer alone.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    let before = rest.clone();
    match rest.next() {
        Some('[') => skip_control(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let text = rest.as_str();
            let bell = text.find('\x07').map(|at| at + 1);
            let end = text.find("\x1b\\").map(|at| at + 2);
            if let Some(end) = bell.into_iter().chain(end).min() {
                *rest = text[end..].chars();
            }
        }
        Some(' '..='~') => {}
        _ => *rest = before,
    }
}

/// Skips the parameters of a control sequence and its last character.
fn skip_control(rest: &mut std::str::Chars<'_>) {
    let text = rest.as_str();
    let end = text.trim_start_matches(|character| matches!(character, ' '..='?'));
    let is_whole = end.starts_with(|character| matches!(character, '@'..='~'));
    *rest = end[usize::from(is_whole)..].chars();
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_steers_a_terminal_goes_whole() {
        for (line, text) in [
            ("\x1b[1;31mred\x1b[0m \x1b[?25l", "red"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\u{9b}2Jc", "abc"),
            ("a\x1b]no end", "ano end"),
            ("a\x1b[", "a"),
            ("a\x1b", "a"),
            ("a\x1b[3\u{e9}", "a\u{e9}"),
            ("\u{202e}a\u{2066}b\u{2069}\r\tc", "ab    c"),
        ] {
            assert_eq!(plain(line.as_bytes(), 100), text, "{line:?}");
        }
    }

    #[test]
    fn it_is_no_longer_than_it_may_be() {
        assert_eq!(plain(&[0xff; 100], 100), "\u{fffd}".repeat(33));
        assert_eq!(plain(&[b'\t'; 100], 10).len(), 0);
        assert_eq!(plain(&[b'x'; 100], 10), "x".repeat(10));
    }
}
