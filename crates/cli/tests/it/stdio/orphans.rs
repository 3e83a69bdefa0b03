//! What a call's program starts and moves out of reach of its group, in a session of its own: it
//! ends with the call all the same, and leaves no zombie. What haft did not start lives.

use super::client::{self, DEADLINE, StdioServer, lines_of, wait_for};
use super::{call, text_of};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Most tell the number of a process in a session of its own, in a file.
const AWAY: &str = r#"
server: { name: away }
tools:
  - name: child
    input: { file: string }
    timeout: 1s
    command:
      - sh
      - -c
      - setsid sh -c 'echo $$ > $0.new; mv $0.new $0; exec sleep 300' $0 & wait
      - "{{ file }}"
  - name: daemon
    input: { file: string }
    command:
      - sh
      - -c
      - |
        setsid -f sh -c 'echo $$ > $0.new; mv $0.new $0; exec sleep 300' $0 <&- >&- 2>&-
        until [ -e $0 ]; do :; done
        echo started
      - "{{ file }}"
  - name: talker
    input: { file: string }
    command:
      - sh
      - -c
      - |
        tell='echo $$ > $0.new; mv $0.new $0; exec sleep 300'
        setsid -f sh -c 'sh -c "$1" $0 & exec sleep 300' $0 "$tell"
        until [ -e $0 ]; do :; done
        echo started
      - "{{ file }}"
  - name: brief
    input: { file: string, pipe: string }
    command:
      - sh
      - -c
      - setsid -f sh -c 'echo $$ > $0.new; mv $0.new $0' $0; cat $1
      - "{{ file }}"
      - "{{ pipe }}"
  - name: fails
    command:
      - sh
      - -c
      - |
        (setsid -f true; setsid -f sleep 300 >&- 2>&-; sleep 300 >&- 2>&- &)
        exit 3
"#;

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

fn wait_until_reaped(pid: &str) {
    wait_for("the end of a process", || (!is_there(pid)).then_some(()));
}

#[test]
fn a_timeout_reaches_a_child_in_a_session_of_its_own() {
    let mut server = StdioServer::start_with(AWAY);
    let pids = server.pid_file();
    let answer = server.ask(&call(1, "child", json!({"file": pids.path()})));
    assert!(text_of(&answer).contains("took longer"), "{answer}");
    wait_until_reaped(&pids.wait());
}

#[test]
fn so_does_a_cancellation() {
    let mut server = StdioServer::start_with(&AWAY.replace("timeout: 1s", "timeout: 1h"));
    let pids = server.pid_file();
    server.send(&call(1, "child", json!({"file": pids.path()})));
    let pid = pids.wait();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    server.send(&cancel.to_string());
    wait_until_reaped(&pid);
}

#[test]
fn a_daemon_is_gone_when_its_call_is_answered() {
    for tool in ["daemon", "talker"] {
        let mut server = StdioServer::start_with(AWAY);
        let pids = server.pid_file();
        let answer = server.ask(&call(1, tool, json!({"file": pids.path()})));
        assert_eq!(text_of(&answer), "started");
        assert!(!is_there(&pids.wait()), "{tool}");
    }
}

#[test]
fn a_daemon_of_another_call_lives_until_its_own_ends() {
    let mut server = StdioServer::start_with(&AWAY.replace("timeout: 1s", "timeout: 1h"));
    let pids = server.pid_file();
    server.send(&call(1, "child", json!({"file": pids.path()})));
    let pid = pids.wait();
    let other = server.folder().join("other");
    let answer = server.ask(&call(2, "daemon", json!({"file": other})));
    assert_eq!(text_of(&answer), "started");
    assert!(is_there(&pid));
}

#[test]
fn the_end_of_the_server_reaches_them_too() {
    let mut server = StdioServer::start_with(&AWAY.replace("timeout: 1s", "timeout: 1h"));
    let pids = server.pid_file();
    server.send(&call(1, "child", json!({"file": pids.path()})));
    let pid = pids.wait();
    let number = i32::try_from(server.child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(number, Signal::TERM).expect("it runs");
    let (status, _) = server.end();
    assert!(status.success(), "{status}");
    assert!(!is_there(&pid));
}

#[test]
fn nothing_is_left_of_the_calls_of_a_server_that_is_killed() {
    let mut server = StdioServer::start_with(&AWAY.replace("timeout: 1s", "timeout: 1h"));
    let pids = server.pid_file();
    server.send(&call(1, "child", json!({"file": pids.path()})));
    let pid = pids.wait();
    assert!(is_there(&pid));
    server.child.kill().expect("it runs");
    server.child.wait().expect("it is dead");
    wait_for("the end of what a killed server ran", || has_ended(&pid).then_some(()));
}

/// A process that somebody else has to reap may stay as a zombie.
fn has_ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
}

#[test]
fn an_orphan_that_ends_while_its_call_runs_is_no_zombie() {
    let mut server = StdioServer::start_with(AWAY);
    let pids = server.pid_file();
    let hold = client::Hold::in_folder(server.folder());
    server.send(&call(1, "brief", json!({"file": pids.path(), "pipe": hold.path()})));
    let held = hold.wait();
    wait_until_reaped(&pids.wait());
    drop(held);
    assert_eq!(server.read()["id"], 1);
}

#[test]
fn how_a_program_ended_is_not_lost_among_orphans() {
    let mut server = StdioServer::start_with(AWAY);
    for id in 0..100 {
        server.send(&call(id, "fails", json!({})));
    }
    for _ in 0..100 {
        let answer = server.read();
        assert!(text_of(&answer).contains("exit code 3"), "{answer}");
    }
    let children = format!("/proc/{0}/task/{0}/children", server.child.id());
    // But for the process that ends them, should haft be killed.
    let is_guardian = |child: &str| {
        let words = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words.contains("guard-children")
    };
    wait_for("the end of all orphans", || {
        let children = std::fs::read_to_string(&children).expect("Linux");
        children.split_whitespace().all(is_guardian).then_some(())
    });
}

#[test]
fn a_process_that_haft_did_not_start_lives() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("haft.yaml"), AWAY).expect("a file");
    // The shell becomes haft, which has a child then that it knows nothing of.
    let mut child = Command::new("sh")
        .args(["-c", "sleep 300 >&- & echo $!; exec \"$0\" serve haft.yaml --stdio"])
        .arg(env!("CARGO_BIN_EXE_haft"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let lines = lines_of(child.stdout.take().expect("it is piped"));
    let pid = lines.recv_timeout(DEADLINE).expect("a number");
    let mut stdin = child.stdin.take().expect("it is piped");
    let file = folder.path().join("pid");
    writeln!(stdin, "{}", call(1, "daemon", json!({"file": file}))).expect("it reads");
    assert!(lines.recv_timeout(DEADLINE).expect("an answer").contains("started"));
    drop(stdin);
    assert!(client::wait(&mut child).success());
    let number = pid.parse().ok().and_then(Pid::from_raw).expect("a number");
    kill_process(number, Signal::KILL).expect("it lives");
}

#[test]
fn a_container_that_somebody_entered_is_served_in_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("haft.yaml"), AWAY).expect("a file");
    let enter = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    if !Command::new("unshare").args(enter).arg("true").status().is_ok_and(|ran| ran.success()) {
        eprintln!("not judged: this machine lets nobody make a namespace of processes");
        return;
    }
    // There, the session and the group that the server was started in have no number.
    let mut child = Command::new("unshare")
        .args(enter)
        .args(["sh", "-c", "\"$0\" serve haft.yaml --stdio; exit $?"])
        .arg(env!("CARGO_BIN_EXE_haft"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran before");
    let lines = lines_of(child.stdout.take().expect("it is piped"));
    let mut stdin = child.stdin.take().expect("it is piped");
    for tool in ["daemon", "talker"] {
        let asked = call(1, tool, json!({"file": folder.path().join(tool)}));
        writeln!(stdin, "{asked}").expect("it reads");
        assert!(lines.recv_timeout(DEADLINE).expect("an answer").contains("started"), "{tool}");
    }
    drop(stdin);
    assert!(client::wait(&mut child).success());
}
