//! `haft import`: servers that editors know become the `upstreams` of a haft.yaml. Reads editors'
//! files and changes none; starts no server.

use super::discover::{Source, host_or_file};
use super::new::server_name;
use crate::exit::{Exit, Failure};
use crate::imports::{
    Change, DIRECTORY, Form, Kept, Needed, Output, Vault, Words, cleaned, is_of, unique, words,
};
use crate::named::{shown, surroundings};
use crate::print::{DIM, GOOD, NAME, Printer, one_line};
use crate::table::{Column, Table};
use anstyle::Style;
use clap::ValueEnum;
use haft_editors::{Discovery, Found, Surroundings, discover, discover_file};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Put the servers of an editor behind one haft.yaml
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft import                                what all editors know, into haft.yaml
  haft import claude_desktop_config.json     what is in a file with `mcpServers` or `servers`
  haft import cursor --only github           one server of an editor
  haft import .mcp.json --output -           print a file instead of writing one
  haft import cursor --env-file haft.env     keep its secrets there, for its owner alone
  haft import cursor --secrets file          keep each in a file of haft.secrets/, and read it there

Secrets are never printed. A file that is there keeps its comments, and everything else in it.")]
pub(crate) struct Args {
    /// A file, or an editor's name as `haft discover` has it; what all editors know without it
    source: Option<String>,
    /// Take this server; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The file that they are put into, which need not be there; `-` prints a new one
    #[arg(long, short, value_name = "FILE", default_value = "haft.yaml")]
    output: PathBuf,
    /// How the file names secrets: by variables, or by files of haft.secrets/ beside it
    #[arg(long, value_enum, default_value_t = Secrets::Env)]
    secrets: Secrets,
    /// Write the values of these variables into this file, for its owner alone, and add to it if
    /// it is there
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Take servers along that are switched off
    #[arg(long)]
    disabled: bool,
    /// Replace upstreams of the same name
    #[arg(long)]
    force: bool,
}

/// What `--secrets` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Secrets {
    /// `${env:NAME}`
    Env,
    /// `${file:haft.secrets/NAME}`
    File,
}

/// A server that becomes an upstream.
struct Taken<'d> {
    found: &'d Found,
    name: String,
    upstream: Value,
    change: Change,
}

/// What came of an import.
#[derive(Default)]
struct Imported<'d> {
    taken: Vec<Taken<'d>>,
    vault: Vault,
    /// What is left out: where from, which, and why.
    left_out: Vec<(PathBuf, String, String)>,
    notes: Vec<String>,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let surroundings = surroundings()?;
    let discovery = discovered(args.source.as_deref(), &surroundings)?;
    let mut output = Output::open(&args.output, server_name)?;
    let kept = match (args.secrets, &args.env_file) {
        (Secrets::Env, None) => Kept::Nowhere,
        (Secrets::Env, Some(file)) => Kept::Lines(std::path::absolute(file)?),
        (Secrets::File, Some(_)) => {
            return Err(Failure::usage("--env-file is for --secrets env; leave one of them out"));
        }
        (Secrets::File, None) if output.path().is_none() => {
            let failure = Failure::usage("secrets in files need a file beside which they are");
            return Err(failure.hint("name it with --output, or use --env-file"));
        }
        (Secrets::File, None) => Kept::Files(output.directory().join(DIRECTORY)),
    };
    let known = kept.read()?;
    let vault = Vault::new(output.names_in_use(), known.clone());
    output.check_old(&vault)?;
    let mut imported = Imported { vault, ..Imported::default() };
    let form = if args.secrets == Secrets::File { Form::File } else { Form::Env };
    imported.take_all(&discovery, &args, (&output, &surroundings), form);
    refuse_unknown(&args.only, &discovery)?;
    imported.refuse_nothing()?;
    if !args.force {
        imported.refuse_replacements(&output)?;
    }
    let upstreams: Vec<(String, Value)> =
        imported.taken.iter().map(|taken| (taken.name.clone(), taken.upstream.clone())).collect();
    output.put(&upstreams)?;
    let made = kept.add(imported.vault.needed(), &known)?;
    let written = output.check(&imported.vault).and_then(|()| match output.path() {
        Some(_) => output.write(),
        None => Ok(()),
    });
    if let Err(failure) = written {
        // Nothing names them.
        made.iter().for_each(|file| drop(std::fs::remove_file(file)));
        return Err(failure);
    }
    imported.tell((&output, &kept), printer)?;
    Ok(Exit::Ok)
}

fn discovered(source: Option<&str>, surroundings: &Surroundings) -> Result<Discovery, Failure> {
    let Some(source) = source else { return Ok(discover(surroundings, None)) };
    let looks_like_file = source.contains(['/', '.']);
    if looks_like_file && !Path::new(source).is_file() {
        let failure = Failure::usage(format!("there is no file {source}"));
        return Err(failure.hint("`haft discover` shows the files that there are"));
    }
    Ok(match host_or_file(source)? {
        Source::Host(host) => discover(surroundings, Some(host)),
        Source::File => discover_file(&cleaned(&std::path::absolute(source)?), surroundings),
    })
}

impl<'d> Imported<'d> {
    fn take_all(
        &mut self,
        discovery: &'d Discovery,
        args: &Args,
        (output, surroundings): (&Output, &Surroundings),
        form: Form,
    ) {
        for fault in &discovery.faults {
            self.left_out.push((fault.file.clone(), String::new(), fault.mistake.to_string()));
        }
        let is_meant = |found: &&Found| {
            args.only.is_empty() || args.only.iter().any(|name| is_of(found, name))
        };
        for found in discovery.found.iter().filter(is_meant) {
            if found.entry.is_disabled && !args.disabled {
                let why = "is switched off; --disabled takes it along";
                self.leave_out(found, why);
                continue;
            }
            // Editors know the same servers.
            let is_same = |taken: &&Taken<'_>| taken.found.entry.how == found.entry.how;
            if let Some(taken) = self.taken.iter().find(is_same) {
                if taken.found.entry.name != found.entry.name {
                    let name = &found.entry.name;
                    self.notes.push(format!("{}: `{name}` is the same server", taken.name));
                }
                continue;
            }
            match self.taken_as(found, (output, surroundings), form) {
                Ok(taken) => self.taken.push(taken),
                Err(why) => self.leave_out(found, &why),
            }
        }
    }

    /// Takes a server, with what it needs, or nothing of it.
    fn taken_as(
        &mut self,
        found: &'d Found,
        (output, surroundings): (&Output, &Surroundings),
        form: Form,
    ) -> Result<Taken<'d>, String> {
        let names: Vec<String> = self.taken.iter().map(|taken| taken.name.clone()).collect();
        let name = unique(found, &names);
        let with =
            |form| Words { surroundings, directory: output.directory(), file: output.path(), form };
        let mut vault = self.vault.clone();
        // Tried by variables, which need not be anywhere yet.
        let (tried, notes) = words(found, &name, &with(Form::Env), &mut vault)?;
        let wrong = output.check_alone(&name, &tried, &vault);
        wrong.map_err(|why| format!("cannot be an upstream: {why}"))?;
        let (upstream, _) = words(found, &name, &with(form), &mut vault)?;
        self.vault = vault;
        self.notes.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
        let change = output.change(&name, &upstream);
        Ok(Taken { found, name, upstream, change })
    }

    fn leave_out(&mut self, found: &Found, why: &str) {
        self.left_out.push((found.file.clone(), found.entry.name.clone(), why.to_owned()));
    }

    /// That there is something to import.
    fn refuse_nothing(&self) -> Result<(), Failure> {
        if !self.taken.is_empty() {
            return Ok(());
        }
        let failure = Failure::usage("there is no server to import");
        Err(match &self.left_out[..] {
            [] => failure.hint("`haft discover` shows what editors know"),
            left_out => failure.hint(left_out.iter().map(reason).collect::<Vec<_>>().join(" · ")),
        })
    }

    /// That no upstream gets other settings that nobody asked for.
    fn refuse_replacements(&self, output: &Output) -> Result<(), Failure> {
        let replaced = self.taken.iter().filter(|taken| taken.change == Change::Replaced);
        let names: Vec<String> = replaced.map(|taken| format!("`{}`", taken.name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let file = output.path().map(shown).unwrap_or_default();
        let failure =
            Failure::usage(format!("{file} has {} already, with other settings", names.join(", ")));
        Err(failure.hint("--force replaces them; --output FILE, or --output -, makes a new file"))
    }

    fn tell(&self, (output, kept): (&Output, &Kept), printer: Printer) -> Result<(), Failure> {
        if printer.is_json() {
            return printer.document(&self.report(output, kept).to_string());
        }
        match output.path() {
            Some(path) => {
                let count = self.taken.iter().filter(|taken| taken.change != Change::Unchanged);
                let (count, file) = (count.count(), shown(path));
                let what = if output.is_new() { "is written" } else { "is edited" };
                match count {
                    0 => printer
                        .line(format_args!("{NAME}{file}{NAME:#} has all of them already."))?,
                    _ => printer.line(format_args!("{NAME}{file}{NAME:#} {what}."))?,
                }
                printer.table(&self.table())?;
                if !self.vault.needed().is_empty() {
                    printer.line(format_args!(""))?;
                    printer.table(&needs(self.vault.needed(), kept))?;
                }
                self.say_next(kept, printer)?;
            }
            None => {
                printer.text(output.text())?;
                for needed in self.vault.needed() {
                    let Needed { name, what, .. } = needed;
                    let (state, what) = (state(needed, kept), one_line(what));
                    printer.note(format_args!("{name}: {state}: {what}"));
                }
            }
        }
        for note in &self.notes {
            printer.warn(note);
        }
        for left_out in &self.left_out {
            printer.warn(&format!("{}: {}", shown(&left_out.0), reason(left_out)));
        }
        Ok(())
    }

    fn say_next(&self, kept: &Kept, printer: Printer) -> Result<(), Failure> {
        match kept {
            Kept::Nowhere if self.vault.needed().iter().any(|needed| is_unset(needed, kept)) => {
                printer.note(format_args!(
                    "Set these variables where haft runs; --env-file FILE writes those that were \
                     in the file."
                ));
            }
            Kept::Lines(path) => {
                let text = path.to_string_lossy();
                let quoted = shlex::try_quote(&text).unwrap_or(Cow::Borrowed(&*text));
                printer.note(format_args!(
                    "Its secrets are in {}, for you alone: set -a; . {quoted}; set +a",
                    shown(path)
                ));
            }
            Kept::Files(path) => {
                printer.note(format_args!("Its secrets are in {}, for you alone.", shown(path)));
            }
            Kept::Nowhere => {}
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column { heading: "UPSTREAM", style: NAME, share_max: 20 },
            Column { heading: "", style: GOOD, share_max: 10 },
            Column { heading: "COMMAND OR URL", style: Style::new(), share_max: 40 },
            Column { heading: "FROM", style: DIM, share_max: 100 },
        ]);
        for Taken { found, name, change, .. } in &self.taken {
            table.row([name, change.word(), &found.entry.shown(), &shown(&found.file)]);
        }
        table
    }

    fn report(&self, output: &Output, kept: &Kept) -> Value {
        let upstream = |taken: &Taken<'_>| {
            let Taken { found, name, change, .. } = taken;
            let (host, file) = (found.source(), &found.file);
            json!({"name": name, "change": change.word(), "server": found.entry.name,
                "host": host, "file": file})
        };
        let needed = |needed: &Needed| {
            json!({"name": needed.name, "upstreams": needed.upstreams, "what": needed.what,
                "state": state(needed, kept)})
        };
        let left_out = self.left_out.iter().map(|(file, name, why)| {
            let name = Some(name).filter(|name| !name.is_empty());
            json!({"file": file, "name": name, "reason": why})
        });
        let (form, place) = match kept {
            Kept::Nowhere => ("env", None),
            Kept::Lines(path) => ("env", Some(path)),
            Kept::Files(path) => ("file", Some(path)),
        };
        let mut report = json!({
            "file": output.path(),
            "upstreams": self.taken.iter().map(upstream).collect::<Vec<_>>(),
            "secrets": {"form": form, "kept": place},
            "needed": self.vault.needed().iter().map(needed).collect::<Vec<_>>(),
            "leftOut": left_out.collect::<Vec<_>>(),
            "notes": self.notes,
        });
        if output.path().is_none() {
            report["text"] = json!(output.text());
        }
        report
    }
}

/// That there is a server of each name.
fn refuse_unknown(only: &[String], discovery: &Discovery) -> Result<(), Failure> {
    let is_unknown = |name: &&String| !discovery.found.iter().any(|found| is_of(found, name));
    let Some(name) = only.iter().find(is_unknown) else { return Ok(()) };
    let failure = Failure::usage(format!("there is no server named {name:?} there"));
    let names: Vec<&str> = discovery.found.iter().map(|found| &*found.entry.name).collect();
    Err(match haft_server::nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None if names.is_empty() => failure,
        None => failure.hint(format!("there are {}", names.join(", "))),
    })
}

/// Which, and why.
fn reason((_, name, why): &(PathBuf, String, String)) -> String {
    if name.is_empty() { why.clone() } else { format!("`{name}` {why}") }
}

fn needs(needed: &[Needed], kept: &Kept) -> Table {
    let mut table = Table::new([
        Column { heading: "NEEDED", style: NAME, share_max: 35 },
        Column { heading: "", style: Style::new(), share_max: 10 },
        Column { heading: "WHAT IT IS", style: DIM, share_max: 100 },
    ]);
    for one in needed {
        table.row([&*one.name, state(one, kept), &*one.what]);
    }
    table
}

/// Whether somebody has to set it.
fn is_unset(needed: &Needed, kept: &Kept) -> bool {
    state(needed, kept) == "to set"
}

fn state(needed: &Needed, kept: &Kept) -> &'static str {
    match (kept, &needed.value) {
        (Kept::Lines(_) | Kept::Files(_), Some(_)) => "kept",
        _ if std::env::var_os(&needed.name).is_some() => "set",
        _ => "to set",
    }
}
