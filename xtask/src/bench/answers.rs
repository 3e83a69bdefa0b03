//! Asks haft once what it answers, for the servers that answer constants: a file of two lines, the
//! greeting's answer and the other one. `comparing` asks; it measures nothing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::scenario::Scenario;
use super::server::{HAFT, command};
use crate::failure::Failure;

/// All ids of `haft bench` have as many digits.
const ID: u64 = 1_000_000_000;
const HELLO: &str = concat!(
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"xtask","version":"1"}}"#
);
const FOLDER: &str = "target/peers/answers";

/// Writes the file for a scenario, and says where it is.
pub(super) fn write(scenario: &Scenario) -> Result<String, Failure> {
    let path = format!("{FOLDER}/{}", scenario.name);
    let broken = |source| Failure::file("haft's own answer", source);
    let mut command = command(&HAFT.over_stdio(""));
    if let Some(count) = scenario.tools() {
        command.env("TOOLS", count.to_string());
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(broken)?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let greeting =
        format!(r#"{{"jsonrpc":"2.0","id":{ID},"method":"initialize","params":{HELLO}}}"#);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut text = String::new();
    for asked in [greeting, format!("{initialized}\n{}", scenario.ask.message(ID))] {
        writeln!(stdin, "{asked}").and_then(|()| stdin.flush()).map_err(broken)?;
        match lines.next() {
            Some(Ok(line)) if line.contains("\"result\"") => text += &format!("{line}\n"),
            other => return Err(Failure::SuiteBroken(format!("haft answered {other:?}"))),
        }
    }
    drop(stdin);
    child.wait().map_err(broken)?;
    fs::create_dir_all(FOLDER).map_err(|source| Failure::file(FOLDER, source))?;
    fs::write(&path, text).map_err(|source| Failure::file(&path, source))?;
    Ok(path)
}
