//! A refusal of 2025-11-25 that wants pages to be visited first, for clients that have no such
//! error: they are asked to go there, and the request is made again. Used by `asking`; the error
//! means that nothing was done.

use haft_client::ClientError;
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_server::Inquiry;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The code of the refusal (2025-11-25, Elicitation, "URL Elicitation Required Error").
const VISIT_FIRST: i64 = -32042;

/// What it asks; nothing if it is another error, or asks nothing that can be asked.
pub(crate) fn wanted(error: &ClientError) -> Option<Vec<Inquiry>> {
    #[derive(Deserialize)]
    struct Data {
        elicitations: Vec<Box<RawValue>>,
    }
    let ClientError::Refused { error, .. } = error else { return None };
    let data = error.data.as_ref().filter(|_| error.code == VISIT_FIRST)?;
    let Data { elicitations } = serde_json::from_str(data.get()).ok()?;
    let visit = |(place, raw): (usize, Box<RawValue>)| {
        let is_visit = member(raw.get(), "mode") == Some(r#""url""#);
        let inquiry = Inquiry {
            key: format!("visit-{}", place + 1),
            method: Method::Elicit,
            params: raw.get().into(),
        };
        is_visit.then_some(inquiry)
    };
    let wanted: Vec<_> = elicitations.into_iter().enumerate().map(visit).collect::<Option<_>>()?;
    Some(wanted).filter(|wanted| !wanted.is_empty())
}

/// Whether whoever was asked goes to all of them.
pub(crate) fn are_accepted(answers: &[Box<RawValue>]) -> bool {
    answers.iter().all(|answer| member(answer.get(), "action") == Some(r#""accept""#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_client::RpcError;

    fn check(code: i64, data: &str, expected: Option<&[&str]>) {
        let data = RawValue::from_string(data.to_owned()).expect("JSON");
        let error = RpcError { code, message: String::new(), data: Some(data) };
        let refused = ClientError::Refused { method: "tools/call", error, status: None };
        let found = wanted(&refused);
        let found: Option<Vec<&str>> =
            found.as_ref().map(|found| found.iter().map(|one| &*one.params).collect());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn only_pages_that_a_refusal_wants_to_be_visited_are_asked_for() {
        let page = r#"{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"}"#;
        let data = format!(r#"{{"elicitations":[{page},{page}]}}"#);
        check(VISIT_FIRST, &data, Some(&[page, page]));
        check(-32603, &data, None);
        for wrong in ["{}", r#"{"elicitations":[]}"#, r#"{"elicitations":[{"mode":"form"}]}"#, "7"]
        {
            check(VISIT_FIRST, wrong, None);
        }
    }
}
