//! What a client says of its steps: one JSON line each, on stdout. `foreign` and `walk` judge it;
//! here it is only read.

use std::process::Command;

use serde_json::Value;

use super::process::{Finished, finish};

/// A step that a client took, or could not take.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Done(Value),
    Failed(String),
    /// The client has no way to do it, and says so itself.
    Skipped(String),
}

/// Runs a client that has to end well, and reads its lines.
pub(super) fn steps(command: Command) -> Vec<Step> {
    let line = format!("{command:?}");
    let Finished { status, stdout, stderr } = finish(command);
    assert!(status.success(), "{line} ended with {status}: {stdout}{stderr}");
    stdout.lines().map(|said| read(said).unwrap_or_else(|| panic!("{line} said {said}"))).collect()
}

fn read(line: &str) -> Option<Step> {
    let value: Value = serde_json::from_str(line).ok()?;
    let name = value["step"].as_str()?.to_owned();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let outcome = match (&value["ok"], &value["skipped"]) {
        (Value::Bool(true), Value::Null) => Outcome::Done(value["detail"].clone()),
        (Value::Bool(false), Value::Null) => Outcome::Failed(text(&value["detail"])),
        (Value::Null, Value::String(reason)) => Outcome::Skipped(reason.clone()),
        _ => return None,
    };
    Some(Step { name, outcome })
}

/// What the steps came to, all of which have to be done.
pub(super) fn details(steps: Vec<Step>) -> Vec<(String, Value)> {
    let detail = |step: Step| match step.outcome {
        Outcome::Done(detail) => (step.name, detail),
        other => panic!("{}: {other:?}", step.name),
    };
    steps.into_iter().map(detail).collect()
}
