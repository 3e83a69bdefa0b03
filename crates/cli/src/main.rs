//! The command `haft`: reads its arguments, runs one verb, and turns what became of it into an exit
//! code. Nothing here prints; `print` does.

mod args;
mod arguments;
mod asked;
mod commands;
mod exit;
mod export;
mod inventory;
mod meter;
mod named;
mod print;
mod probe;
mod reach;
mod signature;
mod table;
mod wanted;

use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
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
        let text = error.render().to_string();
        let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return Printer::new(true, false).failure(&Failure::usage(line.to_owned()));
    }
    // If stderr is gone there is nobody to tell.
    _ = error.print();
    Exit::Usage
}
