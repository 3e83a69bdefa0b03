//! What functions that tools call may return, and what becomes of it. Called by `handler` with the
//! place where an answer is written.

use crate::handler::Answer;
use crate::reading::refusal_of;
use crate::schema::derived;
use haft_proto::error::Refusal;
use haft_proto::spec::tool_result::ToolResult;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;

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
    ///
    /// # Errors
    /// The answer is an error of the protocol.
    fn into_result(self) -> Result<ToolResult, Refusal>;
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

    fn into_result(self) -> Result<ToolResult, Refusal> {
        Ok(match serde_json::to_string(&self.0) {
            Ok(json) => ToolResult::json(&json),
            Err(error) => ToolResult::error(format!("The tool's answer is not JSON: {error}")),
        })
    }

    fn output_schema() -> Option<String> {
        derived::of_output::<T>()
    }
}

impl Output for ToolResult {
    fn answer(self, answer: Answer<'_>) {
        answer.result(&self);
    }

    fn into_result(self) -> Result<ToolResult, Refusal> {
        Ok(self)
    }
}

/// A failure that is a [`Refusal`] is an error of the protocol, any other a result that says so.
impl<T: Output, E: Display + 'static> Output for Result<T, E> {
    fn answer(self, answer: Answer<'_>) {
        match self {
            Ok(output) => output.answer(answer),
            Err(error) => match failed(&error) {
                Ok(result) => answer.result(&result),
                Err(refusal) => answer.refuse(refusal),
            },
        }
    }

    fn into_result(self) -> Result<ToolResult, Refusal> {
        self.map_or_else(|error| failed(&error), Output::into_result)
    }

    fn output_schema() -> Option<String> {
        T::output_schema()
    }
}

fn failed<E: Display + 'static>(error: &E) -> Result<ToolResult, Refusal> {
    match refusal_of(error) {
        Some(refusal) => Err(refusal.clone()),
        None => Ok(ToolResult::error(error.to_string())),
    }
}

/// Nothing to say but that it is done.
impl Output for () {
    fn answer(self, answer: Answer<'_>) {
        answer.result(&ToolResult::default());
    }

    fn into_result(self) -> Result<ToolResult, Refusal> {
        Ok(ToolResult::default())
    }
}

impl Output for String {
    fn answer(self, answer: Answer<'_>) {
        answer.text(&self);
    }

    fn into_result(self) -> Result<ToolResult, Refusal> {
        Ok(ToolResult::text(self))
    }
}

impl Output for &'static str {
    fn answer(self, answer: Answer<'_>) {
        answer.text(self);
    }

    fn into_result(self) -> Result<ToolResult, Refusal> {
        Ok(ToolResult::text(self))
    }
}

macro_rules! plain_output {
    ($way:ident: $($kind:ty),*) => {$(
        impl Output for $kind {
            fn answer(self, answer: Answer<'_>) {
                answer.$way(&self);
            }

            fn into_result(self) -> Result<ToolResult, Refusal> {
                Ok(ToolResult::text(self.to_string()))
            }
        }
    )*};
}

// To JSON these are what they are to people, and written faster.
plain_output!(word: bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
plain_output!(plain: f32, f64);
