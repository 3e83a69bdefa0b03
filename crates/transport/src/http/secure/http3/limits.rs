//! How much a client may make HTTP/3 hold, besides what `haft_proto::limits` says of all of HTTP.

use std::time::Duration;

/// The most bytes of one request that come before somebody reads them.
pub(super) const STREAM_WINDOW: u32 = 256 * 1024;

/// The most bytes of one connection that come before somebody reads them.
pub(super) const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The most bytes of one connection that were sent and not acknowledged.
pub(super) const SEND_WINDOW: u64 = 1024 * 1024;

/// The most streams of one connection on which only the client speaks: HTTP/3 has three, and
/// others are there to be ignored.
pub(super) const ONE_WAY_STREAMS: u32 = 8;

/// The most bytes of a frame that is no part of a body and not a request's headers.
pub(super) const FRAME_BYTES_MAX: usize = 4096;

/// How much of an answer is handed over at once: what a client has to take in the time of
/// `write_stall`.
pub(super) const PIECE_BYTES: usize = 16 * 1024;

/// The most bytes of headers that have begun and not ended, of all connections together.
pub(super) const UNFINISHED_BYTES: usize = 32 * 1024 * 1024;

/// How many handshakes may be at work before those who want one must first show that their address
/// is theirs (RFC 9000, 8.1.2).
pub(super) const HANDSHAKES_UNPROVEN: usize = 64;

/// The most handshakes that wait to be looked at.
pub(super) const HANDSHAKES_WAITING: usize = 1024;

/// The most bytes of one such handshake that are kept.
pub(super) const HANDSHAKE_BYTES: u64 = 16 * 1024;

/// The most bytes of all of them.
pub(super) const HANDSHAKES_BYTES: u64 = 8 * 1024 * 1024;

/// How long a client that has been told that nothing more is begun may take to go, and the last
/// packets of all connections when the server stops.
pub(super) const PARTING: Duration = Duration::from_millis(100);
