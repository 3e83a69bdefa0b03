//! What a file costs from its text to a server: read and checked, its schemas compiled, its lists
//! written. `cargo bench -p haft-benchmarks --bench files`

use divan::Bencher;
use haft_benchmarks::file;
use haft_manifest::Manifest;
use haft_server::Server;
use std::path::Path;

fn main() {
    divan::main();
}

fn read(yaml: &str) -> Manifest {
    haft_manifest::parse(Path::new("/haft.yaml"), yaml).expect("it is right")
}

fn serve(manifest: &Manifest) -> Server {
    manifest.server().expect("it is right")
}

/// From text to what is meant.
#[divan::bench(args = [1, 50, 500])]
fn parse(bencher: Bencher<'_, '_>, tools: usize) {
    let yaml = file(tools);
    bencher.bench_local(|| read(&yaml));
}

/// From what is meant to a server.
#[divan::bench(args = [1, 50, 500])]
fn build(bencher: Bencher<'_, '_>, tools: usize) {
    let manifest = read(&file(tools));
    bencher.bench_local(|| serve(&manifest));
}

/// All of it.
#[divan::bench(args = [1, 50, 500])]
fn whole(bencher: Bencher<'_, '_>, tools: usize) {
    let yaml = file(tools);
    bencher.bench_local(|| serve(&read(&yaml)));
}
