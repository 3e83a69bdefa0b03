//! What it costs to know what a message is: its kind, its id, its method, and where its parameters,
//! result or error are. Ours beside serde_json, sonic-rs and simd-json, as they come out of a build
//! for any x86-64; ours alone also finds what is in the parameters.
//! `cargo bench -p haft-benchmarks --bench codec`, with `-- --instructions` for counts of
//! instructions in place of times.

#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

#[path = "codec/readers.rs"]
mod readers;

use divan::{AllocProfiler, Bencher, black_box};
use haft_benchmarks::instructions::{self, Wish};
use haft_benchmarks::{ERROR, LEGACY_CALL, MODERN_CALL, NOTIFICATION, RESPONSE};
use haft_proto::limits::Limits;
use readers::{Facts, Simd};
use std::error::Error;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const MESSAGES: [(&str, &str); 5] = [
    ("request", LEGACY_CALL),
    ("modern_request", MODERN_CALL),
    ("notification", NOTIFICATION),
    ("response", RESPONSE),
    ("error", ERROR),
];
const READERS: [&str; 5] = ["dom_twice", "serde_once", "sonic", "simd", "ours"];

fn main() -> Result<(), Box<dyn Error>> {
    agree();
    match instructions::wish() {
        Wish::Run(case, times) => run(&case, times),
        Wish::Instructions => tell_instructions()?,
        Wish::Times => divan::main(),
    }
    Ok(())
}

/// All read the same out of each message.
fn agree() {
    let (limits, mut simd) = (Limits::default(), Simd::new());
    for (name, message) in MESSAGES {
        let bytes = message.as_bytes();
        let theirs = readers::dom_twice(bytes).expect("it is a message").facts();
        let others: [Facts; 4] = [
            readers::serde_once(bytes).expect("it is a message").facts(),
            readers::sonic(bytes).expect("it is a message").facts(),
            simd.read(bytes).expect("it is a message").facts(),
            readers::facts_of_ours(&readers::ours(bytes, &limits).expect("it is a message")),
        ];
        for (facts, reader) in others.iter().zip(&READERS[1..]) {
            assert_eq!(*facts, theirs, "{reader} of {name}");
        }
    }
}

fn run(case: &str, times: u32) {
    let (reader, name) = case.split_once('/').expect("READER/MESSAGE");
    let (_, message) = MESSAGES.iter().find(|known| known.0 == name).expect("a message");
    let (limits, mut simd) = (Limits::default(), Simd::new());
    for _ in 0..times {
        let bytes = black_box(message.as_bytes());
        match reader {
            "dom_twice" => {
                black_box(&readers::dom_twice(bytes));
            }
            "serde_once" => {
                black_box(&readers::serde_once(bytes));
            }
            "sonic" => {
                black_box(&readers::sonic(bytes));
            }
            "simd" => {
                black_box(&simd.read(bytes));
            }
            "ours" => {
                black_box(&readers::ours(bytes, &limits));
            }
            _ => panic!("there is no reader `{reader}`"),
        }
    }
}

fn tell_instructions() -> Result<(), Box<dyn Error>> {
    println!("instructions of one reading, and how many times ours that is");
    println!("{:<16}{}", "message", READERS.map(|reader| format!("{reader:>18}")).concat());
    for (name, _) in MESSAGES {
        let ours = instructions::of(&format!("ours/{name}"))?;
        let mut line = format!("{name:<16}");
        for reader in READERS {
            let count = instructions::of(&format!("{reader}/{name}"))?;
            line += &format!("{count:>10} {:>6.2}x", count as f64 / ours as f64);
        }
        println!("{line}");
    }
    Ok(())
}

#[divan::bench(args = MESSAGES.map(|(name, _)| name))]
fn dom_twice(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = message(name);
    bencher.bench_local(|| readers::dom_twice(black_box(bytes)).is_some());
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
