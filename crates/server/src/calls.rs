//! The path of `tools/call`: look up → check the arguments, unless the handler does while it
//! decodes them → mend them if they do not fit → run → write the answer, at once or later by
//! `driver`. Called by `dispatch`; knows no wire.

use crate::around::tell_repairs;
use crate::context::Context;
use crate::core::Core;
use crate::driver::{self, Ending, Job, panicked};
use crate::face::Face;
use crate::handler::{Answer, Call, Made, Written};
use crate::headers::Headers;
use crate::layers::{self, LayeredEnding};
use crate::middleware::Request;
use crate::missing;
use crate::nearest::nearest;
use crate::onlookers::Onlookers;
use crate::part::Entry;
use crate::registry::Snapshot;
use crate::relay::RelayEnding;
use crate::rounds::Rounds;
use crate::schema::Violation;
use crate::search::{CALL, FIND};
use crate::task_calls::takes_tasks;
use crate::tasks::TaskUse;
use crate::tool::Registered;
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{JsonStr, member};
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
    let calling = Calling { core, snapshot, tool, ask, rounds: Cell::new(rounds) };
    let kept = left_out(tool, arguments);
    let arguments = kept.as_deref().unwrap_or(arguments);
    if tool.is_relayed {
        return calling.run_checked(arguments, out);
    }
    if let Some(turn) = calling.run_unchecked(arguments, out) {
        return turn;
    }
    let violations = match tool.checks.input().check(arguments) {
        Ok(()) => return calling.run_checked(arguments, out),
        Err(violations) => violations,
    };
    if let Some(mended) = mend((core, face), tool, arguments) {
        return calling.run_checked(&mended, out);
    }
    mark(Stage::Validate);
    let result = ToolResult::error(explain(&tool.tool.name, &violations));
    write(face, ask, &result, out);
    Turn::Done(Outcome::Result)
}

/// The arguments without those that the tool does not have, if they are to be left out.
pub(crate) fn left_out(tool: &Registered, arguments: &str) -> Option<String> {
    tool.special.as_ref()?.extra.as_ref()?.left_out(tool.checks.input_text(), arguments)
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
    let arguments = params.arguments.unwrap_or("{}");
    let tool = find(snapshot, &name)?;
    if snapshot.is_caller(tool) {
        return admit_within(snapshot, ask, arguments);
    }
    admit_task(tool, ask)?;
    if let Some(headers) = ask.headers.filter(|_| ask.revision.has_mirrored_headers()) {
        tool.checks.param_headers.check(headers, arguments)?;
    }
    Ok((tool, arguments))
}

/// The call within a call of the tool that calls others. Its client knows of no argument that goes
/// into a header.
fn admit_within<'a>(
    snapshot: &'a Snapshot,
    ask: &Ask<'a>,
    arguments: &'a str,
) -> Result<(&'a Arc<Registered>, &'a str), Refusal> {
    let wants = |what: &str| {
        let message = format!("Invalid params: `{CALL}` needs {what}");
        Refusal::new(Mistake::InvalidParams, message)
    };
    let name = member(arguments, "name").and_then(JsonStr::from_raw);
    let name = name.ok_or_else(|| wants("the `name` of a tool"))?.decode();
    let arguments = member(arguments, "arguments").filter(|raw| *raw != "null").unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Err(wants("`arguments` that are an object"));
    }
    let tool = find(snapshot, &name)?;
    if snapshot.is_caller(tool) {
        return Err(wants("the `name` of another tool"));
    }
    admit_task(tool, ask)?;
    Ok((tool, arguments))
}

fn admit_task(tool: &Registered, ask: &Ask<'_>) -> Result<(), Refusal> {
    if tool.task_use == TaskUse::Required && ask.revision.has_capabilities_in_requests() {
        takes_tasks(ask)?;
    }
    Ok(())
}

fn find<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Arc<Registered>, Refusal> {
    let invalid = |message: String| Refusal::new(Mistake::InvalidParams, message);
    snapshot.find_tool(name).ok_or_else(|| {
        if let Some(refusal) = missing::refusal(&snapshot.missing, name) {
            return refusal;
        }
        let shown: String = name.chars().take(128).collect();
        let names = snapshot.tools.iter().map(|tool| tool.tool.name.as_str());
        let list = if snapshot.search.is_some() { FIND } else { "tools/list" };
        invalid(match nearest(name, names) {
            Some(meant) => format!("Unknown tool: {shown:?}; did you mean {meant:?}?"),
            None => format!("Unknown tool: {shown:?}; `{list}` has the names"),
        })
    })
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

/// A call that is admitted.
struct Calling<'a> {
    core: &'a Arc<Core>,
    snapshot: &'a Arc<Snapshot>,
    tool: &'a Arc<Registered>,
    ask: &'a Ask<'a>,
    rounds: Cell<Option<Box<Rounds>>>,
}

/// What a handler that ran leaves behind.
struct Ran {
    /// Where its answer begins in the wire's buffer.
    start: usize,
    written: Written,
    /// If it asked for one.
    context: Option<Context>,
}

impl Calling<'_> {
    fn is_layered(&self) -> bool {
        !self.core.middleware.is_empty() || !self.tool.middleware.is_empty()
    }

    fn make_context(&self) -> Context {
        let Self { core, snapshot, tool, ask, rounds } = self;
        let headers = ask.headers.filter(|_| tool.wants_headers);
        let headers = headers.map(Headers::copy).unwrap_or_default();
        let can_become_task = tool.task_use != TaskUse::Never;
        Context::new((core, snapshot), ask, rounds.take(), headers, can_become_task)
    }

    /// Runs a call whose arguments fit.
    fn run_checked(&self, arguments: &str, out: &mut Vec<u8>) -> Turn {
        mark(Stage::Validate);
        let handler = &self.tool.handler;
        if !self.is_layered() {
            let context = OnceCell::new();
            let (made, ran) =
                self.run(arguments, context, out, |call, answer| handler.call(call, answer));
            return self.finish(made, ran, out);
        }
        let request = self.request(arguments);
        let layers = || layers::around(self.core, &self.tool.middleware);
        let onlookers = self.tool.is_relayed.then(|| Onlookers::of(&layers(), &request));
        let Some(onlookers) = onlookers.flatten() else { return self.run_layered(request, out) };
        let context = OnceCell::from(request.context);
        let (made, ran) = self.run(arguments, context, out, |call, answer| {
            // If it panics, they see it.
            let made = handler.call(call, answer);
            onlookers.around(made)
        });
        self.finish(made, ran, out)
    }

    /// Runs a call whose handler finds out whether its arguments fit. `None` if it does not, or
    /// they may not: then nothing was run.
    fn run_unchecked(&self, arguments: &str, out: &mut Vec<u8>) -> Option<Turn> {
        let (handler, schema) = (&self.tool.handler, self.tool.checks.input());
        if self.is_layered() || !handler.is_checking() || !schema.is_direct() {
            return None;
        }
        let (made, ran) = self.run(arguments, OnceCell::new(), out, |call, answer| {
            handler.call_unchecked(call, answer, schema)
        });
        if let Some(None) = made {
            out.truncate(ran.start);
            return None;
        }
        Some(self.finish(made.flatten(), ran, out))
    }

    /// Lets the handler answer, without middleware; what it made is `None` if it panicked.
    fn run<T>(
        &self,
        arguments: &str,
        context: OnceCell<Context>,
        out: &mut Vec<u8>,
        handle: impl FnOnce(Call<'_>, Answer<'_>) -> T,
    ) -> (Option<T>, Ran) {
        let Self { core, snapshot, ask, .. } = *self;
        let (start, face) = (out.len(), &*snapshot.face);
        let mut written = Written::default();
        let make_context = || Context::clone(context.get_or_init(|| self.make_context()));
        let mut made = None;
        encode::result(out, ask.id, |out| {
            let answer = Answer::new(out, ask.revision, face.fields(ask.revision), &mut written);
            let (principal, headers) = (ask.principal, ask.headers);
            let call = Call { arguments, core, principal, headers, context: &make_context };
            made = catch_unwind(AssertUnwindSafe(|| handle(call, answer))).ok();
        });
        (made, Ran { start, written, context: context.into_inner() })
    }

    /// Writes what a handler did not write itself.
    fn finish(&self, made: Option<Made>, ran: Ran, out: &mut Vec<u8>) -> Turn {
        let Self { core, snapshot, tool, ask, .. } = *self;
        let Ran { start, written, context } = ran;
        match made {
            Some(Made::Now) => {
                if let Written::Refused(refusal) = &written {
                    out.truncate(start);
                    return refuse(out, ask.id, refusal);
                }
                if let Some(instead) = instead(tool, &written) {
                    out.truncate(start);
                    write(&snapshot.face, ask, &instead, out);
                }
                context.inspect(|context| context.desk().burn());
                Turn::Done(Outcome::Result)
            }
            Some(Made::Later(work)) => {
                out.truncate(start);
                let ending = ToolEnding::new(&snapshot.face, tool, ask);
                let job = Job::new(core, ask, ending, work, context, tool.timeout);
                job.with_task_ttl(tool.task_ttl).start(becomes_task(tool, ask), out)
            }
            Some(Made::Relayed(work)) => {
                out.truncate(start);
                let ending = RelayEnding(ToolEnding::new(&snapshot.face, tool, ask));
                let job = Job::new(core, ask, ending, work, context, tool.timeout);
                job.with_task_ttl(tool.task_ttl).start(false, out)
            }
            None => {
                out.truncate(start);
                refuse(out, ask.id, &panicked(ToolEnding::KIND))
            }
        }
    }

    /// The call for who stands around it.
    fn request(&self, arguments: &str) -> Request {
        Request {
            method: self.ask.method,
            name: self.tool.tool.name.clone(),
            arguments: arguments.to_owned(),
            annotations: self.tool.tool.annotations,
            time_limit: self.tool.timeout,
            context: self.make_context(),
        }
    }

    /// Runs a call through middleware.
    fn run_layered(&self, request: Request, out: &mut Vec<u8>) -> Turn {
        let Self { core, snapshot, tool, ask, .. } = *self;
        let context = request.context.clone();
        let ending = LayeredEnding(ToolEnding::new(&snapshot.face, tool, ask));
        let (inner_core, inner_tool) = (Arc::clone(core), Arc::clone(tool));
        // A layer that panics before it waits is caught with those that panic later.
        let work = async move { layers::call(&inner_core, &inner_tool, request).await };
        let job = Job::new(core, ask, ending, Box::pin(work), Some(context), tool.timeout);
        job.with_task_ttl(tool.task_ttl).start(becomes_task(tool, ask), out)
    }
}

/// What is told instead of what a tool has written, if that breaks its promise or is nothing.
fn instead(tool: &Registered, written: &Written) -> Option<ToolResult> {
    match (tool.checks.output(), written) {
        (None, Written::Nothing) => Some(ToolResult::default()),
        (Some(_), Written::Nothing) => misfit(tool, None),
        (Some(_), Written::Result(json)) => misfit(tool, json.as_deref()),
        _ => None,
    }
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
    pub(crate) revision: Revision,
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

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> driver::Written {
        let made = made?;
        // What a tool says when it failed need not fit.
        let result = if made.is_error {
            made
        } else {
            let structured = made.structured.as_ref().map(|json| json.get());
            misfit(&self.tool, structured).unwrap_or(made)
        };
        encode::tools::result(out, self.revision, self.face.fields(self.revision), &result);
        Ok(None)
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
    let schema = tool.checks.output().filter(|_| !tool.is_relayed)?;
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
