//! The path of `tools/call`: look up → check the arguments → run → write the answer, at once or
//! later by `driver`. Called by `dispatch`; knows no wire.

use crate::around::tell_repairs;
use crate::context::Context;
use crate::core::Core;
use crate::driver::{Ending, Job, panicked};
use crate::face::Face;
use crate::handler::{Answer, Call, Made, Written};
use crate::headers::Headers;
use crate::layers::{self, LayeredEnding};
use crate::middleware::Request;
use crate::nearest::nearest;
use crate::registry::{Entry, Snapshot};
use crate::rounds::Rounds;
use crate::schema::Violation;
use crate::task_calls::takes_tasks;
use crate::tasks::TaskUse;
use crate::tool::Registered;
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::service::{Ask, Outcome, Turn};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use std::cell::{Cell, OnceCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Answers a call.
pub(crate) fn call(
    core: &Arc<Core>,
    snapshot: &Arc<Snapshot>,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let face = &*snapshot.face;
    let admitted = admit(snapshot, ask).and_then(|(tool, arguments)| {
        let define = |out: &mut Vec<u8>| tool.write(out, Revision::LATEST);
        let rounds = core.rounds(snapshot, ask, define)?;
        Ok((tool, arguments, rounds))
    });
    let (tool, arguments, rounds) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    let Err(violations) = tool.checks.input().check(arguments) else {
        return run((core, snapshot), tool, arguments, (ask, rounds), out);
    };
    if let Some(mended) = mend((core, face), tool, arguments) {
        return run((core, snapshot), tool, &mended, (ask, rounds), out);
    }
    mark(Stage::Validate);
    let result = ToolResult::error(explain(&tool.tool.name, &violations));
    write(face, ask, &result, out);
    Turn::Done(Outcome::Result)
}

/// Everything that is wrong with a call apart from its arguments' values is told as an error of the
/// protocol; the model cannot mend it.
fn admit<'a>(
    snapshot: &'a Snapshot,
    ask: &Ask<'a>,
) -> Result<(&'a Arc<Registered>, &'a str), Refusal> {
    let invalid = |message: String| Refusal::new(Mistake::InvalidParams, message);
    let params = &ask.message.params;
    let name = params
        .name
        .and_then(JsonStr::from_raw)
        .ok_or_else(|| invalid("Invalid params: `params.name` must be a string".to_owned()))?
        .decode();
    let tool = snapshot.tools.find(&name).ok_or_else(|| {
        let shown: String = name.chars().take(128).collect();
        let names = snapshot.tools.iter().map(|tool| tool.tool.name.as_str());
        invalid(match nearest(&name, names) {
            Some(meant) => format!("Unknown tool: {shown:?}; did you mean {meant:?}?"),
            None => format!("Unknown tool: {shown:?}; `tools/list` has the names"),
        })
    })?;
    if tool.task_use == TaskUse::Required && ask.revision.has_capabilities_in_requests() {
        takes_tasks(ask)?;
    }
    let arguments = params.arguments.unwrap_or("{}");
    if let Some(headers) = ask.headers.filter(|_| ask.revision.has_mirrored_headers()) {
        tool.checks.param_headers.check(headers, arguments)?;
    }
    Ok((tool, arguments))
}

/// What a model meant that put values in quotes or wrote null for nothing, unless the server is
/// strict.
pub(crate) fn mend(
    (core, face): (&Core, &Face),
    tool: &Registered,
    arguments: &str,
) -> Option<String> {
    let repaired = tool.checks.input().repair(arguments).filter(|_| !face.is_strict)?;
    let count = u64::try_from(repaired.count).unwrap_or(u64::MAX);
    core.repairs.fetch_add(count, Ordering::Relaxed);
    tell_repairs(&tool.tool.name, &repaired);
    Some(repaired.text)
}

fn run(
    (core, snapshot): (&Arc<Core>, &Arc<Snapshot>),
    tool: &Arc<Registered>,
    arguments: &str,
    (ask, rounds): (&Ask<'_>, Option<Rounds>),
    out: &mut Vec<u8>,
) -> Turn {
    let (start, face) = (out.len(), &*snapshot.face);
    let mut written = Written::default();
    let (context, rounds) = (OnceCell::new(), Cell::new(rounds));
    let make_context = || {
        let make = || {
            let headers = ask.headers.filter(|_| tool.wants_headers);
            let headers = headers.map(Headers::copy).unwrap_or_default();
            let can_become_task = tool.task_use != TaskUse::Never;
            Context::new((core, snapshot), ask, rounds.take(), headers, can_become_task)
        };
        Context::clone(context.get_or_init(make))
    };
    if !core.middleware.is_empty() || !tool.middleware.is_empty() {
        return run_layered((core, snapshot), tool, (arguments, make_context()), ask, out);
    }
    mark(Stage::Validate);
    let mut made = None;
    encode::result(out, ask.id, |out| {
        let answer = Answer::new(out, ask.revision, face.fields(ask.revision), &mut written);
        let (principal, headers) = (ask.principal, ask.headers);
        let call = Call { arguments, core, principal, headers, context: &make_context };
        made = Some(catch_unwind(AssertUnwindSafe(|| tool.handler.call(call, answer))));
    });
    match made {
        Some(Ok(Made::Now)) => {
            if let Written::Refused(refusal) = &written {
                out.truncate(start);
                return refuse(out, ask.id, refusal);
            }
            let problem = match (tool.checks.output(), &written) {
                (None, Written::Nothing) => Some(ToolResult::default()),
                (Some(_), Written::Nothing) => misfit(tool, None),
                (Some(_), Written::Result(json)) => misfit(tool, json.as_deref()),
                _ => None,
            };
            if let Some(instead) = problem {
                out.truncate(start);
                write(face, ask, &instead, out);
            }
            context.get().inspect(|context| context.desk().burn());
            Turn::Done(Outcome::Result)
        }
        Some(Ok(Made::Later(work))) => {
            out.truncate(start);
            let ending = ToolEnding::new(&snapshot.face, tool, ask);
            let context = context.into_inner();
            let job = Job::new(core, ask, ending, work, context, tool.timeout);
            job.with_task_ttl(tool.task_ttl).start(becomes_task(tool, ask), out)
        }
        Some(Err(_)) | None => {
            out.truncate(start);
            refuse(out, ask.id, &panicked(ToolEnding::KIND))
        }
    }
}

/// The same through middleware.
fn run_layered(
    (core, snapshot): (&Arc<Core>, &Snapshot),
    tool: &Arc<Registered>,
    (arguments, context): (&str, Context),
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    mark(Stage::Validate);
    let request = Request {
        method: ask.method,
        name: tool.tool.name.clone(),
        arguments: arguments.to_owned(),
        annotations: tool.tool.annotations,
        time_limit: tool.timeout,
        context: context.clone(),
    };
    let ending = LayeredEnding(ToolEnding::new(&snapshot.face, tool, ask));
    let (inner_core, inner_tool) = (Arc::clone(core), Arc::clone(tool));
    // A layer that panics before it waits is caught with those that panic later.
    let work = async move { layers::call(&inner_core, &inner_tool, request).await };
    let job = Job::new(core, ask, ending, Box::pin(work), Some(context), tool.timeout);
    job.with_task_ttl(tool.task_ttl).start(becomes_task(tool, ask), out)
}

/// Whether a call is answered with a task at once.
fn becomes_task(tool: &Registered, ask: &Ask<'_>) -> bool {
    match tool.task_use {
        TaskUse::Always | TaskUse::Required => {
            ask.revision.has_extensions() && takes_tasks(ask).is_ok()
        }
        TaskUse::Never | TaskUse::OnDemand => false,
    }
}

/// How calls end.
pub(crate) struct ToolEnding {
    tool: Arc<Registered>,
    face: Arc<Face>,
    revision: Revision,
}

impl ToolEnding {
    fn new(face: &Arc<Face>, tool: &Arc<Registered>, ask: &Ask<'_>) -> Self {
        Self { tool: Arc::clone(tool), face: Arc::clone(face), revision: ask.revision }
    }
}

impl Ending for ToolEnding {
    type Made = Result<ToolResult, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.tool.write(out, Revision::LATEST);
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let made = made?;
        // What a tool says when it failed need not fit.
        let result = if made.is_error {
            made
        } else {
            let structured = made.structured.as_ref().map(|json| json.get());
            misfit(&self.tool, structured).unwrap_or(made)
        };
        encode::tools::result(out, self.revision, self.face.fields(self.revision), &result);
        Ok(())
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.as_ref().map_or(true, |result| result.is_error)
    }

    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let name = &self.tool.tool.name;
        let text = format!("The tool `{name}` was stopped: it took longer than {limit:?}.");
        let fields = self.face.fields(self.revision);
        encode::tools::result(out, self.revision, fields, &ToolResult::error(text));
        Ok(())
    }

    const KIND: &'static str = "tool";
}

fn write(face: &Face, ask: &Ask<'_>, result: &ToolResult, out: &mut Vec<u8>) {
    let fields = face.fields(ask.revision);
    encode::result(out, ask.id, |out| encode::tools::result(out, ask.revision, fields, result));
}

/// Appends an error.
pub(crate) fn refuse(out: &mut Vec<u8>, id: Id<'_>, refusal: &Refusal) -> Turn {
    encode::error(out, Some(id), refusal);
    Turn::Done(Outcome::Refused(refusal.mistake))
}

/// A tool that breaks its own promise is told so; nobody gets a structure that does not fit.
pub(crate) fn misfit(tool: &Registered, structured: Option<&str>) -> Option<ToolResult> {
    let schema = tool.checks.output()?;
    let list = match structured {
        Some(json) => join(&schema.check(json).err()?),
        None => "it has no structured content".to_owned(),
    };
    Some(ToolResult::error(format!("The tool's answer does not fit its own output schema: {list}")))
}

/// What a model needs to send the call again, right this time.
pub(crate) fn explain(tool: &str, violations: &[Violation]) -> String {
    let list = join(violations);
    let end = if list.ends_with('?') { "" } else { "." };
    format!("Invalid arguments for `{tool}`: {list}{end}")
}

fn join(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
