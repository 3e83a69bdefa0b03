//! Real processes over WebSocket: `haft serve` with a client that others wrote, and the server of
//! the conformance suite, which has to say over it all that it says over stdio.

use crate::foreign;
use crate::foreign_servers::own;
use crate::guard::Guard;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
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

/// A server and the way to it.
trait Peer {
    fn send(&mut self, message: &Value);
    fn read(&mut self) -> Value;
}

struct Pipes(ChildStdin, BufReader<ChildStdout>, Guard);

struct Socket(WebSocket<TcpStream>, Guard);

impl Pipes {
    fn start() -> Self {
        let mut words = foreign::fixture::words().into_iter();
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words).arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it was built");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
        Self(input, BufReader::new(output), Guard(child))
    }
}

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

impl Peer for Pipes {
    fn send(&mut self, message: &Value) {
        writeln!(self.0, "{message}").expect("the server reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("the server answers");
        assert!(self.2.0.try_wait().is_ok_and(|ended| ended.is_none()), "it has ended");
        serde_json::from_str(&line).expect("a line is a message")
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

/// What a server says to a client that asks for everything.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    /// Of each request, in order: all that was said until its answer, and that.
    said: Vec<Value>,
    /// What was told unasked, at whatever time.
    told: BTreeSet<String>,
    methods: BTreeSet<String>,
}

struct Client<P> {
    peer: P,
    is_modern: bool,
    next: u64,
    heard: Heard,
}

impl<P: Peer> Client<P> {
    /// Asks, answers what is asked meanwhile, and returns the answer.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        params["_meta"] = json!({"progressToken": self.next});
        if self.is_modern {
            let of = |key: &str| format!("io.modelcontextprotocol/{key}");
            let can = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
            params["_meta"][of("protocolVersion")] = json!("2026-07-28");
            params["_meta"][of("clientCapabilities")] = can;
            params["_meta"][of("logLevel")] = json!("debug");
        }
        let id = self.next;
        self.peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.peer.read();
            let Some(asked) = message["method"].as_str() else {
                assert_eq!(message["id"], id, "{message}");
                self.heard.said.push(steady(message.clone()));
                return message;
            };
            self.heard.methods.insert(asked.to_owned());
            if asked.ends_with("changed") || asked.ends_with("updated") {
                self.heard.told.insert(asked.to_owned());
                continue;
            }
            // Of several questions at once some may be taken back, or have been answered before.
            if asked == "notifications/cancelled" {
                continue;
            }
            self.heard.said.push(steady(message.clone()));
            if message.get("id").is_some() {
                let answer = answer(asked);
                self.peer.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
            }
        }
    }

    /// The same, and answers what the result asks for, in as many rounds as it takes.
    fn ask_through(&mut self, method: &str, params: &Value) {
        let mut again = params.clone();
        for _ in 0..5 {
            let result = self.ask(method, again.clone())["result"].clone();
            if result["resultType"] != "input_required" {
                break;
            }
            let mut answers = json!({});
            for (key, asked) in result["inputRequests"].as_object().into_iter().flatten() {
                let asked = asked["method"].as_str().expect("a method");
                self.heard.methods.insert(asked.to_owned());
                answers[key] = answer(asked);
            }
            again = params.clone();
            again["inputResponses"] = answers;
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
        }
    }
}

/// What this client answers to every question of that kind.
fn answer(asked: &str) -> Value {
    match asked {
        "elicitation/create" => {
            let content = json!({"name": "Ada", "color": "blue", "ok": true, "username": "ada",
                "email": "ada@example.com", "response": "yes"});
            json!({"action": "accept", "content": content})
        }
        "sampling/createMessage" => json!({"role": "assistant", "model": "m",
            "content": {"type": "text", "text": "Paris"}, "stopReason": "endTurn"}),
        "roots/list" => json!({"roots": [{"uri": "file:///a", "name": "a"}]}),
        other => panic!("nobody asks for {other}"),
    }
}

/// A message without what differs each time.
fn steady(mut message: Value) -> Value {
    if message.get("method").is_some() && message.get("id").is_some() {
        message["id"] = json!("a question");
    }
    blank(&mut message);
    message
}

fn blank(value: &mut Value) {
    const RANDOM: [&str; 6] =
        ["requestState", "taskId", "createdAt", "lastUpdatedAt", "elicitationId", "timestamp"];
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if RANDOM.contains(&key.as_str()) && value.is_string() {
                    *value = json!("different each time");
                }
                blank(value);
            }
        }
        Value::Array(array) => array.iter_mut().for_each(blank),
        _ => {}
    }
}

/// Asks for everything that there is.
fn everything(peer: impl Peer, version: &str) -> Heard {
    let is_modern = version == "2026-07-28";
    let mut client = Client { peer, is_modern, next: 0, heard: Heard::default() };
    if is_modern {
        client.ask("server/discover", json!({}));
    } else {
        let can = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        let info = json!({"name": "t", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": can, "clientInfo": info});
        client.ask("initialize", hello);
        let method = "notifications/initialized";
        client.peer.send(&json!({"jsonrpc": "2.0", "method": method}));
        client.ask("logging/setLevel", json!({"level": "debug"}));
        client.ask("ping", json!({}));
        client.ask("resources/subscribe", json!({"uri": "test://watched-resource"}));
    }
    let names = |list: Value, all: &str, name: &str| -> Vec<String> {
        let all = list["result"][all].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect()
    };
    let tools = client.ask("tools/list", json!({}));
    for tool in names(tools, "tools", "name") {
        let arguments = match &*tool {
            // How far it is depends on the time.
            "test_slow" => continue,
            "test_custom_header" => json!({"region": "eu"}),
            _ => json!({"prompt": "Where?", "message": "Who?", "name": "Ada"}),
        };
        client.ask_through("tools/call", &json!({"name": tool, "arguments": arguments}));
        client.ask_through("tools/call", &json!({"name": tool}));
    }
    let resources = client.ask("resources/list", json!({}));
    for uri in names(resources, "resources", "uri") {
        client.ask_through("resources/read", &json!({"uri": uri}));
    }
    client.ask("resources/templates/list", json!({}));
    client.ask("resources/read", json!({"uri": "test://template/123/data"}));
    let prompts = client.ask("prompts/list", json!({}));
    for name in names(prompts, "prompts", "name") {
        let arguments = json!({"arg1": "a", "arg2": "b", "resourceUri": "test://a"});
        client.ask_through("prompts/get", &json!({"name": name, "arguments": arguments}));
        client.ask_through("prompts/get", &json!({"name": name}));
        let which = json!({"type": "ref/prompt", "name": name});
        let argument = json!({"name": "arg1", "value": "p"});
        client.ask("completion/complete", json!({"ref": which, "argument": argument}));
    }
    client.heard
}

#[test]
fn the_server_of_the_conformance_suite_says_the_same_as_over_stdio() {
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let (heard, expected) =
            (everything(Socket::start(), version), everything(Pipes::start(), version));
        for (one, other) in heard.said.iter().zip(&expected.said) {
            assert_eq!(one, other, "{version}");
        }
        assert_eq!(heard.said.len(), expected.said.len(), "{version}");
        assert_eq!(heard.told, expected.told, "{version}");
        assert!(heard.said.len() > 60, "{version}: {}", heard.said.len());
        for method in ["elicitation/create", "sampling/createMessage", "notifications/progress"] {
            assert!(heard.methods.contains(method), "{version}: {method} of {:?}", heard.methods);
        }
        assert!(heard.methods.contains("notifications/message"), "{version}");
        if version != "2026-07-28" {
            assert!(heard.told.contains("notifications/tools/list_changed"), "{version}");
            assert!(heard.told.contains("notifications/resources/updated"), "{version}");
        }
    }
}

#[test]
fn the_server_of_the_conformance_suite_tells_subscribers_of_changes() {
    let mut client =
        Client { peer: Socket::start(), is_modern: true, next: 0, heard: Heard::default() };
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let listen = "subscriptions/listen";
    client.peer.send(&json!({"jsonrpc": "2.0", "id": "s", "method": listen, "params": params}));
    let acknowledged = client.peer.read();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let params = json!({"_meta": meta, "name": "test_trigger_tool_change"});
    client.peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    let said = [client.peer.read(), client.peer.read()];
    let is_change = |one: &&Value| one["method"] == "notifications/tools/list_changed";
    assert_eq!(said.iter().filter(is_change).count(), 1, "{said:?}");
    assert!(said.iter().any(|one| one["id"] == 2), "{said:?}");
}
