//! `haft call`: one call of one tool, with arguments typed by its schema.

use crate::args::{AskedArgs, AuthArgs, ReachArgs};
use crate::arguments::{Typed, build};
use crate::asked::Person;
use crate::exit::{Exit, Failure};
use crate::inventory::within;
use crate::meter::Meter;
use crate::print::{DIM, Printer, bytes, one_line};
use crate::reach::{Reached, route, run as run_async, with_consent, with_server};
use crate::signature::signature;
use haft_client::{CallResult, Content, Tool, ToolList};
use haft_server::nearest;
use haft_server::schema::Schema;
use serde_json::value::RawValue;
use std::io::{self, Read};
use std::sync::Arc;

/// Call a tool
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft call [OPTIONS] <TARGET> <TOOL> [ARGUMENTS]...
       haft call [OPTIONS] --command <COMMAND> <TOOL> [ARGUMENTS]...")]
#[command(after_help = "Arguments:
  key=value       typed by the tool's schema: text, 5, 1.5, true
  key=a key=b     a list, one item each; key='[1, 2]' as JSON
  key.sub=value   inside an object; key='{\"sub\": 1}' as JSON
  key=@file       the content of a file; key=@- reads stdin
  key==value      the same as key=value, but an @ is only an @
  '{\"key\": 1}'    all of them as one JSON object, passed on as it is

Examples:
  haft call haft.yaml word_count text='one two three'
  haft call http://127.0.0.1:7300/mcp forecast city=Oslo days=3
  haft call haft.yaml word_count text=@- < README.md
  haft call haft.yaml book city=Oslo --answer confirm=true
  haft call --command 'npx -y some-server' echo '{\"message\": \"hi\"}' --json")]
pub(crate) struct Args {
    /// A .yaml file, a URL or a known name, unless --command is given; then a tool and its
    /// arguments
    #[arg(required = true, value_name = "TARGET, TOOL, ARGUMENTS")]
    words: Vec<String>,
    /// The arguments as a JSON object; @file reads a file, - reads stdin
    #[arg(long, value_name = "JSON")]
    input_json: Option<String>,
    /// Ask for log messages from this level up, and show them on stderr
    #[arg(long, value_name = "LEVEL", value_parser = LOG_LEVELS)]
    log_level: Option<String>,
    /// Let the server turn the call into a task, and wait for that
    #[arg(long)]
    tasks: bool,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// The severities of log messages (Logging, "Log Levels").
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/// The level that a modern server is asked for if none is typed.
const LOG_LEVEL_DEFAULT: &str = "info";
/// The most that is read from a file or stdin.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let has_target = args.reach.command.is_none();
    let (target, words) = match (&*args.words, has_target) {
        ([target, words @ ..], true) => (Some(target.as_str()), words),
        (words, _) => (None, words),
    };
    let [tool, words @ ..] = words else {
        let example = "haft call TARGET TOOL key=value; `haft list TARGET` shows the tools";
        return Err(Failure::usage("name the tool to call").hint(example));
    };
    let mut route = route(target, &args.reach, printer)?;
    let level = args.log_level.as_deref().unwrap_or(LOG_LEVEL_DEFAULT);
    route.options.log_level = Some(level.to_owned());
    route.options.tasks = args.tasks;
    let meter = Arc::new(Meter::new(printer));
    with_consent(&mut route, &args.auth, &meter, printer)?;
    let person = Person::new(&args.asked, &route.name, printer, Arc::clone(&meter))?;
    route.options.answerer = Some(Arc::clone(&person) as _);
    let json = args.input_json.as_deref().map(read_json).transpose()?;
    let typed = Typed { words, json: json.as_deref() };
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let client = &reached.client;
        let list = within(route.options.timeout, client.list_tools()).await?;
        let unlisted;
        // The server has the last word on which tools it has.
        let (tool, missing) = match find(tool, &list) {
            Ok(tool) => (tool, None),
            Err(missing) => {
                unlisted = Tool::unlisted(tool);
                (&unlisted, Some(route.outages.explain(missing)))
            }
        };
        let arguments = fitting_arguments(typed, tool)?;
        if let Some(level) = &args.log_level {
            client.set_log_level(level).await?;
        }
        let result = call(reached, tool, &arguments, &meter).await;
        person.settle()?;
        // What it says of a tool that it does not know says less than its list.
        let is_refused =
            |failure: &Failure| matches!(failure.exit, Exit::ToolFailed | Exit::InvalidArguments);
        let result = match (result, missing) {
            (Err(failure), Some(missing)) if is_refused(&failure) => Err(missing),
            (result, _) => result,
        };
        show(&result?, tool, printer)
    }))
}

async fn call(
    reached: &Reached,
    tool: &Tool,
    arguments: &RawValue,
    meter: &Meter,
) -> Result<CallResult, Failure> {
    let mut listener = |notice| meter.show(&notice);
    let calling = reached.client.call_tool(&tool.name, arguments, &mut listener);
    Ok(meter.wait(&format!("calling {}", tool.name), calling).await?)
}

/// The tool of this name.
pub(crate) fn find<'a>(name: &str, list: &'a ToolList) -> Result<&'a Tool, Failure> {
    if let Some(tool) = list.tools.iter().find(|tool| tool.name == name) {
        return Ok(tool);
    }
    if let Some(tool) = list.dropped.iter().find(|tool| tool.name == name) {
        let message = format!("the tool `{name}` cannot be called: {}", tool.reason);
        return Err(Failure::new(Exit::ToolFailed, message));
    }
    let failure = Failure::new(Exit::ToolFailed, format!("the server has no tool `{name}`"));
    let names: Vec<&str> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
    Err(match nearest(name, names.iter().copied()) {
        Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
        None if names.is_empty() => failure.hint("it has no tools at all"),
        None if names.len() <= 10 => failure.hint(format!("it has {}", names.join(", "))),
        None => failure.hint(format!("`haft list` shows its {} tools", names.len())),
    })
}

/// Arguments that fit the tool's schema: what the server would refuse is not sent. A schema that
/// cannot be used is the server's business.
pub(crate) fn fitting_arguments(typed: Typed<'_>, tool: &Tool) -> Result<Box<RawValue>, Failure> {
    let arguments = read_arguments(typed, tool)?;
    let Ok(schema) = Schema::compile(&tool.input_schema.to_string()) else { return Ok(arguments) };
    schema.check(arguments.get()).map_err(|violations| {
        let list: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let message = format!("invalid arguments for `{}`: {}", tool.name, list.join("; "));
        Failure::new(Exit::InvalidArguments, message)
    })?;
    Ok(arguments)
}

fn read_arguments(typed: Typed<'_>, tool: &Tool) -> Result<Box<RawValue>, Failure> {
    build(typed, &tool.input_schema, &mut read_file).map_err(|mistake| {
        let failure = Failure::new(Exit::InvalidArguments, mistake.to_string());
        match signature(&tool.input_schema) {
            takes if takes.is_empty() => failure.hint(format!("{} takes no arguments", tool.name)),
            takes => failure.hint(format!("{} takes {takes}", tool.name)),
        }
    })
}

fn read_json(text: &str) -> Result<String, Failure> {
    let name = if text == "-" { "-" } else { text.strip_prefix('@').unwrap_or_default() };
    if name.is_empty() {
        return Ok(text.to_owned());
    }
    read_file(name).map_err(|error| {
        Failure::new(Exit::InvalidArguments, format!("cannot read {name:?}: {error}"))
    })
}

fn read_file(name: &str) -> io::Result<String> {
    let mut text = String::new();
    let read = |from: &mut dyn Read, text: &mut String| {
        from.take(INPUT_BYTES_MAX + 1).read_to_string(text)
    };
    let count = match name {
        "-" => read(&mut io::stdin().lock(), &mut text)?,
        name => read(&mut std::fs::File::open(name)?, &mut text)?,
    };
    if count as u64 > INPUT_BYTES_MAX {
        return Err(io::Error::other(format!("it is larger than {INPUT_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Prints what the tool answered. A failure's text goes to stderr, as a failure.
fn show(result: &CallResult, tool: &Tool, printer: Printer) -> Result<Exit, Failure> {
    let text = text_of(result);
    if printer.is_json() {
        printer.document(result.raw.get())?;
    } else if !result.is_error {
        print(result, text.as_deref(), printer)?;
    }
    if !result.is_error {
        return Ok(Exit::Ok);
    }
    let text = text.unwrap_or_else(|| format!("the tool `{}` failed without a word", tool.name));
    Err(Failure::new(Exit::ToolFailed, text))
}

fn print(result: &CallResult, text: Option<&str>, printer: Printer) -> Result<(), Failure> {
    if let Some(text) = text {
        printer.text(text)?;
    }
    for left_out in result.content.iter().filter_map(left_out) {
        printer.note(format_args!("{DIM}[{left_out}; --json shows it]{DIM:#}"));
    }
    Ok(())
}

/// What is not printed of an answer, in a few words.
pub(crate) fn left_out(content: &Content) -> Option<String> {
    let left_out = match content {
        Content::Media { kind, mime_type, base64_bytes } => {
            format!("{kind} {mime_type}, {}", bytes(base64_bytes / 4 * 3))
        }
        Content::Other { kind } => format!("content of type {kind:?}"),
        Content::Resource { uri, text: None } => format!("resource {uri}"),
        Content::Resource { .. } | Content::Text(_) => return None,
    };
    Some(one_line(&left_out))
}

/// All text of an answer; what programs read, if there is nothing else.
fn text_of(result: &CallResult) -> Option<String> {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|content| match content {
            Content::Text(text) | Content::Resource { text: Some(text), .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if texts.is_empty() && result.content.is_empty() {
        return result.structured.as_ref().map(|structured| structured.get().to_owned());
    }
    (!texts.is_empty()).then(|| texts.join("\n"))
}
