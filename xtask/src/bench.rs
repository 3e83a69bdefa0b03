//! `cargo xtask bench`: the benchmarks, with the arguments passed on. It never interprets a number.

use crate::command;
use crate::failure::Failure;

/// Runs every benchmark once, without optimisation: that it runs, and not how fast.
pub(crate) fn run_once() -> Result<(), Failure> {
    command::run(command::cargo().args(["test", "-p", "haft-benchmarks", "--benches"]))
}

/// Measures. The arguments go to the benchmarks themselves, a filter for example.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    command::run(command::cargo().args(["bench", "-p", "haft-benchmarks", "--"]).args(arguments))
}
