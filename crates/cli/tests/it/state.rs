//! The example with state, as a person calls it, and a server that is killed while it writes.

use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A copy of the example; each has a state of its own.
fn example() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("there is a directory for temporary files");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/state/haft.yaml");
    let file = folder.path().join("haft.yaml");
    std::fs::copy(from, &file).expect("the repository has it");
    (folder, file)
}

/// What a call of one process answers.
fn called(file: &Path, tool: &str, arguments: &[&str]) -> Value {
    let command = ["call".as_ref(), file.as_os_str(), tool.as_ref()];
    let ran = haft(command.into_iter().chain(arguments.iter().map(AsRef::as_ref)));
    serde_json::from_str(ran.printed()).expect("it answers with JSON")
}

#[test]
fn what_one_process_keeps_another_finds() {
    let (_folder, file) = example();
    let text = "text=Paris is nice";
    assert_eq!(called(&file, "take_note", &["name=trip", text]), json!({"key": "note/trip"}));
    let found = json!({"found": true, "value": "Paris is nice"});
    assert_eq!(called(&file, "read_note", &["name=trip"]), found);
    assert_eq!(called(&file, "list_notes", &[]), json!({"keys": ["note/trip"], "more": false}));
    assert_eq!(called(&file, "drop_note", &["name=trip"]), json!({"deleted": true}));
    assert_eq!(called(&file, "read_note", &["name=trip"]), json!({"found": false}));
    for number in 1..=3 {
        assert_eq!(called(&file, "next_number", &["series=a"]), json!({"value": number}));
    }
}

#[test]
fn nothing_that_was_answered_is_lost_when_the_server_is_killed() {
    let (_folder, file) = example();
    let mut highest = 0;
    for _ in 0..3 {
        let mut server = Command::new(env!("CARGO_BIN_EXE_haft"))
            .args(["serve".as_ref(), file.as_os_str(), "--stdio".as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let mut stdin = server.stdin.take().expect("it is piped");
        // More than are answered before the end, so that it always has something to write.
        let writer = std::thread::spawn(move || {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            for id in 0.. {
                let params =
                    json!({"name": "next_number", "arguments": {"series": "a"}, "_meta": meta});
                let call =
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                if writeln!(stdin, "{call}").is_err() {
                    return;
                }
            }
        });
        let mut lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
        for _ in 0..200 {
            let line = lines.next().expect("it answers").expect("a line is text");
            let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
            // What waits for its turn may be told to come back.
            let number = answer["result"]["structuredContent"]["value"].as_u64();
            highest = highest.max(number.unwrap_or(0));
        }
        server.kill().expect("it runs");
        server.wait().expect("it is dead");
        writer.join().expect("it ends with its reader");
        let next = called(&file, "next_number", &["series=a"])["value"].clone();
        assert!(next.as_u64().is_some_and(|next| next > highest), "{next} after {highest}");
        highest = next.as_u64().unwrap_or(0);
    }
    assert!(highest > 300, "{highest}");
}
