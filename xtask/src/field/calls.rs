//! Later.

use super::{Tools, Wishes};
use crate::failure::Failure;

pub(super) fn run(_tools: &Tools, _wishes: &Wishes) -> Result<(), Failure> {
    Ok(())
}
