//! What a server holds on the heap: at rest, for each of its tools, once they are listed and
//! called, and after many calls. One test, as the counter counts the whole process.

use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, call, server};
use haft_proto::limits::Limits;
use haft_server::Server;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// A server of two tools, in bytes.
const AT_REST_MAX: usize = 12 * 1024;
/// Each tool more, beyond the bytes of its definition, which is kept once.
const TOOL_BYTES_MAX: usize = 256;
/// Each tool of eight arguments that has been called, beyond that: what those are checked by.
const CHECK_BYTES_MAX: usize = 768;
/// All of them fit into one page of the list.
const TOOLS: usize = 900;
const CALLS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const LEGACY_LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn live_bytes() -> usize {
    dhat::HeapStats::get().curr_bytes
}

/// How many bytes more are live after than before.
fn grown(act: impl FnOnce()) -> usize {
    let before = live_bytes();
    act();
    live_bytes().saturating_sub(before)
}

fn ask(server: &Server, message: &str, out: &mut Vec<u8>) {
    out.clear();
    assert!(answer(server, &Limits::default(), message.as_bytes(), out), "{message}");
}

/// The length of the list of all tools, in bytes.
fn listed(server: &Server) -> usize {
    let mut out = Vec::new();
    ask(server, MODERN_LIST, &mut out);
    out.len()
}

#[test]
fn a_server_holds_little_and_no_more_after_many_calls() {
    let _profiler = dhat::Profiler::builder().testing().build();
    // What is set up once for a process, and for the way of a thread to the snapshot, is not
    // counted.
    _ = listed(&server(2));
    let before = live_bytes();
    let small = server(2);
    let at_rest = live_bytes() - before;
    let before = live_bytes();
    let large = server(2 + TOOLS);
    let per_tool = (live_bytes() - before - at_rest) / TOOLS;
    let before = live_bytes();
    let definition = (listed(&large) - listed(&small)) / TOOLS;
    let by_listing = live_bytes() - before;
    // In bytes, for `cargo xtask bench memory`.
    for (name, bytes) in [("at_rest", at_rest), ("per_tool", per_tool), ("definition", definition)]
    {
        println!("counted {name} {bytes}");
    }
    assert!(at_rest < AT_REST_MAX, "{at_rest} bytes at rest");
    let most = definition + TOOL_BYTES_MAX;
    assert!(per_tool <= most, "{per_tool} bytes a tool, whose definition has {definition}");
    assert_eq!(by_listing, 0, "the list is what the definitions are kept in");

    let mut out = Vec::with_capacity(2 * TOOLS * definition);
    let by_legacy = grown(|| ask(&large, LEGACY_LIST, &mut out)) / TOOLS;
    // For each, once a client of 2025-11-25 has listed them, and once it is called.
    println!("counted legacy_list {by_legacy}");
    assert!(by_legacy <= definition + 8, "{by_legacy} bytes: a list of its own, and no more");
    let calls: Vec<_> =
        (1..=TOOLS).map(|number| call(&format!("tool_{number}"), r#"{"property_1":""}"#)).collect();
    let by_calls = grown(|| calls.iter().for_each(|call| ask(&large, call, &mut out))) / TOOLS;
    println!("counted called {by_calls}");
    assert!(by_calls <= CHECK_BYTES_MAX, "{by_calls} bytes for checks");
    drop(large);

    let refused = call("subtract", "{}");
    let messages = [LEGACY_CALL, MODERN_CALL, MODERN_LIST, &refused];
    // The first call of a tool compiles its schema.
    messages.iter().for_each(|message| ask(&small, message, &mut out));
    let before = live_bytes();
    (0..CALLS).for_each(|turn| ask(&small, messages[turn % 4], &mut out));
    assert_eq!(live_bytes(), before, "{CALLS} calls leave nothing behind");
}
