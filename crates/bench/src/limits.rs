//! Every bound of a run, in one place. Read by the plan, which refuses what goes beyond, and by
//! those who read what a server says.

use std::time::Duration;

/// The most connections at once; each is a socket, or a process with two pipes.
pub const CONNECTIONS_MAX: usize = 20_000;
/// The most requests that one connection has in flight.
pub const IN_FLIGHT_MAX: usize = 10_000;
/// The most threads that make the load.
pub const THREADS_MAX: usize = 256;
/// The longest that a run may be planned to last.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest turn that a comparison gives to servers that are slow; one may be planned longer.
pub const TURN_MAX: Duration = Duration::from_secs(10);
/// The most requests a second that an open loop may ask for.
pub const RATE_MAX: u32 = 10_000_000;
/// The most seconds between two requests of an open loop.
pub const RATE_SECONDS_MAX: u32 = 3600;
/// How many requests of an open loop that were never sent a connection tells of one by one.
pub const OVERDUE_MAX: u64 = 100_000;
/// The sum of the weights of all that is asked.
pub const WEIGHTS_MAX: u32 = 10_000;
/// The most bytes that `--payload` adds to the arguments of a call.
pub const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest answer: a line, or a body of HTTP.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
/// All headers of an answer of HTTP together, and how many they may be.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most headers of an answer of HTTP.
pub const HEADERS_MAX: usize = 100;
/// The longest answer that is kept to compare further ones with.
pub const KNOWN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest latency that is told apart from longer ones.
pub const LATENCY_MAX: Duration = Duration::from_secs(60 * 60);
/// The most seconds of which a run keeps a line each; older ones are put together in pairs.
pub const SERIES_MAX: usize = 1_024;
/// The most bytes that each thread keeps of these lines besides the one that it is at; beyond, they
/// are put together as well. What all threads come to at the end takes 40 MB at most.
pub const SERIES_BYTES_MAX: usize = 1024 * 1024;
/// How much of a wrong answer a report quotes, in bytes.
pub const EXCERPT_BYTES_MAX: usize = 200;
/// How long the end of a session may take.
pub const FAREWELL: Duration = Duration::from_secs(1);
/// The most connections of a load that end at once while others take their place: each still has
/// its descriptors. Where so many do, the next one is opened once one has left.
pub const LEAVING_MAX: usize = 256;
/// The most processes that are looked at to find those of a server.
pub const PROCESSES_MAX: usize = 100_000;
