//! What a file of many tools costs from its text to a server, counted in allocations, which are the
//! same on every machine. One test, as the counter counts the whole process.

use haft_benchmarks::file;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Half as many again as there were when this was written: 33992, of 4682698 bytes in all.
const BLOCKS_MAX: u64 = 51_000;
const BYTES_MAX: u64 = 7_000_000;

fn load(yaml: &str) {
    let manifest = haft_manifest::parse(Path::new("/haft.yaml"), yaml).expect("it is right");
    manifest.server().expect("it is right");
}

#[test]
fn fifty_tools_are_loaded_with_so_many_allocations_and_no_more() {
    // What is set up once for a process is not counted.
    load(&file(1));
    let yaml = file(50);
    let _profiler = dhat::Profiler::builder().testing().build();
    load(&yaml);
    let spent = dhat::HeapStats::get();
    let (blocks, bytes) = (spent.total_blocks, spent.total_bytes);
    assert!(blocks <= BLOCKS_MAX, "{blocks} allocations, of {bytes} bytes");
    assert!(bytes <= BYTES_MAX, "{bytes} bytes in {blocks} allocations");
}
