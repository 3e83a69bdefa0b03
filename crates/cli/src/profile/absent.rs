//! What stands for the sampler in a haft that has none. It is never made.

use crate::exit::{Exit, Failure};
use std::convert::Infallible;

/// A profile that cannot be.
#[derive(Debug)]
pub(crate) struct Profile(Infallible);

impl Profile {
    /// # Errors
    /// Always.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let message = "--profile: this haft was built without the feature `profile`";
        let failure = Failure::new(Exit::Usage, message);
        Err(failure.hint("cargo build --release -p haft-cli --features profile has it"))
    }

    /// # Errors
    /// None, as it is never reached.
    pub(crate) fn end(self) -> Result<String, Failure> {
        match self.0 {}
    }
}
