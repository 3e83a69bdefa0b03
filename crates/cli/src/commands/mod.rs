//! The verbs, a file for each. `main` calls [`run`]; a verb reads its arguments, does its work and
//! prints through the printer that it is given.

pub(crate) mod agent;
pub(crate) mod bench;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod dev;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod invite;
pub(crate) mod list;
pub(crate) mod new;
mod new_rust;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod status;

use crate::args::Command;
use crate::exit::{Exit, Failure};
use crate::print::Printer;

/// Runs a verb.
pub(crate) fn run(command: Command, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        Command::Agent(args) => agent::run(args, *printer),
        Command::Bench(args) => bench::run(&args, *printer),
        Command::Call(args) => call::run(args, *printer),
        Command::Check(args) => check::run(args, *printer),
        Command::Completions(args) => completions::run(args, *printer),
        Command::Dev(args) => dev::run(args, *printer),
        Command::Discover(args) => discover::run(args, *printer),
        Command::Doctor(args) => doctor::run(args, *printer),
        Command::Export(args) => export::run(args, *printer),
        Command::Import(args) => import::run(args, *printer),
        Command::Inspect(args) => inspect::run(args, *printer),
        Command::Install(args) => install::run(args, *printer),
        Command::Invite(args) => invite::run(&args, *printer),
        Command::List(args) => list::run(args, *printer),
        Command::New(args) => new::run(args, *printer),
        Command::Prompt(args) => prompt::run(args, *printer),
        Command::Read(args) => read::run(args, *printer),
        Command::Revoke(args) => invite::run_revoke(&args, *printer),
        Command::Schema(args) => schema::run(args, *printer),
        Command::Serve(args) => serve::run(args, *printer),
        Command::Status(args) => status::run(args, *printer),
        Command::Uninstall(args) => install::run_uninstall(args, *printer),
    }
}
