//! The official Rust client: connects, and takes every step that it can. `foreign` runs it, and it
//! never looks at haft's own crates.
//!
//!     haft-foreign-rust --era modern --url http://127.0.0.1:7300/mcp
//!     haft-foreign-rust --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio
//!
//! `auto` asks with server/discover and falls back to `initialize`; `modern` has no fallback;
//! `legacy` only knows `initialize`.

#![allow(deprecated, reason = "what the newest revision deprecates is what other eras are made of")]

mod answers;
mod arguments;
mod walk;

use std::process::ExitCode;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::process::Command;

use self::answers::{Answers, heard};
use self::arguments::{Arguments, Target};
use self::walk::Walk;

/// A connected client.
type Session = RunningService<RoleClient, Answers>;

const STEP_LIMIT: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(said) => {
            eprintln!("rust: {said}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let (answers, heard) = heard();
    let connecting = tokio::time::timeout(STEP_LIMIT, connect(&arguments, answers)).await;
    let session = connecting.map_err(|_| "no connection in time".to_owned())??;
    let spoken = introduce(&session)?;
    let modern = spoken["era"] == "modern";
    println!("{}", json!({"step": "connect", "ok": true, "detail": spoken}));
    let mut walk = Walk { session: &session, modern, heard };
    if arguments.calls.is_empty() {
        walk.steps().await;
    } else {
        walk.list_and_call(&arguments.calls).await;
    }
    drop(walk);
    session.cancel().await.map(drop).map_err(|error| error.to_string())
}

async fn connect(arguments: &Arguments, answers: Answers) -> Result<Session, String> {
    let modern = || vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match arguments.era.as_str() {
        "auto" => {
            let legacy_version = Some(ProtocolVersion::V_2025_11_25);
            ClientLifecycleMode::Auto { preferred_versions: modern(), legacy_version }
        }
        "modern" => ClientLifecycleMode::Discover { preferred_versions: modern() },
        "legacy" => ClientLifecycleMode::Initialize,
        other => return Err(format!("--era {other}: this client speaks auto, modern, legacy")),
    };
    let session = match &arguments.target {
        Target::Url(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            answers.serve_with_lifecycle(transport, lifecycle).await
        }
        Target::Command(words) => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
            answers.serve_with_lifecycle(transport, lifecycle).await
        }
    };
    session.map_err(|error| error.to_string())
}

fn introduce(session: &Session) -> Result<Value, String> {
    let agreed = session.peer_info().ok_or("the server said nothing about itself")?;
    let version = agreed.protocol_version.to_string();
    let server = agreed.server_info.as_ref();
    Ok(json!({
        "client": format!("rmcp {}", locked_version()),
        "era": if version.as_str() > "2025-11-25" { "modern" } else { "legacy" },
        "protocolVersion": version,
        "server": {
            "name": server.map(|server| &server.name),
            "version": server.map(|server| &server.version),
        },
    }))
}

/// The package does not tell its version, and `Cargo.toml` asks for an exact one.
fn locked_version() -> &'static str {
    let (_, rest) = include_str!("../Cargo.toml").split_once("rmcp = { version = \"=").unwrap();
    rest.split('"').next().unwrap()
}
