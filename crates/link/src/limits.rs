//! How much of anything the other end of a link may ask for. Sizes are in bytes unless the name
//! says otherwise.

use std::time::Duration;

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

/// The fewest calls to which a [`Pace`](crate::Pace) holds one down: one that is under way, and one
/// that waits for it.
pub const PACE_MIN: usize = 2;

/// How many calls a [`Pace`](crate::Pace) lets through before any has ended.
pub const PACE_START: usize = 16;

/// The most calls that a [`Pace`](crate::Pace) lets through at once, whatever slots an agent
/// claims.
pub const PACE_MAX: usize = 4096;

/// How many times as long as without a queue calls may take before fewer are let through.
pub const PACE_TOLERANCE: f64 = 1.5;

/// The fewest calls of which a mean is trusted.
pub const PACE_WINDOW_MIN: usize = 64;

/// How often it is looked up what calls take without a queue, while the limit holds some back;
/// after a fifth of it the first time, as the first calls to end are short ones, and when the limit
/// is less than half of what it was then.
pub const PACE_PROBE_EVERY: Duration = Duration::from_secs(5);
