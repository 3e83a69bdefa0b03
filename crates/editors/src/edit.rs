//! An edit of a host's file: planned first, so that it can be shown, then written in one step, with
//! a backup beside the file. Whoever reads the file sees the old text or the new one, never a part.

use crate::format::{Format, Slot};
use crate::host::Host;
use crate::limits::TURN_PATIENCE;
use crate::mistake::Mistake;
use crate::places::HostFile;
use crate::{reading, written};
use serde_json::Value;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What an edit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new server.
    Added,
    /// Another server in the place of the old one.
    Replaced,
    /// A server less.
    Removed,
    /// All is as it should be already.
    Nothing,
}

/// A planned edit.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What it does.
    pub change: Change,
    /// The file, behind all links.
    pub file: PathBuf,
    /// Where the file is kept as it was; `None` if there was none.
    pub backup: Option<PathBuf>,
    /// The new text.
    pub after: String,
    before: Option<String>,
    /// Whether the backup is there already, of a time before this server was installed.
    is_backup_kept: bool,
    /// Whether the backup goes: the file is again what it was before haft came.
    is_undone: bool,
    /// Whether the file goes: there was none before haft came.
    is_file_removed: bool,
}

impl Edit {
    /// Puts a server into a file. The same one again changes nothing; another one of its name is
    /// replaced only if `replaces` says so.
    ///
    /// # Errors
    /// A [`Mistake`] if the file cannot be read, or not be edited with certainty.
    pub fn install(
        host: &Host,
        file: &HostFile,
        name: &str,
        server: &Value,
        replaces: bool,
    ) -> Result<Self, Mistake> {
        written::check_name(name)?;
        let (path, before) = read(&file.path)?;
        let text = before.as_deref().unwrap_or_default();
        let root = file.format.read(text)?;
        let slot = slot(host, &root, name);
        let change = match slot.find(&root) {
            Some(old) if old == server => Change::Nothing,
            Some(_) if !replaces => return Err(Mistake::NameTaken { name: name.to_owned() }),
            Some(_) => Change::Replaced,
            None => Change::Added,
        };
        let after = match change {
            Change::Nothing => text.to_owned(),
            _ => file.format.with(text, slot, server)?,
        };
        let backup = before.is_some().then(|| backup_of(&path, name));
        // What was there before the first of this name came is kept, not what it was replaced by.
        let is_kept = |backup: &PathBuf| change == Change::Replaced && backup.exists();
        let backup = backup.filter(|backup| change != Change::Nothing && !is_kept(backup));
        Ok(Self {
            change,
            file: path,
            backup,
            after,
            before,
            is_backup_kept: false,
            is_undone: false,
            is_file_removed: false,
        })
    }

    /// Takes a server out of a file. If the file is still what installing that server made of it,
    /// it becomes again what it was before, to the byte.
    ///
    /// # Errors
    /// A [`Mistake`] if the file cannot be read, or not be edited with certainty.
    pub fn uninstall(host: &Host, file: &HostFile, name: &str) -> Result<Self, Mistake> {
        written::check_name(name)?;
        let (path, before) = read(&file.path)?;
        let text = before.as_deref().unwrap_or_default();
        let root = file.format.read(text)?;
        let slot = slot(host, &root, name);
        let backup = backup_of(&path, name);
        let edit = |change, backup, after, is_undone| Self {
            change,
            file: path.clone(),
            backup,
            after,
            before: before.clone(),
            is_backup_kept: false,
            is_undone,
            is_file_removed: false,
        };
        let Some(server) = slot.find(&root) else {
            return Ok(edit(Change::Nothing, None, text.to_owned(), false));
        };
        if let Ok(original) = reading::text(&backup)
            && is_origin(host, file.format, &original, text, name, server)
        {
            return Ok(edit(Change::Removed, Some(backup), original, true));
        }
        if !backup.exists() && is_origin(host, file.format, "", text, name, server) {
            let gone = edit(Change::Removed, None, String::new(), false);
            return Ok(Self { is_file_removed: true, ..gone });
        }
        let after = file.format.without(text, slot)?;
        // A later one would have the server in it, with its secrets.
        let is_backup_kept = backup.exists();
        Ok(Self { is_backup_kept, ..edit(Change::Removed, Some(backup), after, false) })
    }

    /// Whether the backup goes with this edit, since the file becomes what the backup is.
    #[must_use]
    pub fn is_undone(&self) -> bool {
        self.is_undone
    }

    /// Whether the file goes with this edit: there was none before a server was put into it, and
    /// nothing else is in it.
    #[must_use]
    pub fn is_file_removed(&self) -> bool {
        self.is_file_removed
    }

    /// Does it. The file keeps its mode; a new one is its owner's alone, as it may hold secrets.
    ///
    /// # Errors
    /// [`Mistake::ChangedMeanwhile`] if the file is not what it was when this was planned,
    /// [`Mistake::Locked`] if another program keeps all others from the directory for
    /// [`TURN_PATIENCE`], and [`Mistake::System`]. Then nothing is changed.
    pub fn write(&self) -> Result<(), Mistake> {
        self.write_within(TURN_PATIENCE, || ())
    }

    /// Does it; `checked` is called between the last look at the file and the change.
    fn write_within(&self, patience: Duration, checked: impl FnOnce()) -> Result<(), Mistake> {
        if self.change == Change::Nothing {
            return Ok(());
        }
        let _turn = self.turn(patience)?;
        // Before the backup as well, which would be that of another file.
        self.check_unchanged()?;
        let may = || self.check_unchanged().map(|()| checked());
        if self.is_file_removed {
            may()?;
            return fs::remove_file(&self.file)
                .map_err(|error| system("remove", &self.file, &error));
        }
        if let (Some(backup), Some(before)) = (&self.backup, &self.before)
            && !self.is_undone
            && !self.is_backup_kept
        {
            replace(backup, before, &self.file, || Ok(()))?;
        }
        replace(&self.file, &self.after, &self.file, may)?;
        if let (Some(backup), true) = (&self.backup, self.is_undone) {
            // A backup that stays does no harm.
            _ = fs::remove_file(backup);
        }
        Ok(())
    }

    /// Makes the directory of the file if there is none, and waits until no other haft writes
    /// there: nothing must come between the last look at the file and the new one in its place.
    fn turn(&self, patience: Duration) -> Result<Option<File>, Mistake> {
        let directory = self.file.parent().unwrap_or_else(|| Path::new("/"));
        fs::create_dir_all(directory).map_err(|error| system("make", directory, &error))?;
        // Who may write a directory may be one who cannot read it.
        let Ok(turn) = File::open(directory) else { return Ok(None) };
        match lock(&turn, patience) {
            Ok(is_ours) => Ok(is_ours.then_some(turn)),
            Err(Held) => Err(Mistake::Locked { file: self.file.clone() }),
        }
    }

    /// That the file is what it was when this was planned.
    fn check_unchanged(&self) -> Result<(), Mistake> {
        if read(&self.file)?.1 == self.before {
            return Ok(());
        }
        Err(Mistake::ChangedMeanwhile { file: self.file.clone() })
    }
}

/// Another program has the lock and does not give it back.
#[derive(Debug)]
struct Held;

/// Waits for the lock of a directory. Whether there is one: over NFS, say, a directory has none,
/// and then what is left is the last look at the file.
fn lock(directory: &File, patience: Duration) -> Result<bool, Held> {
    const PAUSE: Duration = Duration::from_millis(10);
    let began = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) if began.elapsed() >= patience => return Err(Held),
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(PAUSE),
        }
    }
}

/// Whether installing the server in `original` makes `text`.
fn is_origin(
    host: &Host,
    format: Format,
    original: &str,
    text: &str,
    name: &str,
    server: &Value,
) -> bool {
    let Ok(root) = format.read(original) else { return false };
    let slot = slot(host, &root, name);
    slot.find(&root).is_none()
        && format.with(original, slot, server).is_ok_and(|installed| installed == text)
}

/// Where the host has a server of this name, or would have it.
fn slot<'a>(host: &Host, root: &Value, name: &'a str) -> Slot<'a> {
    let slots = host.keys.iter().map(|keys| Slot { keys, name });
    let first = Slot { keys: host.keys.first().copied().unwrap_or_default(), name };
    slots.into_iter().find(|slot| slot.find(root).is_some()).unwrap_or(first)
}

/// The file behind all links, and its text if it is there.
fn read(path: &Path) -> Result<(PathBuf, Option<String>), Mistake> {
    match fs::canonicalize(path) {
        Ok(path) => {
            let text = reading::text(&path)?;
            Ok((path, Some(text)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
            Ok((path.to_owned(), None))
        }
        Err(error) => Err(system("read", path, &error)),
    }
}

fn backup_of(path: &Path, name: &str) -> PathBuf {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{file}.before-{name}.bak"))
}

/// Writes a text into a file beside `path` and puts that in its place, if `may` still allows it.
/// The mode is that of `like`.
fn replace(
    path: &Path,
    text: &str,
    like: &Path,
    may: impl FnOnce() -> Result<(), Mistake>,
) -> Result<(), Mistake> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| system("write", path, &std::io::Error::other(error.to_string())))?;
    let random = u64::from_ne_bytes(random);
    let draft = path.with_file_name(format!(".{file}.{random:016x}.new"));
    let done = write_draft(&draft, text, like)
        .map_err(|error| system("write", path, &error))
        .and_then(|()| may())
        .and_then(|()| fs::rename(&draft, path).map_err(|error| system("write", path, &error)));
    if done.is_err() {
        // It may not be there; then there is nothing to clean up.
        _ = fs::remove_file(&draft);
    }
    done
}

fn write_draft(draft: &Path, text: &str, like: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(draft)?;
    if let Ok(meta) = fs::metadata(like) {
        file.set_permissions(meta.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn system(act: &'static str, file: &Path, error: &std::io::Error) -> Mistake {
    Mistake::System { act, file: file.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::host;
    use serde_json::json;

    fn file(text: &str) -> (tempfile::TempDir, HostFile) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("mcp.json");
        fs::write(&path, text).expect("it is ours");
        let file = HostFile { path, format: Format::Json, is_project: false, is_old: false };
        (directory, file)
    }

    #[test]
    fn what_another_program_writes_meanwhile_is_not_lost() {
        let (directory, file) = file("{}");
        let cursor = host("cursor").expect("a host");
        let server = json!({"command": "x"});
        let edit = Edit::install(cursor, &file, "a", &server, false).expect("it can be edited");
        fs::write(&file.path, "{\"mine\": 1}").expect("it is ours");
        assert!(matches!(edit.write(), Err(Mistake::ChangedMeanwhile { .. })));
        assert_eq!(reading::text(&file.path).expect("it is there"), "{\"mine\": 1}");
        let left = fs::read_dir(directory.path()).expect("it is there").count();
        assert_eq!(left, 1, "no backup of what it was not changed from");
    }

    #[test]
    fn nobody_comes_between_the_last_look_and_the_change() {
        let (_directory, file) = file("{}");
        let cursor = host("cursor").expect("a host");
        let edit = |name| {
            let server = json!({"command": "x"});
            Edit::install(cursor, &file, name, &server, false).expect("it can be edited")
        };
        let (first, second) = (edit("a"), edit("b"));
        let written = first.write_within(TURN_PATIENCE, || {
            let between = second.write_within(Duration::ZERO, || ());
            let message = between.expect_err("it is not its turn").to_string();
            assert!(message.contains("mcp.json is locked by another program"), "{message}");
        });
        written.expect("it is written");
        assert!(matches!(second.write(), Err(Mistake::ChangedMeanwhile { .. })));
        edit("b").write().expect("it is its turn");
        let text = reading::text(&file.path).expect("it is there");
        assert_eq!(text.matches("command").count(), 2, "{text}");
    }

    /// Of a directory that is only named, as of one over NFS that is only read, there is no lock.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_has_no_lock_is_written_all_the_same() {
        const O_PATH: i32 = 0o10_000_000;
        let (directory, file) = file("{}");
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), O_PATH);
        let named = options.open(directory.path()).expect("it is there");
        assert_eq!(named.lock().map_err(|error| error.raw_os_error()), Err(Some(9)));
        assert!(!lock(&named, Duration::ZERO).expect("nobody holds it"));
        drop(file);
    }

    #[test]
    fn many_who_edit_at_once_lose_nothing() {
        let (directory, file) = file("{}");
        let cursor = host("cursor").expect("a host");
        let server = json!({"command": "x"});
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                let (file, server) = (&file, &server);
                scope.spawn(move || {
                    loop {
                        let edit = Edit::install(cursor, file, name, server, false);
                        match edit.expect("it can be edited").write() {
                            Err(Mistake::ChangedMeanwhile { .. }) => {}
                            done => return done.expect("it is written"),
                        }
                    }
                });
            }
        });
        let text = reading::text(&file.path).expect("it is there");
        assert_eq!(text.matches("command").count(), 8, "{text}");
        drop(directory);
    }

    #[test]
    fn a_directory_that_cannot_be_written_changes_nothing() {
        let (_directory, file) = file("{}");
        let cursor = host("cursor").expect("a host");
        let server = json!({"command": "x"});
        let mut edit = Edit::install(cursor, &file, "a", &server, false).expect("it is fine");
        // A file cannot be a directory, not even for root.
        edit.file = file.path.join("inner");
        assert!(matches!(edit.write(), Err(Mistake::System { .. })));
        assert_eq!(reading::text(&file.path).expect("it is there"), "{}");
    }

    #[test]
    fn a_link_to_nothing_is_left_alone() {
        let (directory, mut file) = file("{}");
        let link = directory.path().join("link.json");
        std::os::unix::fs::symlink(directory.path().join("gone"), &link).expect("it is ours");
        file.path = link;
        let cursor = host("cursor").expect("a host");
        let edit = Edit::install(cursor, &file, "a", &json!({"command": "x"}), false);
        assert!(matches!(edit, Err(Mistake::System { .. })), "{edit:?}");
    }
}
