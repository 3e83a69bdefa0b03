//! `haft prompt`: one prompt with its arguments filled in, as the model would be told.

use crate::args::{AskedArgs, AuthArgs, ReachArgs};
use crate::asked::Person;
use crate::commands::call::left_out;
use crate::commands::list::arguments;
use crate::exit::{Exit, Failure};
use crate::meter::Meter;
use crate::print::{DIM, Printer, one_line};
use crate::reach::{Reached, route, run as run_async, with_consent, with_server};
use haft_client::{Content, Prompt, PromptResult};
use haft_server::nearest;
use std::sync::Arc;

/// Fill in a prompt and show its messages
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft prompt [OPTIONS] <TARGET> <PROMPT> [KEY=VALUE]...
       haft prompt [OPTIONS] --command <COMMAND> <PROMPT> [KEY=VALUE]...")]
#[command(after_help = "Examples:
  haft prompt haft.yaml review language=Rust
  haft prompt --command 'npx -y some-server' review language=Rust --json")]
pub(crate) struct Args {
    /// A .yaml file, a URL or a known name, unless --command is given; then a prompt and its
    /// arguments
    #[arg(required = true, value_name = "TARGET, PROMPT, ARGUMENTS")]
    words: Vec<String>,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let (target, words) = match (&*args.words, &args.reach.command) {
        ([target, words @ ..], None) => (Some(target.as_str()), words),
        (words, _) => (None, words),
    };
    let [name, words @ ..] = words else {
        let hint = "haft prompt TARGET PROMPT key=value; `haft list TARGET` shows the prompts";
        return Err(Failure::usage("name the prompt to fill in").hint(hint));
    };
    let pairs = pairs(words)?;
    let mut route = route(target, &args.reach, printer)?;
    let meter = Arc::new(Meter::new(printer));
    with_consent(&mut route, &args.auth, &meter, printer)?;
    let person = Person::new(&args.asked, &route.name, printer, Arc::clone(&meter))?;
    route.options.answerer = Some(Arc::clone(&person) as _);
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let client = &reached.client;
        check(name, &pairs, &client.list_prompts().await?.entries)?;
        let mut listener = |notice| meter.show(&notice);
        let filling = client.get_prompt(name, &pairs, &mut listener);
        let result = meter.wait(&format!("filling in {name}"), filling).await;
        person.settle()?;
        show(&result?, printer)
    }))
}

fn pairs(words: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let message = format!("{word:?} is no argument; write key=value");
            return Err(Failure::new(Exit::InvalidArguments, message));
        };
        if pairs.iter().any(|(other, _)| *other == key) {
            let message = format!("`{key}` is given twice");
            return Err(Failure::new(Exit::InvalidArguments, message));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// What the server would refuse is not sent.
fn check(name: &str, pairs: &[(&str, &str)], prompts: &[Prompt]) -> Result<(), Failure> {
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        let failure = Failure::new(Exit::ToolFailed, format!("the server has no prompt `{name}`"));
        return Err(match nearest(name, prompts.iter().map(|prompt| prompt.name.as_str())) {
            Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
            None => failure.hint("`haft list` shows what it has"),
        });
    };
    let is_given = |name: &str| pairs.iter().any(|(key, _)| *key == name);
    let is_known = |key: &str| prompt.arguments.iter().any(|argument| argument.name == key);
    let missing = prompt.arguments.iter().find(|one| one.is_required && !is_given(&one.name));
    let unknown = pairs.iter().map(|(key, _)| *key).find(|key| !is_known(key));
    let message = match (missing, unknown) {
        (Some(missing), _) => format!("`{0}` is missing; give {0}=…", missing.name),
        (None, Some(key)) => format!("the prompt has no argument `{key}`"),
        (None, None) => return Ok(()),
    };
    let takes = match arguments(prompt) {
        takes if takes.is_empty() => "no arguments".to_owned(),
        takes => takes,
    };
    Err(Failure::new(Exit::InvalidArguments, message).hint(format!("{name} takes {takes}")))
}

fn show(result: &PromptResult, printer: Printer) -> Result<Exit, Failure> {
    if printer.is_json() {
        printer.document(result.raw.get())?;
        return Ok(Exit::Ok);
    }
    for message in &result.messages {
        printer.line(format_args!("{DIM}{}:{DIM:#}", one_line(&message.role)))?;
        for content in &message.content {
            match (content, left_out(content)) {
                (Content::Text(text) | Content::Resource { text: Some(text), .. }, _) => {
                    printer.text(text)?;
                }
                (_, Some(left_out)) => printer.line(format_args!("{DIM}[{left_out}]{DIM:#}"))?,
                _ => {}
            }
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn prompt() -> Prompt {
        let argument = |name: &str, is_required| haft_client::PromptArgument {
            name: name.to_owned(),
            title: None,
            description: None,
            is_required,
        };
        Prompt {
            name: "review".to_owned(),
            title: None,
            description: None,
            arguments: vec![argument("language", true), argument("tone", false)],
            raw: RawValue::NULL.to_owned(),
        }
    }

    #[test]
    fn what_the_server_would_refuse_is_not_sent() {
        let refused = |name: &str, pairs: &[(&str, &str)]| {
            check(name, pairs, &[prompt()]).map_err(|failure| failure.message)
        };
        assert_eq!(refused("review", &[("language", "Rust")]), Ok(()));
        let missing = "`language` is missing; give language=…".to_owned();
        assert_eq!(refused("review", &[]), Err(missing));
        let unknown = "the prompt has no argument `x`".to_owned();
        assert_eq!(refused("review", &[("language", ""), ("x", "")]), Err(unknown));
        assert_eq!(refused("revue", &[]), Err("the server has no prompt `revue`".to_owned()));
    }
}
