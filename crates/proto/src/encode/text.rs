//! A text becomes a JSON string: what needs no escape is copied in one piece.

use crate::json::plain_end;

/// Appends a JSON string.
///
/// ```
/// let mut out = Vec::new();
/// haft_proto::encode::string(&mut out, "a \"b\"\n");
/// assert_eq!(out, br#""a \"b\"\n""#);
/// ```
pub fn string(out: &mut Vec<u8>, text: &str) {
    // With room for what most answers end with, so that it need not grow again.
    out.reserve(text.len() + 64);
    out.push(b'"');
    let (bytes, mut at) = (text.as_bytes(), 0);
    loop {
        let end = plain_end(bytes, at);
        out.extend_from_slice(&bytes[at..end]);
        let Some(&byte) = bytes.get(end) else { break };
        escape(out, byte);
        at = end + 1;
    }
    out.push(b'"');
}

/// Appends a quote, a backslash or a control character.
fn escape(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digit = |of: u8| DIGITS[usize::from(of & 0xF)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        string(&mut out, text);
        out
    }

    #[test]
    fn every_character_that_needs_it_is_escaped() {
        let text: String = (0..0x80).map(char::from).collect();
        let expected = serde_json::to_vec(&text).expect("a text is JSON");
        assert_eq!(String::from_utf8(written(&text)), String::from_utf8(expected));
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_writes_it(text in ".*[\u{0}-\u{1f}\"\\\\]?.*") {
            prop_assert_eq!(written(&text), serde_json::to_vec(&text).expect("a text is JSON"));
        }
    }
}
