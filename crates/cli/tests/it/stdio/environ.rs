//! What a program can see of the environment of its haft: what it is given, and nothing in `/proc`.

use super::client::StdioServer;
use super::{call, text_of};
use rustix::process::getuid;
use serde_json::json;
use std::process::Command;

/// What the environment of the server has, and programs should not find.
const SECRET: &str = "only-haft-knows-this";

const LOOK: &str = r#"
server: { name: look }
tools:
  - name: own
    command: [env]
  - name: above
    command: [sh, -c, 'cat /proc/$PPID/environ 2>&1; echo; echo looked']
  - name: beside
    command:
      - sh
      - -c
      - |
        for p in /proc/[0-9]*; do
          grep -qs guard-children $p/cmdline && cat $p/environ
        done; echo looked
"#;

/// One that may not look into every process: root may, unless that is taken from it.
fn haft() -> Command {
    let haft = env!("CARGO_BIN_EXE_haft");
    let mut command = match getuid().is_root() {
        true => Command::new("setpriv"),
        false => Command::new(haft),
    };
    if getuid().is_root() {
        // New kernels let whoever may measure performance look as well.
        let none = "-sys_ptrace,-perfmon,-sys_admin";
        command.args([format!("--inh-caps={none}"), format!("--bounding-set={none}")]).arg(haft);
    }
    command.env("API_SECRET", SECRET).env("HAFT_JOIN", SECRET);
    command
}

#[test]
fn a_program_does_not_find_what_the_environment_of_its_haft_has() {
    let mut server = StdioServer::start_as(haft(), LOOK);
    for (id, tool, expected) in [
        (1, "own", "PATH="),
        (2, "above", "looked"),
        (3, "beside", "looked"),
        (4, "above", "denied"),
    ] {
        let answer = server.ask(&call(id, tool, json!({})));
        let said = text_of(&answer);
        assert!(said.contains(expected) && !said.contains(SECRET), "{tool}: {answer}");
    }
}
