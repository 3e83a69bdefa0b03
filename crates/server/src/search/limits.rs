//! Every bound on looking for tools, each with a name.

/// The most bytes of a question that are looked at.
pub(super) const QUERY_BYTES_MAX: usize = 1024;
/// The most words of a question that are looked for.
pub(super) const QUERY_WORDS_MAX: usize = 32;
/// The most words of tools that a word of a question may be the beginning of.
pub(super) const BEGINNINGS_MAX: usize = 64;
/// The most bytes of a tool's description that are found by.
pub(super) const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// How many tools are told, where a question does not say it.
pub(super) const FOUND_DEFAULT: usize = 5;
/// The most that a question may ask for.
pub(super) const FOUND_MAX: usize = 20;
