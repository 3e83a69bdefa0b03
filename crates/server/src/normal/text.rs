//! Characters that say something else to a machine than to whoever reads a text: they move a
//! terminal's cursor, turn words around, or are not seen at all. Asked by `normal`; what the words
//! mean is nobody's business here.

use std::borrow::Cow;

/// A text without them. What only lays text out stays: line breaks, tabs, joiners of letters and of
/// pictures.
///
/// ```
/// use haft_server::visible;
/// assert_eq!(visible("a\u{1b}[31mb\0\n"), "a[31mb\n");
/// assert_eq!(visible("pay \u{202e}001 \u{e0041}\u{e0042}"), "pay 001 ");
/// assert!(matches!(visible("плюс 👩‍🚀"), std::borrow::Cow::Borrowed(_)));
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_visible(text) {
        return Cow::Borrowed(text);
    }
    let mut before = None;
    let mut kept = |character: &char| {
        let is_kept = !is_hidden(*character, before);
        before = Some(*character);
        is_kept
    };
    Cow::Owned(text.chars().filter(|character| kept(character)).collect())
}

/// Whether a text has none of them.
pub(super) fn is_visible(text: &str) -> bool {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return true;
    }
    let mut before = None;
    text.chars().all(|character| {
        let is_hidden = is_hidden(character, before);
        before = Some(character);
        !is_hidden
    })
}

fn is_hidden(character: char, before: Option<char>) -> bool {
    match character {
        '\n' | '\r' | '\t' => false,
        // Which way text runs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2066}'..='\u{2069}' => true,
        // What nobody sees: spaces and operators without width, old format characters, fillers.
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' => true,
        '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{1d173}'..='\u{1d17a}' => true,
        // A second look of a character that has a look already.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => before.is_none_or(is_selector),
        // Tags, and what is kept free beside them.
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => character.is_control(),
    }
}

fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_gone_and_what_is_stays() {
        for (text, expected) in [
            ("plain\r\n\tname", "plain\r\n\tname"),
            ("\u{1b}[2J\u{1b}]0;t\u{7}x", "[2J]0;tx"),
            ("a\0b\u{7f}c\u{9b}1md\u{85}", "abc1md"),
            ("\u{202a}a\u{202b}b\u{202c}c\u{202d}d\u{202e}e", "abcde"),
            ("\u{2066}a\u{2067}b\u{2068}c\u{2069}\u{200e}\u{200f}\u{61c}", "abc"),
            ("x\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "x"),
            ("z\u{200b}e\u{2060}r\u{feff}o", "zero"),
            ("a\u{fe01}\u{fe02}\u{e0100}\u{e0101}b", "a\u{fe01}b"),
            ("\u{fe0f}a", "a"),
            ("☠️ 👩‍👩‍👧 می‌خواهم שלום", "☠️ 👩‍👩‍👧 می‌خواهم שלום"),
            ("", ""),
        ] {
            assert_eq!(visible(text), expected, "{}", text.escape_unicode());
            assert_eq!(is_visible(text), text == expected, "{}", text.escape_unicode());
        }
    }
}
