//! `haft new --rust`: a Rust project with a tool, a resource and a prompt, and tests of all three.
//! Called by `new`; it replaces nothing that is there, and builds nothing.

use super::new::written_anew;
use crate::exit::{Exit, Failure};
use crate::print::{NAME, Printer};
use serde_json::json;
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a file of the project goes, and what is in it.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("../starter/Cargo.toml.txt")),
    (".gitignore", include_str!("../starter/gitignore.txt")),
    ("src/lib.rs", include_str!("../starter/lib.rs.txt")),
    ("src/main.rs", include_str!("../starter/main.rs.txt")),
    ("tests/server.rs", include_str!("../starter/server.rs.txt")),
    ("tests/tools.json", include_str!("../starter/tools.json")),
];

/// Runs it.
pub(super) fn run(
    directory: &Path,
    checkout: Option<&Path>,
    printer: Printer,
) -> Result<Exit, Failure> {
    let haft = match checkout {
        Some(checkout) => by_path(checkout)?,
        None => format!("{:?}", version()),
    };
    if let Some((taken, _)) = FILES.iter().find(|(file, _)| directory.join(file).exists()) {
        let message = format!("{} is there already", directory.join(taken).display());
        return Err(Failure::usage(message).hint("name another directory: haft new --rust NAME"));
    }
    let cannot = |path: &Path, error| {
        Failure::new(Exit::Other, format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| cannot(directory, error))?;
    let whole = directory.canonicalize().map_err(|error| cannot(directory, error))?;
    let name = crate_name(&whole);
    for (file, template) in FILES {
        let text = template
            .replace("CRATE_NAME", &name)
            .replace("LIB_NAME", &name.replace('-', "_"))
            .replace("HAFT", &haft);
        written_anew(&directory.join(file), &text)?;
    }
    if checkout.is_none() {
        let hint = "until haft is published, --haft-path builds it with a clone of haft";
        printer.warn(hint);
    }
    say_next(directory, &whole, &name, printer)?;
    Ok(Exit::Ok)
}

/// The oldest version that fits, without the last number.
fn version() -> &'static str {
    let whole = env!("CARGO_PKG_VERSION");
    whole.rsplit_once('.').map_or(whole, |(version, _)| version)
}

/// A dependency on a clone of this repository, or on its crate.
fn by_path(checkout: &Path) -> Result<String, Failure> {
    let crates = [checkout.join("crates/haft"), checkout.to_owned()];
    let is_ours = |path: &&PathBuf| {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line == "name = \"haft\"")
    };
    let found = crates.iter().find(is_ours).and_then(|path| path.canonicalize().ok());
    let found = found.ok_or_else(|| {
        Failure::usage(format!("{} has no crate `haft`", checkout.display()))
            .hint("name the root of a clone of haft")
    })?;
    // A path in TOML is a string as in JSON.
    Ok(format!("{{ path = {} }}", json!(found.to_string_lossy())))
}

/// The directory's name, as far as a crate can be called so.
fn crate_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let name: String =
        name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    let name = name.trim_matches(['-', '_']).to_ascii_lowercase();
    match &*name {
        "" => "my-server".to_owned(),
        name if TAKEN.split_whitespace().any(|taken| taken == name) => format!("{name}-server"),
        name if name.starts_with(|first: char| first.is_ascii_digit()) => format!("server-{name}"),
        name => name.to_owned(),
    }
}

/// Names that a crate with these dependencies cannot have, and Rust's own words.
const TAKEN: &str = "abstract alloc as async await become box break build const continue core \
    crate deps do dyn else enum examples extern false final fn for gen haft if impl in \
    incremental let loop macro match mod move mut override priv proc-macro proc_macro pub ref \
    return self static std struct super test tokio trait true try type typeof unsafe unsized use \
    virtual where while yield";

fn say_next(directory: &Path, whole: &Path, name: &str, printer: Printer) -> Result<(), Failure> {
    let binary = whole.join("target/release").join(name);
    let entry = json!({
        "mcpServers": { name: { "command": binary.to_string_lossy(), "args": ["--stdio"] } }
    });
    let shown = directory.strip_prefix(".").unwrap_or(directory).to_string_lossy();
    if printer.is_json() {
        let files = FILES.map(|(file, _)| file);
        let mut report = json!({ "directory": shown, "files": files });
        report["mcpServers"] = entry["mcpServers"].clone();
        return printer.document(&report.to_string());
    }
    let quoted = shlex::try_quote(&shown).unwrap_or(Cow::Borrowed(&*shown));
    let json = serde_json::to_string_pretty(&entry).unwrap_or_default();
    printer.line(format_args!(
        "{NAME}{shown}{NAME:#} is written. Next:
  cd {quoted}
  cargo test
  cargo build --release
  haft call --command 'target/release/{name} --stdio' word_count text='one two three'

For a client that starts its servers itself, in its `mcpServers` file:
{json}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{crate_name, version};
    use std::path::Path;

    #[test]
    fn a_crate_is_called_like_its_directory_where_it_can_be() {
        for (directory, expected) in [
            ("/home/ada/city-desk", "city-desk"),
            ("/home/ada/City Desk", "city-desk"),
            ("/home/ada/2fa", "server-2fa"),
            ("/home/ada/haft", "haft-server"),
            ("/home/ada/-x_", "x"),
            ("/home/ada/日本", "my-server"),
            ("/", "my-server"),
        ] {
            assert_eq!(crate_name(Path::new(directory)), expected);
        }
    }

    #[test]
    fn the_version_is_that_of_the_command() {
        assert!(env!("CARGO_PKG_VERSION").starts_with(version()));
        assert_eq!(version().matches('.').count(), 1);
    }
}
