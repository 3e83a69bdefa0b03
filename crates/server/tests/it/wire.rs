//! The least that a wire does: read, admit, ask, wait. Used by the other tests here.

use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Feed, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::session::Session;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::version::{Era, Revision};
use haft_server::Server;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// A wire that keeps the notifications of its calls, to a client that answers questions.
#[derive(Clone)]
pub(crate) struct TestWire {
    pub(crate) told: Arc<Mutex<Vec<Value>>>,
    /// Methods and parameters of the questions.
    pub(crate) asked: Arc<Mutex<Vec<(Method, Value)>>>,
    /// What legacy questions are answered with, in their order; then nobody answers any more.
    pub(crate) answers: Arc<Mutex<Vec<Value>>>,
    /// Whether it takes its time for ever instead.
    pub(crate) is_silent: bool,
    /// What was answered with a stream.
    pub(crate) feed: Arc<Mutex<Option<Box<dyn Feed>>>>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) capabilities: Value,
    pub(crate) principal: Principal,
}

impl Default for TestWire {
    fn default() -> Self {
        Self {
            told: Arc::default(),
            asked: Arc::default(),
            answers: Arc::default(),
            is_silent: false,
            feed: Arc::default(),
            session: None,
            capabilities: json!({}),
            principal: Principal::Local,
        }
    }
}

impl TestWire {
    /// To a client that can do these things.
    pub(crate) fn to_client(capabilities: Value) -> Self {
        Self { capabilities, ..Self::default() }
    }
}

impl Wire for TestWire {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.clone())
    }
}

impl Outlet for TestWire {
    fn send(&self, message: Vec<u8>) -> bool {
        let message = serde_json::from_slice(&message).expect("a notification is JSON");
        self.told.lock().expect("no test panics while it holds this").push(message);
        true
    }

    fn ask(&self, method: Method, params: String) -> Asked {
        let params = serde_json::from_str(&params).expect("parameters are JSON");
        self.asked.lock().expect("as above").push((method, params));
        let mut answers = self.answers.lock().expect("as above");
        if self.is_silent {
            return Box::pin(std::future::pending());
        }
        if answers.is_empty() {
            return Box::pin(std::future::ready(Err(Unanswered::Gone)));
        }
        let answer = answers.remove(0).to_string().into();
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// Asks in a revision and waits for the answer.
pub(crate) async fn ask(server: &Server, revision: Revision, method: &str, params: Value) -> Value {
    ask_on(&TestWire::default(), server, revision, method, params).await
}

/// The same on a wire that the test can look at.
pub(crate) async fn ask_on(
    wire: &TestWire,
    server: &Server,
    revision: Revision,
    method: &str,
    mut params: Value,
) -> Value {
    if revision.era() == Era::Modern {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision.as_str().into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = wire.capabilities.clone();
    }
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    ask_text(wire, server, revision, &request.to_string()).await
}

/// The same of a message as it is written.
pub(crate) async fn ask_text(
    wire: &TestWire,
    server: &Server,
    revision: Revision,
    request: &str,
) -> Value {
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        panic!("a test sends messages: {request}")
    };
    let admitted = match revision.era() {
        Era::Modern => admit::modern_request(&message, None),
        Era::Legacy => admit::legacy_request(&message, Some(revision)),
    };
    let admitted = admitted.expect("a test asks what the revision has");
    let (method, revision) = (admitted.method, admitted.revision);
    let id = message.id.expect("a request has an id");
    let capabilities = ClientCapabilities::read(&wire.capabilities.to_string());
    let fresh = Arc::new(Session::new(revision, capabilities));
    let session =
        Some(wire.session.as_ref().unwrap_or(&fresh)).filter(|_| revision.era() == Era::Legacy);
    let principal = &wire.principal;
    let ask =
        Ask { message: &message, id, method, revision, session, principal, headers: None, wire };
    let mut out = Vec::new();
    match server.ask(ask, &mut out) {
        Turn::Done(_) => {}
        Turn::Listed(rest) => out.extend_from_slice(rest.as_bytes()),
        Turn::Later(later) => {
            assert!(out.is_empty(), "nothing is written before the answer");
            out = later.await.message;
        }
        Turn::Stream(feed) => *wire.feed.lock().expect("as above") = Some(feed),
    }
    if out.is_empty() {
        return Value::Null;
    }
    read(&out)
}

/// The next message of a stream, if there is one.
pub(crate) fn next(feed: &mut dyn Feed) -> Option<Value> {
    let mut out = Vec::new();
    match feed.poll_next(&mut Context::from_waker(Waker::noop()), &mut out) {
        Poll::Ready(true) => Some(read(&out)),
        Poll::Ready(false) => panic!("no stream ends by itself"),
        Poll::Pending => None,
    }
}

pub(crate) fn read(message: &[u8]) -> Value {
    assert!(!message.contains(&b'\n'), "a message is one line");
    serde_json::from_slice(message).expect("a message is JSON")
}

/// Calls a tool in the newest revision and returns its result.
pub(crate) async fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    ask(server, Revision::LATEST, "tools/call", params).await["result"].clone()
}
