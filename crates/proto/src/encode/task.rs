//! Calls that go on after their answer (the extension `io.modelcontextprotocol/tasks`).

use super::fields::implementation;
use super::notice::subscribed;
use super::object::Object;
use super::question::input_requests;
use crate::envelope::SERVER_INFO;
use crate::method::Method;
use crate::spec::implementation::Implementation;
use crate::spec::task::{Stage, Task};
use crate::version::Revision;

/// Appends the result of a call that has become a task.
pub fn created(out: &mut Vec<u8>, revision: Revision, server: &Implementation, task: &Task<'_>) {
    let mut object = Object::open(out);
    object.text("resultType", "task");
    outline(&mut object, task);
    server_info(&mut object, revision, server);
    object.close();
}

/// Appends the result of `tasks/get`: how far the task is, and what it came to.
pub fn state(out: &mut Vec<u8>, revision: Revision, server: &Implementation, task: &Task<'_>) {
    let mut object = Object::open(out);
    object.text("resultType", "complete");
    outline(&mut object, task);
    outcome(&mut object, revision, task);
    server_info(&mut object, revision, server);
    object.close();
}

/// Appends the result of `tasks/update` and `tasks/cancel`.
pub fn acknowledged(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"resultType":"complete"}"#);
}

/// Appends a notification of how far a task is; `subscription` is the id, as raw JSON, of the
/// request whose stream this is told on.
pub fn changed(out: &mut Vec<u8>, revision: Revision, task: &Task<'_>, subscription: &str) {
    let mut object = Object::open(out);
    object.text("jsonrpc", "2.0");
    object.text("method", Method::Task.name());
    let mut params = Object::open(object.key("params"));
    outline(&mut params, task);
    outcome(&mut params, revision, task);
    subscribed(&mut params, Some(subscription));
    params.close();
    object.close();
}

fn outline(object: &mut Object<'_>, task: &Task<'_>) {
    object.text("taskId", task.id);
    object.text("status", task.stage.status());
    if let Some(message) = task.message {
        object.text("statusMessage", message);
    }
    object.text("createdAt", task.created_at);
    object.text("lastUpdatedAt", task.updated_at);
    match task.ttl_ms {
        Some(ttl) => object.integer("ttlMs", ttl),
        None => object.raw("ttlMs", "null"),
    }
    if let Some(interval) = task.poll_ms {
        object.integer("pollIntervalMs", interval);
    }
}

fn outcome(object: &mut Object<'_>, revision: Revision, task: &Task<'_>) {
    match task.stage {
        Stage::Working | Stage::Cancelled => {}
        Stage::InputRequired(questions) => {
            let questions = questions.iter().map(|(key, question)| (&**key, question));
            input_requests(object.key("inputRequests"), revision, questions);
        }
        Stage::Completed(result) => object.raw("result", result),
        Stage::Failed(error) => object.raw("error", error),
    }
}

fn server_info(object: &mut Object<'_>, revision: Revision, server: &Implementation) {
    let mut meta = Object::open(object.key("_meta"));
    implementation(meta.key(SERVER_INFO), revision, server);
    meta.close();
}
