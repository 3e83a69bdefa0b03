//! `haft new`: a first file, and what to type next. It replaces nothing that is there. A project in
//! Rust is written by `new_rust`.

use super::new_rust;
use crate::exit::{Exit, Failure};
use crate::print::{NAME, Printer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write a file to start from, or a Rust project
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft new                                     haft.yaml in this directory
  haft new my-tools                            my-tools/haft.yaml
  haft new --rust ../my-server --haft-path .   in a clone of haft: a server in Rust, with tests")]
pub(crate) struct Args {
    /// The directory, which need not exist
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Write a Rust project, whose tools are functions
    #[arg(long)]
    rust: bool,
    /// Build it with this clone of haft instead of a published version
    #[arg(long, value_name = "PATH", requires = "rust")]
    haft_path: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let directory = args.directory;
    if directory.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
        let message = format!("{} is the name of a file", directory.display());
        return Err(Failure::usage(message).hint("name the directory that haft.yaml goes to"));
    }
    if args.rust {
        return new_rust::run(&directory, args.haft_path.as_deref(), printer);
    }
    let file = directory.join("haft.yaml");
    fs::create_dir_all(&directory).map_err(|error| cannot(&file, &error))?;
    let whole = directory.canonicalize().map_err(|error| cannot(&file, &error))?;
    let name = server_name(&whole);
    written_anew(&file, &haft_manifest::starter(&name))?;
    say_next(&file, &entry(&name, &whole.join("haft.yaml"))?, printer)?;
    Ok(Exit::Ok)
}

/// Writes a file that is not there yet, and the directories above it.
pub(super) fn written_anew(file: &Path, text: &str) -> Result<(), Failure> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(|error| cannot(file, &error))?;
    }
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut open) => open.write_all(text.as_bytes()).map_err(|error| cannot(file, &error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("{} is there already", file.display());
            Err(Failure::usage(message).hint("name another directory: haft new DIRECTORY"))
        }
        Err(error) => Err(cannot(file, &error)),
    }
}

fn cannot(file: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot write {}: {error}", file.display()))
}

/// The directory's name, as far as it can be a server's name.
pub(super) fn server_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let name: String =
        name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    match name.trim_matches(['-', '.']) {
        "" => "my-tools".to_owned(),
        name => name.to_owned(),
    }
}

/// What an `mcpServers` file says of it. The paths are absolute: editors start programs with a PATH
/// of their own, and in a directory of their own.
fn entry(name: &str, file: &Path) -> Result<Value, Failure> {
    let haft = std::env::current_exe()?;
    let args = json!(["serve", file.to_string_lossy(), "--stdio"]);
    Ok(json!({ "mcpServers": { name: { "command": haft.to_string_lossy(), "args": args } } }))
}

fn say_next(file: &Path, entry: &Value, printer: Printer) -> Result<(), Failure> {
    let shown = file.strip_prefix(".").unwrap_or(file).to_string_lossy();
    if printer.is_json() {
        let mut report = json!({ "file": shown });
        report["mcpServers"] = entry["mcpServers"].clone();
        return printer.document(&report.to_string());
    }
    let quoted = shlex::try_quote(&shown).unwrap_or(Cow::Borrowed(&*shown));
    let json = serde_json::to_string_pretty(entry).unwrap_or_default();
    printer.line(format_args!(
        "{NAME}{shown}{NAME:#} is written. Next:
  haft check {quoted}
  haft call {quoted} greet name=World
  haft serve {quoted}
  haft install {quoted} --in claude-desktop

For a client that haft does not know, in its `mcpServers` file:
{json}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_like_its_directory() {
        for (directory, expected) in [
            ("/home/ada/my-tools", "my-tools"),
            ("/home/ada/my tools: \"new\"", "my-tools---new"),
            ("/home/ada/.config", "config"),
            ("/home/ada/日本", "my-tools"),
            ("/", "my-tools"),
        ] {
            assert_eq!(server_name(Path::new(directory)), expected);
        }
    }
}
