//! Asking the client, from inside a handler: one call for both eras. In the legacy era the question
//! goes out and the handler waits. In the modern one the call ends with the question, and the
//! handler runs again from its start once the answer is there: whatever it does before it asks is
//! done again, unless [`Context::once`] remembers it.

use crate::context::{Context, Place, held_up_here};
use crate::schema::Schema;
use crate::schema::wording::one_line;
use crate::tasks::TaskQuestion;
use crate::uri_template::uri_decoded;
use haft_proto::encode;
use haft_proto::json::member;
use haft_proto::spec::question::{Form, Question, Sample, SampleContent, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::pin::pin;
use tokio::sync::watch;
use tokio::time::timeout;

/// What a person did with a form or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elicited<T> {
    /// Filled it in, or went there.
    Accepted(T),
    /// Said no.
    Declined,
    /// Said nothing: closed it.
    Cancelled,
}

impl<T> Elicited<T> {
    /// What was filled in, if anything.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// The word on the wire: "accept", "decline" or "cancel".
    pub const fn action(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accept",
            Self::Declined => "decline",
            Self::Cancelled => "cancel",
        }
    }
}

/// What a model said (Client Features, "Sampling").
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Its pieces: text, picture or sound, or the use of a tool.
    pub content: Vec<SampleContent>,
    /// Which model it was.
    pub model: String,
    /// Why it stopped, if it says so.
    pub stop_reason: Option<String>,
}

impl Sampled {
    /// All its text.
    #[must_use]
    pub fn text(&self) -> String {
        let text_of = |piece: &SampleContent| match piece {
            SampleContent::Raw(raw) => {
                member(raw.get(), "text").and_then(|text| serde_json::from_str::<String>(text).ok())
            }
            SampleContent::Content(_) => None,
        };
        self.content.iter().filter_map(text_of).collect()
    }
}

/// A directory or file that the server may work in (Client Features, "Roots").
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Root {
    /// Where it is; a `file:` URI so far.
    pub uri: String,
    /// The name that people read.
    pub name: Option<String>,
}

impl Root {
    /// The path on this machine; `None` if it is at another, or at none.
    ///
    /// ```
    /// # let root = |uri: &str| haft_server::Root { uri: uri.to_owned(), name: None };
    /// let path = std::path::Path::new("/home/ada/my project");
    /// assert_eq!(root("file:///home/ada/my%20project").path().as_deref(), Some(path));
    /// assert_eq!(root("file://elsewhere/home").path(), None);
    /// ```
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let rest = self.uri.strip_prefix("file://")?;
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        if path.starts_with('/') { uri_decoded(path).map(PathBuf::from) } else { None }
    }
}

/// Why a client did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// It has gone, or cannot be reached while the call runs.
    Gone,
    /// Its answer is none.
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// It refused.
    Refused {
        /// Its code; -1 is a person's no to a model.
        code: i64,
        /// What it said.
        message: String,
    },
    /// It did not answer in time.
    TimedOut,
    /// Too many questions wait already.
    TooMany,
    /// It cannot do this, by its own word.
    Unsupported {
        /// What it would have to declare: JSON text of a capability object.
        capability: &'static str,
    },
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the client cannot be asked: it has gone"),
            Self::Malformed { reason } => write!(f, "the client's answer is none: {reason}"),
            Self::Refused { message, .. } => write!(f, "the client refused: {message}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::TooMany => f.write_str("the client has too many questions to answer already"),
            Self::Unsupported { capability } => {
                write!(f, "the client cannot do this; it would have to declare {capability}")
            }
        }
    }
}

impl std::error::Error for AskError {}

impl Context {
    /// Asks a person to fill in a form. `schema` is JSON Schema of a flat object of strings,
    /// numbers, booleans and choices (Elicitation, "Requested Schema"); what comes back fits it.
    /// `key` names the question among those of this call. An answer counts for the form that it was
    /// given to: with another message or schema, the next time the handler comes here, it is asked
    /// again. Never ask for secrets like this.
    ///
    /// # Errors
    /// An [`AskError`].
    pub async fn elicit<T: DeserializeOwned>(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Elicited<T>, AskError> {
        let schema = RawValue::from_string(schema.to_owned())
            .map_err(|error| AskError::Malformed { reason: format!("bad schema: {error}") })?;
        let can = self.client().form && self.revision().has_elicitation();
        self.needs(can, r#"{"elicitation":{}}"#)?;
        let asked = schema.clone();
        let question = || Question::Form(Form { message: message.to_owned(), schema: asked });
        self.put(key, question, |raw| read_elicited(raw, Some(&schema))).await
    }

    /// Asks a person to visit an address; what is done there is not seen by the client. Accepted
    /// means that the person agreed to go, not that anything is done there yet: once it is, say
    /// [`elicitation_done`](Self::elicitation_done). The address must not hold secrets, and whoever
    /// opens it must be checked to be the one who is asked (Elicitation, "Safe URL Handling").
    ///
    /// # Errors
    /// An [`AskError`].
    pub async fn elicit_url(
        &self,
        key: &str,
        message: &str,
        url: &str,
    ) -> Result<Elicited<()>, AskError> {
        let can = self.client().url && self.revision().has_elicitation_modes();
        self.needs(can, r#"{"elicitation":{"url":{}}}"#)?;
        let id = unique();
        let asked = Url { message: message.to_owned(), url: url.to_owned(), id: id.clone() };
        let question = || Question::Url(asked);
        let read = |raw: &str| read_elicited::<serde_json::Value>(raw, None);
        Ok(match self.put(key, question, read).await? {
            Elicited::Accepted(_) => {
                self.remember_visit(key, id);
                Elicited::Accepted(())
            }
            Elicited::Declined => Elicited::Declined,
            Elicited::Cancelled => Elicited::Cancelled,
        })
    }

    fn remember_visit(&self, key: &str, id: String) {
        if !self.revision().has_elicitation_id() {
            return;
        }
        let key = self.key(key);
        let mut desk = self.desk();
        desk.visits.retain(|(known, _)| *known != *key);
        if desk.visits.len() >= self.inner.core.limits.questions {
            desk.visits.pop_front();
        }
        desk.visits.push_back((key.into_owned(), id));
    }

    /// Tells the client that what its person was sent to an address for is done, so that it need
    /// not ask: `key` is that of the [`elicit_url`](Self::elicit_url) that was accepted. Only
    /// 2025-11-25 has words for it; with clients of other revisions nothing happens. It is told
    /// once, and while the call runs; the latest [`Limits::questions`] keys are known.
    ///
    /// [`Limits::questions`]: haft_proto::limits::Limits::questions
    pub fn elicitation_done(&self, key: &str) {
        let key = self.key(key);
        let visit = {
            let mut desk = self.desk();
            let at = desk.visits.iter().position(|(known, _)| *known == *key);
            at.and_then(|at| desk.visits.remove(at))
        };
        if let Some((_, id)) = visit {
            let mut out = Vec::with_capacity(128);
            encode::notice::elicitation_complete(&mut out, &id);
            self.inner.outlet.send(out);
        }
    }

    /// Asks the client's model.
    ///
    /// # Errors
    /// An [`AskError`].
    pub async fn sample(&self, key: &str, request: Sample) -> Result<Sampled, AskError> {
        self.needs(self.client().sampling, r#"{"sampling":{}}"#)?;
        if !request.tools.is_empty() {
            let can = self.client().sampling_tools && self.revision().has_sampling_tools();
            self.needs(can, r#"{"sampling":{"tools":{}}}"#)?;
        }
        self.put(key, || Question::Sample(Box::new(request)), read_sampled).await
    }

    /// Asks where the server may work.
    ///
    /// # Errors
    /// An [`AskError`].
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, AskError> {
        #[derive(Deserialize)]
        struct Written {
            roots: Vec<Root>,
        }
        self.needs(self.client().roots, r#"{"roots":{}}"#)?;
        let read = |raw: &str| {
            let written: Written = serde_json::from_str(raw).map_err(said)?;
            Ok(written.roots)
        };
        self.put(key, || Question::Roots, read).await
    }

    /// Does something once in a call, however often its handler runs or comes here with this key:
    /// the result is kept, and travels with the questions that come after it. For what must not be
    /// done twice before something is asked. Of two at the same time, the second waits for the
    /// first; `work` must not do the same once more. A question that is asked beside it is put to
    /// the client when it is done, so it must not wait for what comes of one. What cannot be
    /// written as JSON and read again is not kept.
    pub async fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        work: impl Future<Output = T>,
    ) -> T {
        let key = self.key(key);
        let step = self.desk().step(&key);
        let mut kept = match step.try_lock() {
            Ok(kept) => kept,
            Err(_) => {
                // Whoever does it may wait for an answer.
                self.desk().hold_up();
                step.lock().await
            }
        };
        if let Some(done) = kept.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()) {
            return done;
        }
        let done = self.whole(work).await;
        *kept = serde_json::value::to_raw_value(&done).ok();
        done
    }

    /// Work that the end of a round does not cut off, unless it waits for that end itself.
    async fn whole<T>(&self, work: impl Future<Output = T>) -> T {
        let mut doing = Some(Doing::begin(self));
        let mut work = pin!(work);
        poll_fn(|cx| {
            let before = held_up_here();
            let made = work.as_mut().poll(cx);
            if held_up_here() > before {
                doing = None;
            }
            made
        })
        .await
    }

    /// A client that lacks what is needed is told so, should the call fail.
    pub(crate) fn needs(&self, can: bool, capability: &'static str) -> Result<(), AskError> {
        if can {
            return Ok(());
        }
        self.desk().missing = Some(capability);
        Err(AskError::Unsupported { capability })
    }

    async fn put<T>(
        &self,
        key: &str,
        question: impl FnOnce() -> Question,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, AskError> {
        let limits = &self.inner.core.limits;
        let key = &*self.key(key);
        let sent = {
            let mut desk = self.desk();
            match &mut desk.place {
                Place::Over => return Err(AskError::Gone),
                Place::Rounds(rounds) => match rounds.answer(key, question(), limits.questions) {
                    Some(answer) => Sent::Before(answer),
                    None => Sent::InTheAnswer(desk.end_round()),
                },
                Place::Task(task) => {
                    let asked = task.ask(key, question(), limits.questions)?;
                    desk.begin_waiting();
                    Sent::ToTheTask(asked)
                }
                Place::Wire => {
                    desk.begin_waiting();
                    Sent::ToTheClient(question())
                }
            }
        };
        match sent {
            // Read with the desk free: the type that it becomes may do what it likes.
            Sent::Before(raw) => match read(raw.get()) {
                Ok(answer) => Ok(answer),
                Err(reason) => {
                    let over = self.refuse_answer(key, &reason);
                    until(over).await
                }
            },
            Sent::ToTheClient(question) => self.send(&question, read).await,
            Sent::ToTheTask(mut asked) => {
                let _waiting = Waiting(self);
                match timeout(limits.question_timeout, &mut asked.answered).await {
                    Err(_) => Err(AskError::TimedOut),
                    Ok(Err(_)) => Err(AskError::Gone),
                    Ok(Ok(raw)) => read(&raw).map_err(|reason| AskError::Malformed { reason }),
                }
            }
            Sent::InTheAnswer(over) => until(over).await,
        }
    }

    pub(crate) fn refuse_answer(&self, key: &str, reason: &str) -> watch::Receiver<()> {
        let mut desk = self.desk();
        if let Place::Rounds(rounds) = &mut desk.place {
            rounds.refuse(key, reason);
        }
        desk.end_round()
    }

    async fn send<T>(
        &self,
        question: &Question,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, AskError> {
        let _waiting = Waiting(self);
        let mut params = Vec::new();
        encode::question::question(&mut params, self.revision(), question);
        let params = String::from_utf8(params).expect("encoders write UTF-8");
        let asked = self.inner.outlet.ask(question.method(), params);
        match timeout(self.inner.core.limits.question_timeout, asked).await {
            Err(_) => Err(AskError::TimedOut),
            Ok(Ok(raw)) => read(&raw).map_err(|reason| AskError::Malformed { reason }),
            Ok(Err(unanswered)) => Err(unanswered.into()),
        }
    }
}

/// A name that no other question has, of this server or of another.
pub(crate) fn unique() -> String {
    // Each state hashes the same to numbers of its own.
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

/// The call ends here; what has been asked is its answer. Only what the handler left behind lives
/// to hear it.
pub(crate) async fn until<T>(mut over: watch::Receiver<()>) -> Result<T, AskError> {
    let _ = over.changed().await;
    Err(AskError::Gone)
}

/// Where a question went.
enum Sent {
    /// Nowhere: this is the answer.
    Before(Box<RawValue>),
    InTheAnswer(watch::Receiver<()>),
    ToTheClient(Question),
    ToTheTask(TaskQuestion),
}

/// The time limit of a call rests while this lives.
pub(crate) struct Waiting<'a>(pub(crate) &'a Context);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.desk().end_waiting();
    }
}

/// A round does not end while this lives.
struct Doing<'a>(&'a Context);

impl<'a> Doing<'a> {
    fn begin(context: &'a Context) -> Self {
        context.desk().doing += 1;
        Self(context)
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.0.desk().end_step();
    }
}

fn read_elicited<T: DeserializeOwned>(
    raw: &str,
    schema: Option<&RawValue>,
) -> Result<Elicited<T>, String> {
    #[derive(Deserialize)]
    struct Written {
        action: String,
        content: Option<Box<RawValue>>,
    }
    let written: Written = serde_json::from_str(raw).map_err(said)?;
    match &*written.action {
        "decline" => return Ok(Elicited::Declined),
        "cancel" => return Ok(Elicited::Cancelled),
        "accept" => {}
        _ => return Err("`action` must be \"accept\", \"decline\" or \"cancel\"".to_owned()),
    }
    let content = written.content.as_ref().map_or("{}", |content| content.get());
    if let Some(schema) = schema {
        let schema = Schema::compile(schema.get()).map_err(|bad| bad.reason)?;
        schema.check(content).map_err(|violations| violations[0].to_string())?;
    }
    serde_json::from_str(content).map(Elicited::Accepted).map_err(said)
}

/// What is wrong with an answer; it may repeat the answer.
fn said(error: serde_json::Error) -> String {
    one_line(&error.to_string())
}

fn read_sampled(raw: &str) -> Result<Sampled, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        content: Box<RawValue>,
        model: Option<String>,
        stop_reason: Option<String>,
    }
    let written: Written = serde_json::from_str(raw).map_err(said)?;
    let pieces: Vec<Box<RawValue>> = match written.content.get().trim_start().starts_with('[') {
        true => serde_json::from_str(written.content.get()).map_err(said)?,
        false => vec![written.content.clone()],
    };
    if let Some(bad) = pieces.iter().find(|piece| member(piece.get(), "type").is_none()) {
        let shown: String = bad.get().chars().take(40).collect();
        return Err(format!("`content` has a piece without a `type`: {shown}"));
    }
    let content = pieces.into_iter().map(SampleContent::Raw).collect();
    let Written { model, stop_reason, .. } = written;
    Ok(Sampled { content, model: model.unwrap_or_default(), stop_reason })
}
