//! The constant servers under `haft bench`'s own load: every answer is checked there, so that what
//! is measured beside haft is a server that answers, and not one that fails fast.

use haft_bench::{Ask, End, HttpVersion, Load, LoadPlan, Plan, Target};
use haft_client::Launch;
use haft_proto::method::Method;
use haft_proto::version::Revision;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const EPOLL: &str = env!("CARGO_BIN_EXE_limit-epoll");
const HYPER: &str = env!("CARGO_BIN_EXE_limit-hyper");
const PIPE: &str = env!("CARGO_BIN_EXE_limit-pipe");

const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1000000000,"result":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#
);

/// A file of answers, to calls with this text.
fn answers(folder: &TempDir, result: &str) -> PathBuf {
    let file = folder.path().join("answers");
    let other = format!(r#"{{"jsonrpc":"2.0","id":1000000000,"result":{result}}}"#);
    fs::write(&file, format!("{GREETING}\n{other}\n")).expect("a folder of ours");
    file
}

fn text(length: usize) -> String {
    let text = "x".repeat(length);
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
}

struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(program: &str, file: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.arg("0").arg(file).args(more).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it was built");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("it is piped");
        BufReader::new(stderr).read_line(&mut line).expect("a line");
        let url = line.trim_end().strip_prefix("listening at ").expect("it listens").to_owned();
        Self { child, url }
    }

    fn target(&self) -> Target {
        let uri = self.url.parse().expect("a URL");
        Target::Url { uri, headers: Vec::new(), version: HttpVersion::One }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Loads a server, and fails on any answer that is not as it should be.
fn check(target: Target, ask: Ask, answers: u64, connections: usize, in_flight: usize) {
    let load = LoadPlan { connections, in_flight, ..LoadPlan::default() };
    let plan = Plan {
        target,
        revision: Revision::LATEST_LEGACY,
        asks: vec![ask],
        load,
        end: End::Answers(answers),
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(10),
        threads: 1,
    };
    let (warmup, end) = (plan.warmup, plan.end);
    let mut load = Load::open(plan).expect("it greets");
    let stretch = load.stretch(warmup, end, &mut |_| true);
    load.close();
    let tally = stretch.tally;
    assert_eq!((tally.answers(), tally.failures()), (answers, 0), "{:?}", stretch.ended);
}

fn echo(length: usize) -> Ask {
    let text = "x".repeat(length);
    let call = Ask::call("echo", &format!(r#"{{"text":"{text}"}}"#));
    Ask { expect: Some(format!("\"{text}\"")), ..call }
}

#[test]
fn short_answers_are_right_over_every_wire() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = answers(&folder, &text(5));
    for (program, more) in [(EPOLL, &[][..]), (HYPER, &[]), (HYPER, &["2"])] {
        let server = Listening::start(program, &file, more);
        check(server.target(), echo(5), 200, 1, 1);
        check(server.target(), echo(5), 200, 8, 1);
    }
    let launch = || Launch::new(PIPE, [file.as_os_str()]);
    check(Target::Command(launch()), echo(5), 200, 1, 1);
    check(Target::Command(launch()), echo(5), 200, 1, 64);
}

/// What a server says to a request, its body included.
fn said(stream: &mut TcpStream, verb: &str, body: &str) -> (String, String) {
    let length = body.len();
    write!(stream, "{verb} /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}")
        .expect("it listens");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.expect("a length").parse().expect("a number");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (head, String::from_utf8(body).expect("text"))
}

#[test]
fn a_session_is_named_once_and_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = answers(&folder, &text(5));
    let asked = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1234567890,"method":"{method}","params":{{}}}}"#)
    };
    for program in [EPOLL, HYPER] {
        let server = Listening::start(program, &file, &[]);
        let authority = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
        let mut stream = TcpStream::connect(authority).expect("it listens");
        let (head, body) = said(&mut stream, "POST", &asked("initialize"));
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.expect("a session");
        assert!(session.len() == 32 && session.bytes().all(|it| it.is_ascii_hexdigit()), "{head}");
        assert!(body.contains("protocolVersion"), "{body}");
        let (head, body) = said(&mut stream, "POST", &asked("tools/call"));
        assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("session"), "{head}");
        assert!(body.contains("xxxxx"), "{body}");
        let (head, body) = said(&mut stream, "DELETE", "");
        assert!(head.starts_with("HTTP/1.1 200 ") && body.is_empty(), "{head}");
    }
}

#[test]
fn what_does_not_fit_into_a_read_or_a_write_is_answered_whole() {
    // More than the buffers of both ends of a socket hold.
    const LENGTH: usize = 12 * 1024 * 1024;
    let folder = tempfile::tempdir().expect("a folder");
    let file = answers(&folder, &text(LENGTH));
    for program in [EPOLL, HYPER] {
        let server = Listening::start(program, &file, &[]);
        check(server.target(), echo(LENGTH), 3, 2, 1);
    }
    let launch = Launch::new(PIPE, [file.as_os_str()]);
    check(Target::Command(launch), echo(LENGTH), 4, 1, 4);
}

#[test]
fn a_list_is_an_answer_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = answers(&folder, r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#);
    let server = Listening::start(EPOLL, &file, &[]);
    check(server.target(), Ask::new(Method::ToolsList), 50, 2, 1);
}

#[test]
fn a_file_that_has_no_answers_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("none");
    fs::write(&file, "{}\n").expect("a folder of ours");
    let output = Command::new(PIPE).arg(&file).output().expect("it was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("cargo xtask bench limits"), "{said}");
}
