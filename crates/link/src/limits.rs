//! How much of anything the other end of a link may ask for. Sizes are in bytes unless the name
//! says otherwise.

/// The longest frame of a control stream, without its head.
pub const CONTROL_FRAME_MAX: usize = 64 * 1024;

/// The longest frame that carries a request: with room for the longest message of other wires.
pub const REQUEST_FRAME_MAX: usize = 5 * 1024 * 1024;

/// The longest frame that carries a part of a result.
pub const RESPONSE_FRAME_MAX: usize = 40 * 1024;

/// The longest part of a result that is sent in one frame.
pub const PART_MAX: usize = 32 * 1024;

/// The most other gateways that one names.
pub const PEERS_MAX: usize = 64;

/// The most calls that one `Ack` is about.
pub const ACKED_MAX: usize = 256;
