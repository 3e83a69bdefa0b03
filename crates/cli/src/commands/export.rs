//! `haft export`: a file as an `.mcpb` bundle that desktops install, or as a `server.json` for the
//! registry. Says what went into it; publishes nothing.

use crate::exit::{Exit, Failure};
use crate::export::bundle::bundle;
use crate::export::registry::{Offer, server_json};
use crate::export::{Described, described, slug};
use crate::print::{NAME, Printer, bytes};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Make a bundle for desktops, or an entry for the registry
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A bundle holds haft itself, the file, and the files that it refers to. What \
the file takes from the environment by ${env:NAME}, the desktop asks a person for.

Examples:
  haft export mcpb haft.yaml                    desk-1.0.0.mcpb
  haft export mcpb haft.yaml --binary ./haft    with a haft for another system
  haft export server.json haft.yaml --name io.github.ada/desk --remote https://desk.example/mcp
  haft export server.json haft.yaml --name io.github.ada/desk --bundle desk-1.0.0.mcpb \\
      --bundle-url https://github.com/ada/desk/releases/download/v1/desk-1.0.0.mcpb"
)]
pub(crate) struct Args {
    /// What to make
    #[arg(value_enum)]
    kind: Kind,
    /// The file
    #[arg(default_value = "haft.yaml")]
    file: PathBuf,
    /// Write it here [default: NAME-VERSION.mcpb, or server.json]; - is stdout
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    /// mcpb: the haft to put in [default: this one]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// mcpb: put this file or directory in as well; may be repeated
    #[arg(long, value_name = "PATH")]
    include: Vec<PathBuf>,
    /// mcpb: who made it [default: the server's name]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// server.json: its name in the registry, like io.github.ada/desk
    #[arg(long)]
    name: Option<String>,
    /// server.json: an address at which it is served; may be repeated
    #[arg(long, value_name = "URL")]
    remote: Vec<String>,
    /// server.json: the bundle, which anybody can download from --bundle-url
    #[arg(long, value_name = "PATH", requires = "bundle_url")]
    bundle: Option<PathBuf>,
    /// server.json: where the bundle is
    #[arg(long, value_name = "URL", requires = "bundle")]
    bundle_url: Option<String>,
    /// server.json: where its source is
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
}

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// A bundle that desktops install
    Mcpb,
    /// An entry for the registry
    #[value(name = "server.json", alias = "server-json", alias = "registry")]
    ServerJson,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let described = described(&args.file)?;
    match args.kind {
        Kind::Mcpb => make_bundle(&args, &described, printer),
        Kind::ServerJson => make_entry(&args, &described, printer),
    }
}

fn make_bundle(args: &Args, described: &Described, printer: Printer) -> Result<Exit, Failure> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => std::env::current_exe()?,
    };
    let made = bundle(described, &binary, &args.include, args.author.as_deref())?;
    for file in &made.gathered.filled_in {
        printer.warn(&format!(
            "{} goes into the bundle, and may be a secret; ${{env:NAME}} lets each user give their \
             own",
            file.display()
        ));
    }
    let name = format!("{}-{}.mcpb", slug(&described.name), slug(&described.version));
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    write(&out, &made.bytes)?;
    let sha256 = sha256(&made.bytes);
    let shown = out.display();
    if printer.is_json() {
        let report = json!({
            "file": out,
            "bytes": made.bytes.len(),
            "sha256": sha256,
            "files": made.gathered.files,
            "manifest": made.manifest,
        });
        printer.document(&report.to_string())?;
        return Ok(Exit::Ok);
    }
    let size = bytes(made.bytes.len());
    printer.line(format_args!("{NAME}{shown}{NAME:#} is written ({size}). In it:"))?;
    for file in &made.gathered.files {
        printer.line(format_args!("  {}", file.display()))?;
    }
    printer.line(format_args!("sha256 {sha256}"))?;
    Ok(Exit::Ok)
}

fn make_entry(args: &Args, described: &Described, printer: Printer) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        let example = slug(&described.name);
        let failure = Failure::usage("the registry wants a --name of its own form");
        return Err(failure.hint(format!("write it like --name io.github.you/{example}")));
    };
    let mut offers: Vec<Offer> = Vec::new();
    if let (Some(path), Some(url)) = (&args.bundle, &args.bundle_url) {
        let content = fs::read(path).map_err(|error| {
            Failure::new(Exit::Other, format!("cannot read {}: {error}", path.display()))
        })?;
        if !url.starts_with("https://") {
            return Err(Failure::usage("the registry takes only https:// for a bundle"));
        }
        offers.push(Offer::Bundle { url: checked(url)?, sha256: sha256(&content) });
    }
    for url in &args.remote {
        offers.push(Offer::Remote { url: checked(url)? });
    }
    if offers.is_empty() {
        let failure = Failure::usage("an entry of the registry says where the server is");
        return Err(failure.hint("give --remote URL, or --bundle PATH and --bundle-url URL"));
    }
    let entry = server_json(described, name, &offers, args.repository.as_deref())?;
    let pretty = serde_json::to_string_pretty(&entry).unwrap_or_default();
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("server.json"));
    if out == Path::new("-") || printer.is_json() {
        printer.document(&pretty)?;
        return Ok(Exit::Ok);
    }
    write(&out, format!("{pretty}\n").as_bytes())?;
    printer.line(format_args!("{NAME}{}{NAME:#} is written.", out.display()))?;
    Ok(Exit::Ok)
}

fn checked(url: &str) -> Result<String, Failure> {
    let uri: Option<http::Uri> = url.parse().ok();
    match uri.as_ref().map(|uri| (uri.scheme_str(), uri.host())) {
        Some((Some("http" | "https"), Some(_))) => Ok(url.to_owned()),
        _ => Err(Failure::usage(format!("{url:?} is no http:// or https:// URL"))),
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    fs::write(path, content).map_err(|error| {
        Failure::new(Exit::Other, format!("cannot write {}: {error}", path.display()))
    })
}

fn sha256(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
