//! What a tool does: a variant for each kind, the key that makes a tool one of it, and the keys
//! that only it has. Each kind has a file or folder of its own, with a `check` and a handler.

use crate::arguments::Arguments;
use crate::command::handler::CommandHandler;
use crate::command::{self, Command};
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::handler::HttpHandler;
use crate::http::{self, Http};
use crate::input::Input;
use crate::keys::Kinds;
use crate::limits::{RUNNING_DEFAULT, WAITING_DEFAULT};
use crate::output;
use crate::pipeline::handler::PipelineHandler;
use crate::pipeline::{self, Pipeline};
use crate::problem::Problem;
use crate::state::handler::StateHandler;
use crate::state::{self, Operation};
use crate::template::{Compiler, Template};
use crate::text::TextHandler;
use crate::tool::typed;
use crate::tree::Tree;
use crate::written::tool::{self as written, Parse};
use haft_fetch::Clients;
use haft_proto::spec::tool::Annotations;
use haft_store::Store;
use minijinja::Environment;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a tool does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// It runs a program.
    Command(Box<Command>),
    /// It asks a server.
    Http(Box<Http>),
    /// It calls other tools.
    Pipeline(Arc<Pipeline>),
    /// It looks into the state, or changes it.
    State(Arc<Operation>),
    /// It answers with a text.
    Text(Template),
}

/// The key of each kind, and those that belong to some kinds alone.
const KINDS: Kinds = Kinds {
    owners: "tools",
    keys: &[
        ("command", &["stdin", "env", "cwd", "output", "output_schema", "ok_exit"]),
        ("http", &["output", "output_schema"]),
        ("pipeline", &["result", "output_schema"]),
        ("state", &[]),
        ("text", &[]),
    ],
};

/// What the handlers of a file's tools have in common.
#[derive(Clone)]
pub(crate) struct Setting {
    /// The tool's name.
    pub(crate) name: String,
    /// Of arguments that a call leaves out.
    pub(crate) defaults: Map<String, Value>,
    /// The arguments that templates call something else.
    pub(crate) aliases: Vec<(String, String)>,
    /// All of the file's.
    pub(crate) templates: Arc<Environment<'static>>,
    /// Where state is kept, if any tool keeps some.
    pub(crate) store: Option<Store>,
    /// What they all ask servers with.
    pub(crate) clients: Clients,
}

impl Setting {
    /// The arguments of a call.
    pub(crate) fn arguments(&self, json: &str) -> Result<Arguments, String> {
        Arguments::of_call(json, &self.defaults, &self.aliases)
    }
}

impl Kind {
    /// Checks what a tool does, once its keys are known to go together.
    pub(crate) fn check(
        tool: written::Tool,
        tree: &Tree,
        input: &Input,
        surroundings: &Surroundings<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Self, Wrong> {
        if let Some(text) = &tool.text {
            return Ok(Self::Text(compiler.compile(typed(text), input.known())?));
        }
        if let Some(state) = &tool.state {
            return Ok(Self::State(Arc::new(state::check(state, input, surroundings, compiler)?)));
        }
        if let Some(http) = tool.http {
            let output = output::check(tool.output, Parse::Auto, surroundings)?;
            let http = http::check(http, output, input.known(), surroundings, compiler)?;
            let is_open = tool.foreign.open_query;
            let http = if is_open { http.with_open_query() } else { http };
            return Ok(Self::Http(Box::new(http)));
        }
        if tool.pipeline.is_some() {
            let pipeline = pipeline::check(&tool, tree, input, surroundings, compiler)?;
            return Ok(Self::Pipeline(Arc::new(pipeline)));
        }
        let output = output::check(tool.output, Parse::Text, surroundings)?;
        let keys = command::Keys {
            command: tool.command.expect("a tool of no other kind has a command"),
            stdin: tool.stdin,
            env: tool.env,
            cwd: tool.cwd,
            ok_exit: tool.ok_exit,
        };
        let command = command::check(keys, output, input.known(), surroundings, compiler)?;
        Ok(Self::Command(Box::new(command)))
    }

    /// The key that makes it one of this kind.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::Pipeline(_) => "pipeline",
            Self::State(_) => "state",
            Self::Text(_) => "text",
        }
    }

    /// The schema of its answers, where that is always the same.
    pub(crate) fn output_schema(&self) -> Option<&'static str> {
        match self {
            Self::Command(command) if command.output.parse == Parse::Report => {
                Some(command::spoken::REPORT_SCHEMA)
            }
            Self::Http(http) if http.output.parse == Parse::Report => {
                Some(http::report::REPORT_SCHEMA)
            }
            Self::Pipeline(pipeline) if pipeline.report.is_some() => {
                Some(pipeline::report::REPORT_SCHEMA)
            }
            Self::State(operation) => Some(operation.output_schema()),
            Self::Command(_) | Self::Http(_) | Self::Pipeline(_) | Self::Text(_) => None,
        }
    }

    /// How it behaves, where its tool does not say it.
    pub(crate) fn annotations(&self) -> Annotations {
        match self {
            Self::State(operation) => operation.annotations(),
            Self::Command(_) | Self::Http(_) | Self::Pipeline(_) | Self::Text(_) => {
                Annotations::default()
            }
        }
    }

    /// How many calls run at once and how many wait, where a tool does not say it.
    pub(crate) fn turns(&self) -> Option<(usize, usize)> {
        match self {
            Self::Command(_) | Self::Http(_) => Some((RUNNING_DEFAULT, WAITING_DEFAULT)),
            // The steps of a pipeline wait for the turns of the tools that they call.
            Self::Pipeline(_) | Self::State(_) | Self::Text(_) => None,
        }
    }

    /// A tool that does it.
    pub(crate) fn tool(&self, setting: Setting) -> haft_server::Tool {
        let name = setting.name.clone();
        match self {
            Self::Command(command) => {
                let command = Command::clone(command);
                haft_server::Tool::new(name, CommandHandler::new(setting, command))
            }
            Self::Http(http) => {
                haft_server::Tool::new(name, HttpHandler::new(setting, Http::clone(http)))
            }
            Self::Pipeline(pipeline) => {
                let pipeline = Arc::clone(pipeline);
                haft_server::Tool::new(name, PipelineHandler { pipeline, setting: setting.into() })
            }
            Self::State(operation) => {
                let store = setting.store.clone().expect("a server of such tools has a store");
                let operation = Arc::clone(operation);
                haft_server::Tool::new(name, StateHandler { operation, setting, store })
            }
            Self::Text(template) => {
                haft_server::Tool::new(name, TextHandler { template: template.clone(), setting })
            }
        }
    }
}

/// A tool is of one kind, and has no keys of another.
pub(crate) fn check_keys(tool: &written::Tool, tree: &Tree) -> Result<(), Wrong> {
    if KINDS.of(tree)?.is_some() {
        return Ok(());
    }
    let what = format!("the tool `{}` does nothing", tool.name.value);
    let help = "give it a `command` to run, an `http` request to send or a `text` to answer";
    Err(Wrong::new(tool.name.place, Problem::KindMissing { what, help }))
}
