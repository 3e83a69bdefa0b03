//! Middleware: one around everything that writes who asked for what and how long it took, and one
//! around a single tool that refuses.
//! `haft call --command target/debug/middleware send_sms text=Hi`

use haft::{Handling, Middleware, Next, Outcome, Request, ToolResult};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Writes a line to stderr for each request. Any such async function is middleware.
async fn timed(request: Request, next: Next) -> Outcome {
    let (method, name) = (request.method.name(), request.name.clone());
    let who = request.context.principal().clone();
    let began = Instant::now();
    let outcome = next.run(request).await;
    let came = match &outcome {
        Outcome::Refused(refusal) => format!("refused: {}", refusal.message),
        Outcome::Tool(result) if result.is_error => "failed".to_owned(),
        _ => "done".to_owned(),
    };
    let line = format!("{who:?} {method} {name}: {came} after {:?}\n", began.elapsed());
    // Never stdout: over stdio it belongs to the protocol.
    let _ = io::stderr().write_all(line.as_bytes());
    outcome
}

/// So many calls are left.
struct Quota(AtomicU32);

/// What keeps something of its own is a type.
impl Middleware for Quota {
    fn handle(&self, request: Request, next: Next) -> Handling {
        let take = |left: u32| left.checked_sub(1);
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => next.run(request),
            Err(_) => Box::pin(async {
                Outcome::Tool(ToolResult::error("Today's messages are used up; try tomorrow."))
            }),
        }
    }
}

/// Sends a text message to the office.
#[haft::tool(open_world)]
fn send_sms(#[haft(length(1..=160))] text: String) -> String {
    format!("{} characters are on their way.", text.chars().count())
}

/// What a message costs, in cents.
#[haft::tool(read_only)]
fn price() -> u32 {
    9
}

fn main() -> haft::Result<()> {
    haft::server("middleware", "1.0.0")
        .middleware(timed)
        .tool(send_sms::tool().middleware(Quota(AtomicU32::new(2))))
        .tool(price::tool())
        .run()
}
