//! Many agents in one process, each with a name, a key, a session and a connection of its own. Who
//! may join is asked of the gateway's directory, as `haft invite` does.

use crate::limits::{JOINING, SLOTS, TOKEN_LIFE};
use crate::say;
use futures_util::{StreamExt as _, stream};
use haft_agent::limits::REPROBE;
use haft_agent::trust::Authority;
use haft_agent::{Agent, AgentSettings, join};
use haft_proto::limits::Limits;
use haft_server::{Server, Tool, handler};
use serde::Deserialize;
use std::future::pending;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::oneshot;

/// Lets them join, and runs them until stdin ends.
pub(crate) fn run(state: &str, gateway: &str, names: &[&str]) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let over = end();
    runtime.block_on(async {
        let state = Path::new(state);
        let authority = Authority::open(state, SystemTime::now()).map_err(said)?;
        let each = names.iter().map(|name| joined(&authority, state, gateway, name));
        let each: Vec<_> = stream::iter(each).buffer_unordered(JOINING).collect().await;
        say(format_args!("{} joined", each.len()));
        for one in each {
            let (name, identity) = one?;
            tokio::spawn(agent(&name, identity, gateway)?.run(pending()));
        }
        // Its sender ends with stdin, and says nothing.
        _ = over.await;
        Ok(())
    })
}

/// Is told when stdin ends.
fn end() -> oneshot::Receiver<()> {
    let (sender, over) = oneshot::channel();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        _ = std::io::stdin().read_to_end(&mut rest);
        drop(sender);
    });
    over
}

/// One of them, and where it keeps who it is.
async fn joined(
    authority: &Authority,
    state: &Path,
    gateway: &str,
    name: &str,
) -> Result<(String, PathBuf), String> {
    let token = authority.invite(name, SystemTime::now(), TOKEN_LIFE).map_err(said)?;
    let identity = state.join(format!("{name}.pem"));
    join(&[gateway.to_owned()], &token, &identity).await.map_err(said)?;
    Ok((name.to_owned(), identity))
}

#[derive(Deserialize)]
struct Nothing {}

/// It has one tool, which says its name.
fn agent(name: &str, identity: PathBuf, gateway: &str) -> Result<Agent, String> {
    let says = name.to_owned();
    let who = Tool::new("who", handler::function(move |_: Nothing| says.clone()));
    let server = Server::builder(name, "1").tool(who).build().map_err(said)?;
    let settings = AgentSettings {
        identity,
        software: "field".into(),
        gateways: vec![gateway.to_owned()],
        slots: SLOTS,
        reprobe: REPROBE,
        limits: Limits::default(),
        hears: Arc::new(|_| {}),
    };
    Agent::new(Arc::new(server), settings).map_err(said)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
