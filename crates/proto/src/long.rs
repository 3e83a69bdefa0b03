//! A long answer of another server, taken apart while it comes: where its result begins, and where
//! it ends. Within the result nothing is looked at but texts, braces and the names of its members,
//! so what is passed on ends where the result does, and is text; whether it is JSON is for whoever
//! reads it. Fed by whoever has the bytes; it keeps none but for a name that is cut.

use crate::json::{Cursor, DEPTH_MAX, JsonStr};
use memchr::{memchr2, memchr3};
use simdutf8::compat;

/// Where the result begins of the answer to `id`, which is JSON text: the index of its `{`. `None`
/// if these bytes do not say so yet, if the id comes after the result, or is another, or if it may
/// not be all that the other server has to say, but ask for more (2026-07-28, "Multi Round-Trip
/// Requests").
///
/// ```
/// let begun = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"It"#;
/// assert_eq!(haft_proto::long::result_begins(begun, "7"), Some(33));
/// ```
#[must_use]
pub fn result_begins(begun: &[u8], id: &str) -> Option<usize> {
    let text = match std::str::from_utf8(begun) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&begun[..error.valid_up_to()]).ok()?,
    };
    let mut cursor = Cursor::new(text, DEPTH_MAX);
    cursor.enter_object().ok()?;
    let (mut is_first, mut is_ours) = (true, false);
    loop {
        match &*cursor.next_key(&mut is_first).ok()??.decode() {
            "result" if is_ours => {
                let is_object = cursor.peek_token() == Some(b'{');
                let start = cursor.position();
                return (is_object && is_complete(&text[start..])).then_some(start);
            }
            "id" => is_ours = cursor.value().ok()? == id,
            "jsonrpc" => _ = cursor.value().ok()?,
            _ => return None,
        }
    }
}

/// Whether an object has a member, near its beginning, that only complete results have.
fn is_complete(result: &str) -> bool {
    let mut cursor = Cursor::new(result, DEPTH_MAX);
    let mut is_first = true;
    if cursor.enter_object().is_err() {
        return false;
    }
    while let Ok(Some(key)) = cursor.next_key(&mut is_first) {
        match &*key.decode() {
            "completion" | "content" | "contents" | "messages" | "structuredContent" => {
                return true;
            }
            "resultType" => return cursor.value().is_ok_and(|kind| kind == r#""complete""#),
            _ if cursor.value().is_err() => return false,
            _ => {}
        }
    }
    false
}

/// How far an object has come whose bytes are passed on as they come.
///
/// ```
/// # use haft_proto::long::Passing;
/// let mut passing = Passing::default();
/// assert_eq!(passing.take(br#"{"a":"}"#), Ok(7));
/// assert!(!passing.is_over());
/// assert_eq!(passing.take(br#""},"jsonrpc":"2.0"}"#), Ok(2));
/// assert!(passing.is_over());
/// ```
#[derive(Debug, Default)]
pub struct Passing {
    depth: usize,
    place: Place,
    is_over: bool,
    said: Said,
    /// The text that is being read, or was last, if it may be the name of a member; cut off where
    /// it is longer than any that matters.
    name: Vec<u8>,
    /// That text is over, and is a name if a colon comes next.
    is_named: bool,
    /// The beginning of a character whose end is still to come.
    cut: Vec<u8>,
}

/// Which members a result has of those that this server would add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `_meta`.
    pub meta: bool,
    /// `resultType`.
    pub result_type: bool,
    /// `ttlMs`.
    pub ttl_ms: bool,
}

/// The longest name that matters, each letter of it escaped, in quotes.
const NAME_BYTES_MAX: usize = 2 + 6 * "resultType".len();

/// Where the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// After a backslash in a string.
    Escape,
    #[default]
    Outside,
    String,
}

/// It is not UTF-8, or has an escape that nobody could read as it was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText;

impl Passing {
    /// How many of these bytes belong to the object; all of them, unless it ends among them.
    ///
    /// # Errors
    /// [`NotText`]; nothing of these bytes shall be passed on.
    pub fn take(&mut self, piece: &[u8]) -> Result<usize, NotText> {
        let count = self.find_end(piece)?;
        self.check(&piece[..count])?;
        Ok(count)
    }

    /// Whether its end has come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Which members have come.
    #[must_use]
    pub fn said(&self) -> Said {
        self.said
    }

    /// More of a text that may be a name.
    fn spell(&mut self, text: &[u8]) {
        if self.depth == 1 && self.name.len() <= NAME_BYTES_MAX {
            // One byte more says that it is too long.
            let room = NAME_BYTES_MAX + 1 - self.name.len();
            self.name.extend_from_slice(&text[..text.len().min(room)]);
        }
    }

    /// What comes behind a text: a colon, if that is a name. Within a list there is none.
    fn name(&mut self, rest: &[u8]) {
        let Some(next) = rest.iter().find(|byte| !byte.is_ascii_whitespace()) else { return };
        self.is_named = false;
        let text = std::str::from_utf8(&self.name).ok().filter(|_| *next == b':');
        // One with an escape that is none is no name.
        let name = text.and_then(|text| Cursor::new(text, 1).string().ok().map(JsonStr::decode));
        match name.as_deref() {
            Some("_meta") => self.said.meta = true,
            Some("resultType") => self.said.result_type = true,
            Some("ttlMs") => self.said.ttl_ms = true,
            _ => {}
        }
    }

    fn find_end(&mut self, piece: &[u8]) -> Result<usize, NotText> {
        let mut at = 0;
        while at < piece.len() {
            let rest = &piece[at..];
            match self.place {
                // Passed on without line breaks, it would be another escape, and end elsewhere.
                Place::Escape if matches!(rest[0], b'\n' | b'\r') => return Err(NotText),
                Place::Escape => {
                    self.spell(&rest[..1]);
                    self.place = Place::String;
                    at += 1;
                }
                Place::String => {
                    let Some(found) = memchr2(b'"', b'\\', rest) else {
                        self.spell(rest);
                        break;
                    };
                    self.spell(&rest[..=found]);
                    self.place = match rest[found] {
                        b'"' => Place::Outside,
                        _ => Place::Escape,
                    };
                    self.is_named = self.depth == 1 && self.place == Place::Outside;
                    at += found + 1;
                }
                Place::Outside => {
                    if self.is_named {
                        self.name(rest);
                    }
                    let Some(found) = memchr3(b'"', b'{', b'}', rest) else { break };
                    at += found + 1;
                    match rest[found] {
                        b'"' => {
                            self.place = Place::String;
                            self.name.clear();
                            self.spell(b"\"");
                        }
                        b'{' => self.depth += 1,
                        _ => {
                            self.depth = self.depth.saturating_sub(1);
                            if self.depth == 0 {
                                self.is_over = true;
                                return Ok(at);
                            }
                        }
                    }
                }
            }
        }
        Ok(piece.len())
    }

    fn check(&mut self, piece: &[u8]) -> Result<(), NotText> {
        let mut rest = piece;
        while !self.cut.is_empty() {
            let Some((next, after)) = rest.split_first() else { return Ok(()) };
            self.cut.push(*next);
            rest = after;
            match std::str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(error) if error.error_len().is_some() => return Err(NotText),
                Err(_) => {}
            }
        }
        if let Err(error) = compat::from_utf8(rest) {
            if error.error_len().is_some() {
                return Err(NotText);
            }
            self.cut.extend_from_slice(&rest[error.valid_up_to()..]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_result_begins_where_the_id_is_known_before() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":"#, Some(33)),
            (r#" { "id" : 7 , "jsonrpc":"2.0", "result" : { "contents" :["#, Some(42)),
            (r#"{"id":7,"result":{"_meta":{"a":1},"resultType":"complete","a":"#, Some(17)),
            (r#"{"id":7,"result":{"isError":false,"messages":["#, Some(17)),
            (r#"{"id":7,"result":{"resultType":"input_required","content":"#, None),
            (r#"{"id":7,"result":{"inputRequests":{"a":{"#, None),
            (r#"{"id":7,"result":{"_meta":{"content":"#, None),
            (r#"{"id":7,"result":{"cont"#, None),
            (r#"{"jsonrpc":"2.0","result":{"content":1},"id":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":8,"result":{"content":"#, None),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"content":"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"result":["content":"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"resu"#, None),
            (r#"[{"id":7,"result":{"#, None),
            ("", None),
        ] {
            assert_eq!(result_begins(text.as_bytes(), "7"), expected, "{text}");
        }
        let cut = [r#"{"id":7,"result":{"content":["é"#.as_bytes(), &[0xc3]].concat();
        assert_eq!(result_begins(&cut, "7"), Some(17));
    }

    #[test]
    fn members_of_the_result_itself_are_known_however_it_is_cut() {
        let (none, meta) = (Said::default(), Said { meta: true, ..Said::default() });
        for (text, expected) in [
            (r#"{"_meta":{"resultType":1,"ttlMs":2},"content":["x"]}"#, meta),
            (r#"{"a":["_meta","ttlMs",{"resultType":":"}],"b":"ttlMs"}"#, none),
            ("{\"a\":{\"b\":{}} , \"_meta\" \n\t: 1}", meta),
            (r#"{"\u005fme\u0074\u0061":1,"_metadata":2,"\"ttlMs":3}"#, meta),
            (r#"{"\u00":1,"\q":2,"\ud800":3,"\ttl":4,"\\":5,"ttlMs\u":6,"":7}"#, none),
            (r#"{"a":"\"","resultType":"complete"}"#, Said { result_type: true, ..none }),
            (r#"{"ttlMs":0,"_meta":{}}"#, Said { ttl_ms: true, ..meta }),
            (
                r#"{"\u0072\u0065\u0073\u0075\u006c\u0074\u0054\u0079\u0070\u0065":1}"#,
                Said { result_type: true, ..none },
            ),
        ] {
            for cut in 0..text.len() {
                let mut passing = Passing::default();
                for piece in [&text[..cut], &text[cut..]] {
                    passing.take(piece.as_bytes()).expect("text");
                }
                assert_eq!(
                    (passing.said(), passing.is_over()),
                    (expected, true),
                    "{text} at {cut}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_text_is_not_passed_on() {
        for wrong in [&b"{\"a\":\"\xff\"}"[..], b"{\"a\":\"\xc3\"}", b"{\"\xed\xa0\x80\"}"] {
            for cut in 0..wrong.len() {
                let mut passing = Passing::default();
                let first = passing.take(&wrong[..cut]);
                let taken = first.and_then(|_| passing.take(&wrong[cut..]));
                assert_eq!(taken, Err(NotText), "{wrong:?} at {cut}");
            }
        }
    }

    #[test]
    fn what_would_end_elsewhere_on_one_line_is_not_passed_on() {
        // Without its line break, `\` would escape the quote behind it.
        for cut in ["{\"a\":\"\\|\n\",\"b\":\"}", "{\"a\":\"\\\r|\"}", "{\"a\":\"\\\n\"}|"] {
            let pieces: Vec<&str> = cut.split('|').collect();
            let mut passing = Passing::default();
            let taken: Vec<_> = pieces.iter().map(|piece| passing.take(piece.as_bytes())).collect();
            assert!(taken.contains(&Err(NotText)), "{cut}: {taken:?}");
        }
        assert_eq!(Passing::default().take(b"{\"a\":\n\"b\"}"), Ok(10), "between tokens it may be");
    }

    proptest! {
        #[test]
        fn it_ends_where_the_object_does_in_whatever_pieces(
            texts in prop::collection::vec(".{0,8}", 0..6),
            cuts in prop::collection::vec(0_usize..200, 0..6),
        ) {
            let odd = serde_json::json!({"}": ["\\\"", "\\", "}{"]});
            let value = serde_json::json!({"a": texts, "{": odd, "é\"": 1.5});
            let object = value.to_string();
            let all = format!("{object},\"x\":{{}}}}");
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % all.len()).collect();
            cuts.extend([0, all.len()]);
            cuts.sort_unstable();
            let (mut passing, mut passed) = (Passing::default(), Vec::new());
            for pair in cuts.windows(2) {
                if passing.is_over() {
                    break;
                }
                let piece = &all.as_bytes()[pair[0]..pair[1]];
                let count = passing.take(piece).expect("text");
                passed.extend_from_slice(&piece[..count]);
            }
            prop_assert_eq!(String::from_utf8(passed).expect("text"), object);
            prop_assert!(passing.is_over());
        }
    }
}
