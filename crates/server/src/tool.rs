//! A tool that is put together: what clients are told of it, and what runs. Checked when it is
//! registered, which is also when that is written; nothing here runs it.

use crate::builder::BuildError;
use crate::checks::Checks;
use crate::extra::Extra;
use crate::handler::Handler;
use crate::middleware::Middleware;
use crate::normal::of_own;
use crate::schema::Prepared;
use crate::state::{Needed, States};
use crate::tasks::TaskUse;
use crate::text::Text;
use haft_proto::encode;
use haft_proto::encode::tools::Definition;
use haft_proto::json::member;
use haft_proto::spec;
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::tool::Annotations;
use haft_proto::version::Revision;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A tool that is not registered yet.
#[derive(Clone)]
pub struct Tool {
    name: String,
    /// What it can be called by as well.
    also: Option<Arc<str>>,
    title: Option<String>,
    description: Option<String>,
    input: Source,
    output: Option<Source>,
    annotations: Annotations,
    icons: Vec<Icon>,
    meta: Option<Meta>,
    timeout: Option<Duration>,
    wants_headers: bool,
    leaves_out_extra: bool,
    task_use: TaskUse,
    task_ttl: Option<Duration>,
    needs: Vec<Needed>,
    middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) handler: Arc<dyn Handler>,
    /// What another server tells of it.
    relayed: Option<Arc<RawValue>>,
    /// What it is checked by, if that is known already.
    known: Option<Arc<Checks>>,
}

/// What is given for a schema.
#[derive(Clone)]
pub(crate) enum Source {
    Text(Cow<'static, str>),
    /// A part of what another server tells. Two that are one text are one schema.
    Told(Arc<str>),
    /// Made of a type, which its author may have told anything.
    Derived(Prepared),
    /// Whoever gave it knows that it is one.
    Known(Prepared),
}

impl Source {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Told(text) => text,
            Self::Derived(schema) | Self::Known(schema) => schema.text(),
        }
    }
}

/// The schema of a tool that takes nothing.
const NO_ARGUMENTS: &str = r#"{"type":"object","additionalProperties":false}"#;

impl Tool {
    /// A tool without arguments, until [`Tool::input_schema`] says otherwise.
    pub fn new(name: impl Into<String>, handler: impl Handler) -> Self {
        Self {
            name: name.into(),
            also: None,
            title: None,
            description: None,
            input: Source::Text(NO_ARGUMENTS.into()),
            output: None,
            annotations: Annotations::default(),
            icons: Vec::new(),
            meta: None,
            timeout: None,
            wants_headers: false,
            leaves_out_extra: false,
            task_use: TaskUse::Never,
            task_ttl: None,
            needs: Vec::new(),
            middleware: Vec::new(),
            handler: Arc::new(handler),
            relayed: None,
            known: None,
        }
    }

    /// A tool that another server has, under a name of this one. Clients are told what that server
    /// tells of it, `definition`, whatever is in it; arguments and results are for that server to
    /// check. The handler answers with [`Made::Relayed`](crate::handler::Made::Relayed).
    pub fn relayed(
        name: impl Into<String>,
        definition: Box<RawValue>,
        handler: impl Handler,
    ) -> Self {
        let mut tool = Self::new(name, handler);
        tool.tell(definition);
        tool
    }

    /// The same tool of another server under another name of this one: clients are told what
    /// `definition` says, and what runs is made of what ran. Time limit, middleware and use as a
    /// task stay. `None` if it is not of another server.
    pub fn retold(
        &self,
        name: impl Into<String>,
        definition: Box<RawValue>,
        handler: impl FnOnce(Arc<dyn Handler>) -> Arc<dyn Handler>,
    ) -> Option<Self> {
        self.relayed.as_ref()?;
        let handler = handler(Arc::clone(&self.handler));
        let name = name.into();
        // Another name is meant to be another.
        let also = self.also.clone().filter(|_| self.name == name);
        let mut tool = Self { name, also, handler, ..self.clone() };
        tool.tell(definition);
        Some(tool)
    }

    /// What another server tells of it.
    #[must_use]
    pub fn told_there(&self) -> Option<&RawValue> {
        self.relayed.as_deref()
    }

    /// Whether no call may bring an argument of that name, as what passes the call on gives it.
    #[must_use]
    pub fn withholds(&self, argument: &str) -> bool {
        self.handler.withholds(argument)
    }

    fn tell(&mut self, definition: Box<RawValue>) {
        let text = definition.get();
        let schema = |key| member(text, key).map(|schema| Source::Told(schema.into()));
        let hints = member(text, "annotations").unwrap_or("null");
        let hint = |key| member(hints, key).and_then(|hint| hint.parse().ok());
        self.annotations = Annotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        };
        self.input = schema("inputSchema").unwrap_or(Source::Text(String::new().into()));
        self.output = schema("outputSchema");
        self.relayed = Some(definition.into());
    }

    /// The same tool under the name that clients are told, and can still be called by what it was
    /// called before.
    #[must_use]
    pub fn told_as(mut self, name: &str) -> Self {
        if self.name != name {
            self.also = Some(std::mem::replace(&mut self.name, name.to_owned()).into());
        }
        self
    }

    /// The name that programs use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name that people read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What the tool does, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The JSON Schema of the arguments, as JSON text. Clients get it as it is, on one line; but
    /// `true` and `false` where they want an object are written as one.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<String>) -> Self {
        self.input = Source::Text(of_own(schema.into()).into());
        self
    }

    /// The same, of a schema that was checked before.
    #[must_use]
    pub fn prepared_input(mut self, schema: Prepared) -> Self {
        self.input = Source::Known(schema);
        self
    }

    /// The same, of a schema that was made of a type.
    pub(crate) fn derived_input(mut self, schema: Prepared) -> Self {
        self.input = Source::Derived(schema);
        self
    }

    /// The JSON Schema of the structured result, as JSON text.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<String>) -> Self {
        self.output = Some(Source::Text(of_own(schema.into()).into()));
        self
    }

    /// The same, of a schema that was checked before.
    #[must_use]
    pub fn prepared_output(mut self, schema: Prepared) -> Self {
        self.output = Some(Source::Known(schema));
        self
    }

    /// How the tool behaves.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.annotations.read_only = Some(is_read_only);
        self
    }

    /// Whether doing it twice is like doing it once.
    #[must_use]
    pub fn idempotent(mut self, is_idempotent: bool) -> Self {
        self.annotations.idempotent = Some(is_idempotent);
        self
    }

    /// One more picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// `_meta` of its definition.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }

    pub(crate) fn meta_text(&self) -> Option<&RawValue> {
        self.meta.as_deref()
    }

    /// How long a call may take; without it,
    /// [`Limits::request_timeout`](haft_proto::limits::Limits::request_timeout).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The handler wants the HTTP headers of its requests; see
    /// [`Context::headers`](crate::Context::headers).
    #[must_use]
    pub fn with_headers(mut self) -> Self {
        self.wants_headers = true;
        self
    }

    /// Arguments that the tool does not have are left out, as some clients send their own with
    /// every call; a schema that takes any keeps them.
    #[must_use]
    pub fn leave_out_extra_arguments(mut self) -> Self {
        self.leaves_out_extra = true;
        self
    }

    /// When calls become tasks, for clients that take tasks.
    #[must_use]
    pub fn task(mut self, task_use: TaskUse) -> Self {
        self.task_use = task_use;
        self
    }

    /// How long a task may run and is kept, from its beginning; without it,
    /// [`Limits::task_ttl`](haft_proto::limits::Limits::task_ttl).
    #[must_use]
    pub fn task_ttl(mut self, ttl: Duration) -> Self {
        self.task_ttl = Some(ttl);
        self
    }

    /// The handler needs a shared value of that type: without one, the server cannot be built.
    #[must_use]
    pub fn needs_state<T: Send + Sync + 'static>(mut self) -> Self {
        self.needs.push(Needed::of::<T>());
        self
    }

    /// Something around this tool, inside of those before it and of those of its server.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Whether something stands around it that is not the server's.
    #[must_use]
    pub fn has_middleware(&self) -> bool {
        !self.middleware.is_empty()
    }

    /// As [`Tool::middleware`], around what stands around it already.
    #[must_use]
    pub fn outer_middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.insert(0, Arc::new(middleware));
        self
    }

    /// The tool as others see it: for a model that may use it in a
    /// [`Sample`](haft_proto::spec::question::Sample).
    ///
    /// # Errors
    /// [`BuildError::BadSchema`]: a schema is no JSON.
    pub fn definition(&self) -> Result<spec::tool::Tool, BuildError> {
        let raw = |text: &str, part: &'static str| {
            RawValue::from_string(text.to_owned()).map_err(|error| BuildError::BadSchema {
                tool: self.name.clone(),
                part,
                reason: error.to_string(),
            })
        };
        let output = self.output.as_ref().map(|schema| raw(schema.text(), "output"));
        Ok(spec::tool::Tool {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            input_schema: raw(self.input.text(), "input")?,
            output_schema: output.transpose()?,
            annotations: self.annotations,
            icons: self.icons.clone(),
            meta: self.meta.clone(),
        })
    }

    /// Whether a server could have it, as far as its name and schemas go.
    ///
    /// # Errors
    /// [`BuildError::BadSchema`] or [`BuildError::BadToolName`].
    pub fn verify(&self) -> Result<(), BuildError> {
        let alone = Self { needs: Vec::new(), ..self.clone() };
        alone.compile(Duration::ZERO, &States::default(), None).map(drop)
    }

    /// The same tool, once it is known that a server could have it: no server that it is given to
    /// looks again.
    ///
    /// # Errors
    /// As [`Tool::verify`].
    pub fn verified(self) -> Result<Self, BuildError> {
        let alone = Self { needs: Vec::new(), ..self.clone() };
        let registered = alone.compile(Duration::ZERO, &States::default(), None)?;
        Ok(Self { known: Some(Arc::new(registered.checks.untold())), ..self })
    }

    /// Whether clients of all revisions are told the same: it has nothing that some know not.
    fn is_timeless(&self) -> bool {
        if self.relayed.is_some() {
            return false;
        }
        let has_extras = self.title.is_some() || self.output.is_some() || self.meta.is_some();
        !has_extras && self.annotations.is_empty() && self.icons.is_empty()
    }

    /// What clients of the latest revision are told.
    fn told(&self) -> Text {
        if let Some(definition) = &self.relayed {
            let mut told = Vec::with_capacity(definition.get().len() + self.name.len());
            encode::relay::renamed(&mut told, definition.get(), &self.name);
            return Text::new(&told);
        }
        let (input_schema, output_schema) = (self.input.text(), self.output.as_ref());
        let bytes = input_schema.len() + output_schema.map_or(0, |schema| schema.text().len());
        let mut told = Vec::with_capacity(bytes + TOLD_BYTES);
        let definition = Definition {
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema,
            output_schema: output_schema.map(Source::text),
            annotations: self.annotations,
            icons: &self.icons,
            meta: self.meta.as_ref(),
        };
        definition.write(&mut told, Revision::LATEST);
        Text::new(&told)
    }

    pub(crate) fn compile(
        self,
        default_timeout: Duration,
        states: &States,
        before: Option<&Registered>,
    ) -> Result<Registered, BuildError> {
        let name = self.name.clone();
        states.check(&self.needs, || format!("the tool `{name}`"))?;
        if !spec::tool::is_valid_name(&name) {
            return Err(BuildError::BadToolName { name });
        }
        let (told, is_timeless) = (self.told(), self.is_timeless());
        let annotations = self.annotations;
        let named = Named { name: name.clone(), annotations, is_timeless };
        let again =
            |checks: &Checks| checks.again_at_a_glance(&told, &self.input, self.output.as_ref());
        let known = self.known.as_deref().and_then(again);
        let again =
            known.or_else(|| before?.checks.again(&told, &self.input, self.output.as_ref()));
        let checks = match again {
            Some(known) => known,
            None => Checks::new(&name, told, self.input, self.output)?,
        };
        Ok(Registered {
            tool: named,
            special: Special::of(self.also, self.leaves_out_extra),
            checks,
            handler: self.handler,
            timeout: self.timeout.unwrap_or(default_timeout),
            is_relayed: self.relayed.is_some(),
            wants_headers: self.wants_headers,
            task_use: self.task_use,
            task_ttl: self.task_ttl,
            middleware: self.middleware.into(),
        })
    }
}

/// About how much a definition has beside its schemas, in bytes.
const TOLD_BYTES: usize = 512;

/// A tool that is registered. There may be thousands: what clients are told of it is kept once, in
/// a page of the list where there is one.
pub(crate) struct Registered {
    pub(crate) tool: Named,
    /// What few tools have, so that the others do not pay for it.
    pub(crate) special: Option<Box<Special>>,
    pub(crate) checks: Checks,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) timeout: Duration,
    /// Another server has it.
    pub(crate) is_relayed: bool,
    pub(crate) wants_headers: bool,
    pub(crate) task_use: TaskUse,
    pub(crate) task_ttl: Option<Duration>,
    pub(crate) middleware: Box<[Arc<dyn Middleware>]>,
}

/// See [`Registered::special`].
pub(crate) struct Special {
    /// What it can be called by as well.
    pub(crate) also: Option<Arc<str>>,
    /// What is left out of arguments.
    pub(crate) extra: Option<Extra>,
}

impl Special {
    fn of(also: Option<Arc<str>>, leaves_out_extra: bool) -> Option<Box<Self>> {
        let extra = leaves_out_extra.then(Extra::default);
        (also.is_some() || extra.is_some()).then(|| Box::new(Self { also, extra }))
    }
}

/// What a call needs of what clients are told.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) annotations: Annotations,
    /// Clients of all revisions are told the same.
    pub(crate) is_timeless: bool,
}
