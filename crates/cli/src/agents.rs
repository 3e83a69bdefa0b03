//! The door for agents: they come to an address of their own, and are let in by an authority that
//! is kept in a directory. Opened by `serve`; `haft-agent` does the work.

mod execute;
mod told;

pub(crate) use execute::execute;
#[cfg(test)]
pub(crate) use told::METRICS;
pub(crate) use told::{figures, json};

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::state;
use haft_agent::limits::EARLY_BYTES;
use haft_agent::trust::{Authority, EarlyData, TicketSecret, TrustError};
use haft_agent::{Door, Guests, Hub, HubSettings};
use haft_transport::http;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Where agents come in, and who lets them in.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct AgentsArgs {
    /// Let agents that have joined dial in here, over QUIC or TLS: 0.0.0.0:7443, :7443 or 7443.
    /// Those of the file's upstreams with `agent`
    #[arg(long, value_name = "ADDRESS", value_parser = http::address)]
    pub(crate) agents: Option<SocketAddr>,
    /// Tell agents to dial this replica of the gateway as well; may be repeated
    #[arg(long = "agents-peer", value_name = "HOST:PORT", requires = "agents")]
    pub(crate) peers: Vec<String>,
    /// Hear so many bytes of an agent that was here before its handshake has ended, which saves it
    /// a round trip; 0 for none
    #[arg(long, value_name = "BYTES", default_value_t = EARLY_BYTES, requires = "agents")]
    pub(crate) early_data: usize,
    /// A file with a secret of 32 bytes or more, which only its owner can read: replicas with the
    /// same know each other's agents again, if they do not share a directory
    #[arg(long, value_name = "FILE", requires = "agents")]
    pub(crate) ticket_secret: Option<PathBuf>,
    /// Tell each frame of the agents' links on stderr: what it is, of which call, and how long
    #[arg(long, requires = "agents")]
    pub(crate) log_frames: bool,
    /// Write what QUIC does on each agent's link into a file of this directory, for qlog viewers
    #[arg(long, value_name = "DIRECTORY", requires = "agents")]
    pub(crate) qlog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Where the gateway keeps whom it lets in.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StateArgs {
    /// The directory in which a gateway keeps its authority and the list of its agents; replicas
    /// share one [default: haft/gateway below $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) state: Option<PathBuf>,
}

impl StateArgs {
    /// The authority of that directory.
    pub(crate) fn authority(&self) -> Result<Authority, Failure> {
        let usual = || Some(state::directory()?.join("gateway"));
        let Some(directory) = self.state.clone().or_else(usual) else {
            let failure = Failure::usage("nobody says where agents are to be kept");
            return Err(failure.hint("name a directory with --state"));
        };
        Authority::open(&directory, SystemTime::now()).map_err(|error| failed(&error))
    }
}

/// The door, while it is open.
pub(crate) struct Agents {
    hub: Arc<Hub>,
    door: JoinHandle<()>,
}

impl Agents {
    /// Where they are, once they have come.
    pub(crate) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.hub)
    }
}

/// Ends the links, if there is a door, which agents are told.
pub(crate) async fn stop(agents: Option<Agents>) {
    if let Some(Agents { hub, door }) = agents {
        hub.stop();
        // It takes a moment at most.
        _ = door.await;
    }
}

/// Opens the door, if there is to be one, and says where it is.
///
/// # Errors
/// A failure if nothing can listen there, or the authority is of no use.
pub(crate) async fn begin(args: &AgentsArgs, printer: Printer) -> Result<Option<Agents>, Failure> {
    let Some(address) = args.agents else { return Ok(None) };
    if args.log_frames {
        log_frames(printer);
    }
    args.qlog.as_deref().map_or(Ok(()), write_qlogs)?;
    let authority = Arc::new(args.state.authority()?);
    let now = SystemTime::now();
    let early = if args.early_data == 0 { EarlyData::Refused } else { EarlyData::Taken };
    let secret = args.ticket_secret.as_deref().map(TicketSecret::read).transpose();
    let secret = secret.map_err(|error| failed(&error))?;
    let tls =
        authority.server_config(now, early, secret.as_ref()).map_err(|error| failed(&error))?;
    tokio::spawn(tell_echoes(authority.echoes(), printer));
    let door = Door::open(address, tls, &authority).await;
    let door = door.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    let at = door.address()?;
    let told = serde_json::json!({"agents": {"address": at}});
    printer.announce(format_args!("haft: agents may come to {at}"), &told);
    let epoch = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let hub = Hub::new(HubSettings {
        gateway: format!("{epoch:x}-{}", std::process::id()).into(),
        epoch,
        peers: args.peers.clone(),
        software: concat!("haft ", env!("CARGO_PKG_VERSION")).into(),
        authority,
        early_bytes: args.early_data,
    });
    let guests: Guests = Arc::new(move |from, why| {
        // What somebody else may have written has no line ends left then.
        printer.remark(&format!("the link from {from} has ended: {why}"));
    });
    let door = tokio::spawn(door.serve(Arc::clone(&hub), guests));
    Ok(Some(Agents { hub, door }))
}

/// Writes down what QUIC does on each link, from now on.
///
/// # Errors
/// A failure if nothing can be written there.
pub(crate) fn write_qlogs(directory: &Path) -> Result<(), Failure> {
    haft_agent::write_qlogs(directory).map_err(|error| {
        let why = format!("nothing can be written into {}: {error}", directory.display());
        Failure::usage(why).hint("make the directory first")
    })
}

/// Tells each frame of all links, from now on.
pub(crate) fn log_frames(printer: Printer) {
    haft_agent::log_frames(move |line| {
        printer
            .announce(format_args!("haft: {line}"), &serde_json::json!({"frame": {"line": line}}));
    });
}

/// Says how often what was said early came again.
async fn tell_echoes(mut echoes: watch::Receiver<u64>, printer: Printer) {
    while echoes.changed().await.is_ok() {
        let count = *echoes.borrow_and_update();
        printer.remark(&format!("early data came again and was not heard: {count} times so far"));
    }
}

/// What is wrong with whom is trusted.
pub(crate) fn failed(error: &TrustError) -> Failure {
    let exit = match error {
        TrustError::BadName { .. } | TrustError::BadToken => Exit::Usage,
        TrustError::NotJoined | TrustError::OutOfTime { .. } => Exit::Authentication,
        _ => Exit::Other,
    };
    Failure::new(exit, error.to_string())
}
