//! Reads a whole file, within its bound. Used for everything that this crate reads.

use crate::limits::FILE_BYTES_MAX;
use crate::mistake::Mistake;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Mistake> {
    text_within(path, FILE_BYTES_MAX)
}

fn text_within(path: &Path, limit: u64) -> Result<String, Mistake> {
    let said = |error: std::io::Error| Mistake::System {
        act: "read",
        file: path.to_owned(),
        reason: error.to_string(),
    };
    // A pipe of that name would be read for ever.
    let meta = std::fs::metadata(path).map_err(said)?;
    if !meta.is_file() {
        let reason = "it is no file".to_owned();
        return Err(Mistake::System { act: "read", file: path.to_owned(), reason });
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(said)?.take(limit + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > limit {
        return Err(Mistake::TooLarge { limit });
    }
    String::from_utf8(bytes)
        .map_err(|_| Mistake::unreadable("text", "it has bytes that are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.json");
        std::fs::write(&file, "12345").expect("it is ours");
        assert_eq!(text_within(&file, 5).expect("it fits"), "12345");
        assert!(matches!(text_within(&file, 4), Err(Mistake::TooLarge { limit: 4 })));
        assert!(matches!(text(directory.path()), Err(Mistake::System { .. })));
    }
}
