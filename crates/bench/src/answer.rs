//! Whether a message answers what was asked: its id, a result of the method's kind, no error. An
//! answer that differs from a good one in its id alone needs no second reading. It does no I/O.

use crate::limits::{ANSWER_BYTES_MAX, KNOWN_BYTES_MAX};
use crate::plan::Ask;
use crate::request::{ID_DIGITS, digits};
use crate::wrong::{Wrong, excerpt};
use haft_proto::envelope::{self, Envelope, Incoming, Kind};
use haft_proto::json::member;
use haft_proto::limits::Limits;
use haft_proto::method::Method;

/// Checks answers of one run, and remembers the last good one of each kind of request.
#[derive(Debug)]
pub(crate) struct Checker {
    asks: Vec<Asked>,
    limits: Limits,
}

#[derive(Debug)]
struct Asked {
    method: Method,
    expect: Option<String>,
    known: Vec<u8>,
    /// Where in it its id is.
    id_at: usize,
}

/// What a message is to whoever waits for answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// An answer to this id, in words that nobody has judged yet.
    Answer(u64, Unjudged<'a>),
    /// A notification, or a question that a bench does not answer.
    Other,
}

/// An answer whose id is known; see [`Checker::judge`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unjudged<'a> {
    /// But for the id, it is the known answer of this kind of request.
    Known(usize),
    /// Something new: the whole message, its result or its error.
    New { message: &'a [u8], result: Result<&'a str, &'a str> },
}

impl Checker {
    pub(crate) fn new(asks: &[Ask]) -> Self {
        let asked = |ask: &Ask| Asked {
            method: ask.method,
            expect: ask.expect.clone(),
            known: Vec::new(),
            id_at: 0,
        };
        let limits = Limits { message_bytes: ANSWER_BYTES_MAX, ..Limits::default() };
        Self { asks: asks.iter().map(asked).collect(), limits }
    }

    /// Reads a message. `guess` is what is answered most likely.
    ///
    /// # Errors
    /// [`Wrong::NoAnswer`] for what is no message, and for an id that no request has.
    pub(crate) fn hear<'a>(&self, guess: usize, message: &'a [u8]) -> Result<Heard<'a>, Wrong> {
        if let Some(id) = self.asks.get(guess).and_then(|asked| asked.is_known(message)) {
            return Ok(Heard::Answer(id, Unjudged::Known(guess)));
        }
        let no_answer = || Wrong::NoAnswer(excerpt(message));
        let Ok(Incoming::One(envelope)) = envelope::read(message, &self.limits) else {
            return Err(no_answer());
        };
        let Envelope { kind, id, result, error, .. } = envelope;
        let result = match kind {
            Kind::Request | Kind::Notification => return Ok(Heard::Other),
            Kind::Response => Ok(result.unwrap_or_default()),
            Kind::Error => Err(error.unwrap_or_default()),
        };
        let id = match (id, &result) {
            (Some(id), _) => id.raw(),
            // Who could not read the request does not know its id.
            (None, Err(error)) => return Err(Wrong::Refused(excerpt(error.as_bytes()))),
            (None, Ok(_)) => return Err(no_answer()),
        };
        match id.parse() {
            Ok(number) => Ok(Heard::Answer(number, Unjudged::New { message, result })),
            Err(_) => Err(Wrong::AnotherId(excerpt(id.as_bytes()))),
        }
    }

    fn is_same_kind(&self, one: usize, other: usize) -> bool {
        let of = |at: usize| self.asks.get(at).map(|asked| (asked.method, &asked.expect));
        one == other || of(one) == of(other)
    }

    /// Judges the answer to a request of kind `ask`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn judge(&mut self, ask: usize, id: u64, it: Unjudged<'_>) -> Result<(), Wrong> {
        let (message, result) = match it {
            // Two kinds of requests may have the same answer; what is good is the same then.
            Unjudged::Known(known) if self.is_same_kind(known, ask) => return Ok(()),
            Unjudged::Known(known) => {
                // It would be a good answer to something else.
                let other = self.asks.get(known).map_or("another", |asked| asked.method.name());
                return Err(Wrong::NoAnswer(format!("it answers {other}")));
            }
            Unjudged::New { message, result } => (message, result),
        };
        let asked = &mut self.asks[ask];
        let result = result.map_err(|error| Wrong::Refused(excerpt(error.as_bytes())))?;
        judge(asked.method, result)?;
        if let Some(expect) = &asked.expect
            && !result.contains(expect)
        {
            return Err(Wrong::Unexpected(excerpt(result.as_bytes())));
        }
        asked.remember(id, message);
        Ok(())
    }
}

impl Asked {
    /// The id, if the rest of the message is as that of the known one.
    fn is_known(&self, message: &[u8]) -> Option<u64> {
        let (at, after) = (self.id_at, self.id_at + ID_DIGITS);
        let is_same = message.len() == self.known.len()
            && !message.is_empty()
            && message[..at] == self.known[..at]
            && message[after..] == self.known[after..];
        if !is_same {
            return None;
        }
        let digits = std::str::from_utf8(&message[at..after]).ok()?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    fn remember(&mut self, id: u64, message: &[u8]) {
        if message.len() > KNOWN_BYTES_MAX {
            return;
        }
        // Where the digits stand twice, nobody knows without reading which of them are the id.
        let digits = digits(id);
        let mut places = message.windows(ID_DIGITS).enumerate();
        let mut place = || places.find(|(_, window)| *window == digits).map(|(at, _)| at);
        if let (Some(at), None) = (place(), place()) {
            self.id_at = at;
            self.known.clear();
            self.known.extend_from_slice(message);
        }
    }
}

/// Whether `result` is what a method answers with.
fn judge(method: Method, result: &str) -> Result<(), Wrong> {
    if member(result, "resultType").is_some_and(|kind| kind == "\"input_required\"") {
        return Err(Wrong::AsksForInput);
    }
    if member(result, "isError") == Some("true") {
        let said = member(result, "content").unwrap_or(result);
        return Err(Wrong::ToolFailed(excerpt(said.as_bytes())));
    }
    match needed(method) {
        Some(key) if member(result, key).is_none() => {
            let what = format!("a result of {} has `{key}`", method.name());
            Err(Wrong::NoAnswer(format!("{what}: {}", excerpt(result.as_bytes()))))
        }
        _ => Ok(()),
    }
}

/// The member that every result of a method has.
fn needed(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::Discover => "supportedVersions",
        Method::Initialize => "protocolVersion",
        Method::PromptsGet => "messages",
        Method::PromptsList => "prompts",
        Method::ResourcesList => "resources",
        Method::ResourcesRead => "contents",
        Method::ToolsCall => "content",
        Method::ToolsList => "tools",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FIRST_ID;

    fn check(checker: &mut Checker, id: u64, message: &str) -> Result<bool, Wrong> {
        let Heard::Answer(number, unjudged) = checker.hear(0, message.as_bytes())? else {
            panic!("an answer")
        };
        assert_eq!(number, id);
        let was_known = matches!(unjudged, Unjudged::Known(_));
        checker.judge(0, id, unjudged).map(|()| was_known)
    }

    fn good(id: u64, text: &str) -> String {
        let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{content}}}}}"#)
    }

    #[test]
    fn a_good_answer_is_read_once_and_compared_later() {
        let mut checker = Checker::new(&[Ask::call("echo", "{}")]);
        assert_eq!(check(&mut checker, FIRST_ID, &good(FIRST_ID, "a")), Ok(false));
        assert_eq!(check(&mut checker, FIRST_ID + 1, &good(FIRST_ID + 1, "a")), Ok(true));
        assert_eq!(check(&mut checker, FIRST_ID + 2, &good(FIRST_ID + 2, "b")), Ok(false));
    }

    #[test]
    fn digits_like_the_id_in_a_result_are_not_taken_for_it() {
        let mut checker = Checker::new(&[Ask::call("echo", "{}")]);
        let digits = FIRST_ID.to_string();
        assert_eq!(check(&mut checker, FIRST_ID, &good(FIRST_ID, &digits)), Ok(false));
        assert_eq!(check(&mut checker, FIRST_ID, &good(FIRST_ID, &digits)), Ok(false));
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        let wrong = |message: &str| {
            let mut call = Ask::call("echo", "{}");
            call.expect = Some("hello".to_owned());
            check(&mut Checker::new(&[call]), FIRST_ID, message).expect_err("it is wrong").kind()
        };
        let id = FIRST_ID;
        use crate::wrong::WrongKind as Kind;
        let answer = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#);
        assert_eq!(wrong(&answer(r#""error":{"code":-32603,"message":"x"}"#)), Kind::Refused);
        assert_eq!(wrong(&answer(r#""result":{}"#)), Kind::NoAnswer);
        assert_eq!(wrong(&answer(r#""result":{"content":[],"isError":true}"#)), Kind::ToolFailed);
        let asks = r#""result":{"resultType":"input_required","inputRequests":{}}"#;
        assert_eq!(wrong(&answer(asks)), Kind::AsksForInput);
        assert_eq!(wrong(&good(id, "goodbye")), Kind::Unexpected);
        assert_eq!(wrong("{"), Kind::NoAnswer);
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#), Kind::AnotherId);
        let unread = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#;
        assert_eq!(wrong(unread), Kind::Refused);
    }
}
