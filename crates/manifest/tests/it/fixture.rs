//! A manifest in a directory of its own, and calls of its tools. Used by the other tests here.

use haft_manifest::Manifest;
use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Later, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::version::Revision;
use haft_server::Server;
use serde_json::{Value, json};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A directory with a manifest.
pub(crate) struct Desk {
    directory: TempDir,
}

impl Desk {
    /// A manifest whose `tools` are these lines.
    pub(crate) fn with_tools(tools: &str) -> Self {
        Self::with(&format!("server: {{ name: desk }}\ntools:\n{tools}"))
    }

    /// A manifest of these lines.
    pub(crate) fn with(yaml: &str) -> Self {
        let directory = TempDir::new().expect("there is a directory for temporary files");
        std::fs::write(directory.path().join("haft.yaml"), yaml).expect("it is ours");
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, and the directories that it needs.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().expect("it is below")).expect("it is ours");
        std::fs::write(file, content).expect("it is ours");
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A new pipe in the directory, and a reader that waits for whoever opens it to write.
    pub(crate) fn fifo(&self, name: &str) -> Fifo {
        let made = std::process::Command::new("mkfifo").arg(self.file(name)).status();
        assert!(made.expect("every machine has mkfifo").success());
        let (path, (sender, receiver)) = (self.file(name), oneshot::channel());
        // Not one of the runtime's threads: a test that fails must not wait for it.
        std::thread::spawn(move || sender.send(std::fs::read_to_string(path)));
        Fifo(receiver)
    }

    /// A new pipe in the directory that programs wait for to be written.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let made = std::process::Command::new("mkfifo").arg(self.file(name)).status();
        assert!(made.expect("every machine has mkfifo").success());
        Gate(self.file(name))
    }

    pub(crate) fn manifest(&self) -> Manifest {
        haft_manifest::load(&self.file("haft.yaml")).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// The server, for as long as its directory is needed too.
    pub(crate) fn serve(self) -> Served {
        Served { server: self.server(), desk: self }
    }

    pub(crate) fn server(&self) -> Server {
        self.manifest().server().unwrap_or_else(|fault| panic!("{fault}"))
    }
}

/// A server, and the directory that its tools work in.
pub(crate) struct Served {
    server: Server,
    pub(crate) desk: Desk,
}

impl Deref for Served {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// A pipe that programs write to.
pub(crate) struct Fifo(oneshot::Receiver<io::Result<String>>);

impl Fifo {
    /// Whether it was written to, to the end.
    pub(crate) fn has_text(&self) -> bool {
        !self.0.is_empty()
    }

    /// All that was written, once nobody has the pipe open any more.
    pub(crate) async fn text(self) -> String {
        let read = tokio::time::timeout(PATIENCE, self.0).await.expect("the pipe is closed");
        read.expect("the reader does not panic").expect("the pipe can be read")
    }
}

/// A pipe that a program reads a line from.
pub(crate) struct Gate(PathBuf);

impl Gate {
    /// Lets one program pass, whenever it comes.
    pub(crate) fn open(&self) {
        let path = self.0.clone();
        std::thread::spawn(move || std::fs::write(path, "go\n"));
    }
}

/// Long enough for any machine, and short enough to notice that something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Calls a tool and returns its result.
pub(crate) async fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    match begin(server, tool, &arguments) {
        Begun::Done(result) => result,
        Begun::Later(later) => result_of(&later.await.message),
    }
}

/// Calls a tool and returns the text of its result, which must not be an error.
pub(crate) async fn text(server: &Server, tool: &str, arguments: Value) -> String {
    let result = call(server, tool, arguments).await;
    assert_eq!(result.get("isError"), None, "{result}");
    result["content"][0]["text"].as_str().expect("the result is a text").to_owned()
}

/// Calls a tool that fails, and returns why.
pub(crate) async fn failure(server: &Server, tool: &str, arguments: Value) -> String {
    let result = call(server, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("the result is a text").to_owned()
}

/// A call that has begun.
pub(crate) enum Begun {
    /// It was answered at once.
    Done(Value),
    /// It runs; dropping it cancels the call.
    Later(Later),
}

/// Begins a call in the newest revision.
pub(crate) fn begin(server: &Server, tool: &str, arguments: &Value) -> Begun {
    match turn(server, "tools/call", json!({"name": tool, "arguments": arguments})) {
        Ok(later) => Begun::Later(later),
        Err(answer) => Begun::Done(result_of(&answer)),
    }
}

/// Makes a request in the newest revision and returns its result.
pub(crate) async fn ask(server: &Server, method: &str, params: Value) -> Value {
    result_of(&answer(server, method, params).await)
}

/// Makes a request that is refused, and returns the code and why.
pub(crate) async fn refusal(server: &Server, method: &str, params: Value) -> (i64, String) {
    let answer = answer(server, method, params).await;
    let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}"));
    (error["code"].as_i64().expect("a code"), message.to_owned())
}

async fn answer(server: &Server, method: &str, params: Value) -> Vec<u8> {
    match turn(server, method, params) {
        Ok(later) => {
            let answer = tokio::time::timeout(PATIENCE, later).await;
            answer.expect("there is an answer in time").message
        }
        Err(answer) => answer,
    }
}

/// What is still to come, or the answer. Dropping the former cancels the request.
pub(crate) fn turn(server: &Server, method: &str, mut params: Value) -> Result<Later, Vec<u8>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::LATEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = request.to_string();
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        panic!("a test sends messages: {request}")
    };
    let admitted = admit::modern_request(&message, None).expect("the request is right");
    let id = message.id.expect("a request has an id");
    let ask = Ask {
        message: &message,
        id,
        method: admitted.method,
        revision: admitted.revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &Deaf,
    };
    let mut out = Vec::new();
    match server.ask(ask, &mut out) {
        Turn::Done(_) => Err(out),
        Turn::Listed(rest) => Err([&out, rest.as_bytes()].concat()),
        Turn::Later(later) => Ok(later),
        Turn::Stream(_) => panic!("no request here is a subscription"),
    }
}

pub(crate) fn result_of(message: &[u8]) -> Value {
    let answer: Value = serde_json::from_slice(message).expect("an answer is JSON");
    assert_eq!(answer.get("error"), None, "{answer}");
    answer["result"].clone()
}

/// A wire that nobody reads notifications from.
struct Deaf;

impl Wire for Deaf {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(Self)
    }
}

impl Outlet for Deaf {
    fn send(&self, _: Vec<u8>) -> bool {
        false
    }

    fn ask(&self, _: Method, _: String) -> Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}

/// Checks the drawing of a manifest's fault, without its directory and the margin's empty line.
#[track_caller]
pub(crate) fn check_fault(yaml: &str, expected: &[&str]) {
    let desk = Desk::with(yaml);
    let checked = haft_manifest::load(&desk.file("haft.yaml"));
    let Err(fault) = checked.and_then(|manifest| manifest.server()) else {
        panic!("there is nothing wrong with\n{yaml}")
    };
    let drawn = fault.to_string().replace(&format!("{}/", desk.path().display()), "");
    let is_shown = |(index, line): &(usize, &str)| *index != 1 || line.trim() != "|";
    let lines: Vec<_> = drawn.lines().enumerate().filter(is_shown).map(|(_, line)| line).collect();
    assert_eq!(lines, expected, "\n{yaml}\n{drawn}");
}

/// The same for a tool `t` of these lines, from line 4 and column 5 on.
#[track_caller]
pub(crate) fn check_fault_of_tool(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    check_fault(&format!("server: {{ name: a }}\ntools:\n  - name: t\n{lines}"), expected);
}
