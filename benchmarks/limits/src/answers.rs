//! The constants and where the id goes in them: looked for in bytes, and never parsed. Every
//! constant server answers with these.

use bytes::Bytes;
use memchr::memmem::Finder;
use std::fmt;
use std::path::Path;

/// How many digits every id of `haft bench` has.
pub(crate) const ID_DIGITS: usize = 10;
const ID: &[u8] = b"\"id\":";
const GREETING: &[u8] = b",\"method\":\"initialize\"";
/// The header of the greeting's answer over HTTP that names a session, which every later request
/// then has in it too.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
/// The session of everybody, as long as haft's are.
pub(crate) const SESSION: &str = "0123456789abcdef0123456789abcdef";

/// The digits of an id.
pub type Digits = [u8; ID_DIGITS];

/// An answer in two pieces, between which the id is.
#[derive(Clone, Debug)]
pub struct Constant {
    /// What comes before the id.
    pub before: Bytes,
    /// What comes after it.
    pub after: Bytes,
}

/// An answer to the greeting, and one to everything else.
#[derive(Clone, Debug)]
pub struct Answers {
    /// By their [`Which`].
    constants: [Constant; 2],
    id: Finder<'static>,
}

/// Which answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one to `initialize`.
    Greeting,
    /// The one to everything else.
    Other,
}

/// Why a file has no answers.
pub struct UnusableAnswers(String);

impl std::error::Error for UnusableAnswers {}

/// As people read it: it is what a program that ends with it prints.
impl fmt::Debug for UnusableAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for UnusableAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, `cargo xtask bench limits` writes such files", self.0)
    }
}

impl Constant {
    /// How long the answer is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.before.len() + ID_DIGITS + self.after.len()
    }

    /// Never: an id is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    fn read(line: &[u8], id: &Finder<'_>) -> Result<Self, UnusableAnswers> {
        let at = id.find(line).map(|at| at + ID.len());
        let is_whole = |at: &usize| line.len() >= at + ID_DIGITS;
        let at = at
            .filter(is_whole)
            .ok_or_else(|| UnusableAnswers("an answer has no id of ten digits in it".to_owned()))?;
        let before = Bytes::copy_from_slice(&line[..at]);
        Ok(Self { before, after: Bytes::copy_from_slice(&line[at + ID_DIGITS..]) })
    }
}

impl Answers {
    /// Reads a file of two lines: the answer to `initialize`, and the one to everything else.
    ///
    /// # Errors
    /// It cannot be read, or has something else in it.
    pub fn read(path: &Path) -> Result<Self, UnusableAnswers> {
        let text = std::fs::read(path)
            .map_err(|error| UnusableAnswers(format!("cannot read {}: {error}", path.display())))?;
        Self::of(&text)
    }

    /// The same of the text itself.
    ///
    /// # Errors
    /// There are no two lines with an id each.
    pub fn of(text: &[u8]) -> Result<Self, UnusableAnswers> {
        let id = Finder::new(ID).into_owned();
        let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        match (lines.next(), lines.next(), lines.next()) {
            (Some(greeting), Some(other), None) => Ok(Self {
                constants: [Constant::read(greeting, &id)?, Constant::read(other, &id)?],
                id,
            }),
            _ => Err(UnusableAnswers("there are not two lines".to_owned())),
        }
    }

    /// What to answer to a message, of which the beginning is enough; nothing to a notification.
    #[must_use]
    pub fn to(&self, message: &[u8]) -> Option<(Which, Digits)> {
        let at = self.id.find(message)? + ID.len();
        let rest = message.get(at..)?;
        let (digits, rest) = rest.split_first_chunk::<ID_DIGITS>()?;
        let which = if rest.starts_with(GREETING) { Which::Greeting } else { Which::Other };
        Some((which, *digits))
    }

    /// The answer itself.
    #[must_use]
    pub fn constant(&self, which: Which) -> &Constant {
        &self.constants[which as usize]
    }

    /// Something made of each answer, by its [`Which`].
    #[cfg(target_os = "linux")]
    pub(crate) fn each<T>(&self, mut make: impl FnMut(Which, &Constant) -> T) -> [T; 2] {
        [Which::Greeting, Which::Other].map(|which| make(which, self.constant(which)))
    }
}

#[cfg(test)]
mod tests {
    use super::Answers;

    const TEXT: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1000000000,\"result\":{\"greeting\":1}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":1000000001,\"result\":{}}\n";

    fn answer(message: &str) -> Option<String> {
        let answers = Answers::of(TEXT).expect("two lines");
        let (which, digits) = answers.to(message.as_bytes())?;
        let constant = answers.constant(which);
        let text = [&constant.before[..], &digits, &constant.after].concat();
        assert_eq!(text.len(), constant.len());
        Some(String::from_utf8(text).expect("text"))
    }

    #[test]
    fn the_id_of_the_message_is_in_its_answer() {
        let call = r#"{"jsonrpc":"2.0","id":1234567890,"method":"tools/call","params":{}}"#;
        let expected = r#"{"jsonrpc":"2.0","id":1234567890,"result":{}}"#;
        assert_eq!(answer(call).as_deref(), Some(expected));
        let greeting = call.replace("tools/call", "initialize");
        assert!(answer(&greeting).is_some_and(|answer| answer.contains("greeting")));
    }

    #[test]
    fn a_notification_is_not_answered() {
        assert_eq!(answer(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":12"#), None);
    }

    #[test]
    fn a_file_without_two_ids_is_refused() {
        for text in [&b""[..], b"{\"id\":1000000000}", b"{\"id\":1}\n{\"id\":1000000000}"] {
            assert!(Answers::of(text).is_err());
        }
    }
}
