//! The files below a directory: opened so that no path of a caller leads out of it, whatever it
//! spells and whatever is swapped meanwhile, and found for lists and suggestions. Everything here
//! blocks its thread; `reading` calls it where that is allowed.

use crate::limits::{ENTRIES_MAX, PATH_BYTES_MAX, PATH_NAMES_MAX};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::{Errno, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory whose files callers may ask for.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    /// The directory. Its own path is the author's, and may go through symbolic links.
    pub(crate) path: PathBuf,
    /// Names that begin with a dot are served too.
    pub(crate) with_hidden: bool,
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its path from the directory.
    pub(crate) path: String,
    /// In bytes.
    pub(crate) size: Option<u64>,
}

/// What was found, in order of the names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<Found>,
    /// There may be more.
    pub(crate) is_cut: bool,
}

/// Opening a pipe must not wait for its writer, nor a terminal become ours.
const READ: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
const LIST: OFlags = OFlags::CLOEXEC.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Opens a file by the path of an author. Nothing if it is not there, or no regular file.
pub(crate) fn open_file(path: &Path) -> Result<Option<File>> {
    regular(openat(CWD, path, READ, Mode::empty()))
}

impl Directory {
    /// Opens a file by the path of a caller. Nothing if it is not there, not below, hidden, or no
    /// regular file. Symbolic links that stay inside are followed where the system can tell.
    pub(crate) fn open(&self, path: &str) -> Result<Option<File>> {
        self.open_by(path, open_below)
    }

    fn open_by(
        &self,
        path: &str,
        open: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd>,
    ) -> Result<Option<File>> {
        if !self.is_served(path) {
            return Ok(None);
        }
        let root = openat(CWD, &self.path, OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty());
        regular(root.and_then(|root| open(root.as_fd(), path)))
    }

    /// Whether a path is one that files below may have: names between single slashes.
    fn is_served(&self, path: &str) -> bool {
        path.len() <= PATH_BYTES_MAX
            && path.split('/').count() <= PATH_NAMES_MAX
            && path.split('/').all(|name| self.is_served_name(name))
    }

    fn is_served_name(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.') && !self.with_hidden;
        !is_hidden && !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
    }

    /// The first files whose paths begin with what is typed, whatever its case. No symbolic link
    /// is followed.
    pub(crate) fn find(&self, typed: &str, most: usize) -> Walked {
        let typed = typed.to_lowercase();
        let mut walk =
            Walk { directory: self, typed, most, left: ENTRIES_MAX, done: <_>::default() };
        let flags = OFlags::CLOEXEC | OFlags::DIRECTORY;
        if let Ok(root) = openat(CWD, &self.path, flags, Mode::empty()) {
            walk.visit(&root, "", 1);
        }
        walk.done
    }
}

/// Nothing for what is not there, may not be seen, or is a directory, pipe, socket or device.
fn regular(opened: Result<OwnedFd>) -> Result<Option<File>> {
    let file = match opened {
        Ok(file) => file,
        Err(
            Errno::ACCESS
            | Errno::INVAL
            | Errno::ISDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::NODEV
            | Errno::NOENT
            | Errno::NOTDIR
            | Errno::NXIO
            | Errno::PERM
            | Errno::XDEV,
        ) => return Ok(None),
        Err(other) => return Err(other),
    };
    let is_regular = FileType::from_raw_mode(fstat(&file)?.st_mode).is_file();
    Ok(is_regular.then(|| File::from(file)))
}

/// The system itself refuses every way out, in one call, races included.
#[cfg(target_os = "linux")]
fn open_below(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    /// The system asks for another try when something was renamed meanwhile.
    const TRIES: usize = 64;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(root, path, READ, Mode::empty(), inside) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // An old kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_stepwise(root, path),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
fn open_below(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    open_stepwise(root, path)
}

/// One name after the other, each relative to the directory before it, and no symbolic link at all.
fn open_stepwise(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut inner: Option<OwnedFd> = None;
    for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
        let outer = inner.as_ref().map_or(root, AsFd::as_fd);
        inner = Some(openat(outer, parent, LIST, Mode::empty())?);
    }
    let outer = inner.as_ref().map_or(root, AsFd::as_fd);
    openat(outer, name, READ | OFlags::NOFOLLOW, Mode::empty())
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
    /// Looks at a directory whose path, with a slash at its end, is `prefix`.
    fn visit(&mut self, directory: &OwnedFd, prefix: &str, depth: usize) {
        for (name, kind) in self.entries(directory) {
            let path = format!("{prefix}{name}");
            if path.len() > PATH_BYTES_MAX {
                continue;
            }
            match kind {
                FileType::RegularFile if path.to_lowercase().starts_with(&self.typed) => {
                    if self.done.files.len() == self.most {
                        self.done.is_cut = true;
                        return;
                    }
                    let found = statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW);
                    let size = found.ok().and_then(|found| u64::try_from(found.st_size).ok());
                    self.done.files.push(Found { path, size });
                }
                FileType::Directory if depth < PATH_NAMES_MAX => {
                    let inner = format!("{path}/");
                    let lower = inner.to_lowercase();
                    let leads_there =
                        lower.starts_with(&self.typed) || self.typed.starts_with(&lower);
                    if !leads_there {
                        continue;
                    }
                    if let Ok(opened) = openat(directory, &*name, LIST, Mode::empty()) {
                        self.visit(&opened, &inner, depth + 1);
                    }
                }
                _ => {}
            }
            if self.done.is_cut {
                return;
            }
        }
    }

    /// The entries of a directory that may be served, in order.
    fn entries(&mut self, directory: &OwnedFd) -> Vec<(String, FileType)> {
        let Ok(mut reading) = Dir::read_from(directory) else { return Vec::new() };
        let mut entries = Vec::new();
        while let Some(Ok(entry)) = reading.read() {
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
        entries
    }
}
