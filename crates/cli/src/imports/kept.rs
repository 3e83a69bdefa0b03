//! Where the secrets go that were in editors' files: a file of variables, or a directory with a
//! file for each. Both are their owner's alone. What is there already stays.

use super::text;
use super::vault::Needed;
use crate::exit::{Exit, Failure};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory of secrets, beside haft.yaml.
pub(crate) const DIRECTORY: &str = "haft.secrets";
/// No longer file of variables is added to.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Where secrets are kept.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// Nowhere: whoever runs haft sets them.
    Nowhere,
    /// As `NAME=value` lines of this file.
    Lines(PathBuf),
    /// In a file each of this directory.
    Files(PathBuf),
}

impl Kept {
    /// What is there already, by its names.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, String>, Failure> {
        match self {
            Self::Nowhere => Ok(BTreeMap::new()),
            Self::Lines(path) => {
                let text = text(path)?.unwrap_or_default();
                let words =
                    shlex::split(&text).ok_or_else(|| odd(path, "a quote is not closed"))?;
                let pairs = words.iter().filter_map(|word| word.split_once('='));
                Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
            }
            Self::Files(directory) => {
                let mut kept = BTreeMap::new();
                let entries = match fs::read_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kept),
                    entries => entries.map_err(|error| cannot("read", directory, &error))?,
                };
                for entry in entries {
                    let entry = entry.map_err(|error| cannot("read", directory, &error))?;
                    let Ok(name) = entry.file_name().into_string() else { continue };
                    // Whatever is no secret has a name all the same.
                    let value = text(&entry.path()).ok().flatten().unwrap_or_default();
                    kept.insert(name, value.strip_suffix('\n').unwrap_or(&value).to_owned());
                }
                Ok(kept)
            }
        }
    }

    /// Adds what is not there yet. Returns the files that are new.
    pub(crate) fn add(
        &self,
        needed: &[Needed],
        known: &BTreeMap<String, String>,
    ) -> Result<Vec<PathBuf>, Failure> {
        let new = needed.iter().filter(|needed| !known.contains_key(&needed.name));
        let new = new.filter_map(|needed| Some((&*needed.name, needed.value.as_deref()?)));
        let new: Vec<(&str, &str)> = new.collect();
        if let (Self::Lines(path) | Self::Files(path), false) = (self, new.is_empty())
            && let Some(above) = path.parent()
        {
            fs::create_dir_all(above).map_err(|error| cannot("make", above, &error))?;
        }
        match self {
            Self::Lines(path) if !new.is_empty() => add_lines(path, &new),
            Self::Files(directory) if !new.is_empty() => {
                make_directory(directory)?;
                let mut made = Vec::new();
                for (name, value) in new {
                    let path = directory.join(name);
                    let written = written(&path, &format!("{value}\n"));
                    written.map_err(|error| cannot("write", &path, &error))?;
                    made.push(path);
                }
                Ok(made)
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// Writes all lines anew beside the old file, and then in its place.
fn add_lines(path: &Path, new: &[(&str, &str)]) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: io::Error| cannot("write", path, &error);
    let old = text(path)?;
    let mut all = old.clone().unwrap_or_default();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    for (name, value) in new {
        // Only a NUL has no quotes, and no file of an editor is read with one.
        let quoted = shlex::try_quote(value).map_err(|_| odd(path, "a value has a NUL"))?;
        all.push_str(&format!("{name}={quoted}\n"));
    }
    if old.is_none() {
        written(path, &all).map_err(failed)?;
        return Ok(vec![path.to_owned()]);
    }
    let path = path.canonicalize().map_err(failed)?;
    let directory = path.parent().unwrap_or_else(|| Path::new("/"));
    // Its owner's alone from the first byte.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(all.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(Vec::new())
}

/// A directory of its owner's alone. One that is there is not changed, and used if it is.
fn make_directory(directory: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(directory);
            let found = found.map_err(|error| cannot("read", directory, &error))?;
            let is_ours = found.uid() == rustix::process::geteuid().as_raw();
            match found.is_dir() && is_ours && found.permissions().mode() & 0o077 == 0 {
                true => Ok(()),
                false => Err(odd(directory, "others can reach it, or it is no directory of yours")
                    .hint(format!("chmod 700 {}", directory.display()))),
            }
        }
        made => made.map_err(|error| cannot("make", directory, &error)),
    }
}

/// Writes a file that is not there yet, for its owner alone.
fn written(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// What is there; nothing if nothing is.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    text::read(path, FILE_BYTES_MAX, |why| odd(path, why))
}

fn cannot(act: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot {act} {}: {error}", path.display()))
}

fn odd(path: &Path, why: &str) -> Failure {
    let failure = Failure::usage(format!("{} cannot keep secrets: {why}", path.display()));
    failure.hint("name another file")
}
