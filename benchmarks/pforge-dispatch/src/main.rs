//! What pforge takes for a call of `add`: its registry alone, from the bytes of the arguments to
//! the bytes of the sum, and the whole message through pmcp, without a wire. `cargo xtask bench
//! dispatch` sets it beside haft's, in turns: `--time registry_alone 100` prints nanoseconds.

#[path = "../../src/cases.rs"]
mod cases;

use cases::Turns;
use pforge_runtime::{Handler, HandlerRegistry};
use pmcp::server::builder::ServerCoreBuilder;
use pmcp::server::cancellation::RequestHandlerExtra;
use pmcp::server::core::{ProtocolHandler, ServerCore};
use pmcp::shared::TransportMessage;
use pmcp::shared::transport::{parse_message, serialize_message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::RwLock;

const ARGUMENTS: &[u8] = br#"{"a":17,"b":25}"#;
const CALL: &str = include_str!("../../messages/legacy_call.json");
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#
);

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

struct Adder;

#[async_trait::async_trait]
impl Handler for Adder {
    type Input = Add;
    type Output = Sum;
    type Error = pforge_runtime::Error;

    async fn handle(&self, input: Add) -> pforge_runtime::Result<Sum> {
        Ok(Sum { sum: input.a + input.b })
    }
}

/// A tool of pmcp's that asks pforge's registry, as pforge's own server makes one of each handler.
struct Tool {
    registry: Arc<RwLock<HandlerRegistry>>,
}

#[async_trait::async_trait]
impl pmcp::server::ToolHandler for Tool {
    async fn handle(&self, arguments: Value, _: RequestHandlerExtra) -> pmcp::Result<Value> {
        let arguments = serde_json::to_vec(&arguments)?;
        let answer = self.registry.read().await.dispatch("add", &arguments).await;
        let answer = answer.map_err(|error| pmcp::Error::protocol_msg(error.to_string()))?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if !cases::asked(|case| prepared(case, runtime))? {
        return Err("--time or --run, a case and a number".into());
    }
    Ok(())
}

fn prepared(case: &str, runtime: Runtime) -> Turns {
    let mut registry = HandlerRegistry::new();
    registry.register("add", Adder);
    match case {
        "registry_alone" => {
            let answer = runtime.block_on(registry.dispatch("add", ARGUMENTS));
            assert_eq!(answer.expect("it has the tool"), br#"{"sum":42}"#);
            Box::new(move |times| {
                runtime.block_on(async {
                    for _ in 0..times {
                        black_box(&registry.dispatch(black_box("add"), black_box(ARGUMENTS)).await);
                    }
                });
            })
        }
        "pmcp_message" => {
            let tool = Tool { registry: Arc::new(RwLock::new(registry)) };
            let server = ServerCoreBuilder::new().name("bench").version("1.0.0").tool("add", tool);
            let server = server.build().expect("it is right");
            runtime.block_on(answer(&server, INITIALIZE)).expect("it greets");
            let sum = runtime.block_on(answer(&server, CALL)).expect("an answer");
            assert!(sum.windows(2).any(|two| two == b"42"));
            Box::new(move |times| {
                runtime.block_on(async {
                    for _ in 0..times {
                        black_box(&answer(&server, black_box(CALL)).await.is_ok());
                    }
                });
            })
        }
        _ => panic!("there is no case `{case}`"),
    }
}

/// From the bytes of a message to the bytes of its answer.
async fn answer(server: &ServerCore, message: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let TransportMessage::Request { id, request } = parse_message(message.as_bytes())? else {
        return Err("it is a request".into());
    };
    let response = server.handle_request(id, request, None).await;
    Ok(serialize_message(&TransportMessage::Response(response))?)
}
