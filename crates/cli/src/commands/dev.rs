//! `haft dev`: serves a file like `serve`, and reads it again whenever it is edited. A good file is
//! swapped in without a client noticing more than that lists have changed; a bad one changes
//! nothing, and what is wrong with it is shown.

use crate::commands::serve;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use haft_manifest::Reading;

/// Serve a file while you edit it: each good edit is served at once, a bad one is shown
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  haft dev                                  the haft.yaml of this directory
  haft dev tools.yaml --http :8080          at another port of this machine
  haft dev haft.yaml --stdio                for the configuration of an editor")]
pub(crate) struct Args {
    #[command(flatten)]
    serve: serve::Args,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    serve::serve(&args.serve, Reading::Edits, printer)
}
