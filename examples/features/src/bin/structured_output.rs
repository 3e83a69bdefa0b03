//! Structured results: `Json<T>` gives programs a value and a schema of it, and models a text.
//! `haft call --command target/debug/structured_output split_bill total=90 people=4 tip=10`

use haft::Json;
use schemars::JsonSchema;
use serde::Serialize;

/// What everybody pays.
#[derive(Serialize, JsonSchema)]
struct Split {
    /// What each person pays, in cents.
    each_cents: u64,
    /// What is left for one of them, in cents, as cents cannot be divided.
    rest_cents: u64,
    /// The tip for all, in cents.
    tip_cents: u64,
    /// How generous that is.
    mood: Mood,
}

/// How generous a tip is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mood {
    Thrifty,
    Usual,
    Generous,
}

/// Splits a bill among people.
#[haft::tool(read_only, idempotent)]
fn split_bill(
    /// The whole bill.
    #[haft(range(0..=100_000))]
    total: f64,
    #[haft(range(1..=100))] people: u64,
    /// The tip, in per cent.
    #[haft(default = 0, range(0..=50))]
    tip: u64,
) -> Json<Split> {
    let cents = (total * 100.0).round() as u64;
    let tip_cents = cents * tip / 100;
    let all = cents + tip_cents;
    let mood = match tip {
        0..5 => Mood::Thrifty,
        5..15 => Mood::Usual,
        _ => Mood::Generous,
    };
    Json(Split { each_cents: all / people, rest_cents: all % people, tip_cents, mood })
}

fn main() -> haft::Result<()> {
    haft::server("structured_output", "1.0.0").tool(split_bill::tool()).run()
}
