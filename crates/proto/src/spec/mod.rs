//! What messages carry, a file for each page of the specification. Plain data: how it is written
//! for a revision is `encode`'s business.

pub mod client;
pub mod completion;
pub mod content;
pub mod icon;
pub mod implementation;
pub mod level;
pub mod prompt;
pub mod question;
pub mod resource;
pub mod task;
pub mod tool;
pub mod tool_result;

/// `_meta` of anything: JSON text of an object.
pub type Meta = Box<serde_json::value::RawValue>;
