//! Time and allocations of a pipeline of a file, beside those of the calls that it is made of.
//! `cargo bench -p haft-benchmarks --bench pipelines`.

use divan::{AllocProfiler, Bencher, black_box};
use haft_benchmarks::answer;
use haft_server::Server;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Tools that cost next to nothing, so that what is measured is what the steps cost.
const FILE: &str = "
server: { name: bench }
tools:
  - { name: say, input: { text: string }, text: '{{ text }}' }
  - { name: p0, input: { text: string }, pipeline: [{ call: say, with: { text: '{{ text }}' } }] }
  - name: p10
    input: { text: string }
    pipeline:
      - { each: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], call: say, with: { text: '{{ text }}' } }
    result: done
";

fn server() -> Server {
    let directory = std::env::current_dir().expect("there is one");
    let path = directory.join(Path::new("haft.yaml"));
    let manifest = haft_manifest::parse(&path, FILE).expect("the file is right");
    manifest.server().expect("its tools are")
}

/// A direct call, a pipeline of one step, and one of ten.
#[divan::bench(args = ["say", "p0", "p10"])]
fn call(bencher: Bencher<'_, '_>, tool: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime can be built");
    let _inside = runtime.enter();
    let (server, mut out) = (server(), Vec::with_capacity(4096));
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":
        {{"text":"a short text"}},"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let limits = server.limits().clone();
    bencher.bench_local(|| {
        out.clear();
        assert!(answer(&server, &limits, black_box(message.as_bytes()), &mut out));
    });
    let answer = String::from_utf8_lossy(&out);
    assert!(!answer.contains("rror"), "{answer}");
}
