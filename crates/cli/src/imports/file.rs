//! The haft.yaml that upstreams are put into: a new one, one that is there, whose other bytes stay,
//! or stdout. What comes of it is read as `haft check` reads it before anything is written.

use super::text;
use super::vault::Vault;
use crate::exit::{Exit, Failure};
use haft_editors::Format;
use haft_manifest::limits::FILE_BYTES_MAX;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What becomes of an upstream of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Replaced,
    Unchanged,
}

impl Change {
    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Unchanged => "unchanged",
        }
    }
}

/// The file.
pub(crate) struct Output {
    /// Absolute. Of what goes to stdout, a file that is never written.
    path: PathBuf,
    is_stdout: bool,
    format: Format,
    /// What was there.
    old: Option<String>,
    there: Map<String, Value>,
    text: String,
}

impl Output {
    /// For stdout, `-`, or a file, which need not be there. A new one is for a server of this name.
    pub(crate) fn open(path: &Path, server: impl FnOnce(&Path) -> String) -> Result<Self, Failure> {
        let is_stdout = path.as_os_str() == "-";
        let path = if is_stdout { Path::new("haft.yaml") } else { path };
        let path = std::path::absolute(path)?;
        // Behind all links, so that a link stays one.
        let path = path.canonicalize().unwrap_or(path);
        let format = Format::of(&path).unwrap_or(Format::Yaml);
        let old = if is_stdout { None } else { text(&path)? };
        let old = old.filter(|text| !text.trim().is_empty());
        let mut there = Map::new();
        if let Some(old) = &old {
            let root = format.read(old).map_err(|mistake| unusable(&path, &mistake.to_string()))?;
            if let Some(Value::Object(upstreams)) = root.get("upstreams") {
                there = upstreams.clone();
            }
        }
        let text = match (&old, format) {
            (Some(old), _) => old.clone(),
            (None, Format::Json) => {
                let name = Value::from(server(directory_of(&path)));
                format!("{{\n  \"server\": {{ \"name\": {name} }}\n}}\n")
            }
            (None, _) => {
                let name = Value::from(server(directory_of(&path)));
                format!("server:\n  name: {name}\n\nupstreams:\n")
            }
        };
        Ok(Self { path, is_stdout, format, old, there, text })
    }

    /// The file, absolute; nothing if it is stdout.
    pub(crate) fn path(&self) -> Option<&Path> {
        (!self.is_stdout).then_some(&*self.path)
    }

    pub(crate) fn directory(&self) -> &Path {
        directory_of(&self.path)
    }

    /// Whether the file is not there yet.
    pub(crate) fn is_new(&self) -> bool {
        self.old.is_none()
    }

    /// All of it, as it will be.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The variables of the environment that the file names, and the upstreams that do; a name of
    /// nothing stands for all else.
    pub(crate) fn names_in_use(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut names = BTreeMap::new();
        let root = self.old.as_ref().and_then(|old| self.format.read(old).ok());
        for (key, value) in root.as_ref().and_then(Value::as_object).into_iter().flatten() {
            match value {
                Value::Object(upstreams) if key == "upstreams" => {
                    for (upstream, value) in upstreams {
                        note_names(value, upstream, &mut names);
                    }
                }
                value => note_names(value, "", &mut names),
            }
        }
        names
    }

    /// What putting an upstream in would do.
    pub(crate) fn change(&self, name: &str, upstream: &Value) -> Change {
        match self.there.get(name) {
            None => Change::Added,
            Some(there) if there == upstream => Change::Unchanged,
            Some(_) => Change::Replaced,
        }
    }

    /// Puts upstreams in, in this order, before those that are there.
    pub(crate) fn put(&mut self, upstreams: &[(String, Value)]) -> Result<(), Failure> {
        for (name, upstream) in upstreams.iter().rev() {
            if self.change(name, upstream) != Change::Unchanged {
                let put = self.format.put(&self.text, (&["upstreams"], name), upstream);
                self.text = put.map_err(|mistake| unusable(&self.path, &mistake.to_string()))?;
            }
        }
        Ok(())
    }

    /// That the file as it was can be used, so that what is wrong later is not its own.
    pub(crate) fn check_old(&self, vault: &Vault) -> Result<(), Failure> {
        let Some(old) = &self.old else { return Ok(()) };
        let line = |why: String| why.strip_prefix(&self.place()).map(|rest| format!("line {rest}"));
        let unusable = |why: String| unusable(&self.path, &line(why.clone()).unwrap_or(why));
        self.read(old, vault).map_err(unusable)
    }

    /// That an upstream can be one, or why not.
    pub(crate) fn check_alone(
        &self,
        name: &str,
        upstream: &Value,
        vault: &Vault,
    ) -> Result<(), String> {
        let start = "server:\n  name: import\n";
        let text = Format::Yaml.put(start, (&["upstreams"], name), upstream);
        let read = self.read(&text.map_err(|mistake| mistake.to_string())?, vault);
        read.map_err(|why| self.without_place(&why).to_owned())
    }

    /// That all of it can be used together.
    pub(crate) fn check(&self, vault: &Vault) -> Result<(), Failure> {
        let read = self.read(&self.text, vault);
        read.map_err(|why| unusable(&self.path, self.without_place(&why)))
    }

    /// What a fault of this file begins with.
    fn place(&self) -> String {
        format!("{}:", self.path.display())
    }

    /// What is wrong, without the line, which is of a text that nobody sees.
    fn without_place<'w>(&self, why: &'w str) -> &'w str {
        let Some(rest) = why.strip_prefix(&self.place()) else { return why };
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':').trim_start()
    }

    fn read(&self, text: &str, vault: &Vault) -> Result<(), String> {
        let variable = |name: &str| Some(vault.sample(name));
        let manifest = haft_manifest::parse_with(&self.path, text, &variable);
        let manifest = manifest.map_err(|fault| fault.message())?;
        manifest.verify().map_err(|fault| fault.message())
    }

    /// Writes it, if anything is new, and it is still what it was when it was read.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        if self.old.as_ref() == Some(&self.text) {
            return Ok(());
        }
        let failed = |error: io::Error| {
            let why = format!("cannot write {}: {error}", self.path.display());
            Failure::new(Exit::Other, why)
        };
        if self.old.is_none() {
            fs::create_dir_all(self.directory()).map_err(failed)?;
        }
        let mut file = tempfile::Builder::new();
        if self.old.is_none() {
            // As any new file, for whoever the mask lets read it: it has no secrets.
            file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let mut file = file.tempfile_in(self.directory()).map_err(failed)?;
        file.write_all(self.text.as_bytes()).map_err(failed)?;
        if let Ok(there) = fs::metadata(&self.path) {
            file.as_file().set_permissions(there.permissions()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        let now = text(&self.path)?.filter(|text| !text.trim().is_empty());
        if now != self.old {
            let why = format!("{} was changed in the meantime", self.path.display());
            return Err(Failure::new(Exit::Other, why).hint("try again"));
        }
        file.persist(&self.path).map(drop).map_err(|error| failed(error.error))
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new("/"))
}

/// What is there; nothing if nothing is.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    text::read(path, FILE_BYTES_MAX, |why| unusable(path, why))
}

fn note_names(value: &Value, user: &str, names: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::String(text) => {
            for (at, start) in text.match_indices("${env:") {
                let rest = &text[at + start.len()..];
                let end = rest.find(['}', ':']).unwrap_or(rest.len());
                names.entry(rest[..end].to_owned()).or_default().insert(user.to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| note_names(item, user, names)),
        Value::Object(fields) => {
            fields.values().for_each(|field| note_names(field, user, names));
        }
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

fn unusable(path: &Path, why: &str) -> Failure {
    let failure = Failure::usage(format!("nothing can be put into {}: {why}", path.display()));
    failure
        .hint("mend it first, or write a file of its own: --output FILE, or --output - to print it")
}
