//! The greeting of the legacy era: what is said, and whether what comes back answers it. Each wire
//! carries it in its way; nothing is sent here.

use crate::answer::{Checker, Heard};
use crate::connection::Reply;
use crate::plan::Ask;
use crate::request::{FIRST_ID, Message};
use crate::wrong::Wrong;
use haft_proto::encode;
use haft_proto::method::Method;
use haft_proto::version::Revision;

/// A greeting that waits for its answer.
#[derive(Debug)]
pub(crate) struct Greeting {
    /// What is asked.
    pub(crate) hello: Ask,
    checker: Checker,
}

impl Greeting {
    pub(crate) fn new() -> Self {
        let hello = Ask::new(Method::Initialize);
        let checker = Checker::new(std::slice::from_ref(&hello));
        Self { hello, checker }
    }

    /// The request, which has [`FIRST_ID`].
    pub(crate) fn message(revision: Revision) -> Message {
        Message::initialize(revision)
    }

    /// What is said once it is answered, and as what: nothing answers that but HTTP.
    pub(crate) fn end() -> (Ask, Vec<u8>) {
        let mut message = Vec::new();
        encode::call(&mut message, None, Method::Initialized.name(), None);
        (Ask::new(Method::Initialized), message)
    }

    /// Whether a reply has the answer in it; a line may say something else first.
    ///
    /// # Errors
    /// Its status, an error, the answer to something else, or what is no answer.
    pub(crate) fn is_answered_by(&mut self, reply: &Reply) -> Result<bool, Wrong> {
        reply.check_status()?;
        let mut is_answered = false;
        for message in &reply.messages {
            if let Heard::Answer(id, unjudged) = self.checker.hear(0, message)? {
                if id != FIRST_ID {
                    return Err(Wrong::AnotherId(id.to_string()));
                }
                self.checker.judge(0, id, unjudged)?;
                is_answered = true;
            }
        }
        Ok(is_answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(status: u16, messages: &[&str]) -> Result<bool, Wrong> {
        let messages = messages.iter().map(|message| message.as_bytes().to_vec()).collect();
        Greeting::new().is_answered_by(&Reply { status, messages, session: None })
    }

    #[test]
    fn a_greeting_is_answered_by_its_own_result_and_by_nothing_else() {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}"#;
        let answer = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{hello}}}"#);
        let ours = answer(FIRST_ID);
        assert_eq!(heard(200, &[&ours]), Ok(true));
        assert_eq!(heard(200, &[note, &ours]), Ok(true));
        assert_eq!(heard(200, &[note]), Ok(false));
        assert!(matches!(heard(200, &[&answer(FIRST_ID + 1)]), Err(Wrong::AnotherId(_))));
        assert!(matches!(heard(503, &[&ours]), Err(Wrong::Status { status: 503, .. })));
        let refused = ours.replace("\"result\"", "\"error\"");
        assert!(matches!(heard(200, &[&refused]), Err(Wrong::Refused(_))));
    }
}
