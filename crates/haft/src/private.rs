//! What the macros call. Everything that they know of the server is here; programs never call it.

use crate::{Context, Headers, Principal, Tool};
use haft_proto::spec::tool::Annotations;
use haft_server::handler::{self, Output};
use haft_server::prose;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::future::Future;

/// What a function takes that takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// What a parameter may be that is no argument. The macros know these types by their names; see
/// `GIVEN` in `haft-macros`.
#[diagnostic::on_unimplemented(
    message = "a server does not give a `{Self}`",
    label = "neither `Context` nor a part of it"
)]
pub trait FromContext: Sized {
    /// Takes it from what a call has.
    fn from_context(context: &Context) -> Self;

    /// Tells the tool that it is wanted.
    fn wanted_by(tool: Tool) -> Tool {
        tool
    }
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Self {
        context.clone()
    }
}

impl FromContext for Headers {
    fn from_context(context: &Context) -> Self {
        context.headers().clone()
    }

    fn wanted_by(tool: Tool) -> Tool {
        tool.with_headers()
    }
}

impl FromContext for Principal {
    fn from_context(context: &Context) -> Self {
        context.principal().clone()
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
    Tool::of_types::<A, R>(name, handler::function_with(function))
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

/// The same of one that takes something of the call.
pub fn blocking_in<A, R, F>(name: &str, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Output + 'static,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
{
    Tool::of_types::<A, R>(name, handler::blocking_with(function))
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
