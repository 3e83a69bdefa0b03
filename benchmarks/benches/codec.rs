//! What it costs to know what a message is: its kind, its id, its method, and where its parameters,
//! result or error are. Ours beside serde_json, sonic-rs and simd-json, as they come out of a build
//! for any x86-64; ours alone also finds what is in the parameters.
//! `cargo xtask bench codec` sets them beside each other, in turns; `cargo bench -p haft-benchmarks
//! --bench codec` times each. What they allocate is counted by the test `readings`, as a counter
//! would be in the way of times.

#[path = "codec/readers.rs"]
mod readers;

use divan::{Bencher, black_box};
use haft_benchmarks::cases::{self, Turns};
use haft_proto::limits::Limits;
use readers::{MESSAGES, Simd};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    readers::agree();
    if !cases::asked(prepared)? {
        divan::main();
    }
    Ok(())
}

/// A case is READER/MESSAGE.
fn prepared(case: &str) -> Turns {
    let (reader, name) = case.split_once('/').expect("READER/MESSAGE");
    let (bytes, limits, mut buffers) = (message(name), Limits::default(), Simd::new());
    let bytes = move || black_box(bytes);
    match reader {
        "dom_twice" => repeated(move || {
            black_box(&readers::dom_twice(bytes()));
        }),
        "dom_once" => repeated(move || {
            black_box(&readers::dom_once(bytes()));
        }),
        "serde_once" => repeated(move || {
            black_box(&readers::serde_once(bytes()));
        }),
        "sonic" => repeated(move || {
            black_box(&readers::sonic(bytes()));
        }),
        "simd" => repeated(move || {
            black_box(&buffers.read(bytes()));
        }),
        "ours" => repeated(move || {
            black_box(&readers::ours(bytes(), &limits));
        }),
        _ => panic!("there is no reader `{reader}`"),
    }
}

fn repeated(mut one: impl FnMut() + 'static) -> Turns {
    Box::new(move |times| (0..times).for_each(|_| one()))
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn dom_twice(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = message(name);
    bencher.bench_local(|| readers::dom_twice(black_box(bytes)).is_some());
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn dom_once(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = message(name);
    bencher.bench_local(|| readers::dom_once(black_box(bytes)).is_some());
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn serde_once(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = message(name);
    bencher.bench_local(|| readers::serde_once(black_box(bytes)).is_some());
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn sonic(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = message(name);
    bencher.bench_local(|| readers::sonic(black_box(bytes)).is_some());
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn simd(bencher: Bencher<'_, '_>, name: &str) {
    let (bytes, mut simd) = (message(name), Simd::new());
    bencher.bench_local(|| simd.read(black_box(bytes)).is_some());
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn ours(bencher: Bencher<'_, '_>, name: &str) {
    let (bytes, limits) = (message(name), Limits::default());
    bencher.bench_local(|| readers::ours(black_box(bytes), &limits).is_ok());
}

fn message(name: &str) -> &'static [u8] {
    let found = MESSAGES.iter().find(|known| known.0 == name);
    found.expect("one of them").1.as_bytes()
}
