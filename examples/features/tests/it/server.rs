//! An example as a process, and a client of it that writes lines and reads lines: it answers what
//! it is asked, in either era, and keeps what it is told. Ended when it is dropped.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// How long anything may take that should take milliseconds.
const DEADLINE: Duration = Duration::from_secs(30);

/// How many messages may wait to be read.
const EARLY_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Answers a question: a method and its parameters.
type Answering = Box<dyn FnMut(&str, &Value) -> Value>;

pub(crate) struct Client {
    child: Child,
    requests: Option<ChildStdin>,
    heard: Receiver<Value>,
    era: Era,
    capabilities: Value,
    last_id: u64,
    answering: Answering,
    /// Answers that nobody has waited for yet.
    early: Vec<Value>,
    /// Notifications that nobody has asked for yet.
    pub(crate) told: Vec<Value>,
}

impl Client {
    /// A client that can do nothing but ask.
    pub(crate) fn start(program: &str, era: Era) -> Self {
        Self::capable(program, era, json!({}), |method, _| panic!("nobody answers {method}"))
    }

    /// A client that can do what it says, and answers what it is asked.
    pub(crate) fn capable(
        program: &str,
        era: Era,
        capabilities: Value,
        answering: impl FnMut(&str, &Value) -> Value + 'static,
    ) -> Self {
        Self::command(&mut Command::new(program), era, capabilities, answering)
    }

    pub(crate) fn command(
        command: &mut Command,
        era: Era,
        capabilities: Value,
        answering: impl FnMut(&str, &Value) -> Value + 'static,
    ) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().expect("the example is built");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let (hear, heard) = sync_channel(EARLY_MAX);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("stdout has messages alone");
                if hear.send(message).is_err() {
                    break;
                }
            }
        });
        let requests = child.stdin.take();
        let answering = Box::new(answering);
        let (last_id, early, told) = (0, Vec::new(), Vec::new());
        let mut client =
            Self { child, requests, heard, era, capabilities, last_id, answering, early, told };
        if era == Era::Legacy {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": client.capabilities,
                "clientInfo": { "name": "test", "version": "1" },
            });
            assert_eq!(client.ask("initialize", hello)["protocolVersion"], "2025-11-25");
            client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    /// Calls a tool; its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The text that a tool answers with.
    #[track_caller]
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        text(&result)
    }

    /// The names of the tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        let tools = list["tools"].as_array().expect("a list").iter();
        tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The result of a request.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The answer to a request, once all that it asks has been answered.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        let mut again = params.clone();
        loop {
            let id = self.send(method, again);
            let answer = self.answer_to(id);
            let result = &answer["result"];
            if result["resultType"] != "input_required" {
                return answer;
            }
            let mut responses = json!({});
            for (key, asked) in result["inputRequests"].as_object().expect("questions") {
                let method = asked["method"].as_str().expect("a method");
                responses[key] = (self.answering)(method, &asked["params"]);
            }
            again = params.clone();
            again["inputResponses"] = responses;
            again["requestState"] = result["requestState"].clone();
        }
    }

    /// Sends a request and waits for nothing.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let mut meta = json!({ "progressToken": id });
        if self.era == Era::Modern {
            meta = json!({
                "progressToken": id,
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/logLevel": "debug",
            });
        }
        params["_meta"] = meta;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Nobody waits for that request any more.
    pub(crate) fn cancel(&mut self, id: u64) {
        let method = "notifications/cancelled";
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": id } }));
    }

    /// Waits for the answer to what was sent.
    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|answer| answer["id"] == id) {
            return self.early.remove(at);
        }
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.take(message);
        }
    }

    /// Waits until the server has told something of that kind, and takes it.
    pub(crate) fn wait_for(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["method"] == method) {
                return self.told.remove(at)["params"].take();
            }
            let message = self.read();
            self.take(message);
        }
    }

    /// Ends the server by closing its input; what it wrote to stderr.
    pub(crate) fn close(mut self) -> String {
        drop(self.requests.take());
        assert!(self.child.wait().expect("it is ours").success());
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("it is piped");
        stderr.read_to_string(&mut said).expect("it is text");
        said
    }

    /// A question, a notification, or the answer to something else.
    fn take(&mut self, message: Value) {
        let Some(method) = message["method"].as_str() else {
            self.early.push(message);
            return;
        };
        if let Some(id) = message.get("id") {
            let result = (self.answering)(method, &message["params"]);
            self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        } else {
            self.told.push(message);
        }
    }

    fn read(&mut self) -> Value {
        self.heard.recv_timeout(DEADLINE).expect("the example answers in time")
    }

    fn write(&mut self, message: &Value) {
        let requests = self.requests.as_mut().expect("it is open");
        requests.write_all(format!("{message}\n").as_bytes()).expect("the example reads");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It has ended already, unless the test did not close it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All text of a tool's result.
pub(crate) fn text(result: &Value) -> String {
    let content = result["content"].as_array().expect("content").iter();
    content.filter_map(|piece| piece["text"].as_str()).collect()
}
