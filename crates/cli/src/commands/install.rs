//! `haft install` and `haft uninstall`: put a server into an editor's file, or take it out. Shows
//! what it did and where; the edit itself is `haft_editors`' work.

use super::discover::known_host;
use crate::exit::{Exit, Failure};
use crate::named::{shown, surroundings};
use crate::print::{NAME, Printer};
use haft_editors::{
    Change, Edit, Entry, Host, HostFile, How, Mistake, Surroundings, Transport, check_name,
    discover_file, shown_url, written,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Put a server into an editor's file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file is changed in one step, nothing else in it is touched, and what it \
was is kept beside it. The same again changes nothing.

Examples:
  haft install haft.yaml --in claude-desktop        start it for Claude Desktop
  haft install haft.yaml --in cursor --project      for this project only
  haft install haft.yaml --in codex --env TOKEN     with a variable, its value taken from here
  haft install haft.yaml --in zed --env PATH        with this PATH, for what the tools run
  haft install --url https://host/mcp --in vscode   a server that runs elsewhere
  haft install haft.yaml --in zed --dry-run         show it and write nothing
  haft install --in goose --config-path             where that editor keeps its servers

HOST is one of: amazon-q, antigravity, claude-code, claude-desktop, cline, codex, copilot, cursor, \
gemini, goose, junie, kiro, lm-studio, opencode, roo, visual-studio, vscode, windsurf, zed."
)]
pub(crate) struct Args {
    /// The haft.yaml to serve
    #[arg(required_unless_present_any = ["url", "config_path", "remove"], conflicts_with = "url")]
    file: Option<PathBuf>,
    /// The editor; may be repeated
    #[arg(long = "in", value_name = "HOST", required = true)]
    hosts: Vec<String>,
    /// Install this URL instead of a file
    #[arg(long)]
    url: Option<String>,
    /// Send this header with every request to the URL; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", requires = "url")]
    headers: Vec<String>,
    /// What the editor calls it [default: the server's own name]
    #[arg(long)]
    name: Option<String>,
    /// Start it with this variable; NAME alone takes its value from here. May be repeated
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// Write into the project's file instead of the user's
    #[arg(long)]
    project: bool,
    /// Take the place of another server of that name
    #[arg(long)]
    replace: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Show which file is written, and do nothing
    #[arg(long)]
    config_path: bool,
    /// Take the server out again, as uninstall does
    #[arg(long, conflicts_with_all = ["replace", "env"])]
    remove: bool,
}

/// Take a server out of an editor's file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft uninstall my-tools --in claude-desktop     by its name
  haft uninstall haft.yaml --in cursor --project  by its file")]
pub(crate) struct UninstallArgs {
    /// Its name, or the haft.yaml that was installed
    server: String,
    /// The editor; may be repeated
    #[arg(long = "in", value_name = "HOST", required = true)]
    hosts: Vec<String>,
    /// Take it out of the project's file instead of the user's
    #[arg(long)]
    project: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs `install`.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let surroundings = surroundings()?;
    let places = places(&args.hosts, args.project, &surroundings)?;
    if args.config_path {
        return print_paths(&places, printer);
    }
    if args.remove {
        let server = match (&args.name, &args.file, &args.url) {
            (Some(name), _, _) => name.clone(),
            (None, Some(file), _) => name_of_file(file)?,
            (None, None, Some(url)) => name_of_url(url)?,
            (None, None, None) => return Err(Failure::usage("--remove needs a FILE or a --name")),
        };
        return remove(&server, &places, &surroundings, args.dry_run, printer);
    }
    let entry = entry(&args, printer)?;
    // All are planned before the first is written.
    let mut edits = Vec::new();
    for (host, file) in &places {
        let value = written(host, &entry)?;
        let edit = Edit::install(host, file, &entry.name, &value, args.replace);
        edits.push((*host, edit.map_err(|mistake| explained(mistake, &entry.name, file))?));
    }
    let mut reports = Vec::new();
    for (host, edit) in &edits {
        if !args.dry_run {
            edit.write().map_err(|mistake| half_done(&reports, mistake, printer))?;
        }
        let value = without_secrets(&written(host, &entry)?);
        reports.push(report(host, edit, &entry.name, Some(&value)));
        say(host, edit, &entry.name, Some(&value), args.dry_run, printer)?;
    }
    print_reports(&reports, args.dry_run, printer)
}

/// Runs `uninstall`.
pub(crate) fn run_uninstall(args: UninstallArgs, printer: Printer) -> Result<Exit, Failure> {
    let surroundings = surroundings()?;
    let places = places(&args.hosts, args.project, &surroundings)?;
    let path = Path::new(&args.server);
    let is_file = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let name = if is_file { name_of_file(path)? } else { args.server.clone() };
    remove(&name, &places, &surroundings, args.dry_run, printer)
}

fn remove(
    name: &str,
    places: &[(&'static Host, HostFile)],
    surroundings: &Surroundings,
    is_dry: bool,
    printer: Printer,
) -> Result<Exit, Failure> {
    let mut edits = Vec::new();
    for (host, file) in places {
        // Some hosts read several files, and it may be in any.
        let file = &holding(name, host, file, surroundings);
        let edit = Edit::uninstall(host, file, name);
        edits.push((*host, edit.map_err(|mistake| explained(mistake, name, file))?));
    }
    let mut reports = Vec::new();
    for ((host, edit), (_, file)) in edits.iter().zip(places) {
        if !is_dry {
            edit.write().map_err(|mistake| half_done(&reports, mistake, printer))?;
        }
        reports.push(report(host, edit, name, None));
        say(host, edit, name, None, is_dry, printer)?;
        if edit.change == Change::Nothing {
            let there = discover_file(&file.path, surroundings);
            let names = there.found.iter().map(|found| found.entry.name.as_str());
            if let Some(near) = haft_server::nearest(name, names) {
                printer.note(format_args!("did you mean {near}?"));
            }
        }
    }
    print_reports(&reports, is_dry, printer)
}

/// The file of a host that has the server, of the same kind as `otherwise`.
fn holding(
    name: &str,
    host: &'static Host,
    otherwise: &HostFile,
    surroundings: &Surroundings,
) -> HostFile {
    let has_it = |file: &HostFile| {
        let there = discover_file(&file.path, surroundings).found;
        there.iter().any(|found| found.entry.name == name)
    };
    let files = surroundings.files(host).into_iter();
    let mut files =
        files.filter(|file| file.is_project == otherwise.is_project && file.path.exists());
    files.find(has_it).unwrap_or_else(|| otherwise.clone())
}

/// The failure of a later edit, when it has been told which were done before it.
fn half_done(reports: &[Value], mistake: Mistake, printer: Printer) -> Failure {
    if !reports.is_empty() {
        // That stdout is gone is no news to who does not read it.
        _ = print_reports(reports, false, printer);
    }
    Failure::from(mistake)
}

fn print_reports(reports: &[Value], is_dry: bool, printer: Printer) -> Result<Exit, Failure> {
    if printer.is_json() {
        printer.document(&json!({ "edits": reports, "dryRun": is_dry }).to_string())?;
    }
    Ok(Exit::Ok)
}

fn places(
    names: &[String],
    is_project: bool,
    surroundings: &Surroundings,
) -> Result<Vec<(&'static Host, HostFile)>, Failure> {
    let mut places: Vec<(&Host, HostFile)> = Vec::new();
    for name in names {
        let host = known_host(name)?;
        if places.iter().any(|(known, _)| known.id == host.id) {
            continue;
        }
        let file = surroundings.file_to_write(host, is_project).ok_or_else(|| {
            Failure::usage(format!("{} keeps no servers in projects", host.title))
                .hint("leave out --project")
        })?;
        places.push((host, file));
    }
    Ok(places)
}

fn print_paths(places: &[(&'static Host, HostFile)], printer: Printer) -> Result<Exit, Failure> {
    if printer.is_json() {
        let paths: Vec<Value> = places
            .iter()
            .map(|(host, file)| json!({ "host": host.id, "file": file.path }))
            .collect();
        printer.document(&json!({ "files": paths }).to_string())?;
    } else {
        for (_, file) in places {
            printer.text(&file.path.display().to_string())?;
        }
    }
    Ok(Exit::Ok)
}

/// The server that is to be written. Editors start programs in a directory and with a PATH of their
/// own, so that all paths are whole.
fn entry(args: &Args, printer: Printer) -> Result<Entry, Failure> {
    if let Some(url) = &args.url {
        let of_url = name_of_url(url)?;
        let name = args.name.clone().unwrap_or(of_url);
        let pair = |line: &String| match line.split_once(':') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(Failure::usage("--header must be 'Name: value'; there is no `:` in it")),
        };
        let headers = args.headers.iter().map(pair).collect::<Result<_, _>>()?;
        let how = How::Url { url: url.clone(), headers, transport: Transport::Http };
        return Ok(Entry { name, how, is_disabled: false });
    }
    let Some(file) = &args.file else { return Err(Failure::usage("name the haft.yaml to serve")) };
    let manifest = haft_manifest::load(file)?;
    manifest.verify()?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => plain(manifest.name()),
    };
    check_name(&name)?;
    let env = variables(&args.env)?;
    for wanted in manifest.variables() {
        if env.iter().all(|(name, _)| name != wanted) {
            printer.warn(&format!(
                "the file needs {wanted}, which the editor may not have; --env {wanted} gives it"
            ));
        }
    }
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let file = std::path::absolute(file)?.to_string_lossy().into_owned();
    let args = vec!["serve".to_owned(), file, "--stdio".to_owned()];
    let how = How::Command { program, args, env, dir: None };
    Ok(Entry { name, how, is_disabled: false })
}

fn variables(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let variable = |pair: &String| {
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (&**pair, std::env::var(pair).ok()),
        };
        let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        if name.is_empty() || !name.bytes().all(is_word) {
            return Err(Failure::usage("--env must be NAME=VALUE, or the NAME of a variable"));
        }
        let value = value.ok_or_else(|| {
            let failure = Failure::usage(format!("--env: the variable {name} is not set"));
            failure.hint(format!("set it, or give --env {name}=VALUE"))
        })?;
        Ok((name.to_owned(), value))
    };
    given.iter().map(variable).collect()
}

fn name_of_file(file: &Path) -> Result<String, Failure> {
    Ok(plain(haft_manifest::load(file)?.name()))
}

fn name_of_url(url: &str) -> Result<String, Failure> {
    let shown = shown_url(url);
    let uri: http::Uri = url.parse().map_err(|_| Failure::usage(format!("{shown:?} is no URL")))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) => Ok(plain(host)),
        _ => Err(Failure::usage(format!("{shown:?} is no http:// or https:// URL"))),
    }
}

/// A server's name as far as it can be one in every editor.
fn plain(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let name: String =
        name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    name.trim_matches(['.', '-']).chars().take(haft_editors::limits::NAME_BYTES_MAX).collect()
}

fn explained(mistake: Mistake, name: &str, file: &HostFile) -> Failure {
    let hint = match &mistake {
        Mistake::NameTaken { .. } => Some("--replace replaces it, --name chooses another name"),
        Mistake::Unreadable { .. } => Some("mend the file first; nothing was changed"),
        _ => None,
    };
    let is_about_file =
        !matches!(mistake, Mistake::System { .. } | Mistake::ChangedMeanwhile { .. });
    let mut failure = Failure::from(mistake);
    if is_about_file {
        failure.message = format!("{}: {}", shown(&file.path), failure.message);
    }
    match hint {
        Some(hint) => failure.hint(hint),
        None if name.is_empty() => failure.hint("--name gives it a name"),
        None => failure,
    }
}

/// An entry as it may be shown: the names of variables and headers, not their values, and of an
/// address neither who asks nor the values in its query.
fn without_secrets(entry: &Value) -> Value {
    let mut shown = entry.clone();
    for key in ["env", "environment", "envs", "headers", "http_headers"] {
        if let Some(Value::Object(pairs)) = shown.get_mut(key) {
            pairs.values_mut().for_each(|value| *value = json!("…"));
        }
    }
    for key in ["url", "httpUrl", "serverUrl", "uri"] {
        if let Some(Value::String(url)) = shown.get_mut(key) {
            *url = shown_url(url);
        }
    }
    shown
}

const fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Replaced => "replaced",
        Change::Removed => "removed",
        Change::Nothing => "nothing",
    }
}

/// What one edit did, for programs.
fn report(host: &Host, edit: &Edit, name: &str, entry: Option<&Value>) -> Value {
    json!({
        "host": host.id,
        "name": name,
        "file": edit.file,
        "change": word(edit.change),
        "backup": edit.backup.as_ref().filter(|_| !edit.is_undone()),
        "entry": entry,
    })
}

/// What one edit did, for people.
fn say(
    host: &Host,
    edit: &Edit,
    name: &str,
    entry: Option<&Value>,
    is_dry: bool,
    printer: Printer,
) -> Result<(), Failure> {
    let change = word(edit.change);
    if printer.is_json() {
        return Ok(());
    }
    let backup = edit.backup.as_ref().filter(|_| !edit.is_undone());
    let file = shown(&edit.file);
    let title = host.title;
    let would = if is_dry { "would be " } else { "" };
    match edit.change {
        Change::Nothing if entry.is_some() => {
            return printer.line(format_args!("{NAME}{name}{NAME:#} is in {file} already."));
        }
        Change::Nothing => {
            return printer.line(format_args!("{NAME}{name}{NAME:#} is not in {file}."));
        }
        _ => {}
    }
    printer.line(format_args!("{NAME}{name}{NAME:#} {would}{change}: {file} ({title})"))?;
    if let Some(entry) = entry {
        let pretty = serde_json::to_string_pretty(entry).unwrap_or_default();
        printer.line(format_args!("{pretty}"))?;
    }
    if edit.is_file_removed() {
        let done = if is_dry { "would be gone" } else { "is gone" };
        printer.line(format_args!("The file held nothing else, was made by haft, and {done}."))?;
    }
    if let Some(backup) = backup {
        printer.line(format_args!("The file as it was: {}", shown(backup)))?;
    }
    if !is_dry {
        printer.line(format_args!("Restart {title} to see it."))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::Args as _;
    use haft_editors::HOSTS;

    #[test]
    fn the_help_names_every_host() {
        let command = Args::augment_args(clap::Command::new("install"));
        let help = command.get_after_help().expect("it has examples").to_string();
        let list = help.split("one of: ").nth(1).expect("a list").trim_end_matches('.');
        let named: Vec<&str> = list.split(", ").collect();
        let known: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
        assert_eq!(named, known);
    }
}
