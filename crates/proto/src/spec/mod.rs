//! What messages carry, a file for each page of the specification. Plain data: how it is written
//! for a revision is `encode`'s business.

pub mod implementation;
pub mod tool;
pub mod tool_result;
