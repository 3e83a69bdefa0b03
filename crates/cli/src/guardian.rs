//! The process that ends the children of a haft that was killed: which command it is, and that it
//! runs before anything else is read of a command line. Started by `serve`, asked by `main`; the
//! manifest does the work.

use std::ffi::OsString;
use std::process::Command;

/// What it is started with, and nobody types.
const WORD: &str = "--guard-children";

/// Whether this process is to be it.
pub(crate) fn is_meant(words: &[OsString]) -> bool {
    words.len() == 2 && words[1] == WORD
}

/// Starts it: this very program, though the file may have another by now.
pub(crate) fn command() -> Command {
    let mut command = match cfg!(target_os = "linux") {
        true => Command::new("/proc/self/exe"),
        false => Command::new(std::env::current_exe().unwrap_or_default()),
    };
    // What is in our environment may be secret, and children could read it in this process's.
    command.env_clear().arg(WORD);
    command
}
