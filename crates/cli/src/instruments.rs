//! What a haft that was built for it tells of itself while it runs: its heap, with the feature
//! `heap-profile`, and its tasks, with `tokio-console`. Without them there is nothing here.

#[cfg(all(feature = "tokio-console", not(tokio_unstable)))]
compile_error!(
    "the feature `tokio-console` needs what tokio keeps for itself; build it like this: \
     RUSTFLAGS='--cfg tokio_unstable' cargo build -p haft-cli --features tokio-console"
);

#[cfg(feature = "heap-profile")]
#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

/// They tell until this is dropped.
pub(crate) struct Instruments {
    #[cfg(feature = "heap-profile")]
    _heap: dhat::Profiler,
}

/// Begins to tell. What is on the heap is written to `dhat-heap.json` of the directory that it ends
/// in; the console finds the tasks at 127.0.0.1:6669.
pub(crate) fn begin() -> Instruments {
    #[cfg(all(feature = "tokio-console", tokio_unstable))]
    console_subscriber::init();
    Instruments {
        #[cfg(feature = "heap-profile")]
        _heap: dhat::Profiler::new_heap(),
    }
}
