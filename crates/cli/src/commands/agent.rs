//! `haft agent`: offers what a file has to gateways that cannot dial this machine, until a signal.
//! It serves like `serve`, and dials instead of listening.

use super::serve::{ending_orphans, started};
use crate::agents::{failed, log_frames, write_qlogs};
use crate::behind;
use crate::edits::{Hangups, Places, Teller};
use crate::exit::{Exit, Failure};
use crate::print::{Printer, one_line};
use crate::state;
use haft_agent::limits::{REPROBE, SLOTS};
use haft_agent::trust::{Identity, Token, TrustError};
use haft_agent::{Agent, AgentSettings, Dialled, JoinError, join};
use haft_gateway::limits::EARLY;
use haft_manifest::{Live, Reading};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::runtime;

/// Offer the tools of a file to gateways that cannot dial this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft agent site.yaml --gateway gw.example.com:7443 --join TOKEN
                                            the first time, with a token of `haft invite`
  haft agent site.yaml --gateway gw.example.com:7443
                                            from then on
  kill -HUP PID                             read the file again; a bad one changes nothing")]
pub(crate) struct Args {
    /// The file
    #[arg(default_value = "haft.yaml")]
    file: PathBuf,
    /// Where a gateway is; may be repeated. Those that it names are dialled as well
    #[arg(long = "gateway", value_name = "HOST:PORT", required = true, value_parser = place)]
    gateways: Vec<String>,
    /// What to join with, if this agent has not joined. Others on this machine can read it here,
    /// and not in HAFT_JOIN
    #[arg(long, value_name = "TOKEN")]
    join: Option<Token>,
    /// The file in which the agent keeps who it is [default: haft/agents/NAME.pem below
    /// $XDG_STATE_HOME or ~/.local/state, by the name of the file's server]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// How many calls it works on at once
    #[arg(long, value_name = "N", default_value_t = SLOTS as u16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    slots: u16,
    /// Tell each frame of the links on stderr: what it is, of which call, and how long
    #[arg(long)]
    log_frames: bool,
    /// Write what QUIC does on each link into a file of this directory, for qlog viewers
    #[arg(long, value_name = "DIRECTORY")]
    qlog: Option<PathBuf>,
}

/// A place that can be dialled.
fn place(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(1..) => Ok(text.to_owned()),
        _ => Err("write it like gw.example.com:7443".to_owned()),
    }
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let printer = printer.for_log();
    let runtime = started(runtime::Builder::new_multi_thread().enable_all().build())?;
    // Before anything is read or said: SIGHUP may come at any time from now on.
    let hangups = {
        let _entered = runtime.enter();
        Hangups::new()?
    };
    if args.log_frames {
        log_frames(printer);
    }
    args.qlog.as_deref().map_or(Ok(()), write_qlogs)?;
    let live = Arc::new(Live::new(&args.file, Reading::Orders, false)?);
    let served = runtime.block_on(ending_orphans(serve(args, live, hangups, printer)));
    runtime.shutdown_background();
    served
}

async fn serve(
    args: Args,
    live: Arc<Live>,
    hangups: Hangups,
    printer: Printer,
) -> Result<Exit, Failure> {
    let server = Arc::new(live.server().clone());
    let limits = server.limits().clone();
    let identity = identity(&args, &server.name(), printer).await?;
    tokio::spawn(Arc::clone(&live).watch_resources(move |line| printer.warn(line)));
    let gateway = behind::begin(&live, None, (&[], Vec::new()), printer).await?;
    let service = gateway.patient(server, &limits, EARLY);
    let settings = AgentSettings {
        identity,
        software: concat!("haft ", env!("CARGO_PKG_VERSION")).into(),
        gateways: args.gateways,
        slots: args.slots.into(),
        reprobe: REPROBE,
        limits,
        hears: Arc::new(move |said| tell(said, printer)),
    };
    let agent = Agent::new(service, settings).map_err(|error| failed(&error))?;
    let teller = Teller::new(&live, Places::none(), printer);
    let stop = async {
        hangups.take_orders(live, teller).await;
    };
    agent.run(stop).await;
    gateway.stop().await;
    Ok(Exit::Ok)
}

/// Where the agent keeps who it is, once it is somebody.
async fn identity(args: &Args, name: &str, printer: Printer) -> Result<PathBuf, Failure> {
    let file = || -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect()
    };
    let usual = || Some(state::directory()?.join("agents").join(format!("{}.pem", file())));
    let Some(path) = args.identity.clone().or_else(usual) else {
        let failure = Failure::usage("nobody says where the agent's key is to be kept");
        return Err(failure.hint("name a file with --identity"));
    };
    let token = match &args.join {
        Some(token) => Some(token.clone()),
        None => from_environment()?,
    };
    let identity = match (Identity::load(&path, SystemTime::now()), &token) {
        // A token that is new makes it somebody else, or again who it was until it was revoked.
        (Ok(identity), Some(token)) if !identity.is_joined_with(token) => {
            match join(&args.gateways, token, &path).await {
                Ok(joined) => joined,
                Err(error @ JoinError::Spent { .. }) => {
                    printer.warn(&format!("{error}; it stays {}", identity.name()));
                    identity
                }
                Err(error) => {
                    return Err(Failure::new(Exit::Authentication, error.to_string()));
                }
            }
        }
        // A unit that starts it again still has the token that was used.
        (Ok(identity), _) => identity,
        (Err(TrustError::NotJoined | TrustError::OutOfTime { .. }), Some(token)) => {
            let joined = join(&args.gateways, token, &path).await;
            joined.map_err(|error| Failure::new(Exit::Authentication, error.to_string()))?
        }
        (Err(error), _) => return Err(failed(&error)),
    };
    printer.note(format_args!("this is the agent {}", identity.name()));
    Ok(path)
}

/// The token that nobody else on this machine can read.
fn from_environment() -> Result<Option<Token>, Failure> {
    let text = std::env::var("HAFT_JOIN").ok().filter(|text| !text.is_empty());
    let token = text.map(|text| text.trim().parse()).transpose();
    token.map_err(|error: TrustError| failed(&error).hint("it is in HAFT_JOIN"))
}

fn tell(said: &Dialled, printer: Printer) {
    match said {
        Dialled::Linked { address, is_over_tcp, .. } => {
            // A gateway may have named it.
            let address = one_line(address);
            let told = json!({"linked": {"address": address}});
            printer.announce(format_args!("haft: linked to {address}"), &told);
            if *is_over_tcp {
                printer.warn(&format!(
                    "no datagrams pass to {address}: the link is over TCP, where calls may wait \
                     for one another; let UDP through"
                ));
            }
        }
        Dialled::Failed { address, why, again } => {
            let again = again.as_secs_f64();
            printer.warn(&format!("no link to {address}: {why}; tried again in {again:.1} s"));
        }
        _ => {}
    }
}
