//! The server over stdin and stdout: one message a line.

use crate::act::{Then, Wire, act};
use crate::healthy;
use crate::script::Script;
use serde_json::Value;
use std::io::{self, BufRead, Write};

/// Answers until stdin is closed, or the script says otherwise.
///
/// # Errors
/// Nobody reads any more.
pub fn serve(script: &Script) -> io::Result<()> {
    let mut out = Stdout;
    if let Some(steps) = script.at("start")
        && act(&mut out, &steps, &Value::Null)? == Then::Exit
    {
        return Ok(());
    }
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        // Answers to questions have none.
        let Some(method) = message.get("method").and_then(Value::as_str) else { continue };
        match (script.at(method), healthy::answer(&message)) {
            (Some(steps), _) => {
                if act(&mut out, &steps, &message)? == Then::Exit {
                    return Ok(());
                }
            }
            (None, Some(answer)) => out.message(answer.as_bytes())?,
            (None, None) => {}
        }
    }
    script.at("end").map_or(Ok(()), |steps| act(&mut out, &steps, &Value::Null).map(|_| ()))
}

/// Each message is written at once, so that those of several threads do not mix.
struct Stdout;

impl Wire for Stdout {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    fn message(&mut self, text: &[u8]) -> io::Result<()> {
        self.put(&[text, b"\n"].concat())
    }

    fn beside(&self) -> Option<Box<dyn Wire + Send>> {
        Some(Box::new(Self))
    }
}
