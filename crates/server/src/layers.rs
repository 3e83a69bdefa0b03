//! How a request passes through the middleware around its handler. Called by `calls` and `reads`,
//! and only where there is some.

use crate::calls::ToolEnding;
use crate::context::Context;
use crate::core::Core;
use crate::driver::{Ending, Written};
use crate::face::Face;
use crate::handler::{Answer, Call, Made};
use crate::middleware::{Handling, Middleware, Next, Outcome, Request};
use crate::relay;
use crate::tool::Registered;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::tool_result::ToolResult;
use std::sync::Arc;
use std::time::Duration;

/// What stands around a tool, outermost first; the tool's own is inside the server's.
pub(crate) fn around(core: &Core, own: &[Arc<dyn Middleware>]) -> Vec<Arc<dyn Middleware>> {
    core.middleware.iter().chain(own).cloned().collect()
}

/// Sends a call through its layers.
pub(crate) fn call(core: &Arc<Core>, tool: &Arc<Registered>, request: Request) -> Handling {
    let layers = around(core, &tool.middleware);
    let (core, tool) = (Arc::clone(core), Arc::clone(tool));
    Next::new(layers, move |request: Request| handle(&core, &tool, &request)).run(request)
}

/// Sends a call that is part of another one through the layers of its tool alone.
pub(crate) fn call_within(core: &Arc<Core>, tool: &Arc<Registered>, request: Request) -> Handling {
    if tool.middleware.is_empty() {
        return handle(core, tool, &request);
    }
    let (core, tool) = (Arc::clone(core), Arc::clone(tool));
    let layers = tool.middleware.to_vec();
    Next::new(layers, move |request: Request| handle(&core, &tool, &request)).run(request)
}

/// Runs the handler of a call.
fn handle(core: &Arc<Core>, tool: &Registered, request: &Request) -> Handling {
    let context = || Context::clone(&request.context);
    let call = Call {
        arguments: &request.arguments,
        core,
        principal: request.context.principal(),
        headers: None,
        context: &context,
    };
    let outcome = |made: Result<_, _>| made.map_or_else(Outcome::Refused, Outcome::Tool);
    let mut result = Ok(ToolResult::default());
    match tool.handler.call(call, Answer::kept(&mut result)) {
        Made::Now => Box::pin(std::future::ready(outcome(result))),
        Made::Later(work) => Box::pin(async move { outcome(work.await) }),
        Made::Relayed(work) => {
            let read = async { relay::read(&work.await?.whole().await?) };
            Box::pin(async move { outcome(read.await) })
        }
    }
}

/// How calls end that pass through layers: these may refuse.
pub(crate) struct LayeredEnding(pub(crate) ToolEnding);

impl Ending for LayeredEnding {
    type Made = Outcome;

    fn face(&self) -> &Face {
        self.0.face()
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.0.define(out);
    }

    fn write(&self, made: Outcome, out: &mut Vec<u8>) -> Written {
        match made {
            Outcome::Tool(result) => self.0.write(Ok(result), out),
            Outcome::Refused(refusal) => Err(refusal),
            Outcome::Prompt(_) | Outcome::Relayed(_) | Outcome::Resource(_) => {
                Err(mistaken("tool"))
            }
        }
    }

    fn has_failed(made: &Outcome) -> bool {
        match made {
            Outcome::Tool(result) => result.is_error,
            _ => true,
        }
    }

    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.0.too_long(limit, out)
    }

    const KIND: &'static str = ToolEnding::KIND;
}

/// What is told of a middleware that answers with something else than was asked for.
pub(crate) fn mistaken(kind: &str) -> Refusal {
    let message = format!("Internal error: a middleware answered for a {kind} with something else");
    Refusal::new(Mistake::Internal, message)
}
