//! One scenario, so many times: `counted --run SCENARIO TIMES`. `cargo xtask counts` runs it under
//! callgrind with two numbers and takes the difference, which leaves out the start.

use haft_benchmarks::cases::{self, Turns};
use haft_benchmarks::{ERROR, LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, call, is_sum, server};
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
        "legacy_call" => answered(LEGACY_CALL.to_owned(), is_sum),
        "modern_call" => answered(MODERN_CALL.to_owned(), is_sum),
        "refused_call" => answered(call("subtract", "{}"), |answer| has(answer, "error")),
        "list" => answered(MODERN_LIST.to_owned(), |answer| has(answer, "result")),
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

/// Whether an answer has such a member.
fn has(answer: &[u8], member: &str) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    answer.get(member).is_some()
}

/// From the bytes of a request to the bytes of its answer.
/// `is_right` says whether the answer is the one that is to be counted.
fn answered(message: String, is_right: fn(&[u8]) -> bool) -> Turns {
    let (server, limits) = (server(TOOLS), Limits::default());
    let mut out = Vec::with_capacity(ANSWER_BYTES);
    assert!(answer(&server, &limits, message.as_bytes(), &mut out));
    assert!(is_right(&out), "{}", String::from_utf8_lossy(&out));
    Box::new(move |times| {
        for _ in 0..times {
            out.clear();
            assert!(answer(&server, &limits, black_box(message.as_bytes()), &mut out));
        }
    })
}
