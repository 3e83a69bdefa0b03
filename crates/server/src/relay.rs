//! What another server has: its arguments are for that server to check, and what it answers is
//! passed on as it came. Used by `calls`, `reads` and `suggest`; speaks with no server itself.

use crate::calls::{ToolEnding, refuse};
use crate::context::Context;
use crate::core::Core;
use crate::driver::{Ending, Job};
use crate::face::Face;
use crate::layers::mistaken;
use crate::middleware::{Outcome, Request};
use crate::reading::Answering;
use crate::reads::{begin_context, through, timed_out};
use crate::registry::Snapshot;
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::member;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Turn};
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// What another server answered a call with: the JSON text of its result.
#[derive(Clone, Debug)]
pub struct Relayed(pub Box<RawValue>);

impl Relayed {
    /// The same for whoever stands around the tool and looks into its answers.
    pub(crate) fn read(&self) -> Result<ToolResult, Refusal> {
        ToolResult::read(self.0.get()).map_err(|error| {
            let message = format!("Internal error: another server's answer is no result: {error}");
            Refusal::new(Mistake::Internal, message)
        })
    }
}

/// How calls end that another server answers.
pub(crate) struct RelayEnding(pub(crate) ToolEnding);

impl Ending for RelayEnding {
    type Made = Result<Relayed, Refusal>;

    fn face(&self) -> &Face {
        self.0.face()
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.0.define(out);
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let (Relayed(result), revision) = (made?, self.0.revision);
        let (fields, kind) = (self.face().fields(revision), (revision, Method::ToolsCall));
        encode::relay::result(out, kind, fields, result.get());
        Ok(())
    }

    fn has_failed(made: &Self::Made) -> bool {
        let says_so = |result: &str| member(result, "isError") == Some("true");
        made.as_ref().map_or(true, |Relayed(result)| says_so(result.get()))
    }

    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.0.too_long(limit, out)
    }

    const KIND: &'static str = ToolEnding::KIND;
}

/// A request for a resource, a prompt or suggestions that another server answers.
#[derive(Clone)]
pub struct Relaying {
    /// What is asked.
    pub method: Method,
    /// The parameters as they came: JSON text of an object.
    pub params: Arc<str>,
    /// The way back to the client.
    pub context: Context,
}

/// The way to another server. Dropping the future takes the request back.
type Relay = Arc<dyn Fn(Relaying) -> Answering<Relayed> + Send + Sync>;

/// What another server has: what that tells of it, and the way there.
#[derive(Clone)]
pub(crate) struct Far {
    pub(crate) told: Box<RawValue>,
    relay: Relay,
    /// How long an answer may take; as long as any request if nothing is said.
    limit: Option<Duration>,
}

impl Far {
    pub(crate) fn new<F>(
        told: Box<RawValue>,
        relay: impl Fn(Relaying) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Relayed, Refusal>> + Send + 'static,
    {
        Self { told, relay: Arc::new(move |asked| Box::pin(relay(asked))), limit: None }
    }

    /// The same with a limit of its own for answers.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// Answers a request by another server. `name` is what is asked for.
pub(crate) fn relay(
    (core, snapshot): (&Arc<Core>, &Arc<Snapshot>),
    ask: &Ask<'_>,
    (far, name): (&Far, &str),
    out: &mut Vec<u8>,
) -> Turn {
    let context = match begin_context((core, snapshot), ask, |_| {}, false) {
        Ok(context) => context,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    mark(Stage::Validate);
    let params = ask.message.params.raw.unwrap_or("{}").into();
    let asked = Relaying { method: ask.method, params, context: context.clone() };
    let work: Answering<Relayed> = if core.middleware.is_empty() {
        (far.relay)(asked)
    } else {
        let relay = Arc::clone(&far.relay);
        let made = |made| match made {
            Outcome::Relayed(relayed) => Ok(relayed),
            Outcome::Refused(refusal) => Err(refusal),
            _ => Err(mistaken(Passed::KIND)),
        };
        let handler = move |_: Request| {
            let relayed = relay(asked.clone());
            async move { relayed.await.map_or_else(Outcome::Refused, Outcome::Relayed) }
        };
        through(core, ask, name.to_owned(), context.clone(), made, handler)
    };
    let ending =
        Passed { face: Arc::clone(&snapshot.face), revision: ask.revision, method: ask.method };
    let timeout = far.limit.unwrap_or(core.limits.request_timeout);
    Job::new(core, ask, ending, work, Some(context), timeout).start(false, out)
}

/// How such requests end.
struct Passed {
    face: Arc<Face>,
    revision: Revision,
    method: Method,
}

impl Ending for Passed {
    type Made = Result<Relayed, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let (Relayed(result), kind) = (made?, (self.revision, self.method));
        encode::relay::result(out, kind, self.face.fields(self.revision), result.get());
        Ok(())
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.is_err()
    }

    fn too_long(&self, limit: Duration, _: &mut Vec<u8>) -> Result<(), Refusal> {
        Err(timed_out(Self::KIND, limit))
    }

    const KIND: &'static str = "upstream";
}
