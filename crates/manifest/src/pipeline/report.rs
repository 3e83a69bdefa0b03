//! A call of a pipeline that tells what each of its steps did, as pipelines of other frameworks
//! do: `{ results, variables }`. Called by `handler`, and by `run` for steps that pass on a value
//! whole.

use crate::arguments::Arguments;
use crate::pipeline::handler::result;
use crate::pipeline::run::{Done, Failure, Run};
use crate::pipeline::scope::{Added, Scope};
use crate::pipeline::{Action, Step};
use crate::place::Placed;
use crate::written::tool::Variables;
use haft_proto::spec::tool_result::ToolResult;
use minijinja::Value;
use minijinja::value::Serde;
use std::borrow::Cow;

/// What the answer fits.
pub(crate) const REPORT_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","#,
    r#""properties":{"tool":{"type":"string"},"success":{"type":"boolean"},"output":{},"#,
    r#""error":{"type":["string","null"]}},"required":["tool","success","output","error"]}},"#,
    r#""variables":{"type":"object"}},"required":["results","variables"]}"#
);

/// The name of what is passed on as all arguments at once. No argument has it.
pub(crate) const ALL: &str = "";

/// The members of a value that is passed on as all arguments.
pub(crate) fn members(value: &Value) -> Result<Vec<(Cow<'static, str>, Value)>, String> {
    if value.is_undefined() || value.is_none() {
        return Ok(Vec::new());
    }
    if value.kind() != minijinja::value::ValueKind::Map {
        return Err(format!("all arguments at once are a mapping, and this is a {}", value.kind()));
    }
    let keys = value.try_iter().map_err(|error| error.to_string())?;
    let member = |key: Value| {
        let member = value.get_item(&key).map_err(|error| error.to_string())?;
        Ok((Cow::Owned(key.to_string()), member))
    };
    keys.map(member).collect()
}

impl Step {
    /// Every step has a name under which what became of it is found; its own, or one that no
    /// template can read.
    pub(crate) fn name_for_report(&mut self) {
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
            Variables::Arguments => arguments.context,
            Variables::Members => {
                let members = arguments.values.get("variables");
                Value::from(Serde(members.unwrap_or(&serde_json::json!({}))))
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
        let variables = given.chain(self.made).collect::<Vec<_>>();
        let report = Value::from_pairs([
            ("results", Value::from(self.results)),
            ("variables", Value::from_pairs(variables)),
        ]);
        result(&report).unwrap_or_else(|reason| ToolResult::error(format!("The results: {reason}")))
    }
}
