//! Whether a program of a manifest can be started on this machine. Called for those of tools and of
//! upstreams; starts none of them.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How much of a program is looked at to know what it is.
const BEGINNING_BYTES: u64 = 256;

/// Why a program cannot be started, which a path or a name means and which is shown as it was
/// typed. `own_path` is its PATH, if that is not ours.
pub(super) fn fault(program: &Path, shown: &str, own_path: Option<String>) -> Option<String> {
    let found = places(program, own_path);
    let is_executable = |path: &&PathBuf| {
        path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
    };
    if let Some(path) = found.iter().find(is_executable) {
        return fault_within(path, shown);
    }
    if !found.is_empty() {
        return Some(format!("`{shown}` is not executable; run `chmod +x` on it"));
    }
    let mut why = format!("there is no program `{shown}` on this machine");
    if shown.contains(' ') {
        let words: Vec<_> = shown.split_whitespace().take(8).collect();
        why.push_str(&format!("; write each word as an item of the list: [{}]", words.join(", ")));
    }
    Some(why)
}

/// The files that it may be.
fn places(program: &Path, own_path: Option<String>) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if program.is_absolute() {
        return Some(program.to_owned()).filter(is_file).into_iter().collect();
    }
    let path = own_path.map(OsString::from).or_else(|| env::var_os("PATH")).unwrap_or_default();
    env::split_paths(&path).map(|directory| directory.join(program)).filter(is_file).collect()
}

/// What of its beginning the system would refuse.
fn fault_within(path: &Path, shown: &str) -> Option<String> {
    let mut beginning = Vec::new();
    // What may be run and not read is not looked at.
    File::open(path).ok()?.take(BEGINNING_BYTES).read_to_end(&mut beginning).ok()?;
    let first = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if first.starts_with(b"#!") {
        let why = format!("the first line of `{shown}` ends in CR LF; save it with LF line ends");
        return first.ends_with(b"\r").then_some(why);
    }
    // A program of a machine has other bytes than text.
    let is_text = std::str::from_utf8(&beginning).is_ok_and(|text| !text.contains('\0'));
    is_text.then(|| format!("`{shown}` has no `#!` line; begin it with one, like #!/bin/sh"))
}
