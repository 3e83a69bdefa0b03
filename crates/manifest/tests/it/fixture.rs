//! A manifest in a directory of its own, and calls of its tools. Used by the other tests here.

use haft_manifest::Manifest;
use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::service::{Ask, Later, Outlet, Service, Turn, Wire};
use haft_proto::version::Revision;
use haft_server::Server;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

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

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn manifest(&self) -> Manifest {
        haft_manifest::load(&self.file("haft.yaml")).unwrap_or_else(|fault| panic!("{fault}"))
    }

    pub(crate) fn server(&self) -> Server {
        self.manifest().server().unwrap_or_else(|fault| panic!("{fault}"))
    }
}

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
    let revision = Revision::LATEST;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
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
        headers: None,
        wire: &Deaf,
    };
    let mut out = Vec::new();
    match server.ask(ask, &mut out) {
        Turn::Done(_) => Begun::Done(result_of(&out)),
        Turn::Later(later) => Begun::Later(later),
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
}
