//! What a client is told that comes back for a result which there was no room to keep: an error in
//! its place. Called by `streams.rs`; keeps nothing itself.

use haft_proto::encode;
use haft_proto::envelope::{self, Envelope, Id, Incoming, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;

/// An error for each answer in a message that we wrote.
pub(super) fn unkept(message: &[u8]) -> Vec<u8> {
    // What was written is not bounded by what may be read.
    let limits = Limits {
        message_bytes: usize::MAX,
        batch_messages: usize::MAX,
        depth: usize::MAX,
        id_bytes: usize::MAX,
        ..Limits::default()
    };
    let mut out = Vec::new();
    match envelope::read(message, &limits) {
        Ok(Incoming::One(answer)) => error(&mut out, answer.id),
        Ok(Incoming::Batch(answers)) => {
            for answer in &answers {
                out.push(if out.is_empty() { b'[' } else { b',' });
                error(&mut out, id(answer));
            }
            out.push(b']');
        }
        Err(rejected) => error(&mut out, rejected.id),
    }
    out
}

fn id<'a>(answer: &Result<Envelope<'a>, Rejected<'a>>) -> Option<Id<'a>> {
    match answer {
        Ok(answer) => answer.id,
        Err(rejected) => rejected.id,
    }
}

fn error(out: &mut Vec<u8>, id: Option<Id<'_>>) {
    let refusal = Refusal::new(
        Mistake::Overloaded,
        "Overloaded: the call has ended, and there was no room to keep its result until its client \
         came back",
    );
    encode::error(out, id, &refusal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: &[&str]) {
        let told = String::from_utf8(unkept(message.as_bytes())).expect("UTF-8");
        let ids: Vec<_> = told.split(r#""id":"#).skip(1).map(|rest| &rest[..1]).collect();
        assert_eq!(ids, expected, "{told}");
        assert_eq!(told.starts_with('['), message.starts_with('['), "{told}");
        assert_eq!(told.matches(r#""error":{"code":-31003,"#).count(), expected.len(), "{told}");
    }

    #[test]
    fn each_answer_becomes_an_error_to_the_same_request() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, &["7"]);
        check(
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},
                {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}]"#,
            &["1", "2"],
        );
    }

    #[test]
    fn an_id_longer_than_may_be_read_is_answered_like_any_other() {
        let id = "i".repeat(300);
        let result = format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#);
        let told = String::from_utf8(unkept(result.as_bytes())).expect("UTF-8");
        assert!(told.contains(&format!(r#""id":"{id}""#)), "{told}");
    }
}
