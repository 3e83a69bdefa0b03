//! `haft inspect`: who a server is, what it speaks and offers, and how long it takes to say so.

use crate::args::{AuthArgs, EraArg, ReachArgs};
use crate::exit::{Exit, Failure};
use crate::inventory::Inventory;
use crate::meter::{Meter, wait};
use crate::print::{DIM, NAME, Printer, STRONG, bytes, one_line};
use crate::reach::{Reached, Route, route, run as run_async, with_consent, with_server};
use haft_client::{Handshake, connect};
use haft_proto::version::Era;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Show who a server is, what it speaks and what it offers
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "haft inspect [OPTIONS] [TARGET]
       haft inspect [OPTIONS] --command <COMMAND>",
    after_help = "A server that speaks the modern era is connected to a second time, to learn \
whether it speaks the legacy era as well; --era modern leaves that out.

Examples:
  haft inspect haft.yaml                        the server that a file describes
  haft inspect http://127.0.0.1:7300/mcp        a running server
  haft inspect --command 'npx -y some-server'   a program that speaks MCP
  haft inspect haft.yaml --json | jq .timings"
)]
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

/// What was found out.
struct Findings {
    target: String,
    handshake: Handshake,
    /// The revision that a second connection agreed on in the legacy era.
    legacy: Option<String>,
    offered: Inventory,
    connect_time: Duration,
    list_time: Duration,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let mut route = route(args.target.as_deref(), &args.reach, printer)?;
    let meter = Arc::new(Meter::new(printer));
    with_consent(&mut route, &args.auth, &meter, printer)?;
    let most = route.options.timeout;
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let started = Instant::now();
        let offered =
            meter.wait("listing", Inventory::take(&reached.client, most, printer)).await?;
        let list_time = started.elapsed();
        offered.warn_of_dropped(printer);
        let handshake = reached.client.handshake().clone();
        let is_asked = args.reach.era == EraArg::Auto && handshake.era == Era::Modern;
        let legacy = if is_asked {
            wait(printer, "asking for the legacy era", legacy_revision(&route)).await
        } else {
            None
        };
        let connect_time = reached.connect_time;
        let target = route.name.clone();
        let found = Findings { target, handshake, legacy, offered, connect_time, list_time };
        if printer.is_json() {
            printer.document(&found.json().to_string())?;
        } else {
            found.print(printer)?;
        }
        Ok(Exit::Ok)
    }))
}

/// Which revision the server agrees on if it is asked to shake hands.
async fn legacy_revision(route: &Route) -> Option<String> {
    let mut options = route.options.clone();
    options.era = Some(Era::Legacy);
    options.timeout = options.timeout.min(options.discover_timeout);
    let client = connect(&route.target, &options).await.ok()?;
    let revision = client.handshake().revision.as_str().to_owned();
    client.close().await;
    Some(revision)
}

impl Findings {
    fn json(&self) -> Value {
        let Self { handshake, offered, .. } = self;
        let tools = &offered.tools;
        json!({
            "target": self.target,
            "server": handshake.server,
            "instructions": handshake.instructions,
            "era": era_name(handshake.era),
            "protocolVersion": handshake.revision.as_str(),
            "supportedVersions": self.versions(),
            "capabilities": handshake.capabilities,
            "tools": {
                "count": tools.tools.len(),
                "leftOut": tools.dropped.len(),
                "pages": tools.pages,
                "bytes": tools.bytes,
            },
            "resources": { "count": offered.resources.entries.len() },
            "resourceTemplates": { "count": offered.templates.entries.len() },
            "prompts": { "count": offered.prompts.entries.len() },
            "timings": {
                "connectMs": millis(self.connect_time),
                "listMs": millis(self.list_time),
            },
        })
    }

    fn print(&self, printer: Printer) -> Result<(), Failure> {
        let Self { handshake, offered, .. } = self;
        let server = &handshake.server;
        let name = if server.name.is_empty() { "(no name)" } else { &server.name };
        let heading = one_line(&format!("{name} {}", server.version));
        match server.title.as_deref().filter(|title| *title != name).map(one_line) {
            Some(title) => printer.line(format_args!("{STRONG}{heading}{STRONG:#}  {title}"))?,
            None => printer.line(format_args!("{STRONG}{heading}{STRONG:#}"))?,
        }
        if let Some(description) = &server.description {
            printer.line(format_args!("{}", one_line(description)))?;
        }
        let fact = |name: &str, value: String| {
            printer.line(format_args!("  {NAME}{name:<13}{NAME:#} {value}"))
        };
        let versions = self.versions().join(", ");
        let spoken = handshake.revision.as_str();
        fact("speaks", format!("{spoken}, the {} era", era_name(handshake.era)))?;
        fact("supports", one_line(&versions))?;
        fact("capabilities", capabilities(&handshake.capabilities))?;
        fact("tools", self.tools())?;
        let (resources, templates) = (&offered.resources.entries, &offered.templates.entries);
        match (resources.len(), templates.len()) {
            (0, 0) => {}
            (resources, 0) => fact("resources", resources.to_string())?,
            (resources, templates) => {
                fact("resources", format!("{resources}, and {templates} templates"))?;
            }
        }
        match offered.prompts.entries.len() {
            0 => {}
            prompts => fact("prompts", prompts.to_string())?,
        }
        fact("connected in", time(self.connect_time))?;
        fact("listed in", time(self.list_time))?;
        if let Some(url) = &server.website_url {
            fact("website", one_line(url))?;
        }
        if let Some(instructions) = &handshake.instructions {
            printer.line(format_args!("\n{STRONG}Instructions{STRONG:#}"))?;
            for line in instructions.lines() {
                printer.line(format_args!("  {DIM}{}{DIM:#}", one_line(line)))?;
            }
        }
        Ok(())
    }

    /// How many tools, and what they cost.
    fn tools(&self) -> String {
        let tools = &self.offered.tools;
        let pages =
            if tools.pages > 1 { format!(" on {} pages", tools.pages) } else { String::new() };
        match tools.tools.len() {
            0 => "none".to_owned(),
            count => format!(
                "{count}{pages}, {} of JSON {DIM}(about {} tokens){DIM:#}",
                bytes(tools.bytes),
                tools.bytes.div_ceil(BYTES_PER_TOKEN)
            ),
        }
    }

    /// Every revision that is known to work.
    fn versions(&self) -> Vec<&str> {
        let named = self.handshake.supported.iter().map(String::as_str);
        let legacy = self
            .legacy
            .as_deref()
            .filter(|date| !self.handshake.supported.iter().any(|s| s == date));
        named.chain(legacy).collect()
    }
}

/// Roughly, for JSON in English.
const BYTES_PER_TOKEN: usize = 4;

/// `tools (listChanged), logging`.
fn capabilities(all: &Value) -> String {
    let name = |(name, details): (&String, &Value)| {
        let options = details.as_object().into_iter().flatten();
        let on: Vec<&str> =
            options.filter(|(_, value)| **value != false).map(|(key, _)| key.as_str()).collect();
        if on.is_empty() { name.clone() } else { format!("{name} ({})", on.join(", ")) }
    };
    let names: Vec<String> = all.as_object().into_iter().flatten().map(name).collect();
    if names.is_empty() { "none named".to_owned() } else { one_line(&names.join(", ")) }
}

const fn era_name(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}

fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_read_like_a_sentence() {
        let all = json!({"tools": {"listChanged": true}, "logging": {}, "x": {"y": false}});
        assert_eq!(capabilities(&all), "tools (listChanged), logging, x");
        assert_eq!(capabilities(&Value::Null), "none named");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(Duration::from_micros(1234)), "1.2 ms");
        assert_eq!(time(Duration::from_millis(2500)), "2.50 s");
        assert!((millis(Duration::from_micros(1234)) - 1.23).abs() < 1e-9);
    }
}
