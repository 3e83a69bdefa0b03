//! What functions that read resources and write prompts may return, and how their failures are
//! told. A function fails with a text, which becomes an error of the protocol.

use crate::handler::Json;
use crate::prompt::Get;
use crate::resource::Read;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::prompt::{Message, PromptResult};
use haft_proto::spec::resource::ReadResult;
use serde::Serialize;
use std::any::Any;
use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;

/// An answer to come.
pub type Answering<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send>>;

/// What reads a resource.
pub trait Reader: Send + Sync + 'static {
    /// Begins to read; dropping the future cancels it.
    fn read(&self, request: Read) -> Answering<ReadResult>;
}

/// What writes a prompt.
pub trait Writer: Send + Sync + 'static {
    /// Begins to write; dropping the future cancels it.
    fn get(&self, request: Get) -> Answering<PromptResult>;
}

/// What a function may return that answers with a `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be answered with here",
    label = "does not become a `{T}`",
    note = "a resource is text, bytes, `Json`, `ResourceContents` or `ReadResult`",
    note = "a prompt is text, `Vec<Message>` or `PromptResult`"
)]
pub trait Output<T> {
    /// The answer, or why there is none.
    ///
    /// # Errors
    /// What the client is told.
    fn into_answer(self) -> Result<T, Refusal>;
}

impl<T, R: Output<T>, E: Display + 'static> Output<T> for Result<R, E> {
    fn into_answer(self) -> Result<T, Refusal> {
        match self {
            Ok(output) => output.into_answer(),
            // A failure that is a refusal already says by which code it wants to be told.
            Err(error) => Err(match refusal_of(&error) {
                Some(refusal) => refusal.clone(),
                None => Refusal::new(Mistake::Internal, error.to_string()),
            }),
        }
    }
}

/// The refusal that a failure is, in a box or without.
pub(crate) fn refusal_of<E: 'static>(failure: &E) -> Option<&Refusal> {
    let failure = failure as &dyn Any;
    let in_a_box = || failure.downcast_ref::<Box<dyn Error + Send + Sync>>()?.downcast_ref();
    failure.downcast_ref().or_else(in_a_box)
}

impl<R: Output<ReadResult>> Output<ReadResult> for Option<R> {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        // Whoever asked knows the address and writes the message.
        let nothing = || Refusal::new(Mistake::ResourceNotFound, "");
        self.ok_or_else(nothing)?.into_answer()
    }
}

impl Output<Self> for ReadResult {
    fn into_answer(self) -> Result<Self, Refusal> {
        Ok(self)
    }
}

impl Output<ReadResult> for ResourceContents {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        Ok(ReadResult { contents: vec![self] })
    }
}

impl Output<ReadResult> for Vec<ResourceContents> {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        Ok(ReadResult { contents: self })
    }
}

impl Output<ReadResult> for String {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        // An address that is left out is the one that was asked for.
        ResourceContents::text("", self).into_answer()
    }
}

impl Output<ReadResult> for &'static str {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        self.to_owned().into_answer()
    }
}

impl Output<ReadResult> for Vec<u8> {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        ResourceContents::blob("", self).into_answer()
    }
}

/// The value as JSON text.
impl<T: Serialize> Output<ReadResult> for Json<T> {
    fn into_answer(self) -> Result<ReadResult, Refusal> {
        let text = serde_json::to_string(&self.0)
            .map_err(|error| Refusal::new(Mistake::Internal, error.to_string()))?;
        ResourceContents::text("", text).mime_type("application/json").into_answer()
    }
}

impl Output<Self> for PromptResult {
    fn into_answer(self) -> Result<Self, Refusal> {
        Ok(self)
    }
}

impl Output<PromptResult> for Vec<Message> {
    fn into_answer(self) -> Result<PromptResult, Refusal> {
        Ok(PromptResult { description: None, messages: self })
    }
}

impl Output<PromptResult> for String {
    fn into_answer(self) -> Result<PromptResult, Refusal> {
        vec![Message::user(Content::Text(self))].into_answer()
    }
}

impl Output<PromptResult> for &'static str {
    fn into_answer(self) -> Result<PromptResult, Refusal> {
        self.to_owned().into_answer()
    }
}
