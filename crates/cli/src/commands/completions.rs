//! `haft completions`: what a shell needs to complete haft's verbs and options, made from the same
//! table as the help.

use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions zsh > ~/.zfunc/_haft
  haft completions fish > ~/.config/fish/completions/haft.fish
  haft completions powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "haft", &mut script);
    printer.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
