//! The example as a program: over both wires, and its command line.

use haft::client::{Launch, Options, Target, connect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

const HELLO: &str = env!("CARGO_BIN_EXE_hello");

/// Lists and calls the tool, wherever the server is.
async fn check(target: &Target) {
    let client = connect(target, &Options::default()).await.expect("it answers");
    let tools = client.list_tools().await.expect("it lists").tools;
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["hello"]);
    let arguments = to_raw_value(&json!({"name": "Ada"})).expect("it is JSON");
    let result = client.call_tool("hello", &arguments, &mut |_| {}).await.expect("it answers");
    let said = format!("{result:?}");
    assert!(!result.is_error && said.contains("Hello, Ada!"), "{said}");
    client.close().await;
}

#[tokio::test]
async fn it_serves_the_client_that_started_it() {
    for args in [&["--stdio"][..], &[]] {
        check(&Target::Command(Launch::new(HELLO, args))).await;
    }
}

/// A server over HTTP, killed at the end of the test.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start() -> Self {
        let mut command = Command::new(HELLO);
        command.args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example is built");
        let mut line = String::new();
        let stderr = child.stderr.as_mut().expect("it is piped");
        BufReader::new(stderr).read_line(&mut line).expect("it says where it is");
        let url = line.trim_end().strip_prefix("haft: serving hello at ").expect("it says that");
        Self { url: url.to_owned(), child }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn it_serves_over_http_until_a_signal() {
    let mut serving = Serving::start();
    assert!(serving.url.ends_with("/mcp"), "{}", serving.url);
    check(&Target::Url(serving.url.clone())).await;
    let pid = Pid::from_child(&serving.child);
    kill_process(pid, Signal::TERM).expect("it is ours");
    assert!(serving.child.wait().expect("it is ours").success());
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(HELLO);
    command.args(args).stdin(Stdio::null());
    command.output().expect("the example is built")
}

#[test]
fn the_command_line_is_told_and_checked() {
    let help = run(&["--help"]);
    let text = String::from_utf8_lossy(&help.stdout);
    assert!(help.status.success() && text.contains("--http ADDRESS"), "{text}");
    let version = run(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&version.stdout), "hello 1.0.0\n");
    let wrong = run(&["--htpp"]);
    assert_eq!((wrong.status.code(), &*wrong.stdout), (Some(1), &[][..]));
    let problem =
        "Error: unknown argument `--htpp`; write `--stdio`, `--http ADDRESS`, or nothing\n";
    assert_eq!(String::from_utf8_lossy(&wrong.stderr), problem);
}

#[test]
fn an_address_that_is_taken_is_told() {
    let mut serving = Serving::start();
    let address = serving.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let second = run(&["--http", &address]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.starts_with(&format!("Error: cannot listen on {address}: ")), "{said}");
    assert_eq!(second.status.code(), Some(1));
    serving.child.kill().expect("it is ours");
    let mut rest = String::new();
    let stderr = serving.child.stderr.as_mut().expect("it is piped");
    stderr.read_to_string(&mut rest).expect("it ends");
    assert_eq!(rest, "");
}

#[test]
fn it_is_ten_lines() {
    let source = include_str!("../../src/main.rs");
    assert!(source.lines().count() <= 10);
}
