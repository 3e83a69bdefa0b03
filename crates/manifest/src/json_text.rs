//! JSON as programs and servers really write it, made one value that every client reads: what can
//! be repaired is, and for all else the reason names what stands there. Called by `output` and by
//! those who have bytes.

use crate::limits::OUTPUT_DEPTH_MAX;
use haft_proto::json::Cursor;
use haft_proto::salvage::with_whole_pairs;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The most characters of a word within a reason.
const WORD_MAX: usize = 20;

/// The text of bytes that are to be JSON, without a byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        format!("it is not UTF-8 at byte {}, as JSON must be; Latin-1 is not read", at + 1)
    })?;
    Ok(without_mark(text))
}

/// A text without a byte order mark before it.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// One JSON value, not too deep, and all of it. Halves of surrogate pairs become U+FFFD.
pub(crate) fn parse(text: &str) -> Result<Box<RawValue>, String> {
    let whole = mended(text);
    let json: Box<RawValue> =
        serde_json::from_str(&whole).map_err(|error| reason(&whole, &error))?;
    match Cursor::new(json.get(), OUTPUT_DEPTH_MAX).value() {
        Ok(_) => Ok(json),
        Err(error) => Err(error.to_string()),
    }
}

/// The text without a mark and white space around it, and with whole characters.
pub(crate) fn mended(text: &str) -> Cow<'_, str> {
    with_whole_characters(without_mark(text).trim())
}

/// `\ud83d` without its other half is a character that no client can read.
fn with_whole_characters(text: &str) -> Cow<'_, str> {
    let whole = with_whole_pairs(text.as_bytes()).and_then(|whole| String::from_utf8(whole).ok());
    whole.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Why a text is no JSON, with the word that stands where a value should.
fn reason(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-');
    let at = error.column().saturating_sub(1).min(line.len());
    let before = line.as_bytes()[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let after = line.as_bytes()[at..].iter().take_while(|byte| is_word(byte)).count();
    let word = line.get(at - before..at + after).unwrap_or_default();
    let said = error.to_string();
    let is_about_it = ["expected value", "expected ident", "invalid number"];
    let is_named = word.bytes().any(|byte| byte.is_ascii_alphabetic()) && word.len() <= WORD_MAX;
    match is_named && is_about_it.iter().any(|start| said.starts_with(start)) {
        true => format!("`{word}` is no value of JSON: {said}"),
        false => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_repaired_is_and_the_rest_is_told() {
        for (text, expected) in [
            ("\u{feff}{\"a\":1}", Ok(r#"{"a":1}"#)),
            ("\u{feff} [1]\r\n", Ok("[1]")),
            (r#""\ud83d\ude00""#, Ok(r#""\ud83d\ude00""#)),
            (r#""\ud83d""#, Ok(r#""\ufffd""#)),
            (
                r#"{"\uDE00":"a\ud83dé\ud83d\ud83d\ude00\\ud83d"}"#,
                Ok(r#"{"\ufffd":"a\ufffdé\ufffd\ud83d\ude00\\ud83d"}"#),
            ),
            (r#"["\ud83d\n\"", "\ud83"]"#, Err("invalid escape")),
            (r#"{"a": NaN}"#, Err("`NaN` is no value of JSON: expected value at line 1")),
            ("[1,\n -Infinity]", Err("`-Infinity` is no value of JSON: ")),
            ("[nan]", Err("`nan` is no value of JSON: ")),
            ("undefined", Err("`undefined` is no value of JSON: ")),
            ("{'a': 1}", Err("key must be a string at line 1 column 2")),
            ("\"a\tb\"", Err("control character (\\u0000-\\u001F) found while parsing a string")),
            ("{\"a\":", Err("EOF while parsing")),
            ("{} {}", Err("trailing characters")),
            ("", Err("EOF while parsing")),
            ("\\", Err("expected value")),
            ("\u{feff}\u{feff}1", Err("expected value")),
        ] {
            match (parse(text), expected) {
                (Ok(json), Ok(expected)) => assert_eq!(json.get(), expected, "{text:?}"),
                (Err(why), Err(expected)) => {
                    assert!(why.starts_with(expected), "{text:?}: {why}");
                }
                (found, _) => panic!("{text:?}: {found:?}"),
            }
        }
        assert!(decode(b"\"caf\xe9\"").expect_err("Latin-1").contains("not UTF-8 at byte 5"));
        assert_eq!(decode(b"\xef\xbb\xbf1"), Ok("1"));
    }
}
