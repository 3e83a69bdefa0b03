//! `haft discover`: the servers that the editors and desktops of this machine know, and in which
//! files. Starts none of them.

use crate::exit::{Exit, Failure};
use crate::named::{shown, surroundings};
use crate::print::{DIM, NAME, Printer};
use crate::table::{Column, Table};
use anstyle::Style;
use haft_editors::{
    Discovery, Fault, Found, HOSTS, Host, How, discover, discover_file, host, shown_args,
};
use serde_json::{Value, json};
use std::path::Path;

/// Find the servers that editors on this machine know
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every name in the list is a target: haft list NAME, or HOST:NAME or FILE:NAME \
where there are two of one name.

Examples:
  haft discover                        what all editors know
  haft discover --source cursor        what one of them knows
  haft discover --source .mcp.json     what is in a file
  haft discover --json | jq -r '.servers[].name'"
)]
pub(crate) struct Args {
    /// Look into this editor or file only
    #[arg(long, value_name = "HOST")]
    source: Option<String>,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let surroundings = surroundings()?;
    let discovery = match &args.source {
        None => discover(&surroundings, None),
        Some(source) => match host_or_file(source)? {
            Source::Host(host) => discover(&surroundings, Some(host)),
            Source::File => {
                let path = std::path::absolute(source)?;
                discover_file(&path, &surroundings)
            }
        },
    };
    if printer.is_json() {
        printer.document(&report(&discovery).to_string())?;
        return Ok(Exit::Ok);
    }
    if discovery.found.is_empty() {
        printer.note(format_args!("No servers were found. `haft install` adds one."));
    } else {
        printer.table(&table(&discovery))?;
    }
    for fault in &discovery.faults {
        printer.warn(&format!("{}: {}", shown(&fault.file), fault.mistake));
    }
    Ok(Exit::Ok)
}

/// Where servers are looked for.
pub(super) enum Source {
    Host(&'static Host),
    File,
}

pub(super) fn host_or_file(source: &str) -> Result<Source, Failure> {
    match known_host(source) {
        Ok(host) => Ok(Source::Host(host)),
        Err(_) if Path::new(source).is_file() => Ok(Source::File),
        Err(failure) => Err(failure),
    }
}

/// The host of this name, or the one that is probably meant.
pub(super) fn known_host(name: &str) -> Result<&'static Host, Failure> {
    host(name).ok_or_else(|| {
        let names =
            HOSTS.iter().flat_map(|host| [host.id].into_iter().chain(host.aliases.to_vec()));
        let failure = Failure::usage(format!("{name:?} is no host that haft knows"));
        match haft_server::nearest(&name.to_lowercase(), names) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => {
                let all: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
                failure.hint(format!("it knows {}", all.join(", ")))
            }
        }
    })
}

fn table(discovery: &Discovery) -> Table {
    let mut table = Table::new([
        Column { heading: "HOST", style: Style::new(), share_max: 15 },
        Column { heading: "SERVER", style: NAME, share_max: 20 },
        Column { heading: "COMMAND OR URL", style: Style::new(), share_max: 40 },
        Column { heading: "FILE", style: DIM, share_max: 100 },
    ]);
    for found in &discovery.found {
        let off = if found.entry.is_disabled { " (off)" } else { "" };
        table.row([
            found.source(),
            format!("{}{off}", found.entry.name),
            found.entry.shown(),
            shown(&found.file),
        ]);
    }
    table
}

/// Names of variables and headers are shown, their values never.
fn report(discovery: &Discovery) -> Value {
    let names = |pairs: &[(String, String)]| -> Vec<String> {
        pairs.iter().map(|(name, _)| name.clone()).collect()
    };
    let server = |found: &Found| {
        let needs: Vec<String> = found.needs().iter().map(ToString::to_string).collect();
        let mut server = json!({
            "host": found.source(),
            "name": found.entry.name,
            "file": found.file,
            "project": found.is_project,
            "disabled": found.entry.is_disabled,
            "needs": needs,
        });
        match &found.entry.how {
            How::Command { program, args, env, dir } => {
                server["transport"] = json!("stdio");
                server["command"] = json!(program);
                server["args"] = json!(shown_args(args));
                server["env"] = json!(names(env));
                server["cwd"] = json!(dir);
            }
            How::Url { headers, transport, .. } => {
                server["transport"] = json!(transport.name());
                server["url"] = json!(found.entry.shown());
                server["headers"] = json!(names(headers));
            }
        }
        server
    };
    let servers: Vec<Value> = discovery.found.iter().map(server).collect();
    let fault = |fault: &Fault| {
        let message = fault.mistake.to_string();
        json!({ "file": fault.file, "message": message })
    };
    let faults: Vec<Value> = discovery.faults.iter().map(fault).collect();
    json!({ "servers": servers, "faults": faults })
}
