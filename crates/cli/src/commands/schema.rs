//! `haft schema`. Not written yet.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use std::path::PathBuf;

/// Print the JSON Schema of haft.yaml
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  haft schema haft.yaml")]
pub(crate) struct Args {
    /// The file
    pub(crate) file: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(_args: Args, _printer: Printer) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Other, "`schema` cannot be run yet"))
}
