//! What is odd about a pipeline.

use super::Notes;
use crate::pipeline::{Action, Pipeline, Step};
use crate::tool::Tool;
use haft_proto::spec::tool::Annotations;

/// Judges the steps of a pipeline; `tools` are all that it may call in this file.
pub(super) fn judge(tool: &Tool, pipeline: &Pipeline, tools: &[Tool], notes: &mut Notes) {
    let mut stack: Vec<&Step> = pipeline.steps.iter().collect();
    while let Some(step) = stack.pop() {
        if let Some(name) = step.name.as_ref().filter(|name| !pipeline.reads(&name.value)) {
            notes.add(name.place, format!("nothing reads `{}`", name.value));
        }
        match &step.action {
            Action::Call { tool: called, .. } => {
                let found = tools.iter().find(|known| known.name.value == called.value);
                let hint = found.and_then(|found| denied(tool.annotations, found.annotations));
                if let Some(hint) = hint {
                    let message =
                        format!("the pipeline says `{hint}`, and `{}` does not", called.value);
                    notes.add(called.place, message);
                }
            }
            Action::Do(steps) | Action::Parallel(steps) => stack.extend(steps),
        }
    }
}

/// What a pipeline says of itself and a step of it says of itself that it is not.
fn denied(said: Annotations, step: Annotations) -> Option<&'static str> {
    let is_denied = |said: Option<bool>, step: Option<bool>, good: bool| {
        said == Some(good) && step == Some(!good)
    };
    [
        ("readOnly: true", is_denied(said.read_only, step.read_only, true)),
        ("destructive: false", is_denied(said.destructive, step.destructive, false)),
        ("idempotent: true", is_denied(said.idempotent, step.idempotent, true)),
        ("openWorld: false", is_denied(said.open_world, step.open_world, false)),
    ]
    .into_iter()
    .find_map(|(hint, is_denied)| is_denied.then_some(hint))
}
