//! The page on verbs and options, from the parser of the command line.

use super::{page as titled, table};
use crate::args::Cli;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write;

pub(super) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = titled(
        "Commands",
        "Every verb, with everything that may stand behind it. `haft help VERB` prints the same. A \
         TARGET is a file, a URL, or the name of a server in an editor's file.",
    );
    text.push_str("\n## Everywhere\n\n");
    let global = root.get_arguments().filter(|argument| argument.is_global_set());
    arguments(&mut text, global);
    let verbs = root.get_subcommands().filter(|verb| is_shown(verb)).cloned();
    for verb in verbs.collect::<Vec<_>>() {
        section(&mut text, "##", "haft", verb);
    }
    text
}

fn is_shown(verb: &Command) -> bool {
    !verb.is_hide_set() && verb.get_name() != "help"
}

fn section(text: &mut String, mark: &str, above: &str, mut verb: Command) {
    let name = format!("{above} {}", verb.get_name());
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    _ = write!(text, "\n{mark} {name}\n\n{about}.\n\n");
    let usage = verb.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim);
    _ = write!(text, "```text\n{}\n```\n\n", usage.collect::<Vec<_>>().join("\n"));
    let own = verb.get_arguments().filter(|argument| !argument.is_global_set());
    arguments(text, own);
    if let Some(after) = verb.get_after_help() {
        _ = write!(text, "\n```text\n{}\n```\n", after.to_string().trim_end());
    }
    let inner = verb.get_subcommands().filter(|verb| is_shown(verb)).cloned();
    for inner in inner.collect::<Vec<_>>() {
        section(text, &format!("{mark}#"), &name, inner);
    }
}

fn arguments<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let is_shown = |argument: &&Arg| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let rows: Vec<Vec<String>> = arguments.filter(is_shown).map(row).collect();
    if !rows.is_empty() {
        table(text, &["option", "default", "what"], &rows);
    }
}

fn row(argument: &Arg) -> Vec<String> {
    let takes = argument.get_action().takes_values();
    let value = argument.get_value_names().filter(|_| takes).map(|names| names.join(" "));
    let value = value.unwrap_or_default();
    let mut name = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => String::new(),
    };
    if takes {
        name = format!("{name} {value}").trim().to_owned();
    }
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults: Vec<_> = defaults.map(|value| format!("`{value}`")).collect();
    let defaults = if takes { defaults.join(" ") } else { String::new() };
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| takes)
        .map(|choice| match choice.get_help() {
            Some(help) => format!("`{}` ({help})", choice.get_name()),
            None => format!("`{}`", choice.get_name()),
        })
        .collect();
    if !choices.is_empty() {
        help = format!("{help}: {}", choices.join(", "));
    }
    vec![format!("`{name}`"), defaults, help]
}
