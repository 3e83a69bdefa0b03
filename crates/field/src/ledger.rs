//! A server over stdio whose tool `once` writes down what it was called with, a line each, before
//! it answers: what a call has done cannot be undone, and can be counted. It forgives nothing.

use haft::{State, Wire};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::Duration;

use crate::limits::MORE_MAX;

/// Writes it down, waits so long, and gives it back, with so many more letters.
#[haft::tool(read_only = false, idempotent = false)]
async fn once(
    file: State<File>,
    /// What to write down.
    text: String,
    /// For how many milliseconds to wait then.
    wait_ms: Option<u64>,
    /// How many letters to add.
    more: Option<usize>,
) -> Result<String, std::io::Error> {
    // One write at the end of the file, so that lines are whole.
    (&*file).write_all(format!("{text}\n").as_bytes())?;
    if let Some(wait) = wait_ms {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    Ok(text + &"~".repeat(more.unwrap_or_default().min(MORE_MAX)))
}

/// Serves until stdin ends.
pub(crate) fn run(file: &str) -> Result<(), String> {
    let file = OpenOptions::new().append(true).create(true).open(file);
    let file = file.map_err(|error| format!("the ledger: {error}"))?;
    let server = haft::server("ledger", "1").state(file).tool(once::tool());
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let served = runtime.block_on(server.serve_on(Wire::Stdio));
    // It may still be waiting for its input, which nobody writes any more.
    runtime.shutdown_background();
    served.map_err(|error| error.to_string())
}
