//! `haft list`: the tools of a server, as a table or as the server's own JSON.

use crate::args::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::meter::wait;
use crate::print::{DIM, NAME, Printer};
use crate::reach::{Reached, route, run as run_async, with_server};
use crate::signature::signature;
use crate::table::{Column, Table};
use anstyle::Style;
use haft_client::{Tool, ToolList};
use serde_json::json;

/// List the tools of a server
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft list haft.yaml                          the tools of a file
  haft list http://127.0.0.1:7300/mcp          the tools of a running server
  haft list --command 'npx -y some-server'     the tools of a program that speaks MCP
  haft list URL -H 'Authorization: Bearer …'   with credentials
  haft list haft.yaml --json | jq '.tools[].name'")]
pub(crate) struct Args {
    /// A .yaml, .yml or .json file, or a URL
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    target: Option<String>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let route = route(args.target.as_deref(), &args.reach, printer)?;
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let list = wait(printer, "listing tools", reached.client.list_tools()).await?;
        warn_of_dropped(&list, printer);
        if printer.is_json() {
            print_json(reached, &list, printer)?;
        } else {
            print_table(&list, printer)?;
        }
        Ok(Exit::Ok)
    }))
}

/// Says which tools a client must not offer.
pub(crate) fn warn_of_dropped(list: &ToolList, printer: Printer) {
    for tool in &list.dropped {
        printer.warn(&format!("the tool `{}` is left out: {}", tool.name, tool.reason));
    }
}

fn print_table(list: &ToolList, printer: Printer) -> Result<(), Failure> {
    if list.tools.is_empty() {
        printer.note(format_args!("The server has no tools."));
        return Ok(());
    }
    let mut table = Table::new([
        Column { heading: "TOOL", style: NAME, share_max: 35 },
        Column { heading: "ARGUMENTS", style: Style::new(), share_max: 35 },
        Column { heading: "DESCRIPTION", style: DIM, share_max: 100 },
    ]);
    for tool in &list.tools {
        table.row([&tool.name, &signature(&tool.input_schema), summary(tool)]);
    }
    printer.table(&table)
}

/// The first line of what a tool says of itself.
fn summary(tool: &Tool) -> &str {
    let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    text.trim_start().lines().next().unwrap_or_default()
}

/// The tools go out byte for byte as they came in.
fn print_json(reached: &Reached, list: &ToolList, printer: Printer) -> Result<(), Failure> {
    let handshake = reached.client.handshake();
    let server = json!(handshake.server);
    let version = json!(handshake.revision.as_str());
    let tools: Vec<&str> = list.tools.iter().map(|tool| tool.raw.get()).collect();
    let tools = tools.join(",");
    printer.document(&format!(
        r#"{{"server":{server},"protocolVersion":{version},"tools":[{tools}]}}"#
    ))
}
