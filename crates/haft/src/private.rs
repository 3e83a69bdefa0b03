//! What the macros call. Everything that they know of the server is here; programs never call it.

use crate::{
    Context, Get, Headers, Principal, Prompt, PromptResult, Read, ReadResult, Resource,
    ResourceTemplate, State, Tool,
};
use haft_proto::error::Mistake;
use haft_proto::spec::prompt::Argument;
use haft_proto::spec::tool::Annotations;
use haft_server::handler::{self, Output};
use haft_server::{Output as Answer, prose};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::future::Future;
use std::str::FromStr;

pub use haft_proto::error::Refusal;
pub use haft_server::Room;
pub use haft_server::handler::Call;

/// What a function takes that takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// What a parameter may be that is no argument. The macros know these types by their names; see
/// `GIVEN` in `haft-macros`.
#[diagnostic::on_unimplemented(
    message = "a server does not give a `{Self}`",
    label = "neither `Context` nor a part of it"
)]
pub trait Given: Sized {
    /// Takes it from a call that is answered at once.
    fn of_call(call: &Call<'_>) -> Self {
        Self::of_context(&call.context())
    }

    /// Takes it from what a call has that is answered later.
    fn of_context(context: &Context) -> Self;

    /// Tells who wants it.
    fn wanted_by<M: Made>(made: M) -> M {
        made
    }
}

impl Given for Context {
    fn of_context(context: &Context) -> Self {
        context.clone()
    }
}

impl Given for Headers {
    fn of_call(call: &Call<'_>) -> Self {
        call.headers()
    }

    fn of_context(context: &Context) -> Self {
        context.headers().clone()
    }

    fn wanted_by<M: Made>(made: M) -> M {
        made.with_headers()
    }
}

impl Given for Principal {
    fn of_call(call: &Call<'_>) -> Self {
        call.principal().clone()
    }

    fn of_context(context: &Context) -> Self {
        context.principal().clone()
    }
}

impl<T: Send + Sync + 'static> Given for State<T> {
    fn of_call(call: &Call<'_>) -> Self {
        call.state().expect(NEEDED)
    }

    fn of_context(context: &Context) -> Self {
        context.state().expect(NEEDED)
    }

    fn wanted_by<M: Made>(made: M) -> M {
        made.needing::<T>()
    }
}

const NEEDED: &str = "a server without what its tools need is not built";

/// What an argument of a tool may be.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take a `{Self}`",
    label = "no JSON becomes this",
    note = "put `#[haft::json]` on the type, or derive `Deserialize` and `JsonSchema` for it"
)]
pub trait Taken {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Taken for T {}

/// Says of a type that tools take it: so its mistakes are told in words of ours.
pub const fn taken<T: Taken>() {}

/// A tool of an async function.
pub fn later<A, R, T>(
    name: &str,
    function: impl Fn(A, &Call<'_>) -> T + Send + Sync + 'static,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + 'static,
    R: Output + 'static,
    T: Future<Output = R> + Send + 'static,
{
    Tool::of_types::<A, R>(name, handler::future_with(function))
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
    F: Fn(A, &Call<'_>) -> R + Send + Sync + 'static,
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

/// A resource of a function.
pub fn resource<R, T>(
    uri: &str,
    name: &str,
    read: impl Fn(Read) -> T + Send + Sync + 'static,
) -> Resource
where
    R: Answer<ReadResult> + 'static,
    T: Future<Output = Result<R, Refusal>> + Send + 'static,
{
    Resource::new(uri, name, read)
}

/// A family of resources of a function.
pub fn family<R, T>(
    uri: &str,
    name: &str,
    read: impl Fn(Read) -> T + Send + Sync + 'static,
) -> ResourceTemplate
where
    R: Answer<ReadResult> + 'static,
    T: Future<Output = Result<R, Refusal>> + Send + 'static,
{
    ResourceTemplate::new(uri, name, read)
}

/// A prompt of a function.
pub fn prompt<R, T>(name: &str, get: impl Fn(Get) -> T + Send + Sync + 'static) -> Prompt
where
    R: Answer<PromptResult> + 'static,
    T: Future<Output = Result<R, Refusal>> + Send + 'static,
{
    Prompt::new(name, get)
}

/// An argument of a prompt, described by a doc comment.
pub fn told_argument(name: &str, comment: &str, required: bool) -> Argument {
    let description = Some(prose::described(comment)).filter(|text| !text.is_empty());
    Argument { name: name.to_owned(), description, required, ..Argument::default() }
}

/// A variable of a URI. What is none of its type is not found.
pub fn variable<T: FromStr>(read: &Read, name: &str) -> Result<Option<T>, Refusal> {
    // The server knows the address and writes the message.
    let not_found = |_| Refusal::new(Mistake::ResourceNotFound, "");
    read.variables.get(name).map(|text| text.parse().map_err(not_found)).transpose()
}

/// An argument of a prompt.
pub fn argument<T: FromStr<Err: Display>>(get: &Get, name: &str) -> Result<Option<T>, Refusal> {
    let unreadable = |error: T::Err| {
        let message = format!("Invalid params: the argument `{name}` cannot be read: {error}");
        Refusal::new(Mistake::InvalidParams, message)
    };
    get.arguments.get(name).map(|text| text.parse().map_err(unreadable)).transpose()
}

/// Something that must be there.
pub fn there<T>(value: Option<T>, name: &str) -> Result<T, Refusal> {
    let missing = || format!("Invalid params: the argument `{name}` is missing");
    value.ok_or_else(|| Refusal::new(Mistake::InvalidParams, missing()))
}

/// Runs a function that computes or blocks for long, on one of its threads.
pub async fn on_thread<R: Send + 'static>(
    room: &Room,
    function: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Refusal> {
    let stopping = || Refusal::new(Mistake::Internal, "the server is stopping");
    room.run(function).await.ok_or_else(stopping)
}

/// What functions become.
pub trait Made: Sized {
    /// The same with that description.
    fn with(self, description: String) -> Self;

    /// The same, which needs a shared value of that type.
    fn needing<T: Send + Sync + 'static>(self) -> Self;

    /// The same, which wants headers.
    fn with_headers(self) -> Self;
}

macro_rules! made {
    ($($kind:ty),*) => {$(
        impl Made for $kind {
            fn with(self, description: String) -> Self {
                self.description(description)
            }

            fn needing<T: Send + Sync + 'static>(self) -> Self {
                self.needs_state::<T>()
            }

            fn with_headers(self) -> Self {
                self.with_headers()
            }
        }
    )*};
}

made!(Prompt, Resource, ResourceTemplate, Tool);

/// The same, described by a doc comment if there is one.
pub fn described<T: Made>(made: T, comment: &str) -> T {
    let description = prose::described(comment);
    if description.is_empty() { made } else { made.with(description) }
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
