//! How often each way to read a message touches the heap, and that ours never does. One test, as
//! the counter counts the whole process. `cargo xtask bench codec` reads what it prints.

#[path = "../benches/codec/readers.rs"]
mod readers;

use haft_proto::limits::Limits;
use readers::{MESSAGES, Simd};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn allocations(read: impl FnOnce() -> bool) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    assert!(read(), "it is a message");
    dhat::HeapStats::get().total_blocks - before
}

#[test]
fn a_message_is_read_without_an_allocation() {
    readers::agree();
    let _profiler = dhat::Profiler::builder().testing().build();
    let (limits, mut simd) = (Limits::default(), Simd::new());
    for (name, message) in MESSAGES {
        let bytes = message.as_bytes();
        // Its buffers are those of an earlier reading.
        assert!(simd.read(bytes).is_some());
        let ours = allocations(|| readers::ours(bytes, &limits).is_ok());
        for (reader, count) in [
            ("dom_twice", allocations(|| readers::dom_twice(bytes).is_some())),
            ("dom_once", allocations(|| readers::dom_once(bytes).is_some())),
            ("serde_once", allocations(|| readers::serde_once(bytes).is_some())),
            ("sonic", allocations(|| readers::sonic(bytes).is_some())),
            ("simd", allocations(|| simd.read(bytes).is_some())),
            ("ours", ours),
        ] {
            println!("counted {reader}/{name} {count}");
        }
        assert_eq!(ours, 0, "{name}");
    }
}
