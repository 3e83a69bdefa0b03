//! What is found below a directory, for lists and suggestions: the names, in order, and what each
//! directory was then. Everything here blocks its thread; it opens no file.

use crate::below::{Directory, LIST, is_nothing};
use crate::limits::{ENTRIES_MAX, LISTED_MAX, PATH_BYTES_MAX, PATH_NAMES_MAX};
use crate::stamp::Stamp;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::{Errno, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::time::SystemTime;

/// What was found, in order of the names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    /// The paths of files from the directory.
    pub(crate) files: Vec<String>,
    /// The paths of the directories that were gone into, the directory itself first, and what each
    /// was before that: all that is found depends on them alone.
    pub(crate) directories: Vec<(String, Stamp)>,
    /// There may be more.
    pub(crate) is_cut: bool,
}

impl Walked {
    pub(crate) const NONE: Self =
        Self { files: Vec::new(), directories: Vec::new(), is_cut: false };

    /// Whether the same files were found.
    pub(crate) fn lists_as(&self, other: &Self) -> bool {
        self.files == other.files && self.is_cut == other.is_cut
    }

    /// Whether a directory was gone into that was not before.
    pub(crate) fn is_deeper_than(&self, before: &Self) -> bool {
        let known: BTreeSet<_> = before.directories.iter().map(|(path, _)| path).collect();
        !self.directories.iter().all(|(path, _)| known.contains(path))
    }
}

impl Directory {
    /// The files that are listed one by one.
    pub(crate) fn list(&self) -> Result<Walked> {
        self.find("", LISTED_MAX)
    }

    /// The first files whose paths begin with what is typed, whatever its case. No symbolic link
    /// is followed. What is not there or may not be seen has no files; that something cannot be
    /// read for another reason is an error.
    pub(crate) fn find(&self, typed: &str, most: usize) -> Result<Walked> {
        let typed = typed.to_lowercase();
        let mut walk =
            Walk { directory: self, typed, most, left: ENTRIES_MAX, done: <_>::default() };
        let flags = OFlags::CLOEXEC | OFlags::DIRECTORY;
        walk.enter(openat(CWD, &self.path, flags, Mode::empty()), String::new(), 1)?;
        Ok(walk.done)
    }

    /// Whether a walk would find the same, for certain.
    pub(crate) fn is_still(&self, walked: &Walked) -> bool {
        let is_still =
            |(path, stamp): &(String, Stamp)| stamp.is_still(Stamp::of(&self.path.join(path)));
        walked.directories.iter().all(is_still)
    }
}

struct Walk<'a> {
    directory: &'a Directory,
    /// In small letters.
    typed: String,
    most: usize,
    /// How many entries may still be looked at.
    left: usize,
    done: Walked,
}

impl Walk<'_> {
    /// Looks at a directory of this path, if there is one.
    fn enter(&mut self, opened: Result<OwnedFd>, path: String, depth: usize) -> Result<()> {
        let looking = SystemTime::now();
        let opened = match opened {
            Ok(opened) => File::from(opened),
            Err(error) if is_nothing(error) => {
                // It may be seen one day.
                let stamp = Stamp::of(&self.directory.path.join(&path));
                self.done.directories.push((path, stamp));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let found = opened.metadata();
        let found = found.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        self.done.directories.push((path, Stamp::new(&found, looking)));
        self.visit(&opened, &prefix, depth)
    }

    /// Looks at a directory whose path, with a slash at its end, is `prefix`.
    fn visit(&mut self, directory: &File, prefix: &str, depth: usize) -> Result<()> {
        for (name, kind) in self.entries(directory)? {
            let path = format!("{prefix}{name}");
            if path.len() > PATH_BYTES_MAX {
                continue;
            }
            match kind {
                FileType::RegularFile if path.to_lowercase().starts_with(&self.typed) => {
                    if self.done.files.len() == self.most {
                        self.done.is_cut = true;
                        return Ok(());
                    }
                    self.done.files.push(path);
                }
                FileType::Directory if depth < PATH_NAMES_MAX => {
                    let lower = format!("{path}/").to_lowercase();
                    let leads_there =
                        lower.starts_with(&self.typed) || self.typed.starts_with(&lower);
                    if !leads_there {
                        continue;
                    }
                    let opened = openat(directory, &*name, LIST, Mode::empty());
                    self.enter(opened, path, depth + 1)?;
                }
                _ => {}
            }
            if self.done.is_cut {
                break;
            }
        }
        Ok(())
    }

    /// The entries of a directory that may be served, in order.
    fn entries(&mut self, directory: &File) -> Result<Vec<(String, FileType)>> {
        let mut reading = match Dir::read_from(directory) {
            Err(error) if is_nothing(error) => return Ok(Vec::new()),
            reading => reading?,
        };
        let mut entries = Vec::new();
        while let Some(entry) = reading.read() {
            let entry = match entry {
                // It was removed meanwhile.
                Err(error) if is_nothing(error) => break,
                entry => entry?,
            };
            if self.left == 0 {
                self.done.is_cut = true;
                break;
            }
            self.left -= 1;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !self.directory.is_served_name(name) {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode)),
                kind => kind,
            };
            entries.push((name.to_owned(), kind));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn a_walk_knows_whether_another_would_find_the_same() {
        let yard = TempDir::new().expect("there is a directory for temporary files");
        let directory = Directory { path: yard.path().join("open"), with_hidden: false };
        let path = |name: &str| directory.path.join(name);
        fs::create_dir_all(path("a/a")).expect("it is ours");
        let walk = || {
            // What changed just now may change again unseen, and is looked at again.
            std::iter::repeat_with(|| directory.list().expect("it can be read"))
                .find(|walked| directory.is_still(walked))
                .expect("it is for ever")
        };
        let edits: [(&dyn Fn() -> std::io::Result<()>, bool); 5] = [
            (&|| fs::write(path("a/new"), "x"), true),
            (&|| fs::write(path("a/new"), "more of it"), false),
            (&|| fs::rename(path("a/new"), path("a/a/new")), true),
            (&|| fs::remove_dir_all(path("a/a")), true),
            (&|| fs::write(path(".hidden"), "x"), false),
        ];
        for (index, (edit, is_other)) in edits.into_iter().enumerate() {
            let before = walk();
            edit().expect("it is ours");
            assert_eq!(!walk().lists_as(&before), is_other, "{index}");
            assert!(!is_other || !directory.is_still(&before), "{index}");
        }
        fs::rename(&directory.path, yard.path().join("away")).expect("it is ours");
        assert!(walk().files.is_empty() && walk().directories.len() == 1);
    }
}
