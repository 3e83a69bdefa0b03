//! What the macros call. Everything that they know of the server is here; programs never call it.

use crate::{Context, Tool};
use haft_proto::spec::tool::Annotations;
use haft_server::handler::{Answer, Call, Handler, Made, Output};
use haft_server::prose;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::marker::PhantomData;

/// What a function takes that takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// What a parameter may be that is no argument.
#[diagnostic::on_unimplemented(
    message = "a server does not give a `{Self}`",
    label = "neither `Context` nor made from it"
)]
pub trait FromContext {
    /// Takes it from what a call has.
    fn from_context(context: &Context) -> Self;
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Self {
        context.clone()
    }
}

/// A tool of an async function.
pub fn later<A, R, T>(
    name: &str,
    function: impl Fn(A, Context) -> T + Send + Sync + 'static,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + 'static,
    R: Output + 'static,
    T: Future<Output = R> + Send + 'static,
{
    Tool::typed(name, function)
}

/// A tool of a function that answers at once.
pub fn now<A, R, F>(name: &str, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + 'static,
    R: Output + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
{
    Tool::typed_function(name, function)
}

/// The same of one that takes something of the call.
pub fn now_in<A, R, F>(name: &str, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + 'static,
    R: Output + 'static,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
{
    Tool::of_types::<A, R>(name, NowIn { function, marker: PhantomData::<fn(A) -> R> })
}

/// A tool of a function that computes or blocks for long.
pub fn blocking<A, R, F>(name: &str, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Output + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
{
    Tool::typed_blocking(name, function)
}

/// The tool, described by a doc comment if there is one.
pub fn described(tool: Tool, comment: &str) -> Tool {
    let description = prose::described(comment);
    if description.is_empty() { tool } else { tool.description(description) }
}

/// What a tool does to the world.
pub fn annotations(
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
) -> Annotations {
    Annotations { read_only, destructive, idempotent, open_world }
}

struct NowIn<F, M> {
    function: F,
    marker: PhantomData<M>,
}

impl<A, R, F> Handler for NowIn<F, fn(A) -> R>
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
{
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match serde_json::from_str(call.arguments) {
            Ok(arguments) => (self.function)(arguments, call.context()).answer(answer),
            Err(error) => {
                answer.result(&crate::ToolResult::error(format!("Invalid arguments: {error}")));
            }
        }
        Made::Now
    }
}
