//! What a reader of results wants to know of a run: when, of which commit, by which compiler, on
//! what kind of machine. `results` keeps it once for all cases of the run; it names no machine.

use std::process::Command;

use serde_json::{Value, json};

use super::place::Place;
use super::server::HAFT;
use crate::command;
use crate::failure::Failure;

/// What was measured; the owner of the checkout in CI may be somebody else.
const DESCRIBE: [&str; 5] = ["-c", "safe.directory=*", "describe", "--always", "--dirty"];

/// What is known of a run that begins now.
pub(super) fn facts(place: Place) -> Result<Value, Failure> {
    let mut facts = json!({
        "at": said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        "commit": commit(),
        "haft": HAFT.version()?,
        "rustc": said(Command::new("rustc").arg("--version")),
    });
    if let (Some(facts), Value::Object(machine)) = (facts.as_object_mut(), place.described()) {
        facts.extend(machine);
    }
    Ok(facts)
}

/// Which commit this is, with `-dirty` behind it where something else is.
pub(crate) fn commit() -> Option<String> {
    said(Command::new("git").args(DESCRIBE))
}

/// What a program says in one line, if it is there.
fn said(program: &mut Command) -> Option<String> {
    command::output(program).ok().map(|line| line.trim().to_owned())
}
