//! Starts other programs. Every chore uses it; it never goes through a shell.

use std::ffi::OsString;
use std::process::{Command, ExitStatus, Stdio};

use crate::failure::Failure;

/// How long one command may take in CI before it counts as hung, in minutes.
const MINUTES_MAX: u32 = 25;
/// What coreutils' `timeout` exits with when the time is up.
const TIMED_OUT: i32 = 124;

/// `cargo` of the toolchain that built us. In CI it is ended when it hangs, because nobody watches;
/// a person has Ctrl-C.
pub(crate) fn cargo() -> Command {
    let mut cargo = limited(cargo_path());
    // What cargo told us of ourselves is no news of others; `ring` builds anew for each change.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        cargo.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// A program with the same limit.
pub(crate) fn limited(program: OsString) -> Command {
    if !in_ci() || !works("timeout", &["--version"]) {
        return Command::new(program);
    }
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(format!("{MINUTES_MAX}m")).arg(program);
    command
}

/// Whether a machine runs us rather than a person.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Runs the command with its output in plain view.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|source| missing(command, source))?;
    judge(command, status)
}

/// Runs the command and returns what it wrote to stdout; stderr stays in view.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|source| missing(command, source))?;
    judge(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds, and returns the path of the program of that name, as cargo tells it.
pub(crate) fn built(cargo: &mut Command, name: &str) -> Result<String, Failure> {
    let told = output(cargo.arg("--message-format=json-render-diagnostics"))?;
    let missing = || Failure::MachineLacks(format!("cargo tells of no `{name}`, update Rust"));
    executable(&told, name).ok_or_else(missing)
}

/// The path of a program in what cargo tells, a message a line. Others may be built besides.
fn executable(told: &str, name: &str) -> Option<String> {
    told.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let path = message.get("executable")?.as_str()?;
        (message["target"]["name"] == name).then(|| path.to_owned())
    })
}

/// Whether the program exists and ends well, in silence.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let cargo = cargo_path();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let typed =
        words.map(|word| if *word == *cargo { "cargo".into() } else { word.to_string_lossy() });
    typed.collect::<Vec<_>>().join(" ")
}

fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What became of a command that has ended.
pub(crate) fn judge(command: &Command, status: ExitStatus) -> Result<(), Failure> {
    let line = line(command);
    match status.code() {
        Some(0) => Ok(()),
        Some(TIMED_OUT) if command.get_program() == "timeout" => {
            Err(Failure::CommandHung { line, minutes: MINUTES_MAX })
        }
        code => Err(Failure::CommandFailed { line, code }),
    }
}

fn missing(command: &Command, source: std::io::Error) -> Failure {
    Failure::CommandMissing { line: line(command), source }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Failure, cargo, executable, line, output, run};

    #[test]
    fn a_command_that_fails_is_named_with_its_exit_code() {
        let failure = run(Command::new("git").arg("no-such-subcommand-of-git")).unwrap_err();
        assert!(matches!(failure, Failure::CommandFailed { code: Some(1), .. }), "{failure:?}");
        assert!(failure.to_string().contains("`git no-such-subcommand-of-git`"), "{failure}");
    }

    #[test]
    fn a_program_is_found_by_its_name_among_others_that_were_built() {
        let told = |name: &str| {
            format!(r#"{{"target":{{"name":"{name}"}},"executable":"target/{name}"}}"#)
        };
        let told = format!("{}\nnoise\n{}\n", told("counted"), told("codec"));
        assert_eq!(executable(&told, "codec").as_deref(), Some("target/codec"));
        assert_eq!(executable(&told, "other"), None);
    }

    #[test]
    fn cargo_is_shown_as_people_type_it() {
        assert!(line(cargo().arg("test")).ends_with("cargo test"));
        assert!(!line(&cargo()).contains('/'));
    }

    #[test]
    fn a_program_that_is_not_there_is_not_a_failed_one() {
        let failure = output(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(matches!(failure, Failure::CommandMissing { .. }), "{failure:?}");
    }
}
