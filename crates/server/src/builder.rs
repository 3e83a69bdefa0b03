//! How a server is put together: tools, resources and prompts, checked and compiled before anything
//! is served. Nothing here runs them.

use crate::dispatch::Server;
use crate::middleware::Middleware;
use crate::missing::Missing;
use crate::prompt::Prompt;
use crate::registry::Parts;
use crate::resource::{Resource, ResourceTemplate};
use crate::sealed::StateKey;
use crate::state::States;
use crate::task_store::TaskStore;
use crate::tool::Tool;
use haft_proto::encode::fields::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::implementation::Implementation;
use std::fmt;
use std::sync::Arc;

/// A server that is not built yet. See the example of this crate.
pub struct ServerBuilder {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) caching: Caching,
    pub(crate) list_meta: Option<Meta>,
    pub(crate) limits: Limits,
    pub(crate) parts: Parts,
    pub(crate) growth: Growth,
    pub(crate) state_keys: Vec<StateKey>,
    /// Without one, memory.
    pub(crate) task_store: Option<Arc<dyn TaskStore>>,
    pub(crate) states: States,
    pub(crate) is_strict: bool,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
}

impl ServerBuilder {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            info: Implementation { name, version, ..Implementation::default() },
            instructions: None,
            caching: Caching::default(),
            list_meta: None,
            limits: Limits::default(),
            parts: Parts::default(),
            growth: Growth::default(),
            state_keys: Vec::new(),
            task_store: None,
            states: States::default(),
            is_strict: false,
            middleware: Vec::new(),
        }
    }

    /// The name that people read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// One line about the server.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Where to read more about the server.
    #[must_use]
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// One more picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.push(icon);
        self
    }

    /// How a model should use the tools together.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// How long clients of the modern era may keep the lists.
    #[must_use]
    pub fn caching(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// What is said in `_meta` of every list: the JSON text of an object. Only revisions since
    /// 2025-06-18 show it.
    #[must_use]
    pub fn list_meta(mut self, meta: Meta) -> Self {
        self.list_meta = Some(meta);
        self
    }

    /// Other bounds than the default ones.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Nothing will ever be added or removed: clients are told so, and need not listen.
    #[must_use]
    pub fn fixed(mut self) -> Self {
        self.growth = Growth::Fixed;
        self
    }

    /// As [`ServerBuilder::fixed`], but for what resources contain.
    #[must_use]
    pub fn only_contents_change(mut self) -> Self {
        self.growth = Growth::Contents;
        self
    }

    /// As [`ServerBuilder::fixed`], but for the resources: which there are, and what they contain.
    #[must_use]
    pub fn only_resources_change(mut self) -> Self {
        self.growth = Growth::Resources;
        self
    }

    /// Things of kinds that are not there yet may be added while the server runs: clients are told
    /// from the start that it has tools, resources, prompts and completions.
    #[must_use]
    pub fn open_ended(mut self) -> Self {
        self.growth = Growth::OpenEnded;
        self
    }

    /// The keys that seal what clients keep: the first seals, all open. Replicas that share them
    /// take each other's. Without keys, the server makes one up, which nobody else has.
    #[must_use]
    pub fn state_keys(mut self, keys: impl IntoIterator<Item = StateKey>) -> Self {
        self.state_keys.extend(keys);
        self
    }

    /// Where tasks are kept; without it, in memory, up to [`Limits::task_bytes`].
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.task_store = Some(Arc::new(store));
        self
    }

    /// Arguments are refused unless they fit their schema as they are. Otherwise what models are
    /// known to get wrong is mended where the schema leaves no doubt: a number, boolean, list or
    /// object in quotes, and null for an optional argument. [`Server::repairs`] counts.
    #[must_use]
    pub fn strict_arguments(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// A value that all handlers share, in place of another of the same type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.put(value);
        self
    }

    /// Something around every tool, resource and prompt, inside of those before it.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// One more tool, listed after those before it.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.parts.tools.push(tool);
        self
    }

    /// More tools, as another module made them.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.parts.tools.extend(tools);
        self
    }

    /// Tools that other tools call with [`Context::call`](crate::Context::call), and no client.
    #[must_use]
    pub fn inner_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.parts.inner.extend(tools);
        self
    }

    /// Tools are not listed where there are so many or more: `find_tools` and `call_tool` stand for
    /// them in the list, and find and call them. Each can be called by its own name all the same.
    #[must_use]
    pub fn search_from(mut self, least: usize) -> Self {
        self.parts.search_from = Some(least);
        self
    }

    /// One more resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.parts.resources.push(resource);
        self
    }

    /// One more family of resources. An address belongs to the first that it fits.
    #[must_use]
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.parts.templates.push(template);
        self
    }

    /// One more prompt.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.parts.prompts.push(prompt);
        self
    }

    /// What is away: it is not listed, and whoever asks for it is told why.
    #[must_use]
    pub fn missing(mut self, missing: impl IntoIterator<Item = Missing>) -> Self {
        self.parts.missing.extend(missing);
        self
    }

    /// Checks everything, and writes what clients are told of the tools.
    ///
    /// # Errors
    /// The first [`BuildError`], in the order of the parts.
    pub fn build(self) -> Result<Server, BuildError> {
        Server::new(self)
    }
}

/// What may change while a server runs: each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Growth {
    /// Nothing.
    Fixed,
    /// What resources contain.
    Contents,
    /// Which resources there are.
    Resources,
    /// More of the kinds that are there from the start.
    #[default]
    Known,
    /// Anything.
    OpenEnded,
}

/// Why a server cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Suggestions for an argument that is not there.
    BadCompletion {
        /// Of which prompt or resource template.
        of: String,
        /// The argument.
        argument: String,
    },
    /// A schema that cannot be used.
    BadSchema {
        /// Whose.
        tool: String,
        /// `input` or `output`.
        part: &'static str,
        /// Why.
        reason: String,
    },
    /// A name that clients would refuse.
    BadToolName {
        /// The name.
        name: String,
    },
    /// Something that is no address of a resource: it needs a scheme.
    BadUri {
        /// What it is.
        uri: String,
    },
    /// A URI template that cannot be matched.
    BadUriTemplate {
        /// The template.
        template: String,
        /// Why.
        reason: String,
    },
    /// A handler needs a value that the server has not.
    MissingState {
        /// Whose, like "the tool `a`".
        whose: String,
        /// The type of the value.
        of: &'static str,
    },
    /// Something of a kind that clients were not told of.
    NotOffered {
        /// Which kind: "prompts", say.
        kind: &'static str,
    },
    /// The system has no random numbers for a key.
    NoRandomness {
        /// Why.
        reason: String,
    },
    /// Two of one kind and name.
    Duplicate {
        /// Two what: "tools", say.
        kind: &'static str,
        /// The name or address.
        name: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadCompletion { of, argument } => {
                write!(f, "`{of}` has no argument `{argument}` to complete")
            }
            Self::BadSchema { tool, part, reason } => {
                write!(f, "the {part} schema of tool `{tool}` cannot be used: {reason}")
            }
            Self::BadToolName { name } => write!(
                f,
                "{name:?} is no name for a tool: use 1 to 128 letters, digits, `_`, `-` or `.`"
            ),
            Self::BadUri { uri } => {
                write!(
                    f,
                    "{uri:?} is no address of a resource: it begins with a scheme like `app:`"
                )
            }
            Self::BadUriTemplate { template, reason } => {
                write!(f, "the URI template {template:?} cannot be used: {reason}")
            }
            Self::MissingState { whose, of } => {
                write!(f, "{whose} needs a `{of}`: give the server one with `state`")
            }
            Self::NotOffered { kind } => write!(
                f,
                "clients were not told of {kind}: build the server with some, or `open_ended`"
            ),
            Self::NoRandomness { reason } => f.write_str(reason),
            Self::Duplicate { kind, name } => {
                write!(f, "two {kind} have the name `{name}`; rename one")
            }
        }
    }
}

impl std::error::Error for BuildError {}
