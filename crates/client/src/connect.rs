//! Makes connections: opens the wire, finds the era, hands over a `Client`. A process that dies of
//! a question of the modern era is started again and asked in the legacy way.

use crate::client::Client;
use crate::desk::Desk;
use crate::era::{self, Verdict};
use crate::error::ClientError;
use crate::farewell::Farewells;
use crate::http::Http;
use crate::options::Options;
use crate::process::Launch;
use crate::stdio::Stdio;
use crate::wire::{Kind, Wire};
use haft_proto::version::Era;
use std::sync::Arc;

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Target {
    /// A child process that speaks over its stdin and stdout.
    Command(Launch),
    /// An `http://` or `https://` address.
    Url(String),
}

/// Connects to a server.
///
/// # Errors
/// A [`ClientError`] if the server cannot be started or reached, wants credentials, or speaks no
/// era that `options` allows.
pub async fn connect(target: &Target, options: &Options) -> Result<Client, ClientError> {
    let wire = open(target, options)?;
    let verdict = match options.era {
        Some(Era::Legacy) => return shake_hands_only(wire).await,
        Some(Era::Modern) => era::discover(&wire, wire.timeout()).await,
        None => {
            let patience = options.discover_timeout.min(options.timeout / 2);
            era::discover_or_initialize(&wire, patience).await
        }
    };
    match (verdict, options.era) {
        (Verdict::Spoken(handshake), _) => Ok(Client::new(wire, handshake).await),
        (Verdict::Hopeless(error), _) | (Verdict::Gone(error), Some(_)) => Err(error),
        (Verdict::Legacy(reason), Some(era)) => Err(match reason {
            // Silence and noise say nothing about the era.
            reason @ (ClientError::TimedOut { .. }
            | ClientError::GarbageOnStdout { .. }
            | ClientError::AnsweredAnotherId { .. }) => reason,
            reason => era::not_spoken(era, &reason),
        }),
        (Verdict::Legacy(_), None) => shake_hands(wire).await,
        (Verdict::Gone(_), None) => {
            drop(wire);
            shake_hands(open(target, options)?).await
        }
    }
}

async fn shake_hands_only(wire: Wire) -> Result<Client, ClientError> {
    shake_hands(wire).await.map_err(|error| match error {
        ClientError::Refused { .. } => era::not_spoken(Era::Legacy, &error),
        error => error,
    })
}

async fn shake_hands(wire: Wire) -> Result<Client, ClientError> {
    let handshake = era::initialize(&wire).await?;
    Ok(Client::new(wire, handshake).await)
}

fn open(target: &Target, options: &Options) -> Result<Wire, ClientError> {
    let desk = Arc::new(Desk::new(options));
    let farewells = Arc::new(Farewells::default());
    let kind = match target {
        Target::Command(launch) => {
            Kind::Stdio(Box::new(Stdio::open(launch, Arc::clone(&desk), &options.limits)?))
        }
        Target::Url(url) => {
            let http = Http::new(url, Arc::clone(&desk), Arc::clone(&farewells), options)?;
            Kind::Http(http)
        }
    };
    Ok(Wire::new(kind, desk, farewells, options))
}
