//! `haft schema`: the JSON Schema of haft.yaml on stdout, for editors. It knows no file.

use crate::exit::{Exit, Failure};
use crate::print::Printer;

/// Print the JSON Schema of haft.yaml, with a line on every key
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  haft schema > haft.schema.json

With this as its first line, editors that know YAML's language server complete and check the file:
  # yaml-language-server: $schema=haft.schema.json")]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_: Args, printer: Printer) -> Result<Exit, Failure> {
    printer.document(haft_manifest::json_schema().trim_end())?;
    Ok(Exit::Ok)
}
