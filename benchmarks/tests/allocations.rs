//! The promise that a message is read, looked up and answered without touching the heap, counted.
//! One test, as the counter counts the whole process.

use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, large_call, server};
use haft_proto::envelope;
use haft_proto::limits::Limits;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The tool of the messages, by its attribute.
#[haft::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn allocations(act: impl FnOnce()) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    act();
    dhat::HeapStats::get().total_blocks - before
}

#[test]
fn a_typed_call_and_a_list_are_answered_without_an_allocation() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let (server, limits) = (server(130), Limits::default());
    let mut out = Vec::with_capacity(1 << 20);
    // The first request of a thread sets up its way to the snapshot, and the first call of a tool
    // compiles its schema: each once.
    for message in [LEGACY_CALL, MODERN_LIST] {
        assert!(answer(&server, &limits, message.as_bytes(), &mut out));
        out.clear();
    }
    for message in [LEGACY_CALL, MODERN_CALL, MODERN_LIST] {
        let count = allocations(|| {
            assert!(answer(&server, &limits, message.as_bytes(), &mut out));
        });
        assert_eq!(count, 0, "{message}");
        assert!(!out.is_empty());
        out.clear();
    }
    let server = haft::server("attribute", "1.0.0").tool(add::tool()).build().expect("right");
    assert!(answer(&server, &limits, LEGACY_CALL.as_bytes(), &mut out));
    out.clear();
    for message in [LEGACY_CALL, MODERN_CALL] {
        let count = allocations(|| {
            assert!(answer(&server, &limits, message.as_bytes(), &mut out));
        });
        assert_eq!(count, 0, "an attribute adds nothing to a call: {message}");
        out.clear();
    }
    let large = large_call(1 << 20);
    let count = allocations(|| assert!(envelope::read(large.as_bytes(), &limits).is_ok()));
    assert_eq!(count, 0, "an envelope of any size");
}
