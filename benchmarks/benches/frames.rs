//! What it costs to put messages of a link into bytes, and to take them out: the codec that the
//! link has beside those that it might have had. `cargo xtask bench frames` sets them beside each
//! other, in turns; `cargo bench -p haft-benchmarks --bench frames` times each. What they allocate
//! and how long they are is counted by the test `frame_codecs`.

#[path = "frames/codecs.rs"]
mod codecs;

use codecs::{CODECS, Codec, MESSAGES};
use divan::Bencher;
use divan::counter::BytesCount;
use haft_benchmarks::cases::{self, Turns};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    if !cases::asked(prepared)? {
        divan::main();
    }
    Ok(())
}

/// A case is CODEC/read_MESSAGE or CODEC/write_MESSAGE.
fn prepared(case: &str) -> Turns {
    let (name, what) = case.split_once('/').expect("CODEC/DIRECTION_MESSAGE");
    let (direction, message) = what.split_once('_').expect("DIRECTION_MESSAGE");
    let mut codec = Codec::new(name, message);
    match direction {
        "read" => Box::new(move |times| (0..times).for_each(|_| codec.read())),
        "write" => Box::new(move |times| (0..times).for_each(|_| codec.write())),
        _ => panic!("there is no direction `{direction}`"),
    }
}

#[divan::bench(args = MESSAGES, consts = [0, 1, 2, 3, 4, 5])]
fn read<const CODEC: usize>(bencher: Bencher<'_, '_>, message: &str) {
    let mut codec = Codec::new(CODECS[CODEC], message);
    let length = BytesCount::new(codec.length());
    bencher.counter(length).bench_local(|| codec.read());
}

#[divan::bench(args = MESSAGES, consts = [0, 1, 2, 3, 4, 5])]
fn write<const CODEC: usize>(bencher: Bencher<'_, '_>, message: &str) {
    let mut codec = Codec::new(CODECS[CODEC], message);
    let length = BytesCount::new(codec.length());
    bencher.counter(length).bench_local(|| codec.write());
}
