//! Files that only their owner can read, written whole or not at all.

use super::TrustError;
use crate::limits::KEPT_BYTES_MAX;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

/// What is in such a file; nothing, if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, TrustError> {
    let failed = |error| TrustError::File { path: path.to_owned(), error };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Of the file that was opened, whatever its name stands for by now.
    let metadata = file.metadata().map_err(failed)?;
    owned(path, &metadata)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(TrustError::Readable { path: path.to_owned() });
    }
    let mut text = String::new();
    let most = KEPT_BYTES_MAX as u64;
    let read = file.take(most + 1).read_to_string(&mut text).map_err(failed)?;
    match read as u64 <= most {
        true => Ok(Some(text)),
        false => {
            let what = format!("it has more than {most} bytes");
            Err(TrustError::Damaged { path: path.to_owned(), what })
        }
    }
}

/// Puts another in its place.
pub(super) fn write(path: &Path, text: &str) -> Result<(), TrustError> {
    let written = || {
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        // It is its owner's alone from the beginning.
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| TrustError::File { path: path.to_owned(), error })
}

/// Makes a directory that is its owner's alone, if there is none.
pub(super) fn directory(path: &Path) -> Result<(), TrustError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| TrustError::File { path: path.to_owned(), error })
}

/// The same; and one that is there is refused if others could put files of theirs into it.
pub(super) fn own_directory(path: &Path) -> Result<(), TrustError> {
    directory(path)?;
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|error| TrustError::File { path: path.to_owned(), error })?;
    owned(path, &metadata)?;
    match metadata.permissions().mode() & 0o022 {
        0 => Ok(()),
        _ => Err(TrustError::Writable { path: path.to_owned() }),
    }
}

/// A file of somebody else is refused, but for those of root, who can do all in any case.
fn owned(path: &Path, metadata: &Metadata) -> Result<(), TrustError> {
    let (owner, own) = (metadata.uid(), geteuid().as_raw());
    match owner == own || owner == 0 {
        true => Ok(()),
        false => Err(TrustError::NotOwned { path: path.to_owned(), owner, own }),
    }
}

/// Waits until nobody else holds a directory, and holds it until what is returned is dropped.
pub(super) fn hold(directory: &Path) -> Result<File, TrustError> {
    let path = directory.join("lock");
    let held = || {
        let file =
            File::options().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    };
    held().map_err(|error| TrustError::File { path: path.clone(), error })
}
