//! `haft list`: what a server offers, as tables or as the server's own JSON.

use crate::args::{AuthArgs, ReachArgs};
use crate::exit::{Exit, Failure};
use crate::inventory::Inventory;
use crate::meter::Meter;
use crate::print::{DIM, NAME, Printer};
use crate::reach::{Reached, route, run as run_async, with_consent, with_server};
use crate::signature::signature;
use crate::table::{Column, Table};
use anstyle::Style;
use haft_client::Prompt;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;

/// List the tools, resources and prompts of a server
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft list [OPTIONS] [TARGET]
       haft list [OPTIONS] --command <COMMAND>")]
#[command(after_help = "Examples:
  haft list haft.yaml                          what a file offers
  haft list http://127.0.0.1:7300/mcp          what a running server offers
  haft list --command 'npx -y some-server'     what a program that speaks MCP offers
  haft list URL -H 'Authorization: Bearer …'   with credentials
  haft list haft.yaml --json | jq '.tools[].name'")]
pub(crate) struct Args {
    /// A .yaml file, a URL, or a name that `haft discover` shows; without one, the haft.yaml of
    /// this directory
    #[arg(conflicts_with = "command")]
    target: Option<String>,
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let mut route = route(args.target.as_deref(), &args.reach, printer)?;
    let meter = Arc::new(Meter::new(printer));
    with_consent(&mut route, &args.auth, &meter, printer)?;
    let most = route.options.timeout;
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let offered =
            meter.wait("listing", Inventory::take(&reached.client, most, printer)).await?;
        offered.warn_of_dropped(printer);
        if printer.is_json() {
            print_json(reached, &offered, printer)?;
        } else {
            print_tables(&offered, printer)?;
        }
        Ok(Exit::Ok)
    }))
}

/// A table for each kind of which there is something.
fn print_tables(offered: &Inventory, printer: Printer) -> Result<(), Failure> {
    let tables = [tools(offered), resources(offered), templates(offered), prompts(offered)];
    let mut is_first = true;
    for table in tables.iter().filter(|table| !table.is_empty()) {
        if !std::mem::take(&mut is_first) {
            printer.line(format_args!(""))?;
        }
        printer.table(table)?;
    }
    if is_first {
        printer.note(format_args!("The server has no tools, resources or prompts."));
    }
    Ok(())
}

fn tools(offered: &Inventory) -> Table {
    let mut table = table(["TOOL", "ARGUMENTS"]);
    for tool in &offered.tools.tools {
        let summary = first_line(&[&tool.description, &tool.title]);
        table.row([&tool.name, &signature(&tool.input_schema), summary]);
    }
    table
}

fn resources(offered: &Inventory) -> Table {
    let mut table = table(["RESOURCE", "TYPE"]);
    for resource in &offered.resources.entries {
        let name = Some(resource.name.clone());
        let summary = first_line(&[&resource.description, &resource.title, &name]);
        table.row([&resource.uri, resource.mime_type.as_deref().unwrap_or_default(), summary]);
    }
    table
}

fn templates(offered: &Inventory) -> Table {
    let mut table = table(["TEMPLATE", "TYPE"]);
    for template in &offered.templates.entries {
        let name = Some(template.name.clone());
        let summary = first_line(&[&template.description, &template.title, &name]);
        let kind = template.mime_type.as_deref().unwrap_or_default();
        table.row([&template.uri_template, kind, summary]);
    }
    table
}

fn prompts(offered: &Inventory) -> Table {
    let mut table = table(["PROMPT", "ARGUMENTS"]);
    for prompt in &offered.prompts.entries {
        let summary = first_line(&[&prompt.description, &prompt.title]);
        table.row([&prompt.name, &arguments(prompt), summary]);
    }
    table
}

/// A prompt's arguments in a line, as those of a tool; all of them are text.
pub(crate) fn arguments(prompt: &Prompt) -> String {
    let argument = |argument: &haft_client::PromptArgument| {
        let mark = if argument.is_required { "" } else { "?" };
        format!("{}{mark}", argument.name)
    };
    prompt.arguments.iter().map(argument).collect::<Vec<_>>().join(", ")
}

fn table([first, second]: [&'static str; 2]) -> Table {
    Table::new([
        Column { heading: first, style: NAME, share_max: 35 },
        Column { heading: second, style: Style::new(), share_max: 35 },
        Column { heading: "DESCRIPTION", style: DIM, share_max: 100 },
    ])
}

/// The first line of the first text that is there.
fn first_line<'a>(texts: &[&'a Option<String>]) -> &'a str {
    let text = texts.iter().find_map(|text| text.as_deref()).unwrap_or_default();
    text.trim_start().lines().next().unwrap_or_default()
}

/// Everything goes out byte for byte as it came in.
fn print_json(reached: &Reached, offered: &Inventory, printer: Printer) -> Result<(), Failure> {
    let handshake = reached.client.handshake();
    let server = json!(handshake.server);
    let version = json!(handshake.revision.as_str());
    let tools = array(offered.tools.tools.iter().map(|tool| &tool.raw));
    let resources = array(offered.resources.entries.iter().map(|resource| &resource.raw));
    let templates = array(offered.templates.entries.iter().map(|template| &template.raw));
    let prompts = array(offered.prompts.entries.iter().map(|prompt| &prompt.raw));
    let lists = format!(r#""resources":{resources},"resourceTemplates":{templates}"#);
    let about = format!(r#""server":{server},"protocolVersion":{version}"#);
    printer.document(&format!(r#"{{{about},"tools":{tools},{lists},"prompts":{prompts}}}"#))
}

fn array<'a>(items: impl Iterator<Item = &'a Box<RawValue>>) -> String {
    format!("[{}]", items.map(|item| item.get()).collect::<Vec<_>>().join(","))
}
