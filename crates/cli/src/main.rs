//! The command `haft`: reads its arguments, runs one verb, and turns what became of it into an exit
//! code. Nothing here prints; `print` does.

mod admin;
mod admin_client;
mod agents;
mod args;
mod arguments;
mod asked;
mod behind;
mod commands;
mod consent;
mod doors;
mod edits;
mod exit;
mod export;
mod guardian;
mod imports;
mod inside;
mod instruments;
mod inventory;
mod kinds;
mod load;
mod log;
mod meter;
mod metrics;
mod named;
mod outages;
mod print;
mod probe;
mod profile;
mod reach;
#[cfg(test)]
mod reference;
mod secure;
mod side_door;
mod signature;
mod state;
mod table;
mod views;

use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::print::{Printer, one_line};
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if guardian::is_meant(&words) {
        // There is nobody left to tell of a failure.
        return haft_manifest::watch_over().map_or(Exit::Other, |()| Exit::Ok).into();
    }
    let exit = match Cli::try_parse_from(&words) {
        Ok(cli) => {
            let printer = Printer::new(cli.global.json, cli.global.verbose);
            match commands::run(cli.command, &printer) {
                Ok(exit) => exit,
                Err(failure) => printer.failure(&failure),
            }
        }
        Err(error) => refuse(&error, &words),
    };
    exit.into()
}

/// What clap draws in paragraphs, in a line and a hint; the usage is left out.
fn said(drawing: &str) -> Failure {
    let mut paragraphs = drawing.split("\n\n").map(one_line);
    let first = paragraphs.next().unwrap_or_default();
    let failure = Failure::usage(first.trim_start_matches("error: "));
    match paragraphs.find_map(|next| next.strip_prefix("tip: ").map(str::to_owned)) {
        Some(tip) => failure.hint(tip),
        None => failure,
    }
}

/// Help and version are no failures; everything else that clap says is a usage error.
fn refuse(error: &clap::Error, words: &[OsString]) -> Exit {
    let is_json = words.iter().any(|word| word == "--json");
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => Exit::Ok,
            Err(error) => Failure::from(error).exit,
        };
    }
    if is_json {
        return Printer::new(true, false).failure(&said(&error.render().to_string()));
    }
    // If stderr is gone there is nobody to tell.
    _ = error.print();
    Exit::Usage
}
