//! One tool, from as typed to as run: which keys go together, what they may be, and every template
//! compiled. Called by `meant` for each tool in turn; runs nothing.

use crate::amount;
use crate::command::{Command, Program};
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::input::{Input, check_schema};
use crate::limits::{OUTPUT_BYTES, OUTPUT_BYTES_MAX, RUNNING_MAX, TIMEOUT_MAX};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::shown;
use crate::tags;
use crate::template::{Compiler, Template};
use crate::tree::Tree;
use crate::written::{self, Output, OutputOptions, Parse, Scalar};
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::tool::{Annotations, is_valid_name};
use std::time::Duration;

/// A tool, checked.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: Placed<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<Placed<String>>,
    pub(crate) annotations: Annotations,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) input: Input,
    pub(crate) output_schema: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) run: Run,
}

/// What a tool does.
#[derive(Clone, Debug)]
pub(crate) enum Run {
    /// It runs a program.
    Command(Box<Command>),
    /// It answers with a text.
    Text(Template),
}

/// What lines of output fit.
const LINES_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}}},"#,
    r#""required":["lines"],"additionalProperties":false}"#
);

/// Checks a tool. `tree` is the same tool in the file.
pub(crate) fn check(
    tool: written::Tool,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Tool, Wrong> {
    if !is_valid_name(&tool.name.value) {
        let problem = Problem::BadToolName { name: tool.name.value };
        return Err(Wrong::new(tool.name.place, problem));
    }
    check_keys(&tool, tree)?;
    let filled = |text: &Placed<String>| {
        surroundings.fill(text).map(|filled| Placed::new(text.place, filled.value))
    };
    let input = match (tree.get("input"), tree.get("input_schema")) {
        (Some(short), _) => Input::short(short)?,
        (None, Some(long)) => Input::long(long)?,
        (None, None) => Input::none(tool.name.place),
    };
    let output_schema = match tree.get("output_schema") {
        Some(schema) => Some(check_schema("output_schema", schema)?.to_string()),
        None if parse_of(&tool) == Parse::Lines => Some(LINES_SCHEMA.to_owned()),
        None => None,
    };
    let timeout = tool.timeout.as_ref().map(|text| timeout(text, surroundings)).transpose()?;
    let title = tool.title.as_ref().map(filled).transpose()?.map(|title| title.value);
    let description = tool.description.as_ref().map(filled).transpose()?;
    let (icons, meta) =
        (shown::icons(&tool.icons, surroundings)?, shown::meta(tree, surroundings)?);
    let written::Annotations { read_only, destructive, idempotent, open_world } = tool.annotations;
    let name = tool.name.clone();
    let run = match &tool.text {
        Some(text) => Run::Text(compiler.compile(typed(text), input.known())?),
        None => Run::Command(Box::new(command(tool, &input, surroundings, compiler)?)),
    };
    Ok(Tool {
        name,
        title,
        description,
        annotations: Annotations { read_only, destructive, idempotent, open_world },
        icons,
        meta,
        input,
        output_schema,
        timeout,
        run,
    })
}

/// Which keys exclude or need each other.
fn check_keys(tool: &written::Tool, tree: &Tree) -> Result<(), Wrong> {
    let place_of = |key: &str| tree.entry(key).map(|entry| entry.key_place);
    for (key, other) in [("text", "command"), ("input_schema", "input")] {
        if let (Some(place), Some(_)) = (place_of(key), place_of(other)) {
            return Err(Wrong::new(place, Problem::TwoOfOne { key, other }));
        }
    }
    if tool.command.is_none() && tool.text.is_none() {
        let what = format!("the tool `{}` does nothing", tool.name.value);
        let help = "give it a `command` to run or a `text` to answer";
        let problem = Problem::KindMissing { what, help };
        return Err(Wrong::new(tool.name.place, problem));
    }
    const OF_COMMANDS: [&str; 8] =
        ["stdin", "env", "cwd", "output", "output_schema", "ok_exit", "timeout", "concurrency"];
    for key in OF_COMMANDS {
        if let Some(place) = place_of(key).filter(|_| tool.command.is_none()) {
            return Err(Wrong::new(place, belongs_to(key, "command")));
        }
    }
    match place_of("output_schema") {
        Some(place) if parse_of(tool) != Parse::Json => {
            Err(Wrong::new(place, belongs_to("output_schema", "output: json")))
        }
        _ => Ok(()),
    }
}

fn belongs_to(key: &'static str, other: &'static str) -> Problem {
    Problem::KeyBelongsTo { key, owners: "tools", other }
}

fn command(
    tool: written::Tool,
    input: &Input,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Command, Wrong> {
    let known = input.known();
    let written = tool.command.expect("a tool without a text has a command");
    let Some((program, rest)) = written.value.split_first() else {
        let help = "name a program and its arguments: [wc, -w]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "command", help }));
    };
    let program = self::program(program, surroundings)?;
    let arguments = rest
        .iter()
        .map(|argument| compiler.compile(typed(argument), known))
        .collect::<Result<_, _>>()?;
    let stdin = tool.stdin.map(|stdin| compiler.compile(typed(&stdin), known)).transpose()?;
    let mut env = Vec::new();
    for (name, value) in tool.env.map(|env| env.value.0).unwrap_or_default() {
        if name.value.is_empty() || name.value.contains(['=', '\0']) {
            return Err(Wrong::new(name.place, Problem::BadEnvName { name: name.value }));
        }
        env.push((name.value, compiler.compile(typed(&value), known)?));
    }
    let cwd = match &tool.cwd {
        Some(cwd) => {
            let reason = "a caller must not choose the directory";
            let path = fixed_text(cwd, "cwd", reason, surroundings)?;
            Placed::new(cwd.place, surroundings.directory.join(path.value))
        }
        None => Placed::new(written.place, surroundings.directory.to_owned()),
    };
    let ok_exit = tool.ok_exit.unwrap_or_else(|| Placed::new(written.place, vec![0]));
    if ok_exit.value.is_empty() {
        let help = "name the codes that are no failure, like [0, 1]";
        return Err(Wrong::new(ok_exit.place, Problem::EmptyList { key: "ok_exit", help }));
    }
    let (parse, limit) = output(tool.output, surroundings)?;
    let concurrency = tool.concurrency.map(|number| concurrency(&number)).transpose()?;
    let ok_exit = ok_exit.value;
    Ok(Command { program, arguments, stdin, env, cwd, parse, limit, ok_exit, concurrency })
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

/// A text that is the same for all calls.
pub(crate) fn fixed_text(
    text: &Placed<String>,
    key: &'static str,
    reason: &'static str,
    surroundings: &Surroundings<'_>,
) -> Result<Placed<String>, Wrong> {
    if tags::has_any(&text.value) {
        return Err(Wrong::new(text.place, Problem::FixedText { key, reason }));
    }
    Ok(Placed::new(text.place, surroundings.fill(text)?.value))
}

fn timeout(text: &Placed<Scalar>, surroundings: &Surroundings<'_>) -> Result<Duration, Wrong> {
    let filled = surroundings.fill(&typed(text))?;
    let Some(timeout) = amount::duration(&filled.value) else {
        let problem = Problem::BadDuration { key: "timeout", shown: filled.shown };
        return Err(Wrong::new(text.place, problem));
    };
    if timeout.is_zero() || timeout > TIMEOUT_MAX {
        return Err(out_of_range("timeout", "longer than nothing and at most 24h", text.place));
    }
    Ok(timeout)
}

fn output(
    written: Option<Placed<Output>>,
    surroundings: &Surroundings<'_>,
) -> Result<(Parse, usize), Wrong> {
    let (parse, limit) = match written.map(|output| output.value) {
        None => (Parse::Text, None),
        Some(Output::Word(parse)) => (parse, None),
        Some(Output::Detailed(OutputOptions { parse, limit })) => (parse, limit),
    };
    let limit = limit.map(|text| self::limit(&text, OUTPUT_BYTES_MAX, surroundings)).transpose()?;
    Ok((parse, limit.unwrap_or(OUTPUT_BYTES)))
}

/// A number of bytes, from one to a maximum.
pub(crate) fn limit(
    text: &Placed<Scalar>,
    max: usize,
    surroundings: &Surroundings<'_>,
) -> Result<usize, Wrong> {
    let filled = surroundings.fill(&typed(text))?;
    let Some(limit) = amount::size(&filled.value) else {
        let problem = Problem::BadSize { key: "limit", shown: filled.shown };
        return Err(Wrong::new(text.place, problem));
    };
    if limit == 0 || limit > max {
        let allowed = format!("more than nothing and at most {max} bytes");
        return Err(out_of_range("limit", &allowed, text.place));
    }
    Ok(limit)
}

fn concurrency(written: &Placed<u32>) -> Result<usize, Wrong> {
    let number = written.value as usize;
    if (1..=RUNNING_MAX).contains(&number) {
        return Ok(number);
    }
    Err(out_of_range("concurrency", &format!("from 1 to {RUNNING_MAX}"), written.place))
}

fn parse_of(tool: &written::Tool) -> Parse {
    match tool.output.as_ref().map(|output| &output.value) {
        None => Parse::Text,
        Some(Output::Word(parse)) => *parse,
        Some(Output::Detailed(options)) => options.parse,
    }
}

pub(crate) fn out_of_range(key: &'static str, allowed: &str, place: Place) -> Wrong {
    Wrong::new(place, Problem::OutOfRange { key, allowed: allowed.to_owned() })
}

pub(crate) fn typed(scalar: &Placed<Scalar>) -> Placed<String> {
    Placed::new(scalar.place, scalar.value.0.clone())
}
