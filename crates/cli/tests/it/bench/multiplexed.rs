//! A load over HTTP/2 that ends: by Ctrl-C while a server is silent, and with nothing left behind.
//! Its figures are checked with those of the other wires.

use super::{bench, desk, report};
use crate::desk::Desk;
use crate::foreign_servers::own;
use crate::gateway::serve_with;
use crate::gateway_admin::Door;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn no_session_is_left_behind_over_either_http() {
    let desk = desk();
    let server = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&server);
    let asked = ["echo", "text=a", "--era", "legacy", "-n", "60", "-c", "3"];
    let wires: [&[&str]; 2] = [&["--http2", "-f", "4"], &[]];
    for wire in wires {
        for short in [&[][..], &["--requests-per-connection", "4"]] {
            let found = report(&[&server.url], &[&asked[..], wire, short].concat());
            assert_eq!(found["answers"], 60, "{found}");
            assert_eq!(door.see("sessions")["count"], 0, "{wire:?} {short:?}");
        }
    }
}

#[test]
fn who_wants_an_end_does_not_wait_for_a_silent_server() {
    let desk = Desk::with("server: { name: slow }\n");
    let began = desk.path("began");
    let made = Command::new("mkfifo").arg(&began).status();
    assert!(made.expect("mkfifo").success());
    let command = format!("[sh, -c, \"echo > '{}'; sleep 30\"]", began.display());
    let file = desk.path("slow.yaml");
    let tool = format!("{{ name: wait, description: Waits., timeout: 90s, command: {command} }}");
    let text = format!("server: {{ name: slow }}\ntools:\n  - {tool}\n");
    std::fs::write(&file, text).expect("a folder of ours");
    let server = own(&file);
    let child = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["bench", &server.url, "wait", "--http2", "--timeout", "90s", "-d", "1s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    // This waits until the tool runs.
    std::fs::read(&began).expect("it begins");
    let (id, asked) = (child.id().to_string(), Instant::now());
    let kill = Command::new("kill").args(["-INT", &id]).status();
    assert!(kill.expect("kill").success());
    let left = child.wait_with_output().expect("the child is ours");
    let said = String::from_utf8_lossy(&left.stderr);
    assert_eq!(left.status.code(), Some(130), "{said}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(bench(&[&server.url], &["--http2", "-n", "3"]).code, Some(0), "the server is well");
}
