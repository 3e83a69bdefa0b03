//! What stands around handlers: to log, measure, refuse, change what goes in or what comes out.
//! Those of the server stand around everything, those of a tool inside them. A server without any
//! pays nothing for it.

use crate::context::Context;
use bytestring::ByteString;
use haft_proto::error::Refusal;
use haft_proto::method::Method;
use haft_proto::spec::prompt::PromptResult;
use haft_proto::spec::resource::ReadResult;
use haft_proto::spec::tool::Annotations;
use haft_proto::spec::tool_result::ToolResult;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A request on its way to its handler.
#[derive(Clone)]
pub struct Request {
    /// `tools/call`, `resources/read` or `prompts/get`.
    pub method: Method,
    /// The name of the tool or prompt, or the address of the resource. Changing it changes nothing:
    /// the handler has been found.
    pub name: String,
    /// The arguments, as JSON text of an object. They fit the schema of their tool; what a
    /// middleware puts here instead must fit, too.
    pub arguments: String,
    /// How the tool behaves, by its own word; nothing is said of resources and prompts.
    pub annotations: Annotations,
    /// How long the whole may take, everything around the handler included; less for those within,
    /// if a middleware lets calls wait. Changing it changes nothing else.
    pub time_limit: Duration,
    /// The way back to the client.
    pub context: Context,
}

/// What came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The messages of a prompt.
    Prompt(PromptResult),
    /// An error of the protocol.
    Refused(Refusal),
    /// What another server answered for a resource or a prompt that it has.
    Relayed(ByteString),
    /// What is in a resource.
    Resource(ReadResult),
    /// What a tool answered.
    Tool(ToolResult),
}

/// An outcome to come.
pub type Handling = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Something around handlers. Any async function of a [`Request`] and a [`Next`] is one.
///
/// ```
/// use haft_server::{Next, Outcome, Request, Server};
/// use haft_proto::spec::tool_result::ToolResult;
/// async fn closed_on_sundays(request: Request, next: Next) -> Outcome {
///     let is_sunday = false;
///     if is_sunday {
///         return Outcome::Tool(ToolResult::error("Closed; come back tomorrow."));
///     }
///     next.run(request).await
/// }
/// let server = Server::builder("shop", "1.0.0").middleware(closed_on_sundays).build()?;
/// # Ok::<(), haft_server::BuildError>(())
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// Handles a request, by [`Next::run`] or without.
    fn handle(&self, request: Request, next: Next) -> Handling;

    /// Whether it changes nothing of what goes in or comes out. Where all that stands around a
    /// request of another server is so, its result is passed on as it comes, in pieces if it is
    /// long, and [`look_on`](Self::look_on) is called instead of [`handle`](Self::handle).
    fn only_looks_on(&self) -> bool {
        false
    }

    /// Sees such a request to its end, if it wants to.
    fn look_on(&self, _: &Request) -> Option<Box<dyn Onlooker>> {
        None
    }
}

/// Who sees one request of another server to its end. Dropped before that, the request was stopped.
pub trait Onlooker: Send {
    /// It is over: of a long result, the last piece is on its way.
    fn end(self: Box<Self>, seen: Seen);
}

/// How a request that was looked at has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seen {
    /// With a result. In a long one nobody looks for `isError`.
    Answered,
    /// With a result that says that its tool failed.
    Failed,
    /// With an error of the protocol, or it broke off.
    Refused,
}

impl<F, R> Middleware for F
where
    F: Fn(Request, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    fn handle(&self, request: Request, next: Next) -> Handling {
        Box::pin(self(request, next))
    }
}

/// What a request would go through next. Cheap to clone: who clones it can run it again.
#[derive(Clone)]
pub struct Next {
    layers: std::vec::IntoIter<Arc<dyn Middleware>>,
    handler: Arc<dyn Fn(Request) -> Handling + Send + Sync>,
}

impl Next {
    /// Through these layers, outermost first, to the handler.
    pub(crate) fn new(
        layers: Vec<Arc<dyn Middleware>>,
        handler: impl Fn(Request) -> Handling + Send + Sync + 'static,
    ) -> Self {
        Self { layers: layers.into_iter(), handler: Arc::new(handler) }
    }

    /// Goes on, to the next middleware or to the handler.
    #[must_use]
    pub fn run(mut self, request: Request) -> Handling {
        match self.layers.next() {
            Some(layer) => layer.handle(request, self),
            None => (self.handler)(request),
        }
    }
}
