//! What a tool that runs a program adds to running it: `true`, started by tokio alone, and by a
//! call. `cargo bench -p haft-benchmarks --bench commands`

use divan::Bencher;
use haft_benchmarks::{answered, call};
use std::path::Path;
use std::process::Stdio;
use tokio::process::Command;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[divan::bench]
fn bare_spawn(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut program = Command::new("true");
            program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            program.output().await.expect("every machine has it")
        })
    });
}

#[divan::bench]
fn tool(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    let file = "server: { name: bench }\ntools: [{ name: tool, command: ['true'] }]";
    let manifest = haft_manifest::parse(Path::new("/haft.yaml"), file).expect("it is right");
    let server = manifest.server().expect("it is right");
    let request = call("tool", "{}");
    bencher.bench_local(|| {
        let answer = runtime.block_on(answered(&server, &request));
        assert!(!answer.windows(7).any(|window| window == b"isError"));
        answer
    });
}
