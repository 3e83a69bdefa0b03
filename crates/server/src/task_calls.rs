//! The paths of `tasks/get`, `tasks/update` and `tasks/cancel`, and of a call that becomes a task.
//! Called by `dispatch` and `driver`; what tasks are is `tasks`'s business.

use crate::calls::refuse;
use crate::core::Core;
use crate::face::Face;
use crate::schema::wording::one_line;
use crate::tasks::unknown;
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Later, Outcome, Reply, Turn};
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::spec::task::Task;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What a client lacks that does not take tasks.
pub(crate) const TASKS_NEEDED: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// Answers a request about a task.
pub(crate) fn call(
    (core, face): (&Arc<Core>, &Arc<Face>),
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let params = &ask.message.params;
    if let Err(refusal) = takes_tasks(ask) {
        return refuse(out, ask.id, &refusal);
    }
    let Some(task) = params.task_id.and_then(JsonStr::from_raw).map(JsonStr::decode) else {
        return refuse(out, ask.id, &unknown());
    };
    let answers = match (ask.method, params.input_responses) {
        (Method::TasksUpdate, Some(raw)) => match serde_json::from_str(raw) {
            Ok(answers) => answers,
            Err(error) => {
                let error = one_line(&error.to_string());
                let message = format!("Invalid params: `inputResponses` is no object: {error}");
                return refuse(out, ask.id, &Refusal::new(Mistake::InvalidParams, message));
            }
        },
        _ => HashMap::<Box<str>, Box<RawValue>>::new(),
    };
    let (core, face, task) = (Arc::clone(core), Arc::clone(face), task.into_owned());
    let (method, revision) = (ask.method, ask.revision);
    let (id, principal): (Box<str>, _) = (ask.id.raw().into(), ask.principal.clone());
    answer(out, async move {
        let mut result = Vec::new();
        let done = match method {
            Method::TasksGet => {
                let write = |task: &Task<'_>| {
                    encode::task::state(&mut result, revision, &face.info, task);
                };
                core.tasks.write_state(&task, &principal, write).await
            }
            Method::TasksUpdate => core.tasks.answer(&task, &principal, answers).await,
            _ => core.tasks.cancel(&task, &principal).await,
        };
        if result.is_empty() {
            encode::task::acknowledged(&mut result);
        }
        reply(&id, done.map(|()| result))
    })
}

/// Whether a request's client takes tasks.
///
/// # Errors
/// What it lacks.
pub(crate) fn takes_tasks(ask: &Ask<'_>) -> Result<(), Refusal> {
    let capabilities = ask.message.params.meta.client_capabilities.unwrap_or("{}");
    if ClientCapabilities::read(capabilities).tasks {
        return Ok(());
    }
    Err(missing(TASKS_NEEDED))
}

/// The refusal of a client that lacks a capability.
pub(crate) fn missing(capability: &str) -> Refusal {
    let message = "Missing capability: this needs what `data.requiredCapabilities` has";
    let data = format!(r#"{{"requiredCapabilities":{capability}}}"#);
    Refusal::new(Mistake::MissingCapability, message).with_data(data)
}

/// The names of tasks that a client wants to be told of.
pub(crate) fn wished_for(ask: &Ask<'_>) -> bool {
    let wishes = ask.message.params.raw.and_then(|params| member(params, "notifications"));
    wishes.and_then(|wishes| member(wishes, "taskIds")).is_some()
}

/// A whole answer: the result, or why there is none.
pub(crate) fn reply(id: &str, result: Result<Vec<u8>, Refusal>) -> Reply {
    let id = Id::from_raw(id, usize::MAX).expect("it was an id when the request came");
    let mut message = Vec::new();
    match result {
        Ok(result) => {
            encode::result(&mut message, id, |out| out.extend_from_slice(&result));
            Reply::new(message, Outcome::Result)
        }
        Err(refusal) => {
            encode::error(&mut message, Some(id), &refusal);
            Reply::new(message, Outcome::Refused(refusal.mistake))
        }
    }
}

/// Answers at once if nothing has to be waited for.
fn answer(out: &mut Vec<u8>, work: impl Future<Output = Reply> + Send + 'static) -> Turn {
    let mut work: Later = Box::pin(work);
    let mut now = Context::from_waker(Waker::noop());
    match Pin::new(&mut work).poll(&mut now) {
        Poll::Ready(reply) => {
            out.extend_from_slice(&reply.message);
            Turn::Done(reply.outcome)
        }
        Poll::Pending => Turn::Later(work),
    }
}
