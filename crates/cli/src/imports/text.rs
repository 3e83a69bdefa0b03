//! Reads a whole file, if it is there and not too long. Used by `file` and `kept`, which say in
//! their own words what is wrong with it.

use crate::exit::{Exit, Failure};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The text of a file, of at most so many bytes; nothing if it is not there.
pub(super) fn read(
    path: &Path,
    limit: u64,
    unusable: impl Fn(&str) -> Failure,
) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| {
        Failure::new(Exit::Other, format!("cannot read {}: {error}", path.display()))
    };
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    // A pipe could be waited for without end.
    if !found.is_file() {
        return Err(unusable("it is no file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(unusable("it is too long"));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| unusable("it has bytes that are not UTF-8"))
}
