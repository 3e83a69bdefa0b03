//! The program `field`, which `cargo xtask field` runs in network namespaces of its own: `wire`
//! carries packets between two of them, `ledger` is a tool that writes down each call, `crowd` is
//! many agents. Each says on stdout what it has done and ends when stdin does; none judges a thing.

mod chance;
mod crowd;
mod ledger;
mod limits;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(not(target_os = "linux"))]
#[path = "wire_elsewhere.rs"]
mod wire;

use std::io::Write;
use std::process::ExitCode;

/// What can be asked for.
const USAGE: &str = "usage: field wire DELAY_MS LOSS_PER_MILLE SEED
       field ledger FILE
       field crowd STATE HOST:PORT NAME...";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["wire", delay, loss, seed] => wire::run(delay, loss, seed),
        ["ledger", file] => ledger::run(file),
        ["crowd", state, gateway, ref names @ ..] => crowd::run(state, gateway, names),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            _ = writeln!(std::io::stderr(), "field: {why}");
            ExitCode::from(2)
        }
    }
}

/// Says a line to whoever started this. That nobody may listen any more is no matter.
fn say(line: impl std::fmt::Display) {
    _ = writeln!(std::io::stdout(), "{line}");
}
