//! Every bound of what is read from an editor's file, each with a name. Read by the other files of
//! this crate.

use std::time::Duration;

/// The longest file that is read, in bytes. Some hosts keep much more than servers in theirs.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The most servers that are read from one file; the rest is left out, and said so.
pub const SERVERS_MAX: usize = 1000;
/// The most arguments, variables or headers of one server.
pub const LIST_ITEMS_MAX: usize = 1000;
/// The longest text of a server: an argument, a URL, a value.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// The longest name that is written, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The deepest nesting of a YAML file. JSON and TOML are bounded by their parsers, at 512 and 80.
pub const YAML_DEPTH_MAX: usize = 64;
/// The stack that a file is read on, in a build without optimisation too.
pub(crate) const READING_STACK_BYTES: usize = 16 * 1024 * 1024;
/// How long an edit waits for another program that has locked the file's directory.
pub const TURN_PATIENCE: Duration = Duration::from_secs(5);
/// How many directories above the working directory may belong to the project.
pub const PROJECT_LEVELS_MAX: usize = 32;
