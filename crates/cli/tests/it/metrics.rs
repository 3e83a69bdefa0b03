//! What `haft serve --metrics` tells of the requests that it has answered.

use crate::haft::haft;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(20);

const FILE: &str = r#"
server: { name: desk }
tools:
  - { name: hi, description: Greets., text: Hello }
  - { name: broken, description: Fails., command: ["false"] }
  - { name: slow, description: Takes long., command: [sleep, "1000"] }
  - name: counts
    description: Counts.
    input: { to: integer, "from?": integer }
    text: "{{ to }}"
resources:
  - { uri: "desk://note", name: note, text: Tea. }
"#;

struct Served {
    metrics: String,
    url: String,
    child: Child,
    folder: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn serve() -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("haft.yaml");
    std::fs::write(&file, FILE).expect("a folder of ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.arg("serve").arg(&file).args(["--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary is built");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let mut address = |begin: &str| {
        let line = lines.next().expect("it says where").expect("stderr is text");
        let (said, url) = line.rsplit_once(" at http://").expect("an address");
        assert!(said.starts_with(begin), "{line}");
        url.to_owned()
    };
    let metrics = address("haft: metrics");
    let url = format!("http://{}", address("haft: serving"));
    Served { metrics, url, child, folder }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let (address, _) = self.metrics.split_once('/').expect("there is a path");
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
        stream
    }

    fn ask(&self, start: &str) -> String {
        let (address, _) = self.metrics.split_once('/').expect("there is a path");
        self.ask_as(start, address)
    }

    fn ask_as(&self, start: &str, host: &str) -> String {
        let mut stream = self.connect();
        let request = format!("{start} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Calls a tool with arguments as they are.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (body, address) = (call.to_string(), self.url.trim_start_matches("http://"));
        let (address, path) = address.split_once('/').expect("there is a path");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Waits until this line is told.
    fn tells(&self, line: &str) {
        let began = Instant::now();
        loop {
            let told = self.ask("GET /metrics");
            if told.lines().any(|one| one == line) {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "{line} is not in {told}");
        }
    }
}

fn count(method: &str, name: &str, outcome: &str) -> String {
    format!("haft_requests_total{{method=\"{method}\",name=\"{name}\",outcome=\"{outcome}\"}} 1")
}

#[test]
fn what_was_asked_is_told_by_name_and_outcome() {
    let served = serve();
    haft(["call", &served.url, "hi"]).printed();
    assert_eq!(haft(["call", &served.url, "broken"]).code, Some(5));
    haft(["read", &served.url, "desk://note"]).printed();
    served.tells(&count("tools/call", "hi", "ok"));
    served.tells(&count("tools/call", "broken", "failed"));
    served.tells(&count("resources/read", "", "ok"));
    served.tells("haft_request_seconds_count{method=\"tools/call\",name=\"hi\"} 1");
    served.tells("# TYPE haft_request_seconds histogram");
    served.tells("haft_requests_running{method=\"tools/call\"} 0");
}

#[test]
fn what_was_mended_is_told_by_kind() {
    let served = serve();
    // The command itself would not send these.
    let answer = served.call("counts", &json!({"to": "7", "from": null}));
    assert!(answer.contains(r#""text":"7""#), "{answer}");
    served.tells("haft_repairs_total{name=\"counts\",kind=\"quoted_number\"} 1");
    served.tells("haft_repairs_total{name=\"counts\",kind=\"null_for_absent\"} 1");
}

#[test]
fn who_goes_away_has_cancelled() {
    let served = serve();
    let mut client = Command::new(env!("CARGO_BIN_EXE_haft"));
    client.args(["call", &served.url, "slow"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut client = client.spawn().expect("the binary is built");
    served.tells("haft_requests_running{method=\"tools/call\"} 1");
    client.kill().expect("it is ours");
    client.wait().expect("it is ours");
    served.tells(&count("tools/call", "slow", "cancelled"));
    served.tells("haft_requests_running{method=\"tools/call\"} 0");
}

#[test]
fn only_the_metrics_are_there_and_only_to_be_read() {
    let served = serve();
    assert!(served.ask("GET /").starts_with("HTTP/1.1 404 "), "{}", served.ask("GET /"));
    let posted = served.ask("POST /metrics");
    assert!(posted.starts_with("HTTP/1.1 405 ") && posted.contains("allow: GET, HEAD"), "{posted}");
}

#[test]
fn pages_of_elsewhere_are_told_nothing() {
    let served = serve();
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", "x@y@z"] {
        let told = served.ask_as("GET /metrics", host);
        assert!(told.starts_with("HTTP/1.1 403 ") && !told.contains("haft_"), "{host}: {told}");
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9"] {
        assert!(served.ask_as("GET /metrics", host).starts_with("HTTP/1.1 200 "), "{host}");
    }
}

#[test]
fn who_connects_and_asks_nothing_does_not_hold_up_others() {
    let served = serve();
    let _idle: Vec<_> = (0..32).map(|_| served.connect()).collect();
    assert!(served.ask("GET /metrics").starts_with("HTTP/1.1 200 "));
}

#[test]
fn two_servers_cannot_tell_at_one_address() {
    let served = serve();
    let (address, _) = served.metrics.split_once('/').expect("there is a path");
    let file = served.folder.path().join("haft.yaml");
    let file = file.to_str().expect("UTF-8");
    let ran = haft(["serve", file, "--http", "127.0.0.1:0", "--metrics", address]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("choose another address with --metrics"), "{ran:?}");
}
