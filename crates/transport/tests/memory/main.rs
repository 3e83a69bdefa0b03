//! What clients cost that ask for little: live bytes of the heap, counted over real sockets. The
//! counter counts the whole process, so one test runs at a time; what is there before, the test's
//! own ends of the sockets among it, is left out.

mod answers;
mod service;
mod sessions;
mod silent_readers;
mod subscriptions;
mod with_server;

use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Counts live bytes while it is there, for one test at a time.
struct Counter {
    _profiler: dhat::Profiler,
    _turn: MutexGuard<'static, ()>,
}

impl Counter {
    fn start() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _profiler: dhat::Profiler::builder().testing().build(), _turn: turn }
    }

    /// Of all that was ever made.
    fn made_bytes(&self) -> usize {
        usize::try_from(dhat::HeapStats::get().total_bytes).unwrap_or(usize::MAX)
    }

    fn live_bytes(&self) -> usize {
        dhat::HeapStats::get().curr_bytes
    }
}
