//! What the benchmarks and the allocation tests measure: a server, messages for it, and the path of
//! a message from its bytes to the bytes of its answer, without a wire.

pub mod cases;

use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::version::{Era, Revision};
use haft_server::{Server, Tool, handler};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Arguments of the tool `add`.
#[derive(Deserialize)]
pub struct Add {
    a: i64,
    b: i64,
}

/// Arguments of the other tools.
#[derive(Deserialize)]
pub struct Nothing {}

/// A call of `add` as a client of 2025-11-25 sends it.
pub const LEGACY_CALL: &str = include_str!("../messages/legacy_call.json");

/// The same call as a client of 2026-07-28 sends it.
pub const MODERN_CALL: &str = include_str!("../messages/modern_call.json");

/// `tools/list` of 2026-07-28.
pub const MODERN_LIST: &str = include_str!("../messages/modern_list.json");

/// How far a request of ours is.
pub const NOTIFICATION: &str = include_str!("../messages/notification.json");

/// The answer to a question of ours.
pub const RESPONSE: &str = include_str!("../messages/response.json");

/// The answer that it cannot be answered.
pub const ERROR: &str = include_str!("../messages/error.json");

/// A call whose argument is a text of `bytes` letters.
#[must_use]
pub fn large_call(bytes: usize) -> String {
    LEGACY_CALL.replace("\"b\":25", &format!("\"b\":25,\"text\":\"{}\"", "x".repeat(bytes)))
}

/// A server of `add` and as many more tools, of eight properties each, as make `count`.
///
/// # Panics
/// If a tool is wrong, which the benchmarks would tell.
#[must_use]
pub fn server(count: usize) -> Server {
    let add = Tool::new("add", handler::function(|add: Add| add.a + add.b))
        .description("Add two integers.")
        .input_schema(
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
                "required":["a","b"],"additionalProperties":false}"#,
        );
    let mut builder = Server::builder("bench", "1.0.0").tool(add);
    for number in 1..count {
        let tool = Tool::new(format!("tool_{number}"), handler::function(|Nothing {}| "ok"))
            .description("One of many tools, to fill a list as long as real servers have it.")
            .input_schema(eight_properties());
        builder = builder.tool(tool);
    }
    builder.build().expect("the tools are right")
}

fn eight_properties() -> String {
    let property = |number| {
        let description =
            format!("The property number {number} of this tool, which says something.");
        (format!("property_{number}"), json!({"type": "string", "description": description}))
    };
    let properties: Map<_, _> = (1..=8).map(property).collect();
    json!({"type": "object", "properties": properties, "required": ["property_1"]}).to_string()
}

/// A haft.yaml of so many tools, of each kind in turn.
#[must_use]
pub fn file(tools: usize) -> String {
    let mut yaml = "server: { name: bench }\ntools:\n".to_owned();
    for number in 0..tools {
        let does = match number % 3 {
            0 => "text: \"{{ city }} and {{ days }}\"",
            1 => "command: [echo, \"{{ city }}\", \"{{ days }}\"]",
            _ => "http: { get: \"https://example.com/{{ city }}\", query: { d: \"{{ days }}\" } }",
        };
        yaml.push_str(&format!(
            "  - name: tool{number}
    description: One of many tools, to fill a file as real ones are filled.
    input:
      city: {{ type: string, minLength: 1, pattern: '^[A-Z]' }}
      \"days?\": {{ type: integer, minimum: 1, maximum: 9 }}
    {does}
"
        ));
    }
    yaml
}

/// Answers a message into `out`, as stdio does. True if the answer is there.
pub fn answer(server: &Server, limits: &Limits, message: &[u8], out: &mut Vec<u8>) -> bool {
    // By reference: a message that is moved is copied, hundreds of bytes.
    let Ok(Incoming::One(message)) = &envelope::read(message, limits) else { return false };
    let admitted = match admit::era_of(message, None) {
        Era::Modern => admit::modern_request(message, None),
        Era::Legacy => admit::legacy_request(message, Some(Revision::LATEST_LEGACY)),
    };
    let (Ok(admitted), Some(id)) = (admitted, message.id) else { return false };
    let (method, revision) = (admitted.method, admitted.revision);
    let ask = Ask {
        message,
        id,
        method,
        revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &NoWire,
    };
    match server.ask(ask, out) {
        Turn::Done(_) => true,
        Turn::Listed(rest) => {
            out.extend_from_slice(rest.as_bytes());
            true
        }
        Turn::Later(_) | Turn::Stream(_) => false,
    }
}

/// Whether an answer is a result whose text is the sum that [`LEGACY_CALL`] and [`MODERN_CALL`] ask
/// for: what fails is fast.
#[must_use]
pub fn is_sum(answer: &[u8]) -> bool {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let result = &answer["result"];
    result["content"][0]["text"] == "42" && result["isError"] != true
}

/// A wire without notifications.
struct NoWire;

impl Wire for NoWire {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(Self)
    }
}

impl Outlet for NoWire {
    fn send(&self, _message: Vec<u8>) -> bool {
        false
    }

    fn ask(&self, _method: Method, _params: String) -> Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}

/// A call of a tool as a client of 2026-07-28 sends it; `arguments` is the text of an object.
#[must_use]
pub fn call(tool: &str, arguments: &str) -> String {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{}","{}":{{}}}}"#,
        Revision::LATEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities",
    );
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

/// The answer of a modern call that waits for something.
///
/// # Panics
/// If it is no such call, or the tool does not wait.
pub async fn answered(server: &Server, request: &str) -> Vec<u8> {
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        panic!("it is a message")
    };
    let admitted = admit::modern_request(&message, None).expect("it is right");
    let ask = Ask {
        id: message.id.expect("it has an id"),
        message: &message,
        method: admitted.method,
        revision: admitted.revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &NoWire,
    };
    match server.ask(ask, &mut Vec::new()) {
        Turn::Later(later) => later.await.message,
        _ => panic!("it waits for something"),
    }
}
