//! A call of a tool that runs a program: arguments become a command line, a group of processes
//! runs, and what it printed becomes a result. No shell is ever between. `feed` runs programs the
//! same way, and makes something else of what they print.

use crate::arguments::Arguments;
use crate::command::group::{self, Spoken};
use crate::command::{Command, spoken};
use crate::json_text;
use crate::kind::Setting;
use crate::limits::LAST_WORDS_BYTES;
use crate::output::{Failure, Flaw};
use crate::template::RenderError;
use crate::written::tool::Parse;
use haft_proto::spec::tool_result::{Cause, ToolResult};
use haft_server::handler::{Answer, Call, Handler, Made};
use minijinja::Environment;
use serde_json::value::RawValue;
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
}

/// A command line for one call.
pub(crate) struct Prepared {
    arguments: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Option<Vec<u8>>,
}

impl Command {
    /// The command line for these arguments, or why they make none.
    pub(crate) fn prepare(
        &self,
        templates: &Environment<'_>,
        arguments: &Arguments,
    ) -> Result<Prepared, String> {
        let bad = |part: &str| {
            let part = part.to_owned();
            move |error: RenderError| format!("The template of {part} cannot be filled: {error}")
        };
        let mut list = Vec::with_capacity(self.arguments.len());
        for template in &self.arguments {
            template.render_into(templates, arguments, &mut list).map_err(bad("an argument"))?;
        }
        if list.iter().any(|argument| argument.contains('\0')) {
            return Err("An argument of a program cannot hold a NUL character.".to_owned());
        }
        let mut env = Vec::with_capacity(self.env.len());
        for (name, template) in &self.env {
            let value = template.render_if_any(templates, arguments).map_err(bad(name))?;
            env.extend(value.map(|value| (name.clone(), value)));
        }
        if env.iter().any(|(_, value)| value.contains('\0')) {
            return Err("An environment variable cannot hold a NUL character.".to_owned());
        }
        let stdin = match &self.stdin {
            Some(stdin) => {
                Some(stdin.render(templates, arguments).map_err(bad("stdin"))?.into_bytes())
            }
            None => None,
        };
        Ok(Prepared { arguments: list, env, stdin })
    }

    /// What the program prints, if it does what was asked. Dropping the future ends it.
    pub(crate) async fn output(&self, prepared: Prepared) -> Result<Vec<u8>, Failure> {
        let spoken = self.spoken(prepared).await?;
        if self.is_ok(&spoken) {
            return Ok(spoken.out);
        }
        let reason = spoken::failure(&self.program.shown, &spoken);
        Err(Failure { reason, cause: spoken.status.code().map(Cause::Exit) })
    }

    /// What it says within its limits, and how it ends.
    async fn spoken(&self, prepared: Prepared) -> Result<Spoken, Failure> {
        let mut command = process::Command::new(&self.program.path);
        self.inherited.apply(&mut command);
        command.args(prepared.arguments).envs(prepared.env).current_dir(&self.cwd.value);
        let limits = (self.output.limit, self.last_words_limit());
        let spoken = group::run(command, prepared.stdin, limits).await;
        let Spoken { status, out, last_words, is_cut } =
            spoken.map_err(|error| self.cannot_start(&error))?;
        let (out, last_words) =
            (self.secrets.redact_bytes(out), self.secrets.redact_bytes(last_words));
        let spoken = Spoken { status, out, last_words, is_cut };
        if spoken.is_cut {
            let (program, limit) = (&self.program.shown, self.output.limit);
            return Err(Failure::from(format!(
                "`{program}` was stopped: it printed more than {limit} bytes. Ask for less at once."
            )));
        }
        Ok(spoken)
    }

    /// How much of stderr is kept, in bytes.
    fn last_words_limit(&self) -> usize {
        if self.output.parse == Parse::Report { self.output.limit } else { LAST_WORDS_BYTES }
    }

    fn is_ok(&self, spoken: &Spoken) -> bool {
        let code = spoken.status.code().and_then(|code| u8::try_from(code).ok());
        code.is_some_and(|code| self.ok_exit.contains(&code))
    }

    /// The JSON value that it printed, or the part of it that is picked.
    pub(crate) fn value(&self, out: &[u8]) -> Result<Box<RawValue>, String> {
        let text = json_text::decode(out).map_err(Flaw::NotJson);
        let value = text.and_then(|text| self.output.value(text));
        value.map_err(|flaw| spoken::flawed(&self.program.shown, flaw))
    }

    async fn run(&self, prepared: Prepared) -> ToolResult {
        let result = match self.output.parse {
            Parse::Report => self.spoken(prepared).await.map(|spoken| self.report(&spoken)),
            _ => {
                let out = self.output(prepared).await;
                out.map(|out| spoken::understand(&self.program.shown, &self.output, out))
            }
        };
        result.unwrap_or_else(|Failure { reason, cause }| ToolResult {
            cause,
            ..ToolResult::error(reason)
        })
    }

    fn report(&self, spoken: &Spoken) -> ToolResult {
        let report = spoken::report(spoken);
        if self.is_ok(spoken) {
            return report;
        }
        ToolResult { cause: spoken.status.code().map(Cause::Exit), is_error: true, ..report }
    }
}

impl Handler for CommandHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let arguments = self.setting.arguments(call.arguments);
        let prepared = arguments
            .and_then(|arguments| self.command.prepare(&self.setting.templates, &arguments));
        let prepared = match prepared {
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
