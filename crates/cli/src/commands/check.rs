//! `haft check`: is a file right, what does each of its tools cost the clients that list it, and
//! what in it is allowed but probably not meant. Asks `haft_manifest`; starts no tool.

use crate::exit::{Exit, Failure};
use crate::print::{DIM, NAME, Printer};
use crate::table::{Column, Table};
use anstyle::Style;
use haft_manifest::{Cost, Warning};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Check a file, and show what each of its tools costs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft check                    the haft.yaml of this directory
  haft check tools.yaml         another file
  haft check --strict           exit code 8 if there is a warning
  haft check --json             for a budget in CI: jq '.total.tokens < 2000'

TOKENS is an estimate of what a tool's definition takes of a model's context, mostly within 10 %.")]
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
    manifest.server()?;
    let (costs, warnings) = (manifest.costs(), manifest.warnings());
    let file = args.file.display().to_string();
    if printer.is_json() {
        let report = report(&file, manifest.name(), &costs, &warnings);
        printer.document(&report.to_string())?;
    } else {
        print_table(manifest.name(), &costs, printer)?;
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

fn total(costs: &[Cost]) -> (usize, usize) {
    costs.iter().fold((0, 0), |(bytes, tokens), cost| (bytes + cost.bytes, tokens + cost.tokens))
}

fn report(file: &str, server: &str, costs: &[Cost], warnings: &[Warning]) -> Value {
    let (bytes, tokens) = total(costs);
    let tool = |cost: &Cost| {
        json!({
            "name": cost.tool,
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
            "tool": warning.tool,
            "message": warning.message,
        })
    };
    json!({
        "file": file,
        "server": server,
        "tools": costs.iter().map(tool).collect::<Value>(),
        "total": { "tools": costs.len(), "bytes": bytes, "tokens": tokens },
        "warnings": warnings.iter().map(warning).collect::<Value>(),
    })
}

fn print_table(server: &str, costs: &[Cost], printer: Printer) -> Result<(), Failure> {
    if costs.is_empty() {
        return printer.line(format_args!("{NAME}{server}{NAME:#} has no tools."));
    }
    let mut table = Table::new([
        Column { heading: "TOOL", style: NAME, share_max: 35 },
        Column { heading: "KIND", style: DIM, share_max: 15 },
        Column { heading: "BYTES", style: Style::new(), share_max: 15 },
        Column { heading: "TOKENS", style: Style::new(), share_max: 15 },
        Column { heading: "ARGUMENTS", style: Style::new(), share_max: 100 },
    ]);
    for cost in costs {
        table.row([
            cost.tool.clone(),
            cost.kind.to_owned(),
            cost.bytes.to_string(),
            cost.tokens.to_string(),
            cost.arguments.join(" "),
        ]);
    }
    let (bytes, tokens) = total(costs);
    let count = match costs.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    table.row([count, String::new(), bytes.to_string(), tokens.to_string(), String::new()]);
    printer.table(&table)
}
