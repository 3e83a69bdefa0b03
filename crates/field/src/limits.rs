//! How much the programs of a field take. Read by the other files; nothing is measured here.

use std::time::Duration;

/// The most packets on their way in one direction; what comes then is lost, as at a router.
pub(crate) const PACKETS: usize = 8192;
/// The longest packet that a device of this kind has.
pub(crate) const PACKET_BYTES: usize = 65_536;
/// The most bytes of a packet that goes over the wire.
pub(crate) const MTU: u16 = 1500;
/// How long a token of the crowd may be used.
pub(crate) const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// How many of the crowd join at once.
pub(crate) const JOINING: usize = 16;
/// How many calls each of the crowd works on at once.
pub(crate) const SLOTS: usize = 8;
/// The most letters that a tool adds to its result.
pub(crate) const MORE_MAX: usize = 4 * 1024 * 1024;
