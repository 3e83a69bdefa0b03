//! How often each codec of a link touches the heap, that ours never does, and how long what it
//! writes is. One test, as the counter counts the whole process. `cargo xtask bench frames` reads
//! what it prints.

#[path = "../benches/frames/codecs.rs"]
mod codecs;

use codecs::{CODECS, Codec, MESSAGES};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn allocations(act: impl FnOnce()) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    act();
    dhat::HeapStats::get().total_blocks - before
}

#[test]
fn frames_are_read_and_written_without_an_allocation() {
    let _profiler = dhat::Profiler::builder().testing().build();
    for (name, message) in CODECS.into_iter().flat_map(|name| MESSAGES.map(|it| (name, it))) {
        let mut codec = Codec::new(name, message);
        let counts =
            [("read", allocations(|| codec.read())), ("write", allocations(|| codec.write()))];
        for (direction, count) in counts {
            println!("counted {name}/{direction}_{message} {count}");
            println!("counted bytes:{name}/{direction}_{message} {}", codec.length());
            assert!(name != "ours" || count == 0, "{direction} {message}");
        }
    }
}
