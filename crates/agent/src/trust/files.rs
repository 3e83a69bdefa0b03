//! Files that only their owner can read, written whole or not at all.

use super::TrustError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

/// What is in such a file; nothing, if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, TrustError> {
    let failed = |error| TrustError::File { path: path.to_owned(), error };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(TrustError::Readable { path: path.to_owned() });
    }
    fs::read_to_string(path).map(Some).map_err(failed)
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

/// Waits until nobody else holds a directory, and holds it until what is returned is dropped.
pub(super) fn hold(directory: &Path) -> Result<File, TrustError> {
    let path = directory.join("lock");
    let held = || {
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    };
    held().map_err(|error| TrustError::File { path: path.clone(), error })
}
