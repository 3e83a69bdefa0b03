//! Every bound of a store, each with a name.

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;
/// The longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 1024 * 1024;
/// The most keys of a store.
pub const ENTRIES_MAX: u64 = 1_000_000;
/// The most bytes of all keys and values in memory, unless `state` has a `max_size`.
pub const MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of them in a file, unless `state` has a `max_size`.
pub const FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// The most keys that one listing returns.
pub const KEYS_MAX: usize = 1000;
/// The most reads of a file at once; others wait.
pub const READS_MAX: usize = 16;
/// The most changes that are written at once, and that wait to be written.
pub const CHANGES_MAX: usize = 1024;
/// The most bytes of keys and values that wait to be written.
pub const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most entries past their time that are removed with one batch of changes.
pub const SWEPT_MAX: usize = 256;
/// The most memory for pages of the file, in bytes.
pub const PAGES_BYTES_MAX: usize = 16 * 1024 * 1024;
