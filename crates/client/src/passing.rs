//! Requests that somebody else makes, who is behind whoever uses this client: what the server asks
//! because of such a request, as it came; what it is told of that client; and what of a result says
//! that it needs more. Used by gateways. What is asked is read no further than it must be.

use crate::answerer::Declined;
use crate::client::Client;
use crate::error::ClientError;
use crate::express::Expressed;
use crate::inquiry::Unasked;
use crate::limits::QUESTIONS_PER_REQUEST_MAX;
use crate::long::Passed;
use crate::message::{Listener, is_asked_in};
use crate::patience::{Patience, Rest};
use crate::rounds::Subject;
use crate::tasks;
use crate::wire::Question;
use haft_proto::error::Mistake;
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// What is known of whoever makes a request that is passed on.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Where questions go that a legacy server asks because of the request, and that a task of a
    /// modern one asks; without it they are refused.
    pub inquirer: Option<&'a Inquirer>,
    /// What a modern server is told that can be done: JSON text of an object.
    pub capabilities: &'a str,
    /// Whether a modern server may answer a call with a task, which is then waited for.
    pub tasks: bool,
    /// More members of `_meta`: keys as they stand between quotes, and JSON texts.
    pub meta: &'a [(&'a str, &'a str)],
}

/// Where the questions of one request go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inquirer {
    /// Who is behind the request.
    person: Arc<str>,
    asks: mpsc::Sender<Asks>,
    /// Rests while a question is open.
    pub(crate) patience: Arc<Patience>,
    /// How many questions the request may still bring.
    left: Arc<AtomicUsize>,
}

/// A question of a server, as it came. Dropping it tells the server that nobody answers.
#[derive(Debug)]
pub struct Asks {
    /// What is asked: one of the three requests of a server.
    pub method: Method,
    /// The parameters: JSON text of an object.
    pub params: Box<str>,
    answer: oneshot::Sender<Result<Box<RawValue>, Declined>>,
}

impl Asks {
    /// Answers it; nothing happens if the server does not wait any more.
    pub fn answer(self, answer: Result<Box<RawValue>, Declined>) {
        _ = self.answer.send(answer);
    }
}

impl Inquirer {
    /// Where the questions of a request go, and where they come out. `person` tells who is behind
    /// it: of two requests of one person, the wrong one may come to be asked.
    #[must_use]
    pub fn new(person: &str) -> (Self, mpsc::Receiver<Asks>) {
        let (asks, asked) = mpsc::channel(QUESTIONS_PER_REQUEST_MAX);
        let left = Arc::new(AtomicUsize::new(QUESTIONS_PER_REQUEST_MAX));
        (Self { person: person.into(), asks, patience: Patience::new(), left }, asked)
    }

    /// Puts a question; its answer comes later.
    pub(crate) fn put(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<impl Future<Output = Result<String, Declined>> + Send + use<>, Declined> {
        let method = is_asked_in(method).ok_or_else(|| not_offered(method))?;
        let params = params.map_or("{}", RawValue::get);
        if !params.starts_with('{') || params == "{}" && method != Method::RootsList {
            return Err(Unasked::Malformed("`params` is missing".to_owned()).into());
        }
        let less = |left: usize| left.checked_sub(1);
        let rest = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok();
        let rest: Option<Rest> = rest.and_then(|_| self.patience.rest(usize::MAX));
        let rest = rest.ok_or_else(too_many)?;
        let (answer, answered) = oneshot::channel();
        let asks = Asks { method, params: params.into(), answer };
        self.asks.try_send(asks).map_err(|_| nobody())?;
        Ok(async move {
            let answer = answered.await.unwrap_or_else(|_| Err(nobody()));
            // From here on it is the server that takes time.
            drop(rest);
            answer.map(|raw| raw.get().to_owned())
        })
    }
}

/// Who is asked what a legacy server wants to know.
#[derive(Debug)]
pub(crate) enum Whom {
    /// Whoever answers for the whole connection.
    Answerer,
    /// Whoever made the request that it belongs to.
    Inquirer(Inquirer),
    /// That one offers nothing.
    Nobody,
    /// Nobody knows who, as so many requests run.
    Unknown(usize),
}

/// What a server is told whose question comes to nobody.
pub(crate) fn not_offered(method: &str) -> Declined {
    Unasked::NotOffered(method.chars().take(80).collect()).into()
}

/// What a server is told whose question may be that of any of so many requests.
pub(crate) fn unknown(running: usize) -> Declined {
    let message = format!(
        "Internal error: nobody can be asked: a question does not say which request it belongs to, \
         and {running} run over this connection"
    );
    Declined { code: Mistake::Internal.code(), message }
}

fn too_many() -> Declined {
    let message = "Overloaded: the request asks too much".to_owned();
    Declined { code: Mistake::Overloaded.code(), message }
}

fn nobody() -> Declined {
    let message = "Internal error: whoever could answer has gone".to_owned();
    Declined { code: Mistake::Internal.code(), message }
}

/// The requests of one connection that run and may be asked for.
#[derive(Debug, Default)]
pub(crate) struct Running {
    count: AtomicUsize,
    /// Of those whose client can answer.
    inquirers: Mutex<Vec<Inquirer>>,
    /// A request has asked while it waited for an answer.
    asks_at_once: AtomicBool,
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct Runs<'a> {
    running: &'a Running,
    inquirer: Option<&'a Inquirer>,
}

impl Running {
    pub(crate) fn begin<'a>(&'a self, inquirer: Option<&'a Inquirer>) -> Runs<'a> {
        if let Some(inquirer) = inquirer {
            self.inquirers().push(inquirer.clone());
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        Runs { running: self, inquirer }
    }

    /// Who is asked by a question that names no request: that of the only one that runs. One that
    /// waits for an answer runs, too: its server may ask two things at once, and another person
    /// must not be asked. Where one person has made them all, it is taken to ask nothing meanwhile,
    /// unless the server was seen to do such things.
    pub(crate) fn whom(&self) -> Whom {
        let inquirers = self.inquirers();
        let running = self.count.load(Ordering::Relaxed);
        if running == 1 {
            let Some(only) = inquirers.first() else { return Whom::Nobody };
            if only.patience.rests() {
                self.asks_at_once.store(true, Ordering::Relaxed);
            }
            return Whom::Inquirer(only.clone());
        }
        let is_one_person = inquirers.windows(2).all(|two| two[0].person == two[1].person);
        let is_known = is_one_person && !self.asks_at_once.load(Ordering::Relaxed);
        let waiting = inquirers.iter().filter(|one| is_known && one.patience.rests()).count();
        let mut awake = inquirers.iter().filter(|one| !one.patience.rests());
        match (running.saturating_sub(waiting), awake.next()) {
            (1, Some(only)) => Whom::Inquirer(only.clone()),
            (1, None) => Whom::Nobody,
            (free, _) => {
                // If all wait, one of them asks all the same.
                self.asks_at_once.fetch_or(free == 0 && running > 0, Ordering::Relaxed);
                Whom::Unknown(running)
            }
        }
    }

    fn inquirers(&self) -> std::sync::MutexGuard<'_, Vec<Inquirer>> {
        self.inquirers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        if let Some(gone) = self.inquirer {
            self.running.inquirers().retain(|one| !Arc::ptr_eq(&one.left, &gone.left));
        }
        self.running.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Client {
    /// Asks once what somebody else asks: `members` are those of the parameters, as JSON text,
    /// which nobody checks here; `target` is what a modern request repeats in `Mcp-Name`. The
    /// result is as it came, and may be one that [needs more](crate::Needed::read). Dropping the
    /// future cancels the request.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn pass(
        &self,
        method: Method,
        target: Option<&str>,
        members: &[(&str, &str)],
        passing: &Passing<'_>,
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        let code = i64::from(Mistake::HeaderMismatch.code());
        match self.pass_once(method, target, members, passing, listener).await {
            // The list that told which arguments go into headers is out of date, or never came.
            Err(ClientError::Refused { error, .. })
                if self.is_mirrored() && method == Method::ToolsCall && error.code == code =>
            {
                self.list_tools().await?;
                self.pass_once(method, target, members, passing, listener).await
            }
            answer => answer,
        }
    }

    async fn pass_once(
        &self,
        method: Method,
        target: Option<&str>,
        members: &[(&str, &str)],
        passing: &Passing<'_>,
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        let (wire, revision) = (self.wire(), self.handshake().revision);
        let is_legacy = revision.era() == Era::Legacy;
        let _runs = self.runs(passing.inquirer);
        let arguments = members.iter().find(|(key, _)| *key == "arguments");
        let headers = match (method, target) {
            (Method::ToolsCall, Some(tool)) => {
                self.headers_for(tool, arguments.map_or("{}", |(_, arguments)| *arguments))
            }
            _ => Vec::new(),
        };
        let passing = Some(passing);
        let mut first = None;
        if let Some(target) = target {
            let headers = headers.clone();
            let subject = Subject { method, revision, target, members, headers, passing };
            match self.express(&subject, listener).await? {
                Expressed::Complete(result) => return Ok(result),
                Expressed::Elsewhere => {}
                Expressed::Open(answer) => first = Some(answer),
            }
        }
        let raw = match first {
            Some(answer) => answer?,
            None => {
                let question = Question::new(method, revision, members);
                let question = Question { target, headers, passing, ..question };
                Box::pin(wire.ask(question, listener)).await?
            }
        };
        if !raw.get().starts_with('{') {
            let reason = "it is no object".to_owned();
            return Err(ClientError::MalformedResult { method: method.name(), reason });
        }
        let is_task = || member(raw.get(), "resultType") == Some(r#""task""#);
        let has_tasks = passing.is_some_and(|passing| passing.tasks);
        if has_tasks && !is_legacy && method == Method::ToolsCall && is_task() {
            let followed = tasks::follow(wire, revision, &raw, passing, listener);
            return Box::pin(followed).await.map(Passed::from);
        }
        Ok(raw.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_names_no_request_is_that_of_the_only_one() {
        let running = Running::default();
        assert!(matches!(running.whom(), Whom::Unknown(0)));
        let ((one, _asked), (other, _asked_too)) = (Inquirer::new(""), Inquirer::new(""));
        let is_of = |inquirer: &Inquirer| match running.whom() {
            Whom::Inquirer(found) => Arc::ptr_eq(&found.left, &inquirer.left),
            _ => false,
        };
        let first = running.begin(Some(&one));
        assert!(is_of(&one));
        let second = running.begin(Some(&other));
        assert!(matches!(running.whom(), Whom::Unknown(2)));
        drop(first);
        assert!(is_of(&other));
        drop(second);
        let silent = running.begin(None);
        assert!(matches!(running.whom(), Whom::Nobody));
        drop(silent);
        assert!(matches!(running.whom(), Whom::Unknown(0)));
    }

    #[test]
    fn a_request_that_waits_may_ask_more_and_then_nobody_elses_client_is_asked() {
        let running = Running::default();
        let ((one, _asked), (other, _asked_too)) = (Inquirer::new("Ada"), Inquirer::new("Bo"));
        let first = running.begin(Some(&one));
        let answer = one.put("roots/list", None).expect("room");
        let second = running.begin(Some(&other));
        assert!(matches!(running.whom(), Whom::Unknown(2)), "it may be of either");
        let silent = running.begin(None);
        drop(second);
        assert!(matches!(running.whom(), Whom::Nobody), "one that cannot be asked runs, too");
        drop((silent, first, answer));
    }

    #[test]
    fn a_request_that_waits_asks_its_person_nothing_meanwhile_unless_its_server_does_such_things() {
        let running = Running::default();
        let ((one, _asked), (other, _asked_too)) = (Inquirer::new(""), Inquirer::new(""));
        let is_of = |inquirer: &Inquirer| match running.whom() {
            Whom::Inquirer(found) => Arc::ptr_eq(&found.left, &inquirer.left),
            _ => false,
        };
        let first = running.begin(Some(&one));
        let answer = one.put("roots/list", None).expect("room");
        let second = running.begin(Some(&other));
        assert!(is_of(&other), "the first waits");
        let silent = running.begin(None);
        assert!(matches!(running.whom(), Whom::Unknown(3)), "one that cannot be asked runs, too");
        drop(second);
        assert!(matches!(running.whom(), Whom::Nobody));
        drop(silent);
        assert!(is_of(&one), "two things at once");
        let second = running.begin(Some(&other));
        assert!(matches!(running.whom(), Whom::Unknown(2)), "which it may do again");
        drop((first, second, answer));
    }

    #[tokio::test]
    async fn a_request_brings_a_bounded_number_of_questions_and_no_others() {
        let (inquirer, mut asked) = Inquirer::new("");
        let params = RawValue::from_string(r#"{"message":1.50}"#.to_owned()).expect("JSON");
        for method in ["tools/list", "ping", "x"] {
            let refused = inquirer.put(method, Some(&params)).map(|_| ()).expect_err("no question");
            assert_eq!(refused.code, -32601, "{method}");
        }
        let bare = inquirer.put("elicitation/create", None).map(|_| ()).expect_err("no params");
        assert_eq!(bare.code, -32602);
        let mut answers = Vec::new();
        for _ in 0..QUESTIONS_PER_REQUEST_MAX {
            answers.push(inquirer.put("elicitation/create", Some(&params)).expect("room"));
        }
        let refused = inquirer.put("roots/list", None).map(|_| ()).expect_err("one too many");
        assert_eq!(refused.code, -31003);
        let asks = asked.recv().await.expect("it was put");
        assert_eq!((asks.method, &*asks.params), (Method::Elicit, r#"{"message":1.50}"#));
        let answer = RawValue::from_string(r#"{"action":"cancel"}"#.to_owned()).expect("JSON");
        asks.answer(Ok(answer));
        assert_eq!(answers.remove(0).await.as_deref(), Ok(r#"{"action":"cancel"}"#));
        drop(asked);
        assert!(answers.remove(0).await.is_err(), "nobody is there");
    }
}
