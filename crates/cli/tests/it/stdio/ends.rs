//! How a stdio server ends: at the end of its input, at a signal, with its parent, or when nobody
//! reads; with nothing lost that was asked and no process left behind.

use super::client::{
    self, Hold, PidFile, StdioServer, lines_of, wait, wait_until_gone, write_manifest,
};
use super::{call, text_of};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn signal(server: &StdioServer, signal: Signal) {
    let pid = i32::try_from(server.child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("it runs");
}

#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let mut server = StdioServer::start();
    server.send(&call(1, "sleep", json!({"seconds": 1})));
    server.send(&call(2, "greet", json!({"name": "Ada"})));
    // The last line has no end.
    server.send_bytes(call(3, "greet", json!({"name": "Bob"})).as_bytes());
    server.close_stdin();
    let (status, answers) = server.end();
    assert!(status.success(), "{status}");
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(3), json!(1)]);
    assert_eq!(text_of(&answers[1]), "Hello, Bob!");
}

#[test]
fn a_file_can_be_its_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("input");
    std::fs::write(&input, call(1, "greet", json!({"name": "Ada"}))).expect("a file");
    for (from, answer) in [(input.as_path(), "Hello, Ada!"), ("/dev/null".as_ref(), "")] {
        let output = Command::new(env!("CARGO_BIN_EXE_haft"))
            .arg("serve")
            .arg(write_manifest(folder.path()))
            .arg("--stdio")
            .stdin(File::open(from).expect("it is there"))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(answer), "{output:?}");
    }
}

#[test]
fn a_signal_ends_calls_and_their_processes_in_time() {
    for order in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = StdioServer::start();
        let pids = server.pid_file();
        server.send(&call(1, "sleep_and_tell", json!({"file": pids.path()})));
        let pid = pids.wait();
        let began = Instant::now();
        signal(&server, order);
        let (status, answers) = server.end();
        // Clients send SIGKILL two seconds after SIGTERM.
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert!(status.success(), "{status}");
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["error"]["code"], -31005);
        assert_eq!(answers[0]["error"]["message"], "Cancelled: the server is stopping");
        wait_until_gone(&pid);
    }
}

#[test]
fn every_request_has_one_answer_even_at_the_end() {
    let mut server = StdioServer::start();
    let pids = server.pid_file();
    server.send(&call(1, "sleep_and_tell", json!({"file": pids.path()})));
    let hold = Hold::in_folder(server.folder());
    server.send(&call(2, "held", json!({"pipe": hold.path()})));
    let held = hold.wait();
    // More than pipes and buffers hold, and nobody reads but the first two. With one more answer
    // among these the server would read the last request only when it can write, and thus never.
    let large = "x".repeat(3 << 20);
    for id in 3..8 {
        server.send(&call(id, "greet", json!({"name": large})));
    }
    pids.wait();
    let told = Instant::now();
    signal(&server, Signal::TERM);
    // This call ends unheard.
    drop(held);
    client::wait_for("both ends", || (told.elapsed() > Duration::from_millis(1500)).then_some(()));
    let (_, answers) = server.end();
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64()).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id was answered twice");
}

#[test]
fn calls_that_end_soon_after_a_signal_are_answered() {
    let mut server = StdioServer::start();
    server.ask(&call(1, "greet", json!({"name": "Ada"})));
    server.send(&call(2, "sleep", json!({"seconds": 0})));
    signal(&server, Signal::TERM);
    let (status, answers) = server.end();
    assert!(status.success(), "{status}");
    // Either it was read before the signal, and then answered, or it was not read at all.
    assert!(answers.iter().all(|answer| answer["id"] == 2 && answer["result"].is_object()));
}

#[test]
fn it_ends_when_nobody_reads_its_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_haft"))
        .arg("serve")
        .arg(write_manifest(folder.path()))
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("it is piped");
    writeln!(stdin, "{}", call(1, "greet", json!({"name": "Ada"}))).expect("the server reads");
    assert!(wait(&mut child).success());
}

#[test]
fn it_ends_with_its_parent_though_its_input_stays_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write_manifest(folder.path());
    let fifo = folder.path().join("input");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a pipe with a name");
    // The parent starts the server on the named pipe, says its id, and is then killed.
    let script = "\"$0\" serve \"$1\" --stdio <\"$2\" & echo $!; wait";
    let mut parent = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_haft")])
        .arg(file)
        .arg(&fifo)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let mut input = File::options().write(true).open(&fifo).expect("the server opens it too");
    let lines = lines_of(parent.stdout.take().expect("it is piped"));
    let pid = lines.recv_timeout(client::DEADLINE).expect("an id");
    let pids = PidFile::in_folder(folder.path());
    writeln!(input, "{}", call(1, "sleep_and_tell", json!({"file": pids.path()}))).expect("open");
    let tool = pids.wait();
    parent.kill().expect("it runs");
    parent.wait().expect("it is our child");
    client::wait_for("the end of the server", || has_ended(&pid).then_some(()));
    wait_until_gone(&tool);
}

/// Whether a process has ended. Whether anybody waits for it is not the server's business: the
/// first process of a container may not.
fn has_ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
