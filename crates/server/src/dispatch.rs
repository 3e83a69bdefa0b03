//! A request becomes an answer: the list of methods that a server has, and the path of a call
//! (look up → check → run → encode). Called by the wires through `Service`; knows no wire.

use crate::builder::{BuildError, ServerBuilder, Tool};
use crate::context::Context;
use crate::handler::{Answer, Call, LaterResult, Made, Written};
use crate::nearest::nearest;
use crate::registry::{Registered, Snapshot};
use crate::schema::Violation;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use haft_proto::encode::{self, Caching};
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Later, Outcome, Reply, Service, Turn};
use haft_proto::spec::implementation::{Capabilities, Implementation};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// A server of tools, for any number of wires at once.
pub struct Server {
    info: Implementation,
    caching: Caching,
    limits: Limits,
    snapshot: ArcSwap<Snapshot>,
    /// By revision: what never changes while the server lives.
    constants: [Constants; Revision::ALL.len()],
}

/// What a server says over and over, written once for each revision.
struct Constants {
    /// The result of `initialize` or `server/discover`.
    hello: Vec<u8>,
    /// What every result ends with.
    fields: Arc<[u8]>,
}

impl Server {
    /// A server of that name and version, without tools yet.
    #[must_use]
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name.into(), version.into())
    }

    pub(crate) fn new(built: ServerBuilder) -> Result<Self, BuildError> {
        let ServerBuilder { info, instructions, caching, limits, tools } = built;
        let snapshot = Snapshot::new(tools, &info, caching, &limits)?;
        let offers = Capabilities { tools: true, tools_list_changed: false };
        let instructions = instructions.as_deref();
        let constants = Revision::ALL.map(|revision| {
            let (mut hello, mut fields) = (Vec::new(), Vec::new());
            if Method::Discover.is_for_server(revision, true) {
                encode::discover(&mut hello, revision, &info, offers, instructions, caching);
            } else {
                encode::initialize(&mut hello, revision, &info, offers, instructions);
            }
            encode::result_fields(&mut fields, revision, &info);
            Constants { hello, fields: fields.into() }
        });
        Ok(Self { info, caching, limits, snapshot: ArcSwap::from_pointee(snapshot), constants })
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The bounds that the server was built with; its wires use the same.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The names of all tools, in the order in which they are listed.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.snapshot.load().names().map(str::to_owned).collect()
    }

    /// Swaps all tools for others. Calls in flight finish on the old ones.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn replace_tools(&self, tools: Vec<Tool>) -> Result<(), BuildError> {
        let snapshot = Snapshot::new(tools, &self.info, self.caching, &self.limits)?;
        self.snapshot.store(Arc::new(snapshot));
        Ok(())
    }

    fn list(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
        let snapshot = self.snapshot.load();
        match snapshot.list.page(ask.revision, ask.message.params.cursor) {
            Ok(page) => {
                out.reserve(page.len() + ask.id.raw().len() + 64);
                encode::result(out, ask.id, |out| out.extend_from_slice(page));
                Turn::Done(Outcome::Result)
            }
            Err(refusal) => refuse(out, ask.id, &refusal),
        }
    }

    fn call(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
        let snapshot = self.snapshot.load();
        let (tool, arguments) = match admit_call(&snapshot, ask) {
            Ok(admitted) => admitted,
            Err(refusal) => return refuse(out, ask.id, &refusal),
        };
        let fields = &self.constants[ask.revision.index()].fields;
        if let Err(violations) = tool.input.check(arguments) {
            let result = ToolResult::error(explain(&tool.tool.name, &violations));
            encode::result(out, ask.id, |out| {
                encode::tool_result(out, ask.revision, fields, &result);
            });
            return Turn::Done(Outcome::Result);
        }
        run(tool, arguments, ask, fields, out)
    }
}

impl Service for Server {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        let constants = &self.constants[ask.revision.index()];
        match ask.method {
            Method::ToolsCall => self.call(&ask, out),
            Method::ToolsList => self.list(&ask, out),
            Method::Discover | Method::Initialize => {
                encode::result(out, ask.id, |out| out.extend_from_slice(&constants.hello));
                Turn::Done(Outcome::Result)
            }
            Method::Ping => {
                encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
                Turn::Done(Outcome::Result)
            }
            method => {
                let message = format!("Method not found: this server has no {}", method.name());
                refuse(out, ask.id, &Refusal::new(Mistake::MethodNotFound, message))
            }
        }
    }
}

/// Everything that is wrong with a call apart from its arguments' values is told as an error of the
/// protocol; the model cannot mend it.
fn admit_call<'a>(
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
    let tool = snapshot.find(&name).ok_or_else(|| {
        let shown: String = name.chars().take(128).collect();
        invalid(match nearest(&name, snapshot.names()) {
            Some(meant) => format!("Unknown tool: {shown:?}; did you mean {meant:?}?"),
            None => format!("Unknown tool: {shown:?}; `tools/list` has the names"),
        })
    })?;
    let arguments = params.arguments.unwrap_or("{}");
    if let Some(headers) = ask.headers {
        tool.param_headers.check(headers, arguments)?;
    }
    Ok((tool, arguments))
}

fn run(
    tool: &Arc<Registered>,
    arguments: &str,
    ask: &Ask<'_>,
    fields: &Arc<[u8]>,
    out: &mut Vec<u8>,
) -> Turn {
    let start = out.len();
    let mut written = Written::default();
    let context = || {
        let is_token = |raw: &&str| {
            raw.starts_with(['"', '-']) || raw.starts_with(|c: char| c.is_ascii_digit())
        };
        let token = ask.message.params.meta.progress_token.filter(is_token);
        Context::new(ask.revision, token.map(|token| (token, ask.wire.outlet())))
    };
    let mut made = None;
    encode::result(out, ask.id, |out| {
        let answer = Answer::new(out, ask.revision, fields, &mut written);
        let call = Call { arguments, context: &context };
        made = Some(catch_unwind(AssertUnwindSafe(|| tool.handler.call(call, answer))));
    });
    match made {
        Some(Ok(Made::Now)) => {
            let problem = match (&tool.output, &written) {
                (None, Written::Nothing) => Some(ToolResult::default()),
                (Some(_), Written::Nothing) => misfit(tool, None),
                (Some(_), Written::Result(json)) => misfit(tool, json.as_deref()),
                _ => None,
            };
            if let Some(instead) = problem {
                out.truncate(start);
                encode::result(out, ask.id, |out| {
                    encode::tool_result(out, ask.revision, fields, &instead);
                });
            }
            Turn::Done(Outcome::Result)
        }
        Some(Ok(Made::Later(work))) => {
            out.truncate(start);
            Turn::Later(later(Arc::clone(tool), work, ask, Arc::clone(fields)))
        }
        Some(Err(_)) | None => {
            out.truncate(start);
            refuse(out, ask.id, &panicked())
        }
    }
}

/// The rest of a call whose handler waits: its time limit, its panics, its output's schema.
fn later(tool: Arc<Registered>, work: LaterResult, ask: &Ask<'_>, fields: Arc<[u8]>) -> Later {
    let id: Box<str> = ask.id.raw().into();
    let revision = ask.revision;
    let work = Careful(Some(work));
    Box::pin(async move {
        let work = AssertUnwindSafe(work).catch_unwind();
        let mut message = Vec::new();
        let id = Id::from_raw(&id, usize::MAX).expect("it was an id when the call began");
        let result = match tokio::time::timeout(tool.timeout, work).await {
            Ok(Ok(result)) if result.is_error => result,
            Ok(Ok(result)) => {
                let structured = result.structured.as_ref().map(|json| json.get());
                misfit(&tool, structured).unwrap_or(result)
            }
            Ok(Err(_)) => {
                encode::error(&mut message, Some(id), &panicked());
                return Reply { message, outcome: Outcome::Refused(Mistake::Internal) };
            }
            Err(_) => ToolResult::error(format!(
                "The tool `{}` was stopped: it took longer than {:?}.",
                tool.tool.name, tool.timeout
            )),
        };
        encode::result(&mut message, id, |out| {
            encode::tool_result(out, revision, &fields, &result);
        });
        Reply { message, outcome: Outcome::Result }
    })
}

/// Work whose end, by cancellation too, cannot panic into the wire.
struct Careful(Option<LaterResult>);

impl Future for Careful {
    type Output = ToolResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<ToolResult> {
        match &mut self.0 {
            Some(work) => work.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl Drop for Careful {
    fn drop(&mut self) {
        let work = self.0.take();
        // The panic hook has told of it; there is nobody else to tell.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
    }
}

fn refuse(out: &mut Vec<u8>, id: Id<'_>, refusal: &Refusal) -> Turn {
    encode::error(out, Some(id), refusal);
    Turn::Done(Outcome::Refused(refusal.mistake))
}

fn panicked() -> Refusal {
    Refusal::new(Mistake::Internal, "Internal error: the tool panicked; see the server's log")
}

/// A tool that breaks its own promise is told so; nobody gets a structure that does not fit.
fn misfit(tool: &Registered, structured: Option<&str>) -> Option<ToolResult> {
    let schema = tool.output.as_ref()?;
    let list = match structured {
        Some(json) => join(&schema.check(json).err()?),
        None => "it has no structured content".to_owned(),
    };
    Some(ToolResult::error(format!("The tool's answer does not fit its own output schema: {list}")))
}

/// What a model needs to send the call again, right this time.
fn explain(tool: &str, violations: &[Violation]) -> String {
    let list = join(violations);
    let end = if list.ends_with('?') { "" } else { "." };
    format!("Invalid arguments for `{tool}`: {list}{end}")
}

fn join(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
