//! Tools whose work may go on after their answer, as tasks (the extension
//! `io.modelcontextprotocol/tasks`).

use crate::rounds::user_name;
use haft_proto::error::{Mistake, Refusal};
use haft_server::{AskError, Context, Elicited, TaskUse, Tool, handler};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::time::sleep;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("greet", handler::function(|who: Who| format!("Hello, {}!", who.name)))
            .description("Greets, at once.")
            .input_schema(
                r#"{"type":"object","required":["name"],"additionalProperties":false,
                    "properties":{"name":{"type":"string"}}}"#,
            ),
        // A client that takes tasks gets one; another waits for the answer.
        Tool::new("slow_compute", handler::future(compute))
            .description("Computes for as long as it is told to.")
            .input_schema(
                r#"{"type":"object","required":["seconds"],"additionalProperties":false,
                    "properties":{"seconds":{"type":"number","minimum":0,"maximum":600},
                        "label":{"type":"string"}}}"#,
            )
            .timeout(Duration::from_secs(660))
            .task(TaskUse::Always),
        // A client that takes no tasks is refused.
        Tool::new("failing_job", handler::future(fail))
            .description("Fails after a second.")
            .task(TaskUse::Required),
        Tool::new("protocol_error_job", handler::future(refuse))
            .description("Refuses, so that its task has an error instead of a result.")
            .task(TaskUse::Always),
        // What a task asks is answered by `tasks/update`.
        Tool::new("confirm_delete", handler::future(delete))
            .description("Deletes a file that does not exist, once somebody has agreed.")
            .input_schema(
                r#"{"type":"object","required":["filename"],"additionalProperties":false,
                    "properties":{"filename":{"type":"string"}}}"#,
            )
            .task(TaskUse::Always),
        Tool::new("multi_input", handler::future(two_forms))
            .description("Shows two forms at once.")
            .task(TaskUse::Always),
        // What is asked before the call becomes a task is asked of the call.
        Tool::new("test_tool_with_task", handler::future(name_first))
            .description("Asks for a name, then works on as a task.")
            .task(TaskUse::OnDemand),
    ]
}

#[derive(Deserialize)]
struct Who {
    name: String,
}

#[derive(Deserialize)]
struct Work {
    seconds: f64,
    label: Option<String>,
}

async fn compute(work: Work, _: Context) -> String {
    sleep(Duration::from_secs_f64(work.seconds)).await;
    let label = work.label.unwrap_or_else(|| "work".to_owned());
    format!("Computed {label} for {} seconds.", work.seconds)
}

async fn fail(_: IgnoredAny, _: Context) -> Result<String, &'static str> {
    sleep(Duration::from_secs(1)).await;
    Err("The job failed, as it always does.")
}

/// A refusal is an error of the protocol. What a tool means to tell the model is any other `Err`.
async fn refuse(_: IgnoredAny, _: Context) -> Result<String, Refusal> {
    Err(Refusal::new(Mistake::Internal, "Internal error: this job fails whenever it is called"))
}

#[derive(Deserialize)]
struct File {
    filename: String,
}

#[derive(Deserialize)]
struct Confirmation {
    confirm: bool,
}

const CONFIRMATION: &str =
    r#"{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}"#;

async fn delete(file: File, context: Context) -> Result<String, AskError> {
    let question = format!("Delete {}?", file.filename);
    match context.elicit("confirm", &question, CONFIRMATION).await? {
        Elicited::Accepted(Confirmation { confirm: true }) => {
            Ok(format!("Deleted {}.", file.filename))
        }
        _ => Ok(format!("Kept {}.", file.filename)),
    }
}

async fn two_forms(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let (first, second) = tokio::try_join!(
        context.elicit::<Confirmation>("first", "The first?", CONFIRMATION),
        context.elicit::<Confirmation>("second", "The second?", CONFIRMATION),
    )?;
    Ok(format!("The first: {}, the second: {}.", first.action(), second.action()))
}

async fn name_first(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let name = user_name(&context).await?;
    context.become_task().await;
    sleep(Duration::from_millis(100)).await;
    Ok(format!("Worked for {name}."))
}
