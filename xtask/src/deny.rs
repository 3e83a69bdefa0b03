//! `cargo xtask deny`: licences, advisories and banned crates, as `deny.toml` states them. It never
//! installs cargo-deny, because building it takes longer than everything else here.

use crate::command;
use crate::failure::Failure;

/// How to get what is missing.
pub(crate) const INSTALL: &str = "cargo-deny is not installed, run `cargo install cargo-deny`";

/// Judges the dependencies, or says how to get the judge.
pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    if !is_installed() {
        return Err(Failure::MachineLacks(INSTALL.to_owned()));
    }
    command::run(command::cargo().args(["deny", "--all-features", "check"]))
}

/// Whether `cargo deny` can be called.
pub(crate) fn is_installed() -> bool {
    command::works("cargo-deny", &["--version"])
}
