//! A call of a tool that runs a program: arguments become a command line, a group of processes
//! runs, and what it printed becomes a result. No shell is ever between.

use crate::command::group::{self, Spoken};
use crate::command::{Command, spoken};
use crate::kind::Setting;
use crate::limits::LAST_WORDS_BYTES;
use crate::template::RenderError;
use crate::written::tool::Parse;
use haft_proto::spec::tool_result::{Cause, ToolResult};
use haft_server::handler::{Answer, Call, Handler, Made};
use std::io;
use std::sync::Arc;
use tokio::process;

/// Runs a program for each call.
pub(crate) struct CommandHandler {
    setting: Setting,
    command: Arc<Command>,
}

impl CommandHandler {
    pub(crate) fn new(setting: Setting, command: Command) -> Self {
        Self { setting, command: Arc::new(command) }
    }

    fn prepare(&self, arguments: &str) -> Result<Prepared, String> {
        let arguments = self.setting.arguments(arguments)?;
        let bad = |part: &str| {
            let part = part.to_owned();
            move |error: RenderError| format!("The template of {part} cannot be filled: {error}")
        };
        let templates = &*self.setting.templates;
        let mut list = Vec::with_capacity(self.command.arguments.len());
        for template in &self.command.arguments {
            template.render_into(templates, &arguments, &mut list).map_err(bad("an argument"))?;
        }
        if list.iter().any(|argument| argument.contains('\0')) {
            return Err("An argument of a program cannot hold a NUL character.".to_owned());
        }
        let mut env = Vec::with_capacity(self.command.env.len());
        for (name, template) in &self.command.env {
            let value = template.render_if_any(templates, &arguments).map_err(bad(name))?;
            env.extend(value.map(|value| (name.clone(), value)));
        }
        if env.iter().any(|(_, value)| value.contains('\0')) {
            return Err("An environment variable cannot hold a NUL character.".to_owned());
        }
        let stdin = match &self.command.stdin {
            Some(stdin) => {
                Some(stdin.render(templates, &arguments).map_err(bad("stdin"))?.into_bytes())
            }
            None => None,
        };
        Ok(Prepared { arguments: list, env, stdin })
    }
}

/// A command line for one call.
struct Prepared {
    arguments: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Option<Vec<u8>>,
}

impl Handler for CommandHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let prepared = match self.prepare(call.arguments) {
            Ok(prepared) => prepared,
            Err(reason) => {
                answer.result(&ToolResult::error(reason));
                return Made::Now;
            }
        };
        let command = Arc::clone(&self.command);
        Made::Later(Box::pin(async move { Ok(command.run(prepared).await) }))
    }
}

impl Command {
    async fn run(&self, prepared: Prepared) -> ToolResult {
        let mut command = process::Command::new(&self.program.path);
        command.args(prepared.arguments).envs(prepared.env).current_dir(&self.cwd.value);
        let limits = (self.output.limit, self.last_words_limit());
        match group::run(command, prepared.stdin, limits).await {
            Ok(spoken) => self.result(spoken),
            Err(error) => ToolResult::error(self.cannot_start(&error)),
        }
    }

    /// How much of stderr is kept, in bytes.
    fn last_words_limit(&self) -> usize {
        if self.output.parse == Parse::Report { self.output.limit } else { LAST_WORDS_BYTES }
    }

    fn result(&self, spoken: Spoken) -> ToolResult {
        let program = &self.program.shown;
        if spoken.is_cut {
            return ToolResult::error(format!(
                "`{program}` was stopped: it printed more than {} bytes. Ask for less at once.",
                self.output.limit
            ));
        }
        let code = spoken.status.code().and_then(|code| u8::try_from(code).ok());
        if !code.is_some_and(|code| self.ok_exit.contains(&code)) {
            let cause = spoken.status.code().map(Cause::Exit);
            if self.output.parse == Parse::Report {
                return ToolResult { cause, is_error: true, ..spoken::report(&spoken) };
            }
            return ToolResult { cause, ..ToolResult::error(spoken::failure(program, &spoken)) };
        }
        match self.output.parse {
            Parse::Report => spoken::report(&spoken),
            _ => spoken::understand(program, &self.output, spoken.out),
        }
    }

    fn cannot_start(&self, error: &io::Error) -> String {
        let program = &self.program.shown;
        if !self.cwd.value.is_dir() {
            return format!(
                "`{program}` cannot be started: the directory {} does not exist.",
                self.cwd.value.display()
            );
        }
        match error.kind() {
            io::ErrorKind::NotFound => {
                format!("`{program}` cannot be started: there is no such program on this machine.")
            }
            io::ErrorKind::PermissionDenied => {
                format!("`{program}` cannot be started: the file may not be executed.")
            }
            io::ErrorKind::ArgumentListTooLong => format!(
                "`{program}` cannot be started: its arguments are too long. Send shorter ones."
            ),
            _ => format!("`{program}` cannot be started: {error}."),
        }
    }
}
