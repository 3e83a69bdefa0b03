//! `haft discover`, `install`, `uninstall` and targets by name, in a home directory of their own.
//! The files in it are laid out as people and editors lay them out.

mod import;
mod install;
mod names;

use crate::haft::{Ran, quickstart};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A home directory and a project in it; nothing of the real ones is seen.
pub(crate) struct Home {
    root: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("there is a directory for temporary files");
        std::fs::create_dir_all(root.path().join("project/.git")).expect("it is ours");
        Self { root }
    }

    pub(crate) fn path(&self, inner: &str) -> PathBuf {
        self.root.path().join(inner)
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, inner: &str, text: &str) {
        let path = self.path(inner);
        std::fs::create_dir_all(path.parent().expect("it is in the home")).expect("it is ours");
        std::fs::write(path, text).expect("it is ours");
    }

    pub(crate) fn read(&self, inner: &str) -> String {
        std::fs::read_to_string(self.path(inner)).expect("it was written")
    }

    /// The names of all files in the directory of a file.
    pub(crate) fn beside(&self, inner: &str) -> Vec<String> {
        let path = self.path(inner);
        let entries = std::fs::read_dir(path.parent().expect("it is in the home"));
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("it can be read").file_name().into_string().expect("UTF-8")
        };
        let mut names: Vec<String> = entries.expect("it is there").map(name).collect();
        names.sort();
        names
    }

    /// Runs `haft` in the project, in this home.
    pub(crate) fn haft(&self, args: &[&str]) -> Ran {
        self.haft_with(args, &[])
    }

    pub(crate) fn haft_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_haft"))
            .args(args)
            .current_dir(self.path("project"))
            .env("HOME", self.root.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .env_remove("APPDATA")
            .envs(variables.iter().copied())
            .output()
            .expect("the binary is built");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The first example, as a path from anywhere.
pub(crate) fn example() -> String {
    let path = std::path::absolute(quickstart()).expect("a path");
    path.to_str().expect("UTF-8").to_owned()
}

/// An entry of `mcpServers` that serves a file.
pub(crate) fn serving(file: &str) -> serde_json::Value {
    let haft = Path::new(env!("CARGO_BIN_EXE_haft"));
    serde_json::json!({ "command": haft, "args": ["serve", file, "--stdio"] })
}
