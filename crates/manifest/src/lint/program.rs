//! Programs that cannot be started on this machine, of tools and of servers behind this one: none
//! of that name, no permission, or a first line that names no interpreter. Looks, and starts none.

use super::Notes;
use crate::command::{Command, Program};
use crate::place::Place;
use crate::upstream::{Reach, Upstream};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How much of a program is looked at for the line that names its interpreter: as much as Linux
/// reads.
const FIRST_LINE_BYTES_MAX: usize = 256;

/// The program of a tool, and the directory that it runs in.
pub(super) fn judge(command: &Command, notes: &mut Notes) {
    let Program { path, shown, place } = &command.program;
    let own_path = command.env.iter().find(|(name, _)| name == "PATH");
    let own_path = own_path.map(|(_, value)| value.fixed().unwrap_or_default().into());
    if let Some(why) = unusable(path, shown, own_path) {
        notes.add(*place, why);
    }
    if !command.cwd.value.is_dir() {
        notes.add(command.cwd.place, "this directory does not exist");
    }
}

/// The program of a server behind this one, if it has one.
pub(super) fn judge_upstream(place: Place, upstream: &Upstream, notes: &mut Notes) {
    let Reach::Command { argv, env, directory, .. } = &upstream.reach else { return };
    let Some(program) = argv.first() else { return };
    let own_path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.into());
    let path = Path::new(program);
    // What it was in the file, as paths begin at its directory.
    let shown = match path.strip_prefix(directory) {
        Ok(below) => format!("./{}", below.display()),
        Err(_) => path.display().to_string(),
    };
    if let Some(why) = unusable(path, &shown, own_path) {
        notes.add(place, why);
    }
    if !directory.is_dir() {
        notes.add(place, format!("its `cwd` {} does not exist", directory.display()));
    }
}

/// Why a program cannot be started, and what to do.
fn unusable(program: &Path, shown: &str, own_path: Option<OsString>) -> Option<String> {
    let candidates: Vec<PathBuf> = if program.is_absolute() {
        vec![program.to_owned()]
    } else {
        let path = own_path.or_else(|| env::var_os("PATH")).unwrap_or_default();
        env::split_paths(&path).map(|directory| directory.join(program)).collect()
    };
    let files = candidates.iter().filter(|path| path.is_file());
    let files: Vec<&PathBuf> = files.collect();
    match files.iter().find(|path| is_executable(path)) {
        Some(found) => odd_first_line(found).map(|why| format!("`{shown}` {why}")),
        None if !files.is_empty() => {
            Some(format!("`{shown}` is not executable; run `chmod +x {shown}`"))
        }
        None if candidates.iter().any(|path| program.is_absolute() && path.is_dir()) => {
            Some(format!("`{shown}` is a directory, and no program"))
        }
        None if shown.split_whitespace().nth(1).is_some() => {
            let words = shown.split_whitespace().collect::<Vec<_>>().join(", ");
            let why = format!("there is no program `{shown}` on this machine");
            Some(format!("{why}; write its arguments one by one: [{words}]"))
        }
        None => Some(format!("there is no program `{shown}` on this machine")),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// What keeps the system from starting a script; programs of machine code begin with a zero byte or
/// have one soon.
fn odd_first_line(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FIRST_LINE_BYTES_MAX as u64).read_to_end(&mut first).ok()?;
    if first.contains(&0) || first.is_empty() {
        return None;
    }
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(interpreter) = line.strip_prefix(b"#!") else {
        let is_text = std::str::from_utf8(line).is_ok();
        return is_text.then(|| "has no `#!` in its first line, so that nothing can run it".into());
    };
    if line.ends_with(b"\r") {
        return Some("ends its lines as Windows does; save it with line ends of Unix".into());
    }
    let interpreter = String::from_utf8_lossy(interpreter);
    let interpreter = interpreter.split_whitespace().next().unwrap_or_default();
    let is_missing = !Path::new(interpreter).is_file();
    is_missing.then(|| format!("is run by `{interpreter}`, which is not on this machine"))
}
