//! A call of a pipeline: its steps run in the context of the call, and what comes of them becomes
//! the result. Dropping the call drops all of it.

use crate::kind::Setting;
use crate::limits::{KEPT_BYTES_MAX, RESULT_DEPTH_MAX};
use crate::pipeline::Pipeline;
use crate::pipeline::run::{self, Done, Failure, Run};
use crate::pipeline::scope::Scope;
use haft_proto::json::Cursor;
use haft_proto::spec::tool_result::ToolResult;
use haft_server::handler::{Answer, Call, Handler, Made};
use minijinja::Value;
use std::sync::Arc;

/// Runs steps for each call.
pub(crate) struct PipelineHandler {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) setting: Arc<Setting>,
}

impl Handler for PipelineHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let arguments = match self.setting.arguments(call.arguments) {
            Ok(arguments) => arguments,
            Err(reason) => {
                answer.result(&ToolResult::error(reason));
                return Made::Now;
            }
        };
        let (pipeline, setting) = (Arc::clone(&self.pipeline), Arc::clone(&self.setting));
        let context = call.context();
        Made::Later(Box::pin(async move {
            let run = Run::new(&setting, context, pipeline.steps.len());
            if let Some(variables) = pipeline.report {
                return Ok(run.report(&pipeline.steps, arguments, variables).await);
            }
            let scope = Scope::new(arguments.context().clone());
            Ok(answer_of(&pipeline, &run, scope).await.unwrap_or_else(|failure| {
                let Failure { at, reason } = failure;
                ToolResult::error(format!("`{}` stopped at {at}: {reason}", setting.name))
            }))
        }))
    }
}

async fn answer_of(
    pipeline: &Pipeline,
    run: &Run<'_>,
    scope: Scope,
) -> Result<ToolResult, Failure> {
    let Done { value, added, answer } = run.all(&pipeline.steps, scope.clone()).await?;
    let value = match &pipeline.result {
        None => match answer {
            // What its last call said is what it says.
            Some(result) => return Ok(result),
            None => value,
        },
        Some(form) => {
            let context = scope.with_all(&added).context();
            run.value(form, &context).map_err(|reason| Failure::new("its `result`", reason))?
        }
    };
    result(&value).map_err(|reason| Failure::new("its `result`", reason))
}

/// A text is a text, and anything else structured.
pub(crate) fn result(value: &Value) -> Result<ToolResult, String> {
    if value.is_undefined() || value.is_none() {
        return Ok(ToolResult::default());
    }
    if let Some(text) = value.as_str() {
        return Ok(ToolResult::text(text));
    }
    let json = run::json(value, KEPT_BYTES_MAX)?;
    Cursor::new(&json, RESULT_DEPTH_MAX).value().map_err(|error| error.to_string())?;
    Ok(ToolResult::json(&json))
}
