//! A folder with a haft.yaml, for one test.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) struct Desk {
    folder: TempDir,
    pub(crate) file: PathBuf,
}

impl Desk {
    pub(crate) fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("haft.yaml");
        fs::write(&file, text).expect("a folder of ours");
        Self { folder, file }
    }

    /// The file, as it is typed.
    pub(crate) fn file(&self) -> &str {
        self.file.to_str().expect("a path of text")
    }

    /// A place in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
