//! The door through which `haft bench` looks into a haft that it has started: a socket whose path
//! that finds in its environment. It says when to begin and when to end; what was seen goes back.
//! `load/look.rs` is the other side. Whoever is not started that way has no door.

use crate::print::{Printer, one_line};
use crate::profile::Profile;
use haft_stages::{Snapshot, turn_off, turn_on};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The variable with the path.
pub(crate) const HAFT_INSIDE: &str = "HAFT_INSIDE";

/// What the other side says, a line each, in JSON.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// From here on.
    Begin {
        /// Time each request.
        stages: bool,
        /// Look often where the processor is.
        profile: bool,
    },
    /// Until here; what was seen is the answer.
    End,
}

/// What is answered, in a line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Seen {
    /// What requests have spent in each stage.
    pub(crate) stages: Option<Snapshot>,
    /// A flame graph, as SVG.
    pub(crate) profile: Option<String>,
    /// Why something that was ordered is not there.
    pub(crate) problem: Option<String>,
}

/// Opens the door, if this process is to have one.
pub(crate) fn open(printer: Printer) {
    let Some(path) = std::env::var_os("HAFT_INSIDE") else { return };
    // Where nobody listens, somebody else was meant: a tool of theirs has started this.
    let Ok(stream) = UnixStream::connect(Path::new(&path)) else { return };
    // It ends with the other side, or with the process.
    std::thread::spawn(move || {
        if let Err(error) = obey(&stream) {
            printer.warn(&format!("{HAFT_INSIDE}: {}", one_line(&error.to_string())));
        }
    });
}

fn obey(mut stream: &UnixStream) -> io::Result<()> {
    let mut profile = None;
    for order in BufReader::new(stream).lines() {
        let mut seen = Seen::default();
        match serde_json::from_str(&order?)? {
            Order::Begin { stages, profile: is_wanted } => {
                if is_wanted {
                    match Profile::begin() {
                        Ok(begun) => profile = Some(begun),
                        Err(failure) => seen.problem = Some(failure.message),
                    }
                }
                if stages {
                    turn_on();
                }
            }
            Order::End => {
                if haft_stages::is_on() {
                    turn_off();
                    seen.stages = Some(Snapshot::now());
                }
                match profile.take().map(Profile::end) {
                    Some(Ok(svg)) => seen.profile = Some(svg),
                    Some(Err(failure)) => seen.problem = Some(failure.message),
                    None => {}
                }
            }
        }
        let mut line = serde_json::to_string(&seen)?;
        line.push('\n');
        stream.write_all(line.as_bytes())?;
    }
    Ok(())
}
