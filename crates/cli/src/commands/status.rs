//! `haft status`: what a haft that runs has, as its admin interface tells it: upstreams, agents,
//! sessions and limits. Changes nothing there.

use crate::admin_client::{AdminAddress, admin_address, page};
use crate::args::duration;
use crate::exit::{Exit, Failure};
use crate::named::shown;
use crate::print::{BAD, DIM, GOOD, NAME, Printer, STRONG, WARN, bytes, one_line};
use crate::reach::run as running;
use crate::table::{Column, Table};
use anstyle::Style;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// Show what a running haft has: upstreams, agents, sessions, limits
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft status                      the one at 127.0.0.1:7301, of `haft serve --admin 7301`
  haft status :7311                at another port of this machine
  haft status --strict             exit code 8 if an upstream is down or an agent is not there
  haft status --json | jq '.upstreams[] | {name, state, calls}'

Exit code 4 means that nobody answers there.")]
pub(crate) struct Args {
    /// Where its admin interface is: 127.0.0.1:7301, :7301, 7301, or the path of a socket
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:7301", value_parser = admin_address)]
    address: AdminAddress,
    /// Let an upstream that is down, or an agent that is not there, fail, with exit code 8
    #[arg(long)]
    strict: bool,
    /// How long to wait for each answer: 500ms, 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    timeout: Duration,
}

/// The pages that are shown.
const PAGES: [&str; 5] = ["server", "upstreams", "agents", "sessions", "views"];
/// How many sessions people are shown; the newest come first.
const SESSIONS_SHOWN_MAX: usize = 20;

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let told = running(ask(&args))?;
    if printer.is_json() {
        printer.document(&Value::Object(told.clone()).to_string())?;
    } else {
        show(&told, printer)?;
    }
    match missing(&told) {
        missing if args.strict && !missing.is_empty() => {
            let message = format!("--strict: {}", missing.join(", "));
            Err(Failure::new(Exit::CheckFailed, message))
        }
        _ => Ok(Exit::Ok),
    }
}

/// All pages in one document.
async fn ask(args: &Args) -> Result<Map<String, Value>, Failure> {
    let mut told = Map::new();
    told.insert("address".to_owned(), json!(args.address.to_string()));
    for name in PAGES {
        let answer = page(&args.address, name, args.timeout).await?;
        match (name, answer) {
            // These have names inside as well.
            ("agents", mut answer) => {
                told.insert(name.to_owned(), answer["agents"].take());
            }
            ("server", mut answer) => {
                let limits = answer["limits"].take();
                if let Some(server) = answer.as_object_mut() {
                    server.remove("limits");
                }
                told.insert(name.to_owned(), answer);
                told.insert("limits".to_owned(), limits);
            }
            (name, answer) => {
                told.insert(name.to_owned(), answer);
            }
        }
    }
    Ok(told)
}

/// What is not as it should be.
fn missing(told: &Map<String, Value>) -> Vec<String> {
    let of = |kind: &str, states: &[&str]| -> Vec<String> {
        let is_missing = |one: &&Value| states.contains(&text(&one["state"]));
        let all = told.get(kind).and_then(Value::as_array).into_iter().flatten();
        all.filter(is_missing)
            .map(|one| format!("{} is {}", text(&one["name"]), text(&one["state"])))
            .collect()
    };
    let mut missing = of("upstreams", &["down"]);
    missing.extend(of("agents", &["absent", "away"]));
    missing
}

fn show(told: &Map<String, Value>, printer: Printer) -> Result<(), Failure> {
    let of = |key: &str| told.get(key).unwrap_or(&Value::Null);
    let server = of("server");
    // Whoever listens at the address may say anything.
    let [name, software] = ["name", "software"].map(|key| one_line(text(&server[key])));
    let file = one_line(&shown(Path::new(text(&server["file"]))));
    let process = server["process"].as_u64().unwrap_or_default();
    printer.line(format_args!("{NAME}{name}{NAME:#} · {software} · process {process} · {file}"))?;
    let list = |key: &str| of(key).as_array().map(Vec::as_slice).unwrap_or_default();
    let tables = [upstreams(list("upstreams")), agents(list("agents")), views(list("views"))];
    for table in tables.iter().filter(|table| !table.is_empty()) {
        printer.line(format_args!(""))?;
        printer.table(table)?;
    }
    let count = of("sessions")["count"].as_u64().unwrap_or_default();
    let max = of("limits")["sessions"].as_u64().unwrap_or_default();
    let noun = if count == 1 { "session" } else { "sessions" };
    let most = format_args!("at most {max} at each address");
    printer.line(format_args!("\n{STRONG}{count} {noun}{STRONG:#}, {most}"))?;
    let all = of("sessions")["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let newest = &all[..all.len().min(SESSIONS_SHOWN_MAX)];
    if !newest.is_empty() {
        printer.table(&sessions(newest))?;
        let more = count.saturating_sub(newest.len() as u64);
        if more > 0 {
            printer.line(format_args!("{DIM}and {more} older{DIM:#}"))?;
        }
    }
    printer.line(format_args!(""))?;
    printer.table(&limits(of("limits")))
}

fn column(heading: &'static str, style: Style, share_max: usize) -> Column {
    Column { heading, style, share_max }
}

fn upstreams(all: &[Value]) -> Table {
    let plain = Style::new();
    let mut table = Table::new([
        column("UPSTREAM", NAME, 25),
        column("STATE", plain, 12),
        column("SERVER", plain, 25),
        column("CALLS", plain, 10),
        column("RUNNING", plain, 10),
        column("FAILED", plain, 10),
        column("RESTARTS", plain, 10),
        column("WHY", DIM, 100),
    ]);
    for one in all {
        let is_drained = one["drained"] == true;
        let state = if is_drained { "drained" } else { text(&one["state"]) };
        let style = match state {
            "ready" => GOOD,
            "down" => BAD,
            "idle" | "stopped" => DIM,
            _ => WARN,
        };
        let server = &one["server"];
        let server = format!("{} {}", text(&server["name"]), text(&server["version"]));
        table.styled_row([
            (text(&one["name"]).to_owned(), None),
            (state.to_owned(), Some(style)),
            (server.trim().to_owned(), None),
            (one["calls"].to_string(), None),
            (one["running"].to_string(), None),
            (one["failed"].to_string(), failed(&one["failed"])),
            (one["restarts"].to_string(), None),
            (text(&one["reason"]).to_owned(), None),
        ]);
    }
    table
}

fn agents(all: &[Value]) -> Table {
    let plain = Style::new();
    let mut table = Table::new([
        column("AGENT", NAME, 25),
        column("STATE", plain, 12),
        column("LINK", plain, 30),
        column("ROUND TRIP", plain, 12),
        column("RUNNING", plain, 12),
        column("WAITING", plain, 10),
        column("LOST", plain, 100),
    ]);
    for one in all {
        let state = text(&one["state"]);
        let style = match state {
            "here" => GOOD,
            "absent" | "away" => BAD,
            _ => WARN,
        };
        let link = &one["link"];
        let from = [text(&link["transport"]), text(&link["from"])];
        let round_trip = link["roundTripMs"].as_f64().map(|time| format!("{time:.1} ms"));
        table.styled_row([
            (text(&one["name"]).to_owned(), None),
            (state.to_owned(), Some(style)),
            (from.join(" ").trim().to_owned(), None),
            (round_trip.unwrap_or_default(), None),
            (format!("{} of {}", one["inFlight"], one["limit"]), None),
            (one["waiting"].to_string(), None),
            (one["callsLost"].to_string(), failed(&one["callsLost"])),
        ]);
    }
    table
}

/// How a number of failures looks.
fn failed(count: &Value) -> Option<Style> {
    (count.as_u64() > Some(0)).then_some(WARN)
}

fn views(all: &[Value]) -> Table {
    let mut table = Table::new([
        column("VIEW", NAME, 25),
        column("PATH", Style::new(), 40),
        column("TOOLS", Style::new(), 100),
    ]);
    for one in all {
        let tools = one["tools"].as_array().map_or(0, Vec::len);
        table.row([text(&one["name"]), text(&one["path"]), &tools.to_string()]);
    }
    table
}

fn sessions(newest: &[Value]) -> Table {
    let plain = Style::new();
    let mut table = Table::new([
        column("CLIENT", NAME, 30),
        column("PATH", plain, 25),
        column("REVISION", plain, 15),
        column("AGE", plain, 15),
        column("IDLE FOR", plain, 100),
    ]);
    for one in newest {
        let time = |key: &str| one[key].as_f64().map(age).unwrap_or_default();
        table.row([
            text(&one["client"]),
            text(&one["path"]),
            text(&one["revision"]),
            &time("ageSeconds"),
            &time("idleSeconds"),
        ]);
    }
    table
}

fn limits(limits: &Value) -> Table {
    let mut table = Table::new([column("LIMIT", NAME, 40), column("AT MOST", Style::new(), 100)]);
    for (name, value) in limits.as_object().into_iter().flatten() {
        let number = value.as_f64().unwrap_or_default();
        let (name, value) = if let Some(name) = name.strip_suffix("Bytes") {
            (name, bytes(number as usize))
        } else if let Some(name) = name.strip_suffix("Seconds") {
            (name, age(number))
        } else {
            (&**name, value.to_string())
        };
        table.row([spaced(name), value]);
    }
    table
}

/// `sessionIdle` as people write it.
fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(letter.to_ascii_lowercase());
    }
    spaced
}

/// A time, for people.
fn age(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        10.0..120.0 => format!("{seconds:.0} s"),
        120.0..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
