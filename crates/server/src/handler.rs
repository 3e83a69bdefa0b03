//! What runs when a tool is called: the trait, and handlers made from plain functions. A handler
//! gets arguments that fit its schema and answers at once, straight into the wire's buffer, or
//! later. It never sees an envelope.
//!
//! A function says by its error what kind of failure it is. Any error that can be shown becomes a
//! result with `isError`: the model reads it and may do better. A [`Refusal`], in a box or without,
//! becomes an error of the protocol with its code, message and data: for what no other arguments
//! would mend, and programs should see.
//!
//! ```
//! use haft_proto::error::{Mistake, Refusal};
//! use haft_server::{Tool, handler};
//! # #[derive(serde::Deserialize)] struct Order { pieces: u32 }
//! # fn is_open() -> bool { true }
//! type Failure = Box<dyn std::error::Error + Send + Sync>;
//! let order = handler::function(|order: Order| -> Result<String, Failure> {
//!     if !is_open() {
//!         return Err(Refusal::new(Mistake::Own { code: 4003 }, "The shop is closed").into());
//!     }
//!     if order.pieces > 10 {
//!         return Err("At most 10 pieces; order them in parts.".into());
//!     }
//!     Ok(format!("{} pieces are on their way.", order.pieces))
//! });
//! # let _ = Tool::new("order", order);
//! ```

use crate::arguments;
use crate::context::Context;
use crate::core::Core;
use crate::headers::Headers;
pub use crate::output::{Json, Output};
use crate::reading::Answering;
use crate::relay::Relayed;
use crate::room::Room;
use crate::schema::Schema;
use crate::state::State;
use haft_proto::encode;
use haft_proto::error::Refusal;
use haft_proto::mirror;
use haft_proto::service::Principal;
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::future::Future;
use std::io::Write;
use std::marker::PhantomData;
use std::sync::Arc;

/// What runs when a tool is called. One that holds a [`Server`](crate::Server) of its own tool is
/// never freed: it holds a [`WeakServer`](crate::WeakServer), or asks its
/// [`Context`](Context::server).
pub trait Handler: Send + Sync + 'static {
    /// Runs the tool. Work that waits or takes long belongs in [`Made::Later`]; what is done here
    /// is done on the thread that reads the wire. A panic answers this call with an error and harms
    /// nothing else.
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made;

    /// Whether [`call_unchecked`](Self::call_unchecked) is worth a try. Handlers made from
    /// functions compare arguments with their schema while they decode; others need not know.
    #[doc(hidden)]
    fn is_checking(&self) -> bool {
        false
    }

    /// Whether no call may bring an argument of that name, as what passes the call on gives it.
    #[doc(hidden)]
    fn withholds(&self, argument: &str) -> bool {
        let _ = argument;
        false
    }

    /// The same as a call with arguments that nobody has compared with the tool's input schema yet.
    /// `None` if they may not fit: then nothing was run, and nothing spent that a check has to be
    /// sparing of.
    #[doc(hidden)]
    fn call_unchecked(&self, _: Call<'_>, _: Answer<'_>, _: &Schema) -> Option<Made> {
        None
    }
}

/// One call of a tool.
pub struct Call<'a> {
    /// The arguments: JSON text of an object that fits the tool's input schema.
    pub arguments: &'a str,
    pub(crate) core: &'a Arc<Core>,
    pub(crate) principal: &'a Principal,
    pub(crate) headers: Option<&'a dyn mirror::Headers>,
    pub(crate) context: &'a dyn Fn() -> Context,
}

impl<'a> Call<'a> {
    /// The same call with other arguments: JSON text of an object, which nobody checks any more.
    #[must_use]
    pub fn with_arguments<'b>(self, arguments: &'b str) -> Call<'b>
    where
        'a: 'b,
    {
        Call { arguments, ..self }
    }

    /// The way back to the client while the call runs; made only when it is asked for.
    #[must_use]
    pub fn context(&self) -> Context {
        (self.context)()
    }

    /// The value of that type that the server was built with.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.core.states.find()
    }

    /// Who asks.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        self.principal
    }

    /// The HTTP headers of the request; empty over other wires, and behind a middleware unless the
    /// tool says that it wants them (see [`Tool::with_headers`](crate::Tool::with_headers)).
    #[must_use]
    pub fn headers(&self) -> Headers {
        match self.headers {
            Some(headers) => Headers::copy(headers),
            None => self.context().headers().clone(),
        }
    }
}

/// How a handler answered.
pub enum Made {
    /// Into its [`Answer`].
    Now,
    /// By a future; dropping it cancels the call.
    Later(LaterResult),
    /// By another server, in time; dropping it cancels the call.
    Relayed(Answering<Relayed>),
}

/// A result to come, or an error of the protocol.
pub type LaterResult = Answering<ToolResult>;

/// Where a handler that answers at once writes its result. Dropped unused, the tool answered with
/// no content.
pub struct Answer<'a>(Sink<'a>);

/// Where an answer goes.
enum Sink<'a> {
    /// To a middleware.
    Kept(&'a mut Result<ToolResult, Refusal>),
    /// Into the wire's buffer.
    Wire { out: &'a mut Vec<u8>, revision: Revision, fields: &'a [u8], written: &'a mut Written },
}

/// What became of an [`Answer`].
#[derive(Debug, Default)]
pub(crate) enum Written {
    /// The tool said that it failed.
    Failure,
    /// Nothing was written.
    #[default]
    Nothing,
    /// An error of the protocol, which is not written yet.
    Refused(Box<Refusal>),
    /// A result, with the JSON text of its structured content if it has some.
    Result(Option<String>),
}

impl<'a> Answer<'a> {
    pub(crate) fn new(
        out: &'a mut Vec<u8>,
        revision: Revision,
        fields: &'a [u8],
        written: &'a mut Written,
    ) -> Self {
        Self(Sink::Wire { out, revision, fields, written })
    }

    /// An answer that somebody looks at first.
    pub(crate) fn kept(result: &'a mut Result<ToolResult, Refusal>) -> Self {
        Self(Sink::Kept(result))
    }

    /// What is written from here on is no work of the handler.
    fn open(self) -> Sink<'a> {
        mark(Stage::Handler);
        self.0
    }

    /// One text.
    pub fn text(self, text: &str) {
        match self.open() {
            Sink::Kept(kept) => *kept = Ok(ToolResult::text(text)),
            Sink::Wire { out, revision, fields, written } => {
                *written = Written::Result(None);
                encode::tools::text_result(out, revision, fields, None, |out| {
                    encode::string(out, text);
                });
            }
        }
    }

    /// One text whose characters need no escape in JSON.
    pub(crate) fn plain(self, text: &impl Display) {
        self.written(text, |out| {
            // Writing to memory does not fail.
            let _ = write!(out, "{text}");
        });
    }

    /// The same of what JSON writes as people read it: integers, `true` and `false`.
    pub(crate) fn word(self, word: &(impl Display + Serialize)) {
        self.written(word, |out| {
            let _ = serde_json::to_writer(out, word);
        });
    }

    #[inline]
    fn written(self, text: &impl Display, write: impl FnOnce(&mut Vec<u8>)) {
        match self.open() {
            Sink::Kept(kept) => *kept = Ok(ToolResult::text(text.to_string())),
            Sink::Wire { out, revision, fields, written } => {
                *written = Written::Result(None);
                encode::tools::text_result(out, revision, fields, None, |out| {
                    out.push(b'"');
                    write(out);
                    out.push(b'"');
                });
            }
        }
    }

    /// A value, as structured content and as the same JSON in a text.
    pub fn json(self, value: &impl Serialize) {
        let sink = self.open();
        let json = match serde_json::to_string(value) {
            Ok(json) => json,
            Err(error) => {
                let text = format!("The tool's answer is not JSON: {error}");
                return Self(sink).result(&ToolResult::error(text));
            }
        };
        match sink {
            Sink::Kept(kept) => *kept = Ok(ToolResult::json(&json)),
            Sink::Wire { out, revision, fields, written } => {
                encode::tools::text_result(out, revision, fields, Some(&json), |out| {
                    encode::string(out, &json);
                });
                *written = Written::Result(Some(json));
            }
        }
    }

    /// Any result.
    pub fn result(self, result: &ToolResult) {
        match self.open() {
            Sink::Kept(kept) => *kept = Ok(result.clone()),
            Sink::Wire { out, revision, fields, written } => {
                encode::tools::result(out, revision, fields, result);
                *written = if result.is_error {
                    Written::Failure
                } else {
                    Written::Result(result.structured.as_ref().map(|raw| raw.get().to_owned()))
                };
            }
        }
    }

    /// An error of the protocol instead of a result. What the model can mend is a result:
    /// [`ToolResult::error`].
    pub fn refuse(self, refusal: Refusal) {
        match self.open() {
            Sink::Kept(kept) => *kept = Err(refusal),
            Sink::Wire { written, .. } => *written = Written::Refused(Box::new(refusal)),
        }
    }
}

/// A handler from a function that answers at once: no waiting, no heavy work. Its argument is
/// decoded straight from the message.
pub fn function<A, R>(function: impl Fn(A) -> R + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
{
    function_with(move |arguments, _| function(arguments))
}

/// The same from one that looks at its call: who asks, what all handlers share, the way back.
pub fn function_with<A, R>(
    function: impl Fn(A, &Call<'_>) -> R + Send + Sync + 'static,
) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
{
    FunctionHandler { call: function, marker: PhantomData::<fn(A) -> R> }
}

/// A handler from a function that waits: the function is async and may report progress.
pub fn future<A, R, F>(function: impl Fn(A, Context) -> F + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Future<Output = R> + Send + 'static,
{
    future_with(move |arguments, call| function(arguments, call.context()))
}

/// The same from one that takes of its call what it needs before it waits. Without a context it
/// can neither report progress nor ask, and costs less.
pub fn future_with<A, R, F>(
    function: impl Fn(A, &Call<'_>) -> F + Send + Sync + 'static,
) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Future<Output = R> + Send + 'static,
{
    FutureHandler { call: function, marker: PhantomData::<fn(A) -> R> }
}

/// A handler from a function that computes or blocks for long: it runs on a thread of its own.
/// A call that has begun cannot be interrupted; cancelled or timed out, it is only not waited for.
/// At most [`BLOCKING_MAX`] calls of one tool run at once, those included; the next ones wait.
pub fn blocking<A, R>(function: impl Fn(A) -> R + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + Send + 'static,
    R: Output + 'static,
{
    let (function, room) = (Arc::new(function), Room::default());
    future_with(move |arguments: A, _| {
        let function = Arc::clone(&function);
        or_stopping(room.run(move || function(arguments).into_result()))
    })
}

/// The same from one that takes its context, to report progress or log.
pub fn blocking_with<A, R>(
    function: impl Fn(A, Context) -> R + Send + Sync + 'static,
) -> impl Handler
where
    A: DeserializeOwned + Send + 'static,
    R: Output + 'static,
{
    let (function, room) = (Arc::new(function), Room::default());
    future(move |arguments: A, context| {
        let function = Arc::clone(&function);
        or_stopping(room.run(move || function(arguments, context).into_result()))
    })
}

async fn or_stopping(
    made: impl Future<Output = Option<Result<ToolResult, Refusal>>>,
) -> Result<ToolResult, Refusal> {
    made.await.unwrap_or_else(|| Ok(ToolResult::error("The server is stopping.")))
}

/// How many calls of one [`blocking`] tool, or of one resource or prompt that blocks, have a thread
/// at once.
pub const BLOCKING_MAX: usize = 32;

struct FunctionHandler<F, M> {
    call: F,
    marker: PhantomData<M>,
}

impl<A, R, F> Handler for FunctionHandler<F, fn(A) -> R>
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Fn(A, &Call<'_>) -> R + Send + Sync + 'static,
{
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match arguments::decode(call.arguments) {
            Ok(arguments) => (self.call)(arguments, &call).answer(answer),
            Err(refusal) => answer.result(&refusal),
        }
        Made::Now
    }

    fn is_checking(&self) -> bool {
        true
    }

    fn call_unchecked(&self, call: Call<'_>, answer: Answer<'_>, schema: &Schema) -> Option<Made> {
        let arguments = schema.decode(call.arguments)?;
        mark(Stage::Validate);
        (self.call)(arguments, &call).answer(answer);
        Some(Made::Now)
    }
}

struct FutureHandler<F, M> {
    call: F,
    marker: PhantomData<M>,
}

impl<A, R, F, T> FutureHandler<F, fn(A) -> R>
where
    R: Output + 'static,
    F: Fn(A, &Call<'_>) -> T,
    T: Future<Output = R> + Send + 'static,
{
    fn later(&self, arguments: A, call: &Call<'_>) -> Made {
        let work = (self.call)(arguments, call);
        Made::Later(Box::pin(async move { work.await.into_result() }))
    }
}

impl<A, R, F, T> Handler for FutureHandler<F, fn(A) -> R>
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Fn(A, &Call<'_>) -> T + Send + Sync + 'static,
    T: Future<Output = R> + Send + 'static,
{
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match arguments::decode(call.arguments) {
            Ok(arguments) => self.later(arguments, &call),
            Err(refusal) => {
                answer.result(&refusal);
                Made::Now
            }
        }
    }

    fn is_checking(&self) -> bool {
        true
    }

    fn call_unchecked(&self, call: Call<'_>, _: Answer<'_>, schema: &Schema) -> Option<Made> {
        let arguments = schema.decode(call.arguments)?;
        mark(Stage::Validate);
        Some(self.later(arguments, &call))
    }
}
