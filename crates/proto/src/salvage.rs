//! What can still be had of a message that cannot be read: its id, so that whoever waits for an
//! answer hears of it, and the whole message, if all that is wrong are halves of surrogate pairs.
//! Called where reading has failed; looks at each byte once.

use crate::envelope::Id;
use crate::json::Cursor;

/// The id of an object that is no JSON, or no text: the value of the key `id` that stands in no
/// other object or array, if there is one such. What is wrong may stand anywhere but in the id.
pub(crate) fn id(bytes: &[u8], id_bytes: usize) -> Option<Id<'_>> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut at = space_end(bytes, 0);
    let (mut depth, mut is_key, mut found) = (0_usize, false, None);
    loop {
        let byte = bytes.get(at)?;
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                let colon = space_end(bytes, end);
                if depth == 1 && is_key && bytes.get(colon) == Some(&b':') {
                    is_key = false;
                    if &bytes[at..end] == b"\"id\"" {
                        let value = value(bytes, space_end(bytes, colon + 1))?;
                        if found.replace(value).is_some() {
                            return None;
                        }
                    }
                }
                at = end;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                is_key = depth == 1 && *byte == b'{';
                if depth == 1 && !is_key {
                    return None;
                }
            }
            b'}' | b']' => match depth {
                0 | 1 => break,
                _ => depth -= 1,
            },
            b',' if depth == 1 => is_key = true,
            _ if depth == 0 => return None,
            _ => {}
        }
        at += 1;
    }
    let text = std::str::from_utf8(found?).ok()?;
    let mut cursor = Cursor::new(text, 1);
    cursor.value().and_then(|_| cursor.end()).ok()?;
    Id::from_raw(text, id_bytes).ok()
}

/// The same message with U+FFFD for each half of a surrogate pair that is alone; `None` if there is
/// none. Programs write such halves that cut a text in the middle of a character.
///
/// ```
/// use haft_proto::salvage::with_whole_pairs;
/// let mended = with_whole_pairs(br#""\ud83d \ud83d\ude00""#);
/// assert_eq!(mended.as_deref(), Some(&br#""\ufffd \ud83d\ude00""#[..]));
/// assert_eq!(with_whole_pairs(br#""\\ud83d""#), None);
/// ```
#[must_use]
pub fn with_whole_pairs(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..)?) {
        at += found;
        let half = unit(bytes, at).filter(|unit| (0xD800..0xE000).contains(unit));
        at += match half {
            Some(0xD800..0xDC00)
                if unit(bytes, at + 6).is_some_and(|unit| (0xDC00..0xE000).contains(&unit)) =>
            {
                12
            }
            Some(_) => {
                let mended = mended.get_or_insert_with(|| bytes.to_vec());
                mended[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            None => 2,
        };
    }
    mended
}

/// The unit of UTF-16 that is escaped there.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Behind the quote that ends the string which begins there.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// A string or number.
fn value(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let end = match bytes.get(start)? {
        b'"' => string_end(bytes, start)?,
        _ => {
            let is_behind = |byte: &u8| b",} \t\r\n".contains(byte);
            start + bytes[start..].iter().position(is_behind)?
        }
    };
    bytes.get(start..end)
}

fn space_end(bytes: &[u8], start: usize) -> usize {
    let is_space = |byte: &u8| b" \t\r\n".contains(byte);
    start + bytes.iter().skip(start).take_while(|byte| is_space(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_id_of_what_is_no_json_is_that_of_the_message_itself() {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let deep = format!("{{\"id\":1,\"a\":{open}{close}}}");
        for (text, expected) in [
            (&br#"{"id":7,"a":NaN}"#[..], Some("7")),
            (br#"{"a":NaN,"id":"x"}"#, Some("\"x\"")),
            (b"\xef\xbb\xbf {\"a\":\"caf\xe9\" , \"id\" : -3 }", Some("-3")),
            (b"{\"a\":\"one\ntwo\",\"id\":1}", Some("1")),
            (br#"{"a":{"id":1,"b":[{"id":2}]},"id":3,}"#, Some("3")),
            (br#"{"a":"\"id\":1","id":4,x}"#, Some("4")),
            (br#"{"id":"a\"b","c":}"#, Some(r#""a\"b""#)),
            (deep.as_bytes(), Some("1")),
            // In another object, twice, no id, cut short, or no object at all.
            (br#"{"a":{"id":1},}"#, None),
            (br#"{"id":1,"id":2,}"#, None),
            (br#"{"id":5,"a":"cut sh"#, None),
            (br#"{"id":5,"a":1"#, None),
            (br#"{"id":1.5,}"#, None),
            (br#"{"id":NaN}"#, None),
            (br#"{"id":[1],x}"#, None),
            (br#"{"id":12"#, None),
            (br#"{"id":"ab"#, None),
            (br#"{"b":"id",:1}"#, None),
            (br#"[{"id":1,x}]"#, None),
            (br#"x{"id":1}"#, None),
            (b"", None),
            (b"{", None),
            (b"\"id\":1", None),
        ] {
            let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
            assert_eq!(id(text, 20).map(Id::raw), expected, "{shown}");
        }
        assert_eq!(id(br#"{"id":"a long one",x}"#, 5), None);
    }

    #[test]
    fn half_of_a_pair_becomes_one_character_and_nothing_else_changes() {
        for (text, expected) in [
            (r"cut \ud83d", Some(r"cut \ufffd")),
            (r"\uD83D\uDE00 \uDe00\ud83d", Some(r"\uD83D\uDE00 \ufffd\ufffd")),
            (r"\ud83d\ud83d\ude00", Some(r"\ufffd\ud83d\ude00")),
            (r"\ud83d\u0041", Some(r"\ufffd\u0041")),
            (r"\\ud83d", None),
            (r"\\\ud83d", Some(r"\\\ufffd")),
            (r"\ud83", None),
            (r"\ud83x", None),
            (r"é\n", None),
            ("\\", None),
            ("", None),
        ] {
            let mended = with_whole_pairs(text.as_bytes());
            assert_eq!(mended.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at_without_harm(bytes in r#"[{}\[\]",:\\ud8390i -]{0,60}"#) {
            id(bytes.as_bytes(), 256);
            if let Some(mended) = with_whole_pairs(bytes.as_bytes()) {
                prop_assert_eq!(mended.len(), bytes.len());
                prop_assert_eq!(with_whole_pairs(&mended), None);
            }
        }
    }
}
