//! Real processes over WebSocket: `haft serve` with a client that others wrote, and the server of
//! the conformance suite, which has to say over it all that it says over stdio.

use crate::everything::{Peer, VERSIONS, check};
use crate::foreign;
use crate::foreign_servers::own;
use crate::guard::Guard;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn the_websockets_of_python_converse_and_are_told_that_the_server_stops() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/haft.yaml");
    let server = own(&file);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python/web_socket.py");
    let mut python = Command::new(foreign::python());
    python.arg(script).arg(server.url.replacen("http", "ws", 1));
    let mut client = Guard(python.stdout(Stdio::piped()).spawn().expect("Python starts"));
    let stdout = client.0.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let said: Vec<String> = lines.by_ref().take_while(|line| line != "ready").collect();
    let said: Vec<Value> =
        said.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said[0]["serverInfo"]["name"], "quickstart");
    assert_eq!(said[1]["tools"].as_array().map(Vec::len), Some(7), "{said:?}");
    assert_eq!(said[2]["content"][0]["text"], "Hello, Zo\u{eb}!");
    kill_process(Pid::from_child(&server.child), Signal::TERM).expect("it runs");
    assert_eq!(lines.next().as_deref(), Some("1001 The server is stopping"));
    assert!(client.0.wait().expect("it ends").success());
}

struct Socket(WebSocket<TcpStream>, Guard);

impl Socket {
    fn start() -> Self {
        let mut words = foreign::fixture::words().into_iter();
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words).args(["--http", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut child = Guard(command.spawn().expect("it was built"));
        let mut said = String::new();
        let stderr = child.0.stderr.take().expect("it is piped");
        BufReader::new(stderr).read_line(&mut said).expect("it says where it listens");
        let url = said.trim().rsplit_once("http://").expect("a URL").1;
        let mut request = format!("ws://{url}").into_client_request().expect("a URL");
        request.headers_mut().insert("sec-websocket-protocol", "mcp".parse().expect("a header"));
        let address = url.split('/').next().expect("an address");
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
        let (socket, _) = tungstenite::client(request, stream).expect("a handshake");
        Self(socket, child)
    }
}

impl Peer for Socket {
    fn send(&mut self, message: &Value) {
        self.0.send(message.to_string().into()).expect("the server reads");
    }

    fn read(&mut self) -> Value {
        loop {
            match self.0.read().expect("the server answers") {
                Message::Text(text) => return serde_json::from_str(&text).expect("a message"),
                Message::Ping(_) => assert!(self.1.0.id() > 0),
                other => panic!("no message: {other:?}"),
            }
        }
    }
}

#[test]
fn the_server_of_the_conformance_suite_says_the_same_as_over_stdio() {
    VERSIONS.iter().for_each(|version| check(&mut Socket::start(), version));
}

#[test]
fn the_server_of_the_conformance_suite_tells_subscribers_of_changes() {
    let mut peer = Socket::start();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let listen = "subscriptions/listen";
    peer.send(&json!({"jsonrpc": "2.0", "id": "s", "method": listen, "params": params}));
    let acknowledged = peer.read();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let params = json!({"_meta": meta, "name": "test_trigger_tool_change"});
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    let said = [peer.read(), peer.read()];
    let is_change = |one: &&Value| one["method"] == "notifications/tools/list_changed";
    assert_eq!(said.iter().filter(is_change).count(), 1, "{said:?}");
    assert!(said.iter().any(|one| one["id"] == 2), "{said:?}");
}
