//! A prompt that is put together: what clients are told of it, and what writes its messages.

use crate::completion::{Completer, Completers, Completing};
use crate::context::Context;
use crate::reading::{Answering, Output, Writer};
use crate::relay::{Far, Relayed, Relaying};
use crate::state::Needed;
use haft_proto::error::Refusal;
use haft_proto::spec;
use haft_proto::spec::Meta;
use haft_proto::spec::completion::Completion;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::prompt::{Argument, PromptResult};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// One use of a prompt.
#[derive(Clone)]
pub struct Get {
    /// The arguments; those that are required are there.
    pub arguments: BTreeMap<String, String>,
    /// The way back to the client.
    pub context: Context,
}

impl Get {
    /// An argument, or nothing.
    #[must_use]
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).map_or("", String::as_str)
    }
}

/// A prompt that is not registered yet.
#[derive(Clone)]
pub struct Prompt {
    pub(crate) spec: spec::prompt::Prompt,
    pub(crate) wants_headers: bool,
    pub(crate) needs: Vec<Needed>,
    pub(crate) writer: Arc<dyn Writer>,
    pub(crate) completers: Completers,
    /// Another server has it.
    pub(crate) far: Option<Far>,
}

impl Prompt {
    /// A prompt without arguments, written by an async function. It may return text, a list of
    /// [`Message`](spec::prompt::Message), a [`PromptResult`], or a `Result` of these.
    pub fn new<F, R>(
        name: impl Into<String>,
        get: impl Fn(Get) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: Output<PromptResult> + 'static,
    {
        let spec = spec::prompt::Prompt { name: name.into(), ..spec::prompt::Prompt::default() };
        let writer = GetFunction(move |request: Get| -> Answering<PromptResult> {
            let work = get(request);
            Box::pin(async move { work.await.into_answer() })
        });
        Self {
            spec,
            wants_headers: false,
            needs: Vec::new(),
            writer: Arc::new(writer),
            completers: Completers::default(),
            far: None,
        }
    }

    /// A prompt that another server has, under a name of this one. Clients are told what that
    /// server tells of it, `definition`, and are answered as it answers; suggestions for its
    /// arguments are asked of it too.
    pub fn relayed<F>(
        name: impl Into<String>,
        definition: Box<RawValue>,
        relay: impl Fn(Relaying) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Relayed, Refusal>> + Send + 'static,
    {
        let far = Some(Far::new(definition, relay));
        Self { far, ..Self::new(name, |_| std::future::ready("")) }
    }

    /// How long another server may take to answer, where it is one that has this; without it, as
    /// long as any request that is no call.
    #[must_use]
    pub fn relayed_within(mut self, limit: Duration) -> Self {
        self.far = self.far.map(|far| far.within(limit));
        self
    }

    /// The name that programs use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The name that people read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// What it does.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = Some(description.into());
        self
    }

    /// One more argument, which must be given.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let argument = Argument { name: name.into(), required: true, ..Argument::default() };
        self.argument(Argument { description: Some(description.into()), ..argument })
    }

    /// One more argument, which may be given.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let argument = Argument { name: name.into(), ..Argument::default() };
        self.argument(Argument { description: Some(description.into()), ..argument })
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: Argument) -> Self {
        self.spec.arguments.push(argument);
        self
    }

    /// Suggests values for an argument.
    #[must_use]
    pub fn complete<F>(
        self,
        argument: impl Into<String>,
        complete: impl Fn(Completing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Completion> + Send + 'static,
    {
        self.try_complete(argument, move |typing| {
            let work = complete(typing);
            async move { Ok(work.await) }
        })
    }

    /// The same for what may fail; the client is told why.
    #[must_use]
    pub fn try_complete<F>(
        mut self,
        argument: impl Into<String>,
        complete: impl Fn(Completing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Completion, Refusal>> + Send + 'static,
    {
        self.completers.add(argument.into(), Completer::new(complete));
        self
    }

    /// Its function wants the HTTP headers of its requests; see
    /// [`Context::headers`](crate::Context::headers).
    #[must_use]
    pub fn with_headers(mut self) -> Self {
        self.wants_headers = true;
        self
    }

    /// Its function needs a shared value of that type: without one, the server cannot be built.
    #[must_use]
    pub fn needs_state<T: Send + Sync + 'static>(mut self) -> Self {
        self.needs.push(Needed::of::<T>());
        self
    }

    /// One more picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.spec.icons.push(icon);
        self
    }

    /// `_meta` of its definition.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.spec.meta = Some(meta);
        self
    }
}

struct GetFunction<F>(F);

impl<F> Writer for GetFunction<F>
where
    F: Fn(Get) -> Answering<PromptResult> + Send + Sync + 'static,
{
    fn get(&self, request: Get) -> Answering<PromptResult> {
        (self.0)(request)
    }
}
