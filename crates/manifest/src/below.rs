//! The files below a directory, opened so that no path of a caller leads out of it, whatever it
//! spells and whatever is swapped meanwhile. Everything here blocks its thread; `reading` calls it
//! where that is allowed. `walk` finds which there are.

use crate::limits::{PATH_BYTES_MAX, PATH_NAMES_MAX};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
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

/// Opening a pipe must not wait for its writer, nor a terminal become ours.
const READ: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
pub(crate) const LIST: OFlags = OFlags::CLOEXEC.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Opens a file by the path of an author. Nothing if it is not there, or no regular file.
pub(crate) fn open_file(path: &Path) -> Result<Option<File>> {
    let seen = statat(CWD, path, AtFlags::empty());
    let seen = seen.and_then(|seen| only_regular(seen.st_mode));
    regular(seen.and_then(|()| openat(CWD, path, READ, Mode::empty())))
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
    pub(crate) fn is_served(&self, path: &str) -> bool {
        path.len() <= PATH_BYTES_MAX
            && path.split('/').count() <= PATH_NAMES_MAX
            && path.split('/').all(|name| self.is_served_name(name))
    }

    pub(crate) fn is_served_name(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.') && !self.with_hidden;
        !is_hidden && !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
    }
}

/// Whether it says that there is nothing that may be seen, and not that looking failed.
pub(crate) fn is_nothing(error: Errno) -> bool {
    matches!(
        error,
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
            | Errno::XDEV
    )
}

/// Nothing for what is not there, may not be seen, or is a directory, pipe, socket or device.
fn regular(opened: Result<OwnedFd>) -> Result<Option<File>> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_nothing(error) => return Ok(None),
        Err(other) => return Err(other),
    };
    // What was looked at may have been swapped before it was opened.
    let is_regular = only_regular(fstat(&file)?.st_mode).is_ok();
    Ok(is_regular.then(|| File::from(file)))
}

/// Opening a pipe or a device can do something; so it is looked at before.
fn only_regular(mode: rustix::fs::RawMode) -> Result<()> {
    if FileType::from_raw_mode(mode).is_file() { Ok(()) } else { Err(Errno::NXIO) }
}

/// The system itself refuses every way out, in one call, races included.
#[cfg(target_os = "linux")]
fn open_below(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let open = |flags: OFlags| {
        /// The system asks for another try when something was renamed meanwhile.
        const TRIES: usize = 64;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let tries = || openat2(root, path, flags, Mode::empty(), inside);
        let is_over = |tried: &Result<_>| !matches!(tried, Err(Errno::AGAIN | Errno::INTR));
        std::iter::repeat_with(tries).take(TRIES).find(is_over).unwrap_or(Err(Errno::AGAIN))
    };
    match open(OFlags::CLOEXEC | OFlags::PATH) {
        Ok(seen) => only_regular(fstat(seen)?.st_mode).and_then(|()| open(READ)),
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_stepwise(root, path),
        Err(error) => Err(error),
    }
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
    only_regular(statat(outer, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
    openat(outer, name, READ | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ENTRIES_MAX;
    use crate::walk::Walked;
    use std::fs::{self, read_to_string};
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    type Open = fn(BorrowedFd<'_>, &str) -> Result<OwnedFd>;
    /// The system's way, and ours where the system has none.
    const WAYS: [(&str, Open); 2] = [("below", open_below), ("stepwise", open_stepwise)];

    /// `open` is served and has links that lead everywhere; what lies beside it is secret.
    fn yard() -> (TempDir, Directory) {
        let yard = TempDir::new().expect("there is a directory for temporary files");
        let path = |name: &str| yard.path().join(name);
        for folder in ["open/a/a", "open/.hidden", "a/a", "beside"] {
            fs::create_dir_all(path(folder)).expect("it is ours");
        }
        for (name, text) in [
            ("open/file", "inside"),
            ("open/a/file", "inside"),
            ("open/a/a/file", "inside"),
            ("open/.hidden/file", "secret"),
            ("open/.file", "secret"),
            ("file", "secret"),
            ("a/file", "secret"),
            ("a/a/file", "secret"),
            ("beside/file", "secret"),
        ] {
            fs::write(path(name), text).expect("it is ours");
        }
        let beside = path("beside");
        for (link, to) in [
            ("open/up", ".."),
            ("open/a/up", "../.."),
            ("open/beside", "../beside"),
            ("open/absolute", beside.to_str().expect("the path is UTF-8")),
            ("open/process", "/proc/self/root"),
            ("open/within", "a"),
            ("open/leak", "../beside/file"),
            ("open/loop", "loop"),
        ] {
            symlink(to, path(link)).expect("it is ours");
        }
        let directory = Directory { path: path("open"), with_hidden: false };
        (yard, directory)
    }

    fn found(directory: &Directory, typed: &str, most: usize) -> Walked {
        directory.find(typed, most).expect("it can be read")
    }

    fn text(file: File) -> String {
        let mut text = String::new();
        (&file).read_to_string(&mut text).expect("it is text");
        text
    }

    #[test]
    fn no_path_of_any_names_leads_out() {
        const NAMES: [&str; 15] = [
            "", ".", "..", "a", "file", "up", "beside", "absolute", "process", "within", "leak",
            ".hidden", ".file", "a\\..", "..\0",
        ];
        let (_yard, directory) = yard();
        for (way, open) in WAYS {
            let mut read = 0;
            let mut paths: Vec<String> = NAMES.map(str::to_owned).to_vec();
            for _ in 0..3 {
                for path in &paths {
                    let opened = directory.open_by(path, open);
                    if let Some(file) = opened.unwrap_or_else(|error| panic!("{path:?}: {error}")) {
                        assert_eq!(text(file), "inside", "{way} {path:?}");
                        read += 1;
                    }
                }
                let longer =
                    paths.iter().flat_map(|path| NAMES.map(|name| format!("{path}/{name}")));
                paths = longer.collect();
            }
            assert!(read >= 3, "{way} reads what is there");
        }
    }

    #[test]
    fn a_link_that_stays_inside_is_followed_by_the_system_alone() {
        let (_yard, directory) = yard();
        for (way, open) in WAYS {
            let is_there =
                |path| directory.open_by(path, open).is_ok_and(|opened| opened.is_some());
            assert!(is_there("a/a/file"), "{way}");
            assert!(!is_there("loop") && !is_there("a") && !is_there("nowhere/file"), "{way}");
            let follows = way == "below" && cfg!(target_os = "linux");
            assert_eq!(is_there("within/file"), follows, "{way}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_swapped_meanwhile_leads_nowhere_else() {
        use rustix::fs::{RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        let (yard, directory) = yard();
        let (served, link) = (yard.path().join("open/a"), yard.path().join("open/beside"));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &served, CWD, &link, RenameFlags::EXCHANGE)
                        .expect("both are ours");
                }
            });
            for (way, open) in WAYS {
                let (mut there, mut gone, mut tries) = (0, 0, 0);
                while (there < 100 || gone < 100) && tries < 1_000_000 {
                    tries += 1;
                    match directory.open_by("a/file", open) {
                        Ok(Some(file)) => {
                            // Not an assertion, which would leave the other thread running.
                            there += 1;
                            if text(file) != "inside" {
                                is_over.store(true, Ordering::Relaxed);
                                panic!("{way} was led out");
                            }
                        }
                        Ok(None) | Err(_) => gone += 1,
                    }
                }
                if there < 100 || gone < 100 {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("{way}: there was no race: {there} {gone}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_path_has_a_bound_in_bytes_and_in_names() {
        let (_yard, directory) = yard();
        let deep = vec!["a"; PATH_NAMES_MAX].join("/");
        let long = format!("{}/file", "b".repeat(PATH_BYTES_MAX - "/file".len()));
        assert!(directory.is_served(&deep) && directory.is_served(&long));
        assert!(!directory.is_served(&format!("{deep}/a")));
        assert!(!directory.is_served(&format!("b{long}")));
        fs::create_dir_all(directory.path.join(&deep)).expect("it is ours");
        fs::write(directory.path.join(&deep).join("too-deep"), "").expect("it is ours");
        assert!(!found(&directory, "", 100).files.iter().any(|path| path.contains("too-deep")));
    }

    #[test]
    fn files_are_found_by_how_their_paths_begin() {
        let (_yard, directory) = yard();
        let find = |typed: &str, most| {
            let walked = found(&directory, typed, most);
            (walked.files.join(" "), walked.is_cut)
        };
        assert_eq!(find("", 9), ("a/a/file a/file file".to_owned(), false));
        assert_eq!(find("", 2), ("a/a/file a/file".to_owned(), true));
        assert_eq!(find("A/F", 9), ("a/file".to_owned(), false));
        for typed in ["..", "/", "../", "./a", "within/", "up/", ".h", "\0", "a//"] {
            assert_eq!(find(typed, 9).0, "", "{typed:?}");
        }
        let open = Directory { with_hidden: true, ..directory };
        assert_eq!(found(&open, ".", 9).files, [".file", ".hidden/file"]);
        assert!(open.open(".file").is_ok_and(|opened| opened.is_some()));
        assert!(open.open("../file").is_ok_and(|opened| opened.is_none()));
    }

    #[test]
    fn a_search_looks_at_so_many_entries_and_no_more() {
        let crowd = TempDir::new().expect("there is a directory for temporary files");
        let directory = Directory { path: crowd.path().to_owned(), with_hidden: false };
        let first = crowd.path().join("0");
        File::create(&first).expect("it is ours");
        // `.` and `..` are entries too.
        for number in 1..ENTRIES_MAX - 2 {
            fs::hard_link(&first, crowd.path().join(number.to_string())).expect("it is ours");
        }
        assert!(!found(&directory, "nothing", 1).is_cut);
        File::create(crowd.path().join("more")).expect("it is ours");
        assert!(found(&directory, "nothing", 1).is_cut);
    }

    #[test]
    fn names_that_are_not_utf_8_are_not_found() {
        use std::os::unix::ffi::OsStrExt;
        let (_yard, directory) = yard();
        let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
        fs::write(directory.path.join(odd), "inside").expect("it is ours");
        assert!(read_to_string(directory.path.join(odd)).is_ok());
        assert!(found(&directory, "odd", 9).files.is_empty());
        for path in ["odd", "odd\u{fffd}", "odd%ff", "oddÿ"] {
            assert!(directory.open(path).is_ok_and(|opened| opened.is_none()), "{path}");
        }
    }
}
