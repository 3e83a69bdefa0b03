//! Every bound of the constant servers, in one place.

/// How much is read at once, to begin with, in bytes.
pub(crate) const READ_BYTES: usize = 256 * 1024;
/// The longest message, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Answers up to this length, in bytes, are put together before they are sent; longer ones are sent
/// in pieces.
pub(crate) const COPY_BYTES: usize = 4 * 1024;
/// How many connections have something to say at once.
#[cfg(target_os = "linux")]
pub(crate) const EVENTS_MAX: usize = 1024;
