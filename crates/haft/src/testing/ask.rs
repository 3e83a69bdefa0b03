//! One request as a wire brings it: written, read back, admitted, asked and waited for. The only
//! file of the test client that knows `haft-proto`.

use haft_proto::admit::{self, Admitted};
use haft_proto::encode;
use haft_proto::envelope::{
    self, CLIENT_CAPABILITIES, CLIENT_INFO, Envelope, Incoming, PROTOCOL_VERSION,
};
use haft_proto::error::Refusal;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Outlet, Service, Turn, Wire};
use haft_proto::version::{Era, Revision};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// A server's answer, and what it said before.
pub(super) struct Asked {
    pub(super) message: Value,
    pub(super) notifications: Vec<Value>,
}

/// Asks one request in a revision.
pub(super) async fn ask(
    service: &dyn Service,
    limits: &Limits,
    revision: Revision,
    method: &str,
    mut params: Map<String, Value>,
) -> Asked {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    meta["progressToken"] = json!("progress");
    if revision.era() == Era::Modern {
        meta[PROTOCOL_VERSION] = json!(revision.as_str());
        meta[CLIENT_CAPABILITIES] = json!({});
        meta[CLIENT_INFO] = json!({ "name": "haft::testing", "version": VERSION });
    }
    let mut request = Vec::new();
    encode::call(&mut request, Some("1"), method, Some(&Value::Object(params).to_string()));
    let wire = Kept::default();
    let message = answer(service, limits, revision, &request, &wire).await;
    let message = serde_json::from_slice(&message).expect("a server writes JSON");
    let notifications = std::mem::take(&mut *wire.lock());
    Asked { message, notifications }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

async fn answer(
    service: &dyn Service,
    limits: &Limits,
    revision: Revision,
    request: &[u8],
    wire: &Kept,
) -> Vec<u8> {
    let mut out = Vec::new();
    let message = match envelope::read(request, limits) {
        Ok(Incoming::One(message)) => message,
        Ok(Incoming::Batch(_)) => panic!("one request was written"),
        Err(rejected) => panic!("the server's limits refuse the request: {:?}", rejected.reason),
    };
    let id = message.id.expect("it was written with an id");
    match admitted(&message, revision) {
        Ok(Admitted { method, revision }) => {
            let ask = Ask { message: &message, id, method, revision, headers: None, wire };
            match service.ask(ask, &mut out) {
                Turn::Done(_) => out,
                Turn::Later(later) => later.await.message,
            }
        }
        Err(refusal) => {
            encode::error(&mut out, Some(id), &refusal);
            out
        }
    }
}

fn admitted(message: &Envelope<'_>, revision: Revision) -> Result<Admitted, Refusal> {
    match admit::era_of(message, None) {
        Era::Modern => admit::modern_request(message, None),
        Era::Legacy => admit::legacy_request(message, Some(revision)),
    }
}

/// A wire that keeps what is said while a request is answered.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Value>>>);

impl Kept {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire for Kept {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.clone())
    }
}

impl Outlet for Kept {
    fn send(&self, message: Vec<u8>) -> bool {
        self.lock().push(serde_json::from_slice(&message).expect("a server writes JSON"));
        true
    }
}

/// Whether a notification is about progress.
pub(super) fn is_progress(notification: &Value) -> bool {
    notification["method"] == Method::Progress.name()
}
