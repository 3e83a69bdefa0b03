//! Tools that run a program: as run, checked from as typed. `handler` runs them, `group` keeps
//! their processes together, `dumps` keeps them from
//! reading our memory, `environ` says which variables they have,
//! `orphans` finds those that left, `guardian` ends them when nobody else
//! is left to, `process` is what the system tells of each; `spoken` understands what they print.
//! Called by `kind`.

pub(crate) mod dumps;
pub(crate) mod environ;
pub(crate) mod group;
pub(crate) mod guardian;
pub(crate) mod handler;
pub(crate) mod orphans;
pub(crate) mod process;
pub(crate) mod spoken;

use crate::command::environ::Inherited;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::secrets::Secrets;
use crate::output::Output;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::{Compiler, Known, Template};
use crate::tool::{fixed_text, typed};
use crate::written::Scalar;
use crate::written::environ::Environ;
use std::path::PathBuf;

/// A program, and what to make of it.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) program: Program,
    pub(crate) arguments: Vec<Template>,
    pub(crate) stdin: Option<Template>,
    pub(crate) env: Vec<(String, Template)>,
    pub(crate) inherited: Inherited,
    /// What it is given and is not to be told.
    pub(crate) secrets: Secrets,
    pub(crate) cwd: Placed<PathBuf>,
    pub(crate) output: Output,
    pub(crate) ok_exit: Vec<u8>,
}

/// A program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Its name, or its path from the root.
    pub(crate) path: PathBuf,
    /// As it was typed.
    pub(crate) shown: String,
    pub(crate) place: Place,
}

/// What is typed of a program.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) command: Placed<Vec<Placed<Scalar>>>,
    pub(crate) stdin: Option<Placed<Scalar>>,
    pub(crate) env: Option<Placed<Environ>>,
    pub(crate) cwd: Option<Placed<String>>,
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
}

/// Checks what is typed of a program whose output is understood in this way.
pub(crate) fn check(
    keys: Keys,
    output: Output,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Command, Wrong> {
    let Keys { command: written, stdin, env: variables, cwd, ok_exit } = keys;
    let Some((program, rest)) = written.value.split_first() else {
        let help = "name a program and its arguments: [wc, -w]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "command", help }));
    };
    let program = self::program(program, surroundings)?;
    let before = surroundings.seen.secrets_count();
    let arguments = rest
        .iter()
        .map(|argument| compiler.compile(typed(argument), known))
        .collect::<Result<_, _>>()?;
    let stdin = stdin.map(|stdin| compiler.compile(typed(&stdin), known)).transpose()?;
    let mut env = Vec::new();
    let (variables, inherit) =
        variables.map(|env| (env.value.variables, env.value.inherit)).unwrap_or_default();
    for (name, value) in variables {
        env.push((environ::name(name)?, compiler.compile(typed(&value), known)?));
    }
    let inherited = Inherited::check(inherit)?;
    let secrets = Secrets::given(surroundings.seen.secrets_since(before));
    let cwd = match &cwd {
        Some(cwd) => {
            let reason = "a caller must not choose the directory";
            let path = fixed_text(cwd, "cwd", reason, surroundings)?;
            Placed::new(cwd.place, surroundings.directory.join(path.value))
        }
        None => Placed::new(written.place, surroundings.directory.to_owned()),
    };
    let ok_exit = ok_exit.unwrap_or_else(|| Placed::new(written.place, vec![0]));
    if ok_exit.value.is_empty() {
        let help = "name the codes that are no failure, like [0, 1]";
        return Err(Wrong::new(ok_exit.place, Problem::EmptyList { key: "ok_exit", help }));
    }
    let ok_exit = ok_exit.value;
    Ok(Command { program, arguments, stdin, env, inherited, secrets, cwd, output, ok_exit })
}

impl Command {
    /// Every template of it.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let env = self.env.iter().map(|(_, value)| value);
        self.arguments.iter().chain(&self.stdin).chain(env)
    }
}

fn program(written: &Placed<Scalar>, surroundings: &Surroundings<'_>) -> Result<Program, Wrong> {
    let reason = "a caller must not choose the program";
    let filled = fixed_text(&typed(written), "command", reason, surroundings)?;
    if filled.value.is_empty() || filled.value.contains('\0') {
        return Err(Wrong::new(written.place, Problem::NoValue { key: "command".to_owned() }));
    }
    // A name is looked up in PATH; a path is one from the file's directory.
    let is_path = filled.value.contains('/');
    let path =
        if is_path { surroundings.directory.join(&filled.value) } else { filled.value.into() };
    Ok(Program { path, shown: written.value.0.clone(), place: written.place })
}
