//! `haft check`: is a file right, what does each part of it cost the clients that list it, and what
//! in it is allowed but probably not meant. Asks `haft_manifest`; starts no tool.

use crate::exit::{Exit, Failure};
use crate::print::{DIM, NAME, Printer};
use crate::table::{Column, Table};
use anstyle::Style;
use haft_manifest::{Cost, Part, Warning};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Check a file, and show what each part of it costs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft check                    the haft.yaml of this directory
  haft check tools.yaml         another file
  haft check --strict           exit code 8 if there is a warning
  haft check --json             for a budget in CI: jq '.total.tokens < 2000'

BYTES are those of a definition in its list. TOKENS is an estimate, mostly within 10 %, of what it
takes of a model's context: tools always do, resources and prompts where the client shows them.")]
pub(crate) struct Args {
    /// The file
    #[arg(default_value = "haft.yaml")]
    file: PathBuf,
    /// Let warnings fail, with exit code 8
    #[arg(long)]
    strict: bool,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let manifest = haft_manifest::load(&args.file)?;
    // The last faults are those that only a whole server can find.
    manifest.verify()?;
    let (costs, warnings) = (manifest.costs(), manifest.warnings());
    let file = args.file.display().to_string();
    if printer.is_json() {
        let report = report(&file, manifest.name(), &costs, &warnings);
        printer.document(&report.to_string())?;
    } else {
        print_tables(manifest.name(), &costs, printer)?;
        for warning in &warnings {
            printer.warn(&format!("{file}:{warning}"));
        }
    }
    match warnings.len() {
        0 => Ok(Exit::Ok),
        _ if !args.strict => Ok(Exit::Ok),
        1 => Err(Failure::new(Exit::CheckFailed, "there is a warning, and --strict allows none")),
        count => {
            let message = format!("there are {count} warnings, and --strict allows none");
            Err(Failure::new(Exit::CheckFailed, message))
        }
    }
}

fn total<'c>(costs: impl IntoIterator<Item = &'c Cost>) -> (usize, usize) {
    let costs = costs.into_iter();
    costs.fold((0, 0), |(bytes, tokens), cost| (bytes + cost.bytes, tokens + cost.tokens))
}

fn of(part: Part, costs: &[Cost]) -> Vec<&Cost> {
    costs.iter().filter(|cost| cost.part == part).collect()
}

fn report(file: &str, server: &str, costs: &[Cost], warnings: &[Warning]) -> Value {
    let (bytes, tokens) = total(costs);
    let entry = |cost: &&Cost| {
        let name = if cost.part == Part::Resource { "uri" } else { "name" };
        json!({
            name: cost.name,
            "kind": cost.kind,
            "arguments": cost.arguments,
            "bytes": cost.bytes,
            "tokens": cost.tokens,
        })
    };
    let warning = |warning: &Warning| {
        json!({
            "line": warning.line,
            "column": warning.column,
            warning.part.noun(): warning.name,
            "message": warning.message,
        })
    };
    let mut report = json!({ "file": file, "server": server });
    let mut totals = json!({});
    for part in Part::ALL {
        let (key, costs) = (format!("{}s", part.noun()), of(part, costs));
        totals[&key] = json!(costs.len());
        report[&key] = costs.iter().map(entry).collect();
    }
    totals["bytes"] = json!(bytes);
    totals["tokens"] = json!(tokens);
    report["total"] = totals;
    report["warnings"] = warnings.iter().map(warning).collect();
    report
}

/// A table for each part that there is.
fn print_tables(server: &str, costs: &[Cost], printer: Printer) -> Result<(), Failure> {
    if costs.is_empty() {
        return printer.line(format_args!("{NAME}{server}{NAME:#} has no tools."));
    }
    let parts = Part::ALL.map(|part| (part, of(part, costs)));
    let parts = parts.into_iter().filter(|(_, costs)| !costs.is_empty());
    for (index, (part, costs)) in parts.enumerate() {
        if index > 0 {
            printer.line(format_args!(""))?;
        }
        print_table(part, &costs, printer)?;
    }
    Ok(())
}

fn print_table(part: Part, costs: &[&Cost], printer: Printer) -> Result<(), Failure> {
    let heading = match part {
        Part::Tool => "TOOL",
        Part::Resource => "RESOURCE",
        Part::Prompt => "PROMPT",
        Part::Upstream => "UPSTREAM",
        Part::File => "FILE",
    };
    let mut table = Table::new([
        Column { heading, style: NAME, share_max: 35 },
        Column { heading: "KIND", style: DIM, share_max: 15 },
        Column { heading: "BYTES", style: Style::new(), share_max: 15 },
        Column { heading: "TOKENS", style: Style::new(), share_max: 15 },
        Column { heading: "ARGUMENTS", style: Style::new(), share_max: 100 },
    ]);
    for cost in costs {
        table.row([
            cost.name.clone(),
            cost.kind.to_owned(),
            cost.bytes.to_string(),
            cost.tokens.to_string(),
            cost.arguments.join(" "),
        ]);
    }
    let (bytes, tokens) = total(costs.iter().copied());
    let noun = part.noun();
    let count = match costs.len() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    table.row([count, String::new(), bytes.to_string(), tokens.to_string(), String::new()]);
    printer.table(&table)
}
