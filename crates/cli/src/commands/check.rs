//! `haft check`. Not written yet.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use std::path::PathBuf;

/// Check a file
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  haft check haft.yaml")]
pub(crate) struct Args {
    /// The file
    pub(crate) file: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(_args: Args, _printer: Printer) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Other, "`check` cannot be run yet"))
}
