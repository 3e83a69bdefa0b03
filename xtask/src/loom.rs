//! `cargo xtask loom`: the parts of `haft-agent` that several threads use at once, in every order
//! in which threads may come. `test` calls it too. The models are in `crates/agent/models`.

use crate::command::{self, cargo};
use crate::failure::Failure;

/// Tries all models; stops at the first order in which one does not hold.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => command::run(cargo().args(["run", "--quiet", "--package", "haft-agent-models"])),
        _ => Err(Failure::BadArguments("`loom` takes nothing".to_owned())),
    }
}
