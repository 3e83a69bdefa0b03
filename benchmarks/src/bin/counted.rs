//! One scenario, so many times: `counted --run SCENARIO TIMES`. `cargo xtask counts` runs it under
//! callgrind with two numbers and takes the difference, which leaves out the start.

use haft_benchmarks::cases::{self, Turns};
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
    if cases::asked(prepared)? { Ok(()) } else { Err("--run SCENARIO TIMES".into()) }
}

fn prepared(scenario: &str) -> Turns {
    match scenario {
        "envelope" => read(MODERN_CALL.to_owned()),
        "error" => read(ERROR.to_owned()),
        "legacy_call" => answered(LEGACY_CALL.to_owned()),
        "modern_call" => answered(MODERN_CALL.to_owned()),
        "refused_call" => answered(call("subtract", "{}")),
        "list" => answered(MODERN_LIST.to_owned()),
        _ => panic!("there is no scenario `{scenario}`"),
    }
}

/// From the bytes of a message to what it is.
fn read(message: String) -> Turns {
    let limits = Limits::default();
    Box::new(move |times| {
        for _ in 0..times {
            assert!(envelope::read(black_box(message.as_bytes()), &limits).is_ok());
        }
    })
}

/// From the bytes of a request to the bytes of its answer.
fn answered(message: String) -> Turns {
    let (server, limits) = (server(TOOLS), Limits::default());
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    Box::new(move |times| {
        for _ in 0..times {
            out.clear();
            assert!(answer(&server, &limits, black_box(message.as_bytes()), &mut out));
        }
    })
}
