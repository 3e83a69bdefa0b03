//! A client that asks the server of the conformance suite for everything, over whatever wire: what
//! that says over stdio, it has to say over all others.

use crate::foreign;
use crate::guard::Guard;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// A server and the way to it.
pub(crate) trait Peer {
    fn send(&mut self, message: &Value);
    fn read(&mut self) -> Value;
}

struct Pipes(ChildStdin, BufReader<ChildStdout>, Guard);

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

/// What a server says to a client that asks for everything.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard {
    /// Of each request, in order: all that was said until its answer, and that.
    pub(crate) said: Vec<Value>,
    /// What was told unasked, at whatever time.
    pub(crate) told: BTreeSet<String>,
    pub(crate) methods: BTreeSet<String>,
}

struct Client<'a, P> {
    peer: &'a mut P,
    is_modern: bool,
    next: u64,
    heard: Heard,
}

impl<P: Peer> Client<'_, P> {
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
fn everything(peer: &mut impl Peer, version: &str) -> Heard {
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

/// The revisions in which everything is asked for.
pub(crate) const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// Asks for everything over another wire, and over stdio, and compares.
pub(crate) fn check(peer: &mut impl Peer, version: &str) {
    let (mut heard, expected) =
        (everything(peer, version), everything(&mut Pipes::start(), version));
    for (one, other) in heard.said.iter().zip(&expected.said) {
        assert_eq!(one, other, "{version}");
    }
    assert_eq!(heard.said.len(), expected.said.len(), "{version}");
    // What is told unasked may come after the last answer, where it comes another way.
    while !expected.told.is_subset(&heard.told) {
        let told = peer.read();
        heard.told.insert(told["method"].as_str().expect("it was not asked for").to_owned());
    }
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
