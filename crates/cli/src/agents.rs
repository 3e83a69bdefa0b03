//! The door for agents: they come to an address of their own, and are let in by an authority that
//! is kept in a directory. Opened by `serve`; `haft-agent` does the work.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::state;
use haft_agent::trust::{Authority, EarlyData, TrustError};
use haft_agent::{Door, Guests, Hub, HubSettings};
use haft_transport::http;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Opens the door, if there is to be one, and says where it is.
///
/// # Errors
/// A failure if nothing can listen there, or the authority is of no use.
pub(crate) async fn begin(
    args: &AgentsArgs,
    printer: Printer,
) -> Result<Option<Arc<Hub>>, Failure> {
    let Some(address) = args.agents else { return Ok(None) };
    let authority = Arc::new(args.state.authority()?);
    let now = SystemTime::now();
    let tls = authority.server_config(now, EarlyData::Refused).map_err(|error| failed(&error))?;
    let door = Door::open(address, tls, &authority).await;
    let door = door.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    let at = door.address()?;
    printer.always(format_args!("haft: agents may come to {at}"));
    let epoch = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let hub = Hub::new(HubSettings {
        gateway: format!("{epoch:x}-{}", std::process::id()).into(),
        epoch,
        peers: args.peers.clone(),
        software: concat!("haft ", env!("CARGO_PKG_VERSION")).into(),
        authority,
    });
    let guests: Guests = Arc::new(move |from, why| {
        // What somebody else may have written has no line ends left then.
        printer.remark(&format!("the link from {from} has ended: {why}"));
    });
    tokio::spawn(door.serve(Arc::clone(&hub), guests));
    Ok(Some(hub))
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
