//! One scenario, so many times: `counted SCENARIO TIMES`. `cargo xtask counts` runs it under
//! callgrind with two numbers and takes the difference, which leaves out the start; it never looks
//! at a clock.

use haft_benchmarks::{ERROR, LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, call, server};
use haft_proto::envelope;
use haft_proto::limits::Limits;
use std::error::Error;
use std::hint::black_box;

/// How many tools the server has.
const TOOLS: usize = 130;
/// Room for any answer, in bytes.
const ANSWER_BYTES: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (scenario, times) = arguments.next().zip(arguments.next()).ok_or("SCENARIO TIMES")?;
    let times = times.parse()?;
    match scenario.as_str() {
        "envelope" => read(MODERN_CALL, times),
        "error" => read(ERROR, times),
        "legacy_call" => answered(LEGACY_CALL, times),
        "modern_call" => answered(MODERN_CALL, times),
        "refused_call" => answered(&call("subtract", "{}"), times),
        "list" => answered(MODERN_LIST, times),
        _ => return Err(format!("there is no scenario `{scenario}`").into()),
    }
    Ok(())
}

/// From the bytes of a message to what it is.
fn read(message: &str, times: u32) {
    let limits = Limits::default();
    for _ in 0..times {
        assert!(envelope::read(black_box(message.as_bytes()), &limits).is_ok());
    }
}

/// From the bytes of a request to the bytes of its answer.
fn answered(message: &str, times: u32) {
    let (server, limits) = (server(TOOLS), Limits::default());
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    for _ in 0..times {
        out.clear();
        assert!(answer(&server, &limits, black_box(message.as_bytes()), &mut out));
    }
}
