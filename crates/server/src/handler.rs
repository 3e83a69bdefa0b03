//! What runs when a tool is called: the trait, and handlers made from plain functions. A handler
//! gets arguments that fit its schema and answers at once, straight into the wire's buffer, or
//! later. It never sees an envelope.

use crate::context::Context;
use crate::schema::derived;
use haft_proto::encode;
use haft_proto::spec::tool_result::ToolResult;
use haft_proto::version::Revision;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What runs when a tool is called.
pub trait Handler: Send + Sync + 'static {
    /// Runs the tool. Work that waits or takes long belongs in [`Made::Later`]; what is done here
    /// is done on the thread that reads the wire. A panic answers this call with an error and harms
    /// nothing else.
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made;
}

/// One call of a tool.
pub struct Call<'a> {
    /// The arguments: JSON text of an object that fits the tool's input schema.
    pub arguments: &'a str,
    pub(crate) context: &'a dyn Fn() -> Context,
}

impl Call<'_> {
    /// The way to report progress while the call runs; made only when it is asked for.
    #[must_use]
    pub fn context(&self) -> Context {
        (self.context)()
    }
}

/// How a handler answered.
pub enum Made {
    /// Into its [`Answer`].
    Now,
    /// By a future; dropping it cancels the call.
    Later(LaterResult),
}

/// A result to come.
pub type LaterResult = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// Where a handler that answers at once writes its result. Dropped unused, the tool answered with
/// no content.
pub struct Answer<'a> {
    out: &'a mut Vec<u8>,
    revision: Revision,
    fields: &'a [u8],
    written: &'a mut Written,
}

/// What became of an [`Answer`].
#[derive(Debug, Default)]
pub(crate) enum Written {
    /// The tool said that it failed.
    Failure,
    /// Nothing was written.
    #[default]
    Nothing,
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
        Self { out, revision, fields, written }
    }

    /// One text.
    pub fn text(self, text: &str) {
        *self.written = Written::Result(None);
        encode::tools::text_result(self.out, self.revision, self.fields, None, |out| {
            encode::string(out, text);
        });
    }

    /// One text whose characters need no escape in JSON: numbers and words.
    fn plain(self, text: std::fmt::Arguments<'_>) {
        *self.written = Written::Result(None);
        encode::tools::text_result(self.out, self.revision, self.fields, None, |out| {
            out.push(b'"');
            // Writing to memory does not fail.
            let _ = out.write_fmt(text);
            out.push(b'"');
        });
    }

    /// A value, as structured content and as the same JSON in a text.
    pub fn json(self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(json) => {
                encode::tools::text_result(
                    self.out,
                    self.revision,
                    self.fields,
                    Some(&json),
                    |out| {
                        encode::string(out, &json);
                    },
                );
                *self.written = Written::Result(Some(json));
            }
            Err(error) => {
                self.result(&ToolResult::error(format!("The tool's answer is not JSON: {error}")));
            }
        }
    }

    /// Any result.
    pub fn result(self, result: &ToolResult) {
        encode::tools::result(self.out, self.revision, self.fields, result);
        *self.written = if result.is_error {
            Written::Failure
        } else {
            Written::Result(result.structured.as_ref().map(|raw| raw.get().to_owned()))
        };
    }
}

/// What a function may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot answer with `{Self}`",
    label = "neither text nor a number, nor `Json`",
    note = "wrap it, `Json<{Self}>`, and derive `Serialize` and `JsonSchema` for it"
)]
pub trait Output {
    /// Writes it.
    fn answer(self, answer: Answer<'_>);
    /// The same for an answer that comes later.
    fn into_result(self) -> ToolResult;
    /// The JSON Schema of its structured content, if it has some that is always of one kind.
    #[must_use]
    fn output_schema() -> Option<String>
    where
        Self: Sized,
    {
        None
    }
}

/// A value that becomes structured content, described by the output schema of its type.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> Output for Json<T> {
    fn answer(self, answer: Answer<'_>) {
        answer.json(&self.0);
    }

    fn into_result(self) -> ToolResult {
        match serde_json::value::to_raw_value(&self.0) {
            Ok(json) => {
                ToolResult { structured: Some(json.clone()), ..ToolResult::text(json.get()) }
            }
            Err(error) => ToolResult::error(format!("The tool's answer is not JSON: {error}")),
        }
    }

    fn output_schema() -> Option<String> {
        derived::of_output::<T>()
    }
}

impl Output for ToolResult {
    fn answer(self, answer: Answer<'_>) {
        answer.result(&self);
    }

    fn into_result(self) -> ToolResult {
        self
    }
}

impl<T: Output, E: Display> Output for Result<T, E> {
    fn answer(self, answer: Answer<'_>) {
        match self {
            Ok(output) => output.answer(answer),
            Err(error) => answer.result(&ToolResult::error(error.to_string())),
        }
    }

    fn into_result(self) -> ToolResult {
        match self {
            Ok(output) => output.into_result(),
            Err(error) => ToolResult::error(error.to_string()),
        }
    }

    fn output_schema() -> Option<String> {
        T::output_schema()
    }
}

/// Nothing to say but that it is done.
impl Output for () {
    fn answer(self, answer: Answer<'_>) {
        answer.result(&ToolResult::default());
    }

    fn into_result(self) -> ToolResult {
        ToolResult::default()
    }
}

impl Output for String {
    fn answer(self, answer: Answer<'_>) {
        answer.text(&self);
    }

    fn into_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

impl Output for &'static str {
    fn answer(self, answer: Answer<'_>) {
        answer.text(self);
    }

    fn into_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

macro_rules! plain_output {
    ($($kind:ty),*) => {$(
        impl Output for $kind {
            fn answer(self, answer: Answer<'_>) {
                answer.plain(format_args!("{self}"));
            }

            fn into_result(self) -> ToolResult {
                ToolResult::text(self.to_string())
            }
        }
    )*};
}

plain_output!(bool, f32, f64, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// A handler from a function that answers at once: no waiting, no heavy work. Its argument is
/// decoded straight from the message.
pub fn function<A, R>(function: impl Fn(A) -> R + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
{
    let call = move |arguments, _: &Call<'_>| function(arguments);
    FunctionHandler { call, marker: std::marker::PhantomData::<fn(A) -> R> }
}

/// The same from one that may report progress and log.
pub fn function_with<A, R>(
    function: impl Fn(A, Context) -> R + Send + Sync + 'static,
) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
{
    let call = move |arguments, call: &Call<'_>| function(arguments, call.context());
    FunctionHandler { call, marker: std::marker::PhantomData::<fn(A) -> R> }
}

/// A handler from a function that waits: the function is async and may report progress.
pub fn future<A, R, F>(function: impl Fn(A, Context) -> F + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Future<Output = R> + Send + 'static,
{
    FutureHandler { function, marker: std::marker::PhantomData::<fn(A) -> R> }
}

/// A handler from a function that computes or blocks for long: it runs on a thread of its own.
/// A call that has begun cannot be interrupted; cancelled or timed out, it is only not waited for.
/// At most [`BLOCKING_MAX`] calls of one tool run at once, those included; the next ones wait.
pub fn blocking<A, R>(function: impl Fn(A) -> R + Send + Sync + 'static) -> impl Handler
where
    A: DeserializeOwned + Send + 'static,
    R: Output + 'static,
{
    blocking_with(move |arguments, _| function(arguments))
}

/// The same from one that may report progress and log.
pub fn blocking_with<A, R>(
    function: impl Fn(A, Context) -> R + Send + Sync + 'static,
) -> impl Handler
where
    A: DeserializeOwned + Send + 'static,
    R: Output + 'static,
{
    let function = Arc::new(function);
    let room = Arc::new(Semaphore::new(BLOCKING_MAX));
    future(move |arguments: A, context| {
        let (function, room) = (Arc::clone(&function), Arc::clone(&room));
        async move {
            // The room is left by the function itself, so that no thread is forgotten.
            let Ok(place) = room.acquire_owned().await else {
                return ToolResult::error("The server is stopping.");
            };
            let work = tokio::task::spawn_blocking(move || {
                let _place = place;
                function(arguments, context).into_result()
            });
            match work.await {
                Ok(result) => result,
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => ToolResult::error("The server is stopping."),
                },
            }
        }
    })
}

/// How many calls of one [`blocking`] tool have a thread at once.
pub const BLOCKING_MAX: usize = 32;

struct FunctionHandler<F, M> {
    call: F,
    marker: std::marker::PhantomData<M>,
}

impl<A, R, F> Handler for FunctionHandler<F, fn(A) -> R>
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Fn(A, &Call<'_>) -> R + Send + Sync + 'static,
{
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match decode(call.arguments) {
            Ok(arguments) => (self.call)(arguments, &call).answer(answer),
            Err(refusal) => answer.result(&refusal),
        }
        Made::Now
    }
}

struct FutureHandler<F, M> {
    function: F,
    marker: std::marker::PhantomData<M>,
}

impl<A, R, F, T> Handler for FutureHandler<F, fn(A) -> R>
where
    A: DeserializeOwned + 'static,
    R: Output + 'static,
    F: Fn(A, Context) -> T + Send + Sync + 'static,
    T: Future<Output = R> + Send + 'static,
{
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match decode(call.arguments) {
            Ok(arguments) => {
                let work = (self.function)(arguments, call.context());
                Made::Later(Box::pin(async move { work.await.into_result() }))
            }
            Err(refusal) => {
                answer.result(&refusal);
                Made::Now
            }
        }
    }
}

/// The schema has been checked before; this fails only where the type is narrower than the schema.
fn decode<A: DeserializeOwned>(arguments: &str) -> Result<A, ToolResult> {
    serde_json::from_str(arguments)
        .map_err(|error| ToolResult::error(format!("Invalid arguments: {error}")))
}
