//! What pforge takes for a call of `add`: its registry alone, from the bytes of the arguments to
//! the bytes of the sum, and the whole message through pmcp, without a wire. To be set beside
//! `cargo bench -p haft-benchmarks --bench dispatch`. Prints nanoseconds, or with `--instructions`
//! what callgrind counts: `cargo run --release --manifest-path
//! benchmarks/pforge-dispatch/Cargo.toml`.

#[path = "../../src/instructions.rs"]
mod instructions;

use instructions::Wish;
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
use std::time::Instant;
use tokio::sync::RwLock;

const ARGUMENTS: &[u8] = br#"{"a":17,"b":25}"#;
const CALL: &str = include_str!("../../messages/legacy_call.json");
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#
);
const CASES: [&str; 2] = ["registry", "message"];
const ROUNDS: usize = 15;
const TURNS: u32 = 20_000;

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
    match instructions::wish() {
        Wish::Run(case, times) => {
            runtime.block_on(run(&case, times))?;
        }
        Wish::Instructions => {
            for case in CASES {
                println!("{case:<10} {:>8} instructions", instructions::of(case)?);
            }
        }
        Wish::Times => {
            for case in CASES {
                let mut rounds = Vec::new();
                for _ in 0..ROUNDS {
                    rounds.push(runtime.block_on(run(case, TURNS))?);
                }
                rounds.sort_by(f64::total_cmp);
                let (fastest, median) = (rounds[0], rounds[ROUNDS / 2]);
                println!("{case:<10} {fastest:>8.0} ns at best, {median:>8.0} ns in the median");
            }
        }
    }
    Ok(())
}

/// How many nanoseconds a turn took.
async fn run(case: &str, times: u32) -> Result<f64, Box<dyn Error>> {
    let mut registry = HandlerRegistry::new();
    registry.register("add", Adder);
    if case == "registry" {
        let began = Instant::now();
        for _ in 0..times {
            let answer = registry.dispatch(black_box("add"), black_box(ARGUMENTS)).await?;
            assert_eq!(answer, br#"{"sum":42}"#);
        }
        return Ok(began.elapsed().as_nanos() as f64 / f64::from(times));
    }
    let tool = Tool { registry: Arc::new(RwLock::new(registry)) };
    let server = ServerCoreBuilder::new().name("bench").version("1.0.0").tool("add", tool);
    let server = server.build()?;
    answer(&server, INITIALIZE).await?;
    let began = Instant::now();
    for _ in 0..times {
        let answer = answer(&server, black_box(CALL)).await?;
        assert!(answer.windows(2).any(|two| two == b"42"));
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(times))
}

/// From the bytes of a message to the bytes of its answer.
async fn answer(server: &ServerCore, message: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let TransportMessage::Request { id, request } = parse_message(message.as_bytes())? else {
        return Err("it is a request".into());
    };
    let response = server.handle_request(id, request, None).await;
    Ok(serialize_message(&TransportMessage::Response(response))?)
}
