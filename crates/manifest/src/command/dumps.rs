//! No process of the same user may look into this one: not at its environment, nor its memory.
//! Asked by `orphans` before the first program runs, and by `live` once a file has given secrets.

use std::sync::Once;

/// Forbids dumps of this process, and with them that others of its user read `/proc/PID/environ` or
/// its memory (`PR_SET_DUMPABLE`). Programs that it starts can be looked into as ever.
pub fn forbid_dumps() {
    static DONE: Once = Once::new();
    DONE.call_once(forbid);
}

#[cfg(target_os = "linux")]
fn forbid() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A system that refuses this has no such thing.
    _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
fn forbid() {}
