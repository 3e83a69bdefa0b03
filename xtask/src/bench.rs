//! `cargo xtask bench`: the benchmarks, with the arguments passed on. It never interprets a number.

use crate::command;
use crate::failure::Failure;

/// Measures. The arguments go to the benchmarks themselves, a filter for example.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    command::run(command::cargo().args(["bench", "-p", "haft-benchmarks", "--"]).args(arguments))
}
