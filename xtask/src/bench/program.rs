//! Programs that run one case at a time: benchmarks of ours, and what others' packages take in
//! process. `single` times them in turns; what a case is, only the program knows.

use std::process::{Command, Stdio};

use super::build::plain_cargo;
use super::server::command;
use crate::command::{self, built};
use crate::failure::Failure;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    /// A benchmark of `benchmarks/`.
    Bench(&'static str),
    /// pforge's registry and pmcp, with their own lock file.
    Pforge,
}

/// A case of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) program: Program,
    pub(super) case: String,
}

impl Program {
    /// Makes it in release form, and returns its path.
    pub(super) fn build(self) -> Result<String, Failure> {
        let mut cargo = plain_cargo();
        let name = match self {
            Self::Bench(name) => {
                cargo.args(["bench", "-p", "haft-benchmarks", "--no-run", "--bench", name]);
                name
            }
            Self::Pforge => {
                cargo.args(["build", "--release", "--locked", "--target-dir", "target/peers/rust"]);
                cargo.args(["--manifest-path", "benchmarks/pforge-dispatch/Cargo.toml"]);
                "pforge-dispatch"
            }
        };
        built(&mut cargo, name)
    }
}

/// What one turn of a case takes, in nanoseconds; `before` says on which processor.
pub(super) fn nanoseconds(
    before: &[String],
    path: &str,
    case: &str,
    milliseconds: u32,
) -> Result<f64, Failure> {
    let rest = [path, "--time", case, &milliseconds.to_string()].map(str::to_owned);
    let mut timed: Command = command(&[before, &rest[..]].concat());
    let told = command::output(timed.stdin(Stdio::null()))?;
    let said = || Failure::SuiteBroken(format!("`{path} --time {case}` said {told:?}"));
    told.trim().parse().ok().filter(|nanos: &f64| *nanos > 0.0).ok_or_else(said)
}
