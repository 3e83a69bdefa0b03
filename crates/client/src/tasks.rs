//! A call that became a task: it is looked at until it is over, what it needs is provided, and it
//! is cancelled if nobody waits any more (the extension `io.modelcontextprotocol/tasks`). Used by
//! `client`, only if the options ask for tasks.

use crate::absent;
use crate::answerer::Declined;
use crate::error::{ClientError, RpcError};
use crate::limits::{
    QUESTIONS_PER_REQUEST_MAX, TASK_POLL_DEFAULT, TASK_POLL_MAX, TASK_POLL_MIN, TASK_TIME_MAX,
};
use crate::message::{Listener, Notice, quoted};
use crate::pages::malformed;
use crate::passing::{Inquirer, Passing};
use crate::rounds::{Keyed, Questions, answer_all};
use crate::wire::{Question, Wire, nobody};
use haft_proto::method::Method;
use haft_proto::version::Revision;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Waits for the end of the task that `seed` tells of; its result, as the call would have had it.
pub(crate) async fn follow(
    wire: &Arc<Wire>,
    revision: Revision,
    seed: &RawValue,
    passing: Option<&Passing<'_>>,
    listener: Listener<'_>,
) -> Result<Box<RawValue>, ClientError> {
    let seed = Task::read(seed, Method::ToolsCall)?;
    let mut task = Followed {
        wire: Arc::clone(wire),
        revision,
        id: quoted(&seed.task_id),
        target: seed.task_id.clone(),
        answered: Vec::new(),
        is_over: false,
        capabilities: passing.map(|passing| passing.capabilities.to_owned()),
        inquirer: passing.and_then(|passing| passing.inquirer.cloned()),
    };
    match timeout(TASK_TIME_MAX, task.wait(seed, listener)).await {
        Ok(result) => result,
        Err(_) => {
            Err(ClientError::TimedOut { method: Method::ToolsCall.name(), after: TASK_TIME_MAX })
        }
    }
}

/// A task as a server describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    task_id: String,
    status: Status,
    status_message: Option<String>,
    #[serde(default, deserialize_with = "absent::or_empty")]
    poll_interval_ms: Option<f64>,
    input_requests: Option<Questions>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Working,
}

impl Task {
    fn read(raw: &RawValue, method: Method) -> Result<Self, ClientError> {
        serde_json::from_str(raw.get()).map_err(|error| malformed(method, &error.to_string()))
    }

    /// How long it is left alone.
    fn pause(&self) -> Duration {
        let wanted = self.poll_interval_ms.map(|ms| Duration::try_from_secs_f64(ms / 1e3));
        let wanted = wanted.map_or(TASK_POLL_DEFAULT, |wanted| wanted.unwrap_or(TASK_POLL_MAX));
        wanted.clamp(TASK_POLL_MIN, TASK_POLL_MAX)
    }
}

/// A task that somebody waits for. Dropping it before its end cancels it.
#[derive(Debug)]
struct Followed {
    wire: Arc<Wire>,
    revision: Revision,
    /// JSON text.
    id: String,
    target: String,
    /// The questions that were answered, by key: each is asked once.
    answered: Vec<String>,
    is_over: bool,
    /// What can be done by whoever made the call, if it is passed on.
    capabilities: Option<String>,
    /// Where its questions go then.
    inquirer: Option<Inquirer>,
}

impl Followed {
    async fn wait(
        &mut self,
        seed: Task,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let mut task = seed;
        let mut told = None;
        listener(Notice::Task);
        // Whoever passes the call on may have to do something about it first.
        tokio::task::yield_now().await;
        loop {
            if let Some(message) = task.status_message.take()
                && told.as_ref() != Some(&message)
            {
                told = Some(message.clone());
                listener(Notice::Status { message });
            }
            sleep(task.pause()).await;
            let asked = self.ask(Method::TasksGet, &[]).await;
            let raw = asked.map_err(|error| error.once_begun(Method::ToolsCall))?;
            task = Task::read(&raw, Method::TasksGet)?;
            self.is_over =
                matches!(task.status, Status::Cancelled | Status::Completed | Status::Failed);
            match task.status {
                Status::Working => {}
                Status::InputRequired => self.provide(&mut task).await?,
                Status::Completed => {
                    let none = "a task that is completed has a `result`";
                    return task.result.ok_or_else(|| malformed(Method::TasksGet, none));
                }
                Status::Failed => {
                    let none = "a task that failed has an `error`";
                    let error = task.error.ok_or_else(|| malformed(Method::TasksGet, none))?;
                    let method = Method::ToolsCall.name();
                    return Err(ClientError::Refused { method, error, status: None });
                }
                Status::Cancelled => return Err(ClientError::TaskCancelled),
            }
        }
    }

    /// Answers what has not been answered yet.
    async fn provide(&mut self, task: &mut Task) -> Result<(), ClientError> {
        let questions = task.input_requests.take().map(|Questions(all)| all).unwrap_or_default();
        let is_new = |one: &Keyed| !self.answered.contains(&one.key);
        let new: Vec<Keyed> = questions.into_iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        if self.answered.len() + new.len() > QUESTIONS_PER_REQUEST_MAX {
            return Err(ClientError::TooManyQuestions { limit: QUESTIONS_PER_REQUEST_MAX });
        }
        let answers = match &self.inquirer {
            Some(inquirer) => pass_all(inquirer, &new).await?,
            None => answer_all(self.wire.desk(), &new).await?,
        };
        self.answered.extend(new.into_iter().map(|one| one.key));
        let told = self.ask(Method::TasksUpdate, &[("inputResponses", &answers)]).await;
        told.map(|_| ()).map_err(|error| error.once_begun(Method::ToolsCall))
    }

    async fn ask(
        &self,
        method: Method,
        more: &[(&str, &str)],
    ) -> Result<Box<RawValue>, ClientError> {
        let mut members = vec![("taskId", &*self.id)];
        members.extend_from_slice(more);
        let question = Question::new(method, self.revision, &members);
        let passing = self.capabilities.as_deref().map(telling);
        let question =
            Question { target: Some(&self.target), passing: passing.as_ref(), ..question };
        self.wire.ask(question, &mut nobody).await
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (wire, revision) = (Arc::clone(&self.wire), self.revision);
        let (id, target) = (std::mem::take(&mut self.id), std::mem::take(&mut self.target));
        let capabilities = self.capabilities.take();
        self.wire.farewells().say(async move {
            let question = Question::new(Method::TasksCancel, revision, &[("taskId", &id)]);
            let passing = capabilities.as_deref().map(telling);
            let passing = passing.as_ref();
            wire.ask(Question { target: Some(&target), passing, ..question }, &mut nobody).await
        });
    }
}

/// A request about a task, of which the server has nothing to ask.
fn telling(capabilities: &str) -> Passing<'_> {
    Passing { inquirer: None, capabilities, tasks: false, meta: &[] }
}

/// Puts questions to whoever made the call, all at once: the JSON text of `inputResponses`.
async fn pass_all(inquirer: &Inquirer, questions: &[Keyed]) -> Result<String, ClientError> {
    let failed = |Declined { message: reason, .. }| ClientError::AnswerFailed { reason };
    let mut waiting = Vec::with_capacity(questions.len());
    for Keyed { method, params, .. } in questions {
        waiting.push(inquirer.put(method, params.as_deref()).map_err(failed)?);
    }
    let mut answers = String::from("{");
    for (Keyed { key, .. }, answer) in questions.iter().zip(waiting) {
        let comma = if answers.len() > 1 { "," } else { "" };
        answers.push_str(&format!("{comma}{}:{}", quoted(key), answer.await.map_err(failed)?));
    }
    answers.push('}');
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_looked_at_neither_too_often_nor_too_seldom() {
        let pause = |interval: &str| {
            let text = format!(r#"{{"taskId":"t","status":"working"{interval}}}"#);
            let raw = RawValue::from_string(text).expect("JSON");
            Task::read(&raw, Method::TasksGet).expect("a task").pause()
        };
        assert_eq!(pause(""), TASK_POLL_DEFAULT);
        assert_eq!(pause(r#","pollIntervalMs":250"#), Duration::from_millis(250));
        assert_eq!(pause(r#","pollIntervalMs":0"#), TASK_POLL_MIN);
        for far in ["1e300", "-1", "99999999999"] {
            assert_eq!(pause(&format!(r#","pollIntervalMs":{far}"#)), TASK_POLL_MAX, "{far}");
        }
    }
}
