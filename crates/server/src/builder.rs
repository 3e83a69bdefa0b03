//! How a server is put together: tools with their handlers, checked and compiled before anything is
//! served. Nothing here runs a tool.

use crate::dispatch::Server;
use crate::handler::Handler;
use crate::param_headers::ParamHeaders;
use crate::registry::Registered;
use crate::schema::Schema;
use haft_proto::encode::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec;
use haft_proto::spec::implementation::Implementation;
use haft_proto::spec::tool::Annotations;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::time::Duration;

/// A tool that is not registered yet.
pub struct Tool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: String,
    output_schema: Option<String>,
    annotations: Annotations,
    timeout: Option<Duration>,
    handler: Box<dyn Handler>,
}

/// The schema of a tool that takes nothing.
const NO_ARGUMENTS: &str = r#"{"type":"object","additionalProperties":false}"#;

impl Tool {
    /// A tool without arguments, until [`Tool::input_schema`] says otherwise.
    pub fn new(name: impl Into<String>, handler: impl Handler) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: NO_ARGUMENTS.to_owned(),
            output_schema: None,
            annotations: Annotations::default(),
            timeout: None,
            handler: Box::new(handler),
        }
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

    /// The JSON Schema of the arguments, as JSON text. Clients get it as it is, on one line.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<String>) -> Self {
        self.input_schema = schema.into();
        self
    }

    /// The JSON Schema of the structured result, as JSON text.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<String>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// How the tool behaves.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// How long a call may take; without it, [`Limits::request_timeout`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn compile(self, default_timeout: Duration) -> Result<Registered, BuildError> {
        let name = self.name;
        if !spec::tool::is_valid_name(&name) {
            return Err(BuildError::BadToolName { name });
        }
        let bad = |part: &'static str, reason: String| BuildError::BadSchema {
            tool: name.clone(),
            part,
            reason,
        };
        let input = Schema::compile(&self.input_schema).map_err(|e| bad("input", e.reason))?;
        let parsed: Value =
            serde_json::from_str(&self.input_schema).map_err(|e| bad("input", e.to_string()))?;
        if parsed.get("type").and_then(Value::as_str) != Some("object") {
            return Err(bad("input", "its `type` must be \"object\"".to_owned()));
        }
        let param_headers = ParamHeaders::find(&parsed).map_err(|reason| bad("input", reason))?;
        let output = match &self.output_schema {
            Some(schema) => Some(Schema::compile(schema).map_err(|e| bad("output", e.reason))?),
            None => None,
        };
        let raw = |text: String, part| {
            RawValue::from_string(text).map_err(|error| bad(part, error.to_string()))
        };
        let tool = spec::tool::Tool {
            title: self.title,
            description: self.description,
            input_schema: raw(self.input_schema, "input")?,
            output_schema: self.output_schema.map(|text| raw(text, "output")).transpose()?,
            annotations: self.annotations,
            name: name.clone(),
        };
        let timeout = self.timeout.unwrap_or(default_timeout);
        Ok(Registered { tool, input, output, param_headers, handler: self.handler, timeout })
    }
}

/// A server that is not built yet. See the example of this crate.
pub struct ServerBuilder {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) caching: Caching,
    pub(crate) limits: Limits,
    pub(crate) tools: Vec<Tool>,
}

impl ServerBuilder {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            info: Implementation { name, version, ..Implementation::default() },
            instructions: None,
            caching: Caching::default(),
            limits: Limits::default(),
            tools: Vec::new(),
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

    /// Other bounds than the default ones.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// One more tool, listed after those before it.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Checks everything and compiles the schemas.
    ///
    /// # Errors
    /// The first [`BuildError`], in the order of the tools.
    pub fn build(self) -> Result<Server, BuildError> {
        Server::new(self)
    }
}

/// Why a server cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
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
    /// Two tools of one name.
    DuplicateTool {
        /// The name.
        name: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSchema { tool, part, reason } => {
                write!(f, "the {part} schema of tool `{tool}` cannot be used: {reason}")
            }
            Self::BadToolName { name } => write!(
                f,
                "{name:?} is no name for a tool: use 1 to 128 letters, digits, `_`, `-` or `.`"
            ),
            Self::DuplicateTool { name } => {
                write!(f, "two tools have the name `{name}`; rename one")
            }
        }
    }
}

impl std::error::Error for BuildError {}
