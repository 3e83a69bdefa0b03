//! What a server holds on the heap: at rest, for each of its tools, and after many calls. One test,
//! as the counter counts the whole process.

use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, call, server};
use haft_proto::limits::Limits;
use haft_server::Server;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// A server of two tools, in bytes.
const AT_REST_MAX: usize = 32 * 1024;
/// Each tool more, as often as its definition is long: it is kept as it was given, as it is listed
/// to old and to new clients, and as what its arguments are checked and mended by.
const DEFINITIONS_MAX: usize = 9;
/// All of them fit into one page of the list.
const TOOLS: usize = 900;
const CALLS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

fn live_bytes() -> usize {
    dhat::HeapStats::get().curr_bytes
}

/// The length of the list of all tools, in bytes.
fn listed(server: &Server, limits: &Limits) -> usize {
    let mut out = Vec::new();
    assert!(answer(server, limits, MODERN_LIST.as_bytes(), &mut out));
    out.len()
}

#[test]
fn a_server_holds_little_and_no_more_after_many_calls() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let limits = Limits::default();
    // What is set up once for a process is not counted.
    drop(server(2));
    let before = live_bytes();
    let small = server(2);
    let at_rest = live_bytes() - before;
    let before = live_bytes();
    let large = server(2 + TOOLS);
    let per_tool = (live_bytes() - before - at_rest) / TOOLS;
    let definition = (listed(&large, &limits) - listed(&small, &limits)) / TOOLS;
    // In bytes, for `cargo xtask bench memory`.
    for (name, bytes) in [("at_rest", at_rest), ("per_tool", per_tool), ("definition", definition)]
    {
        println!("counted {name} {bytes}");
    }
    assert!(at_rest < AT_REST_MAX, "{at_rest} bytes at rest");
    let most = definition * DEFINITIONS_MAX;
    assert!(per_tool < most, "{per_tool} bytes a tool, whose definition has {definition}");
    drop(large);

    let mut out = Vec::with_capacity(1 << 16);
    let refused = call("subtract", "{}");
    let messages = [LEGACY_CALL, MODERN_CALL, MODERN_LIST, &refused];
    let mut ask = |times: usize| {
        for turn in 0..times {
            out.clear();
            assert!(answer(&small, &limits, messages[turn % 4].as_bytes(), &mut out));
        }
    };
    // The first requests of a thread set up its way to the snapshot.
    ask(4);
    let before = live_bytes();
    ask(CALLS);
    assert_eq!(live_bytes(), before, "{CALLS} calls leave nothing behind");
}
