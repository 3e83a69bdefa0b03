//! What is between another server and the client of this one: that server's questions, put to the
//! client as they came; what a request that is passed on keeps from round to round; and what of
//! `_meta` is not for this server. Used by handlers that pass requests on; knows no such server.

use crate::ask::{AskError, Waiting, unique, until};
use crate::context::{Context, Place, Stop};
use crate::rounds::Rounds;
use futures_util::future::try_join_all;
use haft_proto::encode;
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_proto::service::Unanswered;
use haft_proto::spec::question::{Passed, Question};
use haft_proto::version::Revision;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// A question of another server, as it came.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// What tells it from the other questions of the call.
    pub key: String,
    /// What is asked: one of the three requests of a server.
    pub method: Method,
    /// The parameters: JSON text of an object.
    pub params: Box<str>,
}

/// What becomes of answers in the rounds after that in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// They are there again, for a call that is made again from its beginning.
    Kept,
    /// They are not: the same question with the same key is another one.
    Used,
}

/// Where questions of another server go.
enum Way {
    /// Nowhere: these are the answers.
    Before(Vec<Box<RawValue>>),
    InTheAnswer(watch::Receiver<()>),
    /// To whoever looks at the task, who sees all of them.
    AtOnce,
    /// To somebody who sees one at a time.
    OneByOne,
}

impl Context {
    /// Asks the client what another server asks: all at once where the call ends with its
    /// questions or is a task, else one after the other. The answers are as they came: JSON texts
    /// of objects, in the order of the questions.
    ///
    /// # Errors
    /// An [`AskError`]; of a client that cannot answer all, nothing is asked.
    pub async fn pass(
        &self,
        asked: &[Inquiry],
        answers: Answers,
    ) -> Result<Vec<Box<RawValue>>, AskError> {
        for inquiry in asked {
            self.can_be_asked(inquiry)?;
        }
        let keys: Vec<Cow<'_, str>> = asked.iter().map(|inquiry| self.key(&inquiry.key)).collect();
        let way = {
            let limit = self.inner.core.limits.questions;
            let mut desk = self.desk();
            match &mut desk.place {
                Place::Over => return Err(AskError::Gone),
                Place::Rounds(rounds) => match taken(rounds, (&keys, asked), answers, limit) {
                    Some(all) => Way::Before(all),
                    None => Way::InTheAnswer(desk.end_round()),
                },
                Place::Task(_) => Way::AtOnce,
                Place::Wire => Way::OneByOne,
            }
        };
        match way {
            Way::Before(all) => match all.iter().position(|raw| !raw.get().starts_with('{')) {
                None => Ok(all),
                Some(bad) => until(self.refuse_answer(&keys[bad], "it must be an object")).await,
            },
            Way::InTheAnswer(over) => until(over).await,
            Way::AtOnce => {
                let each = keys.iter().zip(asked);
                try_join_all(each.map(|(key, inquiry)| self.pass_one(key, inquiry))).await
            }
            Way::OneByOne => {
                let mut all = Vec::with_capacity(asked.len());
                for (key, inquiry) in keys.iter().zip(asked) {
                    all.push(self.pass_one(key, inquiry).await?);
                }
                Ok(all)
            }
        }
    }

    /// Asks what can be asked while the call runs.
    async fn pass_one(&self, key: &str, inquiry: &Inquiry) -> Result<Box<RawValue>, AskError> {
        let limits = &self.inner.core.limits;
        let question = inquiry.question();
        let answered = {
            let mut desk = self.desk();
            let asked = match &desk.place {
                Place::Over | Place::Rounds(_) => return Err(AskError::Gone),
                Place::Task(task) => Some(task.ask(key, question.clone(), limits.questions)?),
                Place::Wire => None,
            };
            desk.begin_waiting();
            asked
        };
        let _waiting = Waiting(self);
        let raw = match answered {
            Some(mut asked) => match timeout(limits.question_timeout, &mut asked.answered).await {
                Err(_) => return Err(AskError::TimedOut),
                Ok(Err(_)) => return Err(AskError::Gone),
                Ok(Ok(raw)) => raw,
            },
            None => {
                let mut params = Vec::new();
                encode::question::question(&mut params, self.revision(), &question);
                let params = String::from_utf8(params).expect("encoders write UTF-8");
                let asked = self.inner.outlet.ask(inquiry.method, params);
                match timeout(limits.question_timeout, asked).await {
                    Err(_) => return Err(AskError::TimedOut),
                    Ok(Err(unanswered)) => return Err(unanswered.into()),
                    Ok(Ok(raw)) => raw,
                }
            }
        };
        let object = Some(raw).filter(|raw| raw.starts_with('{'));
        let object = object.and_then(|raw| RawValue::from_string(raw.into()).ok());
        let reason = || AskError::Malformed { reason: "it must be an object".to_owned() };
        object.ok_or_else(reason)
    }

    /// Whether the client offers to answer that. One that does not is told so, should the call
    /// fail.
    ///
    /// # Errors
    /// [`AskError::Unsupported`].
    pub fn can_be_asked(&self, inquiry: &Inquiry) -> Result<(), AskError> {
        let (client, revision) = (self.client(), self.revision());
        match inquiry.method {
            Method::Elicit if inquiry.is("mode", r#""url""#) => {
                let can = client.url && revision.has_elicitation_modes();
                self.needs(can, r#"{"elicitation":{"url":{}}}"#)
            }
            Method::Elicit => {
                self.needs(client.form && revision.has_elicitation(), r#"{"elicitation":{}}"#)
            }
            Method::CreateMessage => {
                self.needs(client.sampling, r#"{"sampling":{}}"#)?;
                let has_tools = member(&inquiry.params, "tools").is_some();
                let can = client.sampling_tools && revision.has_sampling_tools();
                self.needs(can || !has_tools, r#"{"sampling":{"tools":{}}}"#)
            }
            _ => self.needs(client.roots, r#"{"roots":{}}"#),
        }
    }

    /// Another server asked something that the client does not offer: should the call fail, it is
    /// told what it lacks.
    pub fn lacks(&self, method: Method) {
        let inquiry = Inquiry { key: String::new(), method, params: "{}".into() };
        // What it offers is what it was asked for in other words.
        _ = self.can_be_asked(&inquiry);
    }

    /// What the client has brought of what was asked under these keys, as it came: what it left out
    /// is not there. It is not there again.
    #[must_use]
    pub fn brought(&self, keys: &[String]) -> Vec<(String, Box<RawValue>)> {
        let named: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        let mut desk = self.desk();
        let Place::Rounds(rounds) = &mut desk.place else { return Vec::new() };
        let each = keys.iter().zip(&named);
        each.filter_map(|(key, name)| Some((key.clone(), rounds.bring(name)?))).collect()
    }

    /// What was kept in this round, or one before, under that key.
    #[must_use]
    pub fn kept<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let key = self.key(key);
        let step = self.desk().steps.get(&*key).cloned()?;
        let kept = step.try_lock().ok()?;
        serde_json::from_str(kept.as_ref()?.get()).ok()
    }

    /// Keeps something for the rounds to come, in place of what was kept under that key. It
    /// travels sealed with the questions; what cannot be written as JSON is not kept.
    pub fn keep(&self, key: &str, value: &impl Serialize) {
        let key = self.key(key).into_owned();
        let raw = serde_json::value::to_raw_value(value).ok();
        self.desk().steps.insert(key, Arc::new(Mutex::new(raw)));
    }

    /// Whether the call has ended with questions, and is made again with the answers.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.desk().stopped == Some(Stop::Asked)
    }

    /// `_meta` as it came, if it has members that MCP does not define: JSON text of an object.
    #[must_use]
    pub fn carried(&self) -> Option<&str> {
        self.inner.carried.as_deref()
    }
}

impl Inquiry {
    fn is(&self, key: &str, value: &str) -> bool {
        member(&self.params, key) == Some(value)
    }

    fn question(&self) -> Question {
        // That server says by its own name for it when a visit is over.
        let id = member(&self.params, "elicitationId");
        let id = id.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_else(unique);
        let (method, params) = (self.method, self.params.clone());
        Question::Passed(Box::new(Passed { method, params, id }))
    }
}

/// The answers, if all have come; what has none is asked.
fn taken(
    rounds: &mut Rounds,
    (keys, asked): (&[Cow<'_, str>], &[Inquiry]),
    answers: Answers,
    limit: usize,
) -> Option<Vec<Box<RawValue>>> {
    let questions: Vec<Question> = asked.iter().map(Inquiry::question).collect();
    let each = || keys.iter().zip(&questions);
    let found: Vec<_> =
        each().map(|(key, question)| rounds.answer(key, question.clone(), limit)).collect();
    let all: Vec<_> = found.into_iter().collect::<Option<_>>()?;
    if answers == Answers::Used {
        each().for_each(|(key, question)| rounds.forget(key, question));
    }
    Some(all)
}

impl From<Unanswered> for AskError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Gone => Self::Gone,
            Unanswered::TooMany => Self::TooMany,
            Unanswered::Refused(error) => {
                let said = member(&error, "message").and_then(|raw| serde_json::from_str(raw).ok());
                let code = member(&error, "code").and_then(|raw| raw.parse().ok());
                Self::Refused { code: code.unwrap_or_default(), message: said.unwrap_or_default() }
            }
        }
    }
}

/// The text of a question of another server, by which an answer is known to be for it.
pub(crate) fn text(question: &Question) -> Vec<u8> {
    let mut text = Vec::with_capacity(256);
    encode::string(&mut text, question.method().name());
    encode::question::question(&mut text, Revision::LATEST, question);
    text
}
