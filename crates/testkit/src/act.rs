//! Does the steps of a script, on either wire.

use crate::healthy;
use crate::script::Step;
use serde_json::Value;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Where messages go.
pub(crate) trait Wire {
    /// Writes bytes as they are.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Writes a message, or the end of one.
    fn message(&mut self, text: &[u8]) -> io::Result<()>;
    /// What a response begins with; nothing on stdout.
    fn head(&mut self, _: &Step) -> io::Result<()> {
        Ok(())
    }
    /// Writes beside all that follows, where that can be.
    fn beside(&self) -> Option<Box<dyn Wire + Send>> {
        None
    }
}

/// What is done after some steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    Exit,
}

/// How much of a long text is in memory.
const PIECE_BYTES: usize = 64 * 1024;
/// How often something drips.
const DRIP: Duration = Duration::from_millis(20);

/// Does what is done now that `message` is here, or nothing that has a message.
///
/// # Errors
/// Nobody reads any more.
pub(crate) fn act(wire: &mut dyn Wire, steps: &[Step], message: &Value) -> io::Result<Then> {
    for step in steps {
        match step {
            Step::Answer => {
                wire.message(healthy::answer(message).unwrap_or_default().as_bytes())?;
            }
            Step::Half => {
                let answer = healthy::answer(message).unwrap_or_default();
                wire.put(&answer.as_bytes()[..answer.len() / 2])?;
            }
            Step::Send(text) => wire.message(&filled(text, message))?,
            Step::Again(text) => loop {
                wire.message(&filled(text, message))?;
            },
            Step::Raw(text) => wire.put(&filled(text, message))?,
            Step::Fill(bytes) => fill(wire, *bytes)?,
            Step::Wait(time) => pause(*time),
            Step::Drip(text) => loop {
                wire.put(&filled(text, message))?;
                pause(DRIP);
            },
            Step::Hang => loop {
                thread::park();
            },
            Step::Exit => return Ok(Then::Exit),
            Step::Leave => leave()?,
            Step::Status(_) | Step::Header(_) | Step::Stream => wire.head(step)?,
            Step::Meanwhile(step) => {
                let mut other = wire.beside().ok_or(io::ErrorKind::Unsupported)?;
                let (steps, message) = ([(**step).clone()], message.clone());
                thread::spawn(move || act(&mut *other, &steps, &message));
            }
        }
    }
    Ok(Then::GoOn)
}

fn filled(text: &str, message: &Value) -> Vec<u8> {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let id = message.get("id").unwrap_or(&Value::Null).to_string();
    let text = text.replace("$id", &id);
    let text = match text.contains("$n") {
        true => text.replace("$n", &COUNT.fetch_add(1, Ordering::Relaxed).to_string()),
        false => text,
    };
    let pieces: Vec<&[u8]> = text.split("$ff").map(str::as_bytes).collect();
    pieces.join(&0xff)
}

fn fill(wire: &mut dyn Wire, bytes: u64) -> io::Result<()> {
    let piece = [b'x'; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        wire.put(&piece[..now])?;
        left -= now as u64;
    }
    Ok(())
}

fn pause(time: Duration) {
    let (_still_here, never) = std::sync::mpsc::sync_channel::<()>(0);
    _ = never.recv_timeout(time);
}

/// It has our stdout and stderr, and nobody waits for it.
fn leave() -> io::Result<()> {
    Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn().map(|_| ())
}
