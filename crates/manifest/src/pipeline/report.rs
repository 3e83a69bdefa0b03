//! A call of a pipeline that tells what each of its steps did, as pipelines of other frameworks
//! do: `{ results, variables }`. Called by `handler`, and by `run` for steps whose failures others
//! look at.

use crate::alias;
use crate::arguments::Arguments;
use crate::pipeline::handler::result;
use crate::pipeline::run::{Done, Failure, Run};
use crate::pipeline::scope::{Added, Scope};
use crate::pipeline::{Action, Pipeline, Step};
use crate::place::Placed;
use crate::written::tool::Variables;
use haft_proto::spec::tool_result::ToolResult;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use std::collections::HashSet;

/// What the answer fits.
pub(crate) const REPORT_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","#,
    r#""properties":{"tool":{"type":"string"},"success":{"type":"boolean"},"output":{},"#,
    r#""error":{"type":["string","null"]}},"required":["tool","success","output","error"]}},"#,
    r#""variables":{"type":"object"}},"required":["results","variables"]}"#
);

/// The parts of an answer that tell how it went: of a program, and of a server.
const OUTCOMES: [&str; 2] = ["exit_code", "status"];

/// An answer that tells how it went.
#[derive(Deserialize)]
struct Outcome {
    exit_code: Option<IgnoredAny>,
    status: Option<IgnoredAny>,
}

/// Whether an answer tells how it went, good or bad.
pub(crate) fn tells_outcome(result: &ToolResult) -> bool {
    let outcome = result.structured.as_ref().map(|json| serde_json::from_str(json.get()));
    let is_told = |Outcome { exit_code, status }| exit_code.is_some() || status.is_some();
    outcome.is_some_and(|outcome| outcome.is_ok_and(is_told))
}

impl Pipeline {
    /// The same for a pipeline that tells what each of its steps did.
    pub(super) fn with_report(mut self, variables: Variables) -> Self {
        let paths = self.expressions().into_iter().flat_map(|expression| expression.paths.clone());
        let read: HashSet<String> = paths.collect();
        for step in &mut self.steps {
            step.is_outcome_read = step.name.as_ref().is_some_and(|name| {
                OUTCOMES.iter().any(|part| read.contains(&format!("{}.{part}", name.value)))
            });
            step.name_for_report();
        }
        Self { report: Some(variables), ..self }
    }
}

impl Step {
    /// Every step has a name under which what became of it is found; its own, or one that no
    /// template can read.
    fn name_for_report(&mut self) {
        let (place, label) = (self.place, &self.label);
        self.name.get_or_insert_with(|| Placed::new(place, format!("__{label}")));
        self.is_wanted = true;
    }

    fn tool(&self) -> &str {
        match &self.action {
            Action::Call { tool, .. } => &tool.value,
            Action::Do(_) | Action::Parallel(_) => &self.label,
        }
    }
}

impl Run<'_> {
    /// Runs the steps in order and tells of each, of those too that were done before one failed.
    pub(crate) async fn report(
        &self,
        steps: &[Step],
        arguments: Arguments,
        variables: Variables,
    ) -> ToolResult {
        let given = match variables {
            Variables::Arguments => arguments.context().clone(),
            Variables::Members => {
                let members = arguments.values.get("variables").and_then(Json::as_object);
                let member = |(name, value): (&String, &Json)| {
                    (alias::inner(name).into_owned(), Value::from(Serde(value)))
                };
                Value::from_pairs(members.into_iter().flatten().map(member).collect::<Vec<_>>())
            }
        };
        let mut told = Told { results: Vec::new(), made: Vec::new(), given };
        let mut scope = Scope::new(told.given.clone());
        for step in steps {
            match self.one(step, scope.clone()).await {
                Ok(done) => scope = told.done(step, done, scope),
                Err(Failure { at, reason }) => {
                    let text = format!("`{}` stopped at {at}: {reason}", self.setting.name);
                    told.failed(step, reason);
                    let structured = told.result().structured;
                    return ToolResult { structured, ..ToolResult::error(text) };
                }
            }
        }
        told.result()
    }
}

/// What has been done so far.
struct Told {
    results: Vec<Value>,
    /// What steps have made, by the names that they give it.
    made: Vec<(String, Value)>,
    given: Value,
}

impl Told {
    /// What later steps see.
    fn done(&mut self, step: &Step, Done { value, added, .. }: Done, scope: Scope) -> Scope {
        let name = step.name.as_ref().map(|name| name.value.as_str()).unwrap_or_default();
        let reason = added.iter().find_map(|added| match added {
            Added::Error(_, reason) => Some(reason.clone()),
            Added::Skipped(_) | Added::Value(..) => None,
        });
        if let Some(reason) = reason {
            self.failed(step, reason);
            return scope;
        }
        if added.iter().any(|added| matches!(added, Added::Skipped(_))) {
            return scope;
        }
        self.results.push(Value::from_pairs([
            ("tool", Value::from(step.tool())),
            ("success", Value::from(true)),
            ("output", value.clone()),
            ("error", Value::from(())),
        ]));
        if !name.starts_with("__") {
            self.made.retain(|(made, _)| made != name);
            self.made.push((name.to_owned(), value));
        }
        scope.with_all(&added)
    }

    fn failed(&mut self, step: &Step, reason: String) {
        self.results.push(Value::from_pairs([
            ("tool", Value::from(step.tool())),
            ("success", Value::from(false)),
            ("output", Value::from(())),
            ("error", Value::from(reason)),
        ]));
    }

    fn result(self) -> ToolResult {
        let keys = self.given.try_iter().into_iter().flatten();
        let given = keys.filter_map(|key| {
            let value = self.given.get_item(&key).ok()?;
            Some((key.to_string(), value))
        });
        let variables = given.chain(self.made);
        let variables = variables.map(|(name, value)| (alias::outer(&name).into_owned(), value));
        let variables = variables.collect::<Vec<_>>();
        let report = Value::from_pairs([
            ("results", Value::from(self.results)),
            ("variables", Value::from_pairs(variables)),
        ]);
        result(&report).unwrap_or_else(|reason| ToolResult::error(format!("The results: {reason}")))
    }
}
