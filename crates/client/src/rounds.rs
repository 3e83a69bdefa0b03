//! One request in as many rounds as it takes: the server says what it needs, the desk provides it,
//! and the request is sent again. Used by `client` for the three requests that may need more; the
//! legacy era has one such round trip, for addresses to be visited.

use crate::answerer::Declined;
use crate::desk::Desk;
use crate::error::{ClientError, RpcError};
use crate::inquiry::{Inquiry, Unasked, read_visits};
use crate::limits::{
    IDLE_ROUND, IDLE_ROUND_MAX, QUESTIONS_PER_REQUEST_MAX, ROUNDS_MAX, STATE_BYTES_MAX,
};
use crate::message::{Listener, is_asked_in, quoted};
use crate::passing::Passing;
use crate::wire::{Question, Wire};
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use http::{HeaderName, HeaderValue};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;
use std::time::Duration;

/// What is asked, the same in each round.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) method: Method,
    pub(crate) revision: Revision,
    /// What `Mcp-Name` repeats.
    pub(crate) target: &'a str,
    /// The members of `params`, as JSON text.
    pub(crate) members: &'a [(&'a str, &'a str)],
    /// `Mcp-Param-*` headers.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What is known of whoever makes it, if that is somebody else.
    pub(crate) passing: Option<&'a Passing<'a>>,
}

/// The end of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    Complete(Box<RawValue>),
    /// The server will answer later; only if that was offered, and only `tools/call`.
    Task(Box<RawValue>),
}

/// Asks until the server needs nothing more. What the first round brought may be there already.
pub(crate) async fn ask(
    wire: &Wire,
    subject: &Subject<'_>,
    mut first: Option<Result<Box<RawValue>, ClientError>>,
    listener: Listener<'_>,
) -> Result<Outcome, ClientError> {
    let desk = wire.desk();
    let has_tasks = desk.has_tasks() && subject.method == Method::ToolsCall;
    let is_legacy = subject.revision.era() == Era::Legacy;
    let mut more = More::default();
    let mut questions_left = QUESTIONS_PER_REQUEST_MAX;
    let mut idle_rounds = 0;
    for round in 0..=ROUNDS_MAX {
        let is_last = round == ROUNDS_MAX;
        let answer = match first.take() {
            Some(answer) => answer,
            None => {
                let answer = wire.ask(more.question(subject), listener).await;
                answer.map_err(|error| match round {
                    0 => error,
                    _ => error.once_begun(subject.method),
                })
            }
        };
        let raw = match answer {
            Ok(raw) => raw,
            Err(refusal) if is_last => return Err(refusal),
            Err(refusal) => {
                visit_first(wire, subject, refusal).await?;
                continue;
            }
        };
        if is_legacy {
            return Ok(Outcome::Complete(raw));
        }
        let (questions, state) = match read_needs(raw.get(), subject.method, has_tasks)? {
            Needs::Nothing => return Ok(Outcome::Complete(raw)),
            Needs::Time => return Ok(Outcome::Task(raw)),
            Needs::Answers(questions, state) => (questions, state),
        };
        if is_last {
            break;
        }
        let too_many = ClientError::TooManyQuestions { limit: QUESTIONS_PER_REQUEST_MAX };
        questions_left = questions_left.checked_sub(questions.len()).ok_or(too_many)?;
        let answers = if questions.is_empty() {
            tokio::time::sleep(idle_pause(idle_rounds)).await;
            idle_rounds += 1;
            None
        } else {
            Some(answer_all(desk, &questions).await?)
        };
        more = More { answers, state };
    }
    Err(ClientError::TooManyRounds { limit: ROUNDS_MAX })
}

/// How long a server is left alone that wants to know nothing and does not answer either.
fn idle_pause(rounds_before: u32) -> Duration {
    IDLE_ROUND.saturating_mul(1 << rounds_before.min(16)).min(IDLE_ROUND_MAX)
}

/// A question inside a result, with its key.
#[derive(Debug)]
pub(crate) struct Keyed {
    pub(crate) key: String,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// Answers questions one after the other, in the server's order: the JSON text of
/// `inputResponses`.
pub(crate) async fn answer_all(desk: &Desk, questions: &[Keyed]) -> Result<String, ClientError> {
    let offers = desk.offers();
    let mut inquiries = Vec::with_capacity(questions.len());
    // Nobody is asked anything if something else cannot be answered anyway.
    for Keyed { method, params, .. } in questions {
        let inquiry = Inquiry::read(method, params.as_deref(), offers);
        inquiries.push(inquiry.map_err(|unasked| match unasked {
            Unasked::Malformed(reason) => {
                ClientError::BadQuestion { method: method.clone(), reason }
            }
            Unasked::NotOffered(_) => {
                let kinds: Vec<&str> = questions.iter().map(|one| one.method.as_str()).collect();
                ClientError::InputNeeded { kinds: kinds.join(", ") }
            }
        })?);
    }
    let mut answers = String::from("{");
    for (Keyed { key, .. }, inquiry) in questions.iter().zip(&inquiries) {
        let answer = desk.answer(inquiry).await;
        let answer = answer
            .map_err(|Declined { message: reason, .. }| ClientError::AnswerFailed { reason })?;
        let comma = if answers.len() > 1 { "," } else { "" };
        answers.push_str(&format!("{comma}{}:{answer}", quoted(key)));
    }
    answers.push('}');
    Ok(answers)
}

/// What the next round says besides what was said before.
#[derive(Debug, Default)]
struct More {
    answers: Option<String>,
    /// JSON text of a string, byte for byte as the server wrote it.
    state: Option<Box<RawValue>>,
}

impl More {
    fn question<'a>(&'a self, subject: &'a Subject<'a>) -> Question<'a> {
        let mut members = subject.members.to_vec();
        members.extend(self.answers.as_deref().map(|answers| ("inputResponses", answers)));
        members.extend(self.state.as_deref().map(|state| ("requestState", state.get())));
        Question {
            method: subject.method,
            revision: subject.revision,
            members,
            target: Some(subject.target),
            headers: subject.headers.clone(),
            passing: subject.passing,
        }
    }
}

/// What a modern server needs before it answers, as it came.
#[derive(Debug)]
pub struct Needed {
    /// What it asks: keys, methods and parameters, in its order.
    pub questions: Vec<(String, Method, Box<str>)>,
    /// What is to be brought back: JSON text of a string.
    pub state: Option<Box<RawValue>>,
}

impl Needed {
    /// What a result, which is JSON text, says that is needed; nothing if it is the answer.
    ///
    /// # Errors
    /// A [`ClientError`]: it says something else, or asks too much.
    pub fn read(result: &str, method: Method) -> Result<Option<Self>, ClientError> {
        let Needs::Answers(questions, state) = read_needs(result, method, false)? else {
            return Ok(None);
        };
        if questions.len() > QUESTIONS_PER_REQUEST_MAX {
            return Err(ClientError::TooManyQuestions { limit: QUESTIONS_PER_REQUEST_MAX });
        }
        let read = |Keyed { key, method, params }| match is_asked_in(&method) {
            Some(asked) => {
                Ok((key, asked, params.map_or_else(|| "{}".into(), |raw| raw.get().into())))
            }
            None => {
                let reason = "a server may not ask that".to_owned();
                Err(ClientError::BadQuestion { method, reason })
            }
        };
        let questions = questions.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Some(Self { questions, state }))
    }
}

/// What a result turns out to be.
#[derive(Debug)]
enum Needs {
    /// Nothing: it is the answer.
    Nothing,
    /// Answers to these, and its state back.
    Answers(Vec<Keyed>, Option<Box<RawValue>>),
    /// Time: the answer will come from a task.
    Time,
}

/// What a result says that the server needs.
fn read_needs(result: &str, method: Method, has_tasks: bool) -> Result<Needs, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        input_requests: Option<Questions>,
        request_state: Option<Box<RawValue>>,
    }
    let malformed = |reason: String| ClientError::MalformedResult { method: method.name(), reason };
    let kind = member(result, "resultType").unwrap_or("null");
    let kind: Option<String> =
        serde_json::from_str(kind).map_err(|error| malformed(format!("`resultType`: {error}")))?;
    match kind.as_deref() {
        None | Some("complete") => return Ok(Needs::Nothing),
        Some("task") if has_tasks => return Ok(Needs::Time),
        Some("input_required") => {}
        Some(found) => {
            let found = found.chars().take(80).collect();
            return Err(ClientError::UnknownResultType { method: method.name(), found });
        }
    }
    let Written { input_requests, request_state: state } =
        serde_json::from_str(result).map_err(|error| malformed(error.to_string()))?;
    if state.as_ref().is_some_and(|state| !state.get().starts_with('"')) {
        return Err(malformed("`requestState` must be a string".to_owned()));
    }
    if state.as_ref().is_some_and(|state| state.get().len() > STATE_BYTES_MAX) {
        return Err(ClientError::StateTooLarge { limit: STATE_BYTES_MAX });
    }
    let questions = input_requests.map(|Questions(all)| all).unwrap_or_default();
    if questions.is_empty() && state.is_none() {
        return Err(malformed("it needs `inputRequests` or `requestState`".to_owned()));
    }
    Ok(Needs::Answers(questions, state))
}

/// `inputRequests`, in the server's order.
#[derive(Debug)]
pub(crate) struct Questions(pub(crate) Vec<Keyed>);

impl<'de> Deserialize<'de> for Questions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Request {
            method: String,
            params: Option<Box<RawValue>>,
        }
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Questions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of requests")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Questions, A::Error> {
                let mut all: Vec<Keyed> = Vec::new();
                while let Some((key, request)) = map.next_entry::<String, Request>()? {
                    // One more than is ever answered tells that there are too many.
                    if all.len() > QUESTIONS_PER_REQUEST_MAX {
                        continue;
                    }
                    if all.iter().any(|other| other.key == key) {
                        return Err(serde::de::Error::custom("a key is there twice"));
                    }
                    all.push(Keyed { key, method: request.method, params: request.params });
                }
                Ok(Questions(all))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// A refusal of 2025-11-25 that asks for visits first; returns once they are over, and the refusal
/// itself if it is another one or nobody goes there.
async fn visit_first(
    wire: &Wire,
    subject: &Subject<'_>,
    refusal: ClientError,
) -> Result<(), ClientError> {
    let desk = wire.desk();
    let ClientError::Refused { error: RpcError { code, data, .. }, .. } = &refusal else {
        return Err(refusal);
    };
    if *code != VISIT_FIRST || subject.revision.era() != Era::Legacy || !desk.offers().visits {
        return Err(refusal);
    }
    let visits = read_visits(data.as_deref()).map_err(|reason| ClientError::BadQuestion {
        method: Method::Elicit.name().to_owned(),
        reason,
    })?;
    if visits.len() > QUESTIONS_PER_REQUEST_MAX {
        return Err(ClientError::TooManyQuestions { limit: QUESTIONS_PER_REQUEST_MAX });
    }
    // Over HTTP the server's word that a visit is over needs a stream, which may be slow to come.
    // If there is none, whoever goes there says it.
    let hearing = async {
        let _standing = wire.standing().await;
        std::future::pending::<()>().await;
    };
    let going = async {
        for visit in &visits {
            if !desk.visit(visit).await {
                return false;
            }
        }
        true
    };
    let are_over = tokio::select! {
        () = hearing => false,
        are_over = going => are_over,
    };
    if are_over { Ok(()) } else { Err(refusal) }
}

/// The code of a refusal that visits to addresses can overcome (2025-11-25, Elicitation, "URL
/// Elicitation Required Error").
const VISIT_FIRST: i64 = -32042;

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(text: &str) -> Result<Needs, ClientError> {
        read_needs(text, Method::ToolsCall, false)
    }

    #[test]
    fn a_result_is_the_answer_unless_it_says_otherwise() {
        for text in ["{}", r#"{"resultType":"complete"}"#, r#"{"resultType":null}"#] {
            assert!(matches!(needs(text), Ok(Needs::Nothing)), "{text}");
        }
        for found in ["task", "hologram"] {
            let error = needs(&format!(r#"{{"resultType":"{found}"}}"#)).expect_err("unknown");
            assert!(error.to_string().contains(found), "{error}");
        }
    }

    #[test]
    fn a_need_has_questions_or_a_state() {
        let with = |members: &str| needs(&format!(r#"{{"resultType":"input_required"{members}}}"#));
        let Ok(Needs::Answers(questions, state)) = with(
            r#","inputRequests":{"b":{"method":"roots/list"},"a":{"method":"x","params":1.50}},
            "requestState":"\u00e9""#,
        ) else {
            panic!("two questions")
        };
        let keys: Vec<&str> = questions.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["b", "a"], "in the server's order");
        assert_eq!(questions[1].params.as_ref().map(|params| params.get()), Some("1.50"));
        assert_eq!(state.expect("a state").get(), r#""\u00e9""#, "byte for byte");
        for wrong in [
            "",
            r#","inputRequests":{}"#,
            r#","inputRequests":7"#,
            r#","inputRequests":{"a":{}}"#,
            r#","inputRequests":{"a":{"method":"x"},"a":{"method":"y"}}"#,
            r#","requestState":7"#,
            r#","requestState":null"#,
        ] {
            let error = with(wrong).expect_err("wrong");
            assert!(matches!(error, ClientError::MalformedResult { .. }), "{wrong}: {error}");
        }
        let long = format!(r#","requestState":"{}""#, "x".repeat(STATE_BYTES_MAX));
        assert!(matches!(with(&long), Err(ClientError::StateTooLarge { .. })));
    }

    #[test]
    fn a_server_that_wants_nothing_is_left_alone_longer_and_longer() {
        let pauses = [0, 1, 5, 6, 16, u32::MAX].map(idle_pause).map(|pause| pause.as_millis());
        assert_eq!(pauses, [100, 200, 3200, 5000, 5000, 5000]);
    }

    #[test]
    fn more_questions_than_are_answered_are_not_kept() {
        let many: Vec<String> =
            (0..10_000).map(|n| format!(r#""{n}":{{"method":"roots/list"}}"#)).collect();
        let text =
            format!(r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#, many.join(","));
        let Ok(Needs::Answers(questions, None)) = needs(&text) else { panic!("questions") };
        assert_eq!(questions.len(), QUESTIONS_PER_REQUEST_MAX + 1);
    }
}
