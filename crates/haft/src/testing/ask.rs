//! One request as a wire brings it: written, read back, admitted, asked and waited for, and made
//! again with what it asked for. The only file of the test client that knows the seam.

use super::question::{Answering, Question, Reply};
use haft_proto::admit::{self, Admitted};
use haft_proto::encode;
use haft_proto::envelope::{
    self, CLIENT_CAPABILITIES, CLIENT_INFO, Envelope, Incoming, LOG_LEVEL, PROTOCOL_VERSION,
};
use haft_proto::error::Refusal;
use haft_proto::method::Method;
use haft_proto::mirror::{Field, Headers};
use haft_proto::service::{Ask, Asked, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::spec::level::Level;
use haft_proto::version::{Era, Revision};
use haft_server::Server;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Who asks, and how.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) server: Arc<Server>,
    pub(super) revision: Revision,
    pub(super) principal: Principal,
    /// By name in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) capabilities: Value,
    pub(super) answering: Option<Answering>,
    /// Of the legacy era, made with its first request.
    session: Option<Arc<Session>>,
}

/// A server's answer, and what it said before.
pub(super) struct Answered {
    pub(super) message: Value,
    pub(super) notifications: Vec<Value>,
}

/// How often a modern request is made again with what it asked for.
const ROUNDS_MAX: usize = 32;

impl Asker {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            revision: Revision::LATEST,
            principal: Principal::Local,
            headers: Vec::new(),
            capabilities: json!({}),
            answering: None,
            session: None,
        }
    }

    /// Begins anew, as a client of another kind does.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        let capabilities = ClientCapabilities::read(&changed.capabilities.to_string());
        let session = Session::new(changed.revision, capabilities);
        session.set_level(Level::Debug);
        let is_legacy = changed.revision.era() == Era::Legacy;
        changed.session = is_legacy.then(|| Arc::new(session));
        changed
    }

    /// Asks, and answers what it is asked.
    pub(super) async fn ask(&self, method: &str, mut params: Map<String, Value>) -> Answered {
        self.add_meta(params.entry("_meta").or_insert_with(|| json!({})));
        let wire = Kept { told: Arc::default(), answering: self.answering.clone() };
        for _ in 0..ROUNDS_MAX {
            let mut request = Vec::new();
            let text = Value::Object(params.clone()).to_string();
            encode::call(&mut request, Some("1"), method, Some(&text));
            let message = self.answer(&request, &wire).await;
            let message: Value = serde_json::from_slice(&message).expect("a server writes JSON");
            let result = &message["result"];
            let (true, Some(answering)) =
                (result["resultType"] == "input_required", &self.answering)
            else {
                return Answered { message, notifications: wire.take() };
            };
            params.insert("inputResponses".to_owned(), answer_all(answering, result));
            params.insert("requestState".to_owned(), result["requestState"].clone());
        }
        panic!("`{method}` still asks for input after {ROUNDS_MAX} rounds")
    }

    fn add_meta(&self, meta: &mut Value) {
        meta["progressToken"] = json!("progress");
        if self.revision.era() == Era::Modern {
            meta[PROTOCOL_VERSION] = json!(self.revision.as_str());
            meta[CLIENT_CAPABILITIES] = self.capabilities.clone();
            meta[CLIENT_INFO] = json!({ "name": "haft::testing", "version": VERSION });
            meta[LOG_LEVEL] = json!(Level::Debug.as_str());
        }
    }

    async fn answer(&self, request: &[u8], wire: &Kept) -> Vec<u8> {
        let mut out = Vec::new();
        let message = match envelope::read(request, self.server.limits()) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) => panic!("one request was written"),
            Err(rejected) => panic!("the server's limits refuse this: {:?}", rejected.reason),
        };
        let id = message.id.expect("it was written with an id");
        let Admitted { method, revision } = match self.admit(&message) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                encode::error(&mut out, Some(id), &refusal);
                return out;
            }
        };
        let has_headers = !self.headers.is_empty();
        let ask = Ask {
            message: &message,
            id,
            method,
            revision,
            session: self.session.as_ref(),
            principal: &self.principal,
            headers: has_headers.then_some(self),
            wire,
        };
        match self.server.ask(ask, &mut out) {
            Turn::Done(_) => out,
            Turn::Listed(rest) => [&out, rest.as_bytes()].concat(),
            Turn::Later(later) => later.await.message,
            Turn::Stream(_) => panic!("a subscription has no answer to wait for"),
        }
    }

    fn admit(&self, message: &Envelope<'_>) -> Result<Admitted, Refusal> {
        match admit::era_of(message, None) {
            Era::Modern => admit::modern_request(message, None),
            Era::Legacy => admit::legacy_request(message, Some(self.revision)),
        }
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Headers for Asker {
    fn field(&self, name: &str) -> Field<'_> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (None, _) => Field::Absent,
            (Some((_, value)), None) => Field::One(value.as_bytes()),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }

    fn each(&self, act: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in &self.headers {
            act(name, value.as_bytes());
        }
    }
}

/// The answers to everything that a modern request asks for.
fn answer_all(answering: &Answering, result: &Value) -> Value {
    let asked = result["inputRequests"].as_object().into_iter().flatten();
    let answers = asked.filter_map(|(key, request)| {
        let method = request["method"].as_str().unwrap_or_default();
        let question = Question::new(method, request["params"].clone());
        // A modern client that does not want to answer leaves the answer out.
        answering(&question).result().map(|answer| (key.clone(), answer))
    });
    Value::Object(answers.collect())
}

/// A wire that keeps what is said while a request is answered, to a client that answers questions.
#[derive(Clone)]
struct Kept {
    told: Arc<Mutex<Vec<Value>>>,
    answering: Option<Answering>,
}

impl Kept {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wire for Kept {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.clone())
    }
}

impl Outlet for Kept {
    fn send(&self, message: Vec<u8>) -> bool {
        let message = serde_json::from_slice(&message).expect("a server writes JSON");
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        true
    }

    fn ask(&self, method: Method, params: String) -> Asked {
        let params = serde_json::from_str(&params).expect("a server writes JSON");
        let question = Question::new(method.name(), params);
        let answer = self.answering.as_ref().map(|answering| answering(&question));
        let answer = match answer {
            None => Err(Unanswered::Gone),
            Some(Reply::Refused(message)) => {
                let error = json!({ "code": -1, "message": message });
                Err(Unanswered::Refused(error.to_string().into()))
            }
            Some(Reply::Result(result)) => Ok(result.to_string().into()),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Whether a notification is about progress.
pub(super) fn is_progress(notification: &Value) -> bool {
    notification["method"] == Method::Progress.name()
}

/// Whether a notification is a log message.
pub(super) fn is_log(notification: &Value) -> bool {
    notification["method"] == Method::LogMessage.name()
}
