//! `haft invite`: a token with which an agent joins a gateway, once; and `haft revoke`, which takes
//! back what came of it.

use crate::agents::{StateArgs, failed};
use crate::args::duration;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use haft_agent::limits::INVITATION_LIFE;
use serde_json::json;
use std::time::{Duration, SystemTime};

/// Make a token with which an agent can join this gateway, once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft invite plant-7                       a token for an agent of that name, for an hour
  haft invite plant-7 --life 10m            for ten minutes
  haft agent site.yaml --gateway gw.example.com:7443 --join TOKEN
                                            what is run beside the tools")]
pub(crate) struct Args {
    /// What the agent is to be called, as in `agent: plant-7` of the gateway's file
    name: String,
    /// How long it may be used: 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    life: Option<Duration>,
    #[command(flatten)]
    state: StateArgs,
}

/// Take an agent's certificate away, and its tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  haft revoke plant-7                       its link ends within some seconds")]
pub(crate) struct RevokeArgs {
    /// What the agent is called
    name: String,
    #[command(flatten)]
    state: StateArgs,
}

/// Runs `invite`.
pub(crate) fn run(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let authority = args.state.authority()?;
    let life = args.life.unwrap_or(INVITATION_LIFE);
    let token = authority.invite(&args.name, SystemTime::now(), life);
    let token = token.map_err(|error| failed(&error))?.reveal();
    match printer.is_json() {
        true => {
            let seconds = life.as_secs();
            let told = json!({"agent": args.name, "token": token, "seconds": seconds});
            printer.document(&told.to_string())?;
        }
        false => {
            printer.line(format_args!("{token}"))?;
            printer.note(format_args!(
                "it lets one agent in, once: haft agent FILE --gateway HOST:PORT --join TOKEN"
            ));
        }
    }
    Ok(Exit::Ok)
}

/// Runs `revoke`.
pub(crate) fn run_revoke(args: &RevokeArgs, printer: Printer) -> Result<Exit, Failure> {
    let authority = args.state.authority()?;
    let was_there = authority.revoke(&args.name).map_err(|error| failed(&error))?;
    if !was_there {
        let message = format!("no agent `{}` has joined, or may join", args.name);
        return Err(Failure::new(Exit::ToolFailed, message));
    }
    match printer.is_json() {
        true => printer.document(&json!({"agent": args.name, "revoked": true}).to_string())?,
        false => printer.line(format_args!("{} is not let in any more", args.name))?,
    }
    Ok(Exit::Ok)
}
