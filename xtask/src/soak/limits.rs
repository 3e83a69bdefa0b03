//! How long everything takes and how much may be left of it, each with its reason. Read by the
//! other files of `soak`; nothing is measured here.

use std::time::Duration;

/// Servers behind the gateway; the last `COMING` of them come and go.
pub(super) const UPSTREAMS: usize = 20;
pub(super) const COMING: usize = 4;
/// Clients, half of them of either era.
pub(super) const CLIENTS: usize = 8;
pub(super) const SLOW_READERS: usize = 2;
/// How long the short form runs between the two looks, in seconds.
pub(super) const SECONDS: u64 = 60;
/// How long everything goes on before the first look: each upstream has been killed and edited by
/// then, and what is made once is made.
pub(super) const WARM_UP: Duration = Duration::from_secs(15);
/// Between two calls of a client: the load is steady, and not all that the machine can do.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between two kills, and between two edits.
pub(super) const KILL_MS_MAX: u64 = 1_500;
pub(super) const EDIT_MS_MAX: u64 = 4_000;
/// How long after a kill or an edit calls of that upstream may be answered by an error: it starts
/// in a second or two where all processors are taken, after a pause if it was killed just before.
pub(super) const AFTERMATH: Duration = Duration::from_secs(8);
/// What an answer may take: the `timeout` of a call, and once more where it is repeated.
pub(super) const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take until everything is as it was when nothing happens any more: longer than
/// the gateway's longest pause before it starts an upstream again, of 30 s.
pub(super) const SETTLE: Duration = Duration::from_secs(60);
/// How long the gateway may take to end, and all that it started.
pub(super) const END: Duration = Duration::from_secs(20);
/// The length of the result that slow readers ask for: more than sockets hold.
pub(super) const LONG_BYTES: usize = 2 * 1024 * 1024;
/// Of a hundred calls of read-only tools within the aftermath, how many may fail: such a call is
/// made once more, so that only one whose upstream is killed twice, or not back in a second, does.
pub(super) const READ_ONLY_PER_CENT: u64 = 1;
/// Descriptors more at the last look than at the first: connections that are just coming or going.
pub(super) const DESCRIPTORS: u64 = 8;
/// The same of threads: those that the runtime keeps for files end a while after they were used.
pub(super) const THREADS: u64 = 2;
/// Bytes of resident memory more: what the allocator keeps of long results, which differs from
/// look to look. A leak of a hundred bytes for each call is more within ten minutes, and one of a
/// long result at once.
pub(super) const RESIDENT_BYTES: u64 = 24 * 1024 * 1024;
