//! Makes connections: opens the wire, finds the era, hands over a `Client`. A process that dies of
//! a question of the modern era is started again and asked in the legacy way.

use crate::carried::{Carried, Carrier};
use crate::client::Client;
use crate::desk::Desk;
use crate::era::{self, Handshake, Verdict};
use crate::eras::Known;
use crate::error::ClientError;
use crate::farewell::Farewells;
use crate::http::Http;
use crate::old_sse::OldSse;
use crate::options::Options;
use crate::process::Launch;
use crate::stdio::Stdio;
use crate::wire::{Kind, Wire};
use haft_proto::error::Mistake;
use haft_proto::version::Era;
use std::future::pending;
use std::pin::pin;
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
    let connected = connect_unless(target, options, pending()).await?;
    Ok(connected.expect("nobody gives it up"))
}

/// The same, unless it is given up before: then what was begun is ended politely, and nothing comes
/// of it.
///
/// # Errors
/// As of [`connect`].
pub async fn connect_unless(
    target: &Target,
    options: &Options,
    given_up: impl Future<Output = ()>,
) -> Result<Option<Client>, ClientError> {
    let mut given_up = pin!(given_up);
    let mut wire = open(target, options)?;
    let known = options.eras.of(target).filter(|_| options.era.is_none());
    let mut way = match known {
        None => Way::Asking,
        Some(Known::Legacy) => Way::Remembering,
        Some(Known::OldSse) => Way::OldSse,
    };
    let (mut is_remembered, mut spoken) = (known.is_some(), Known::Legacy);
    loop {
        let met = tokio::select! {
            met = Box::pin(meet_or_look_again(&wire, options, way)) => met,
            () = &mut given_up => {
                wire.close().await;
                return Ok(None);
            }
        };
        let before = std::mem::replace(&mut way, Way::Shaking);
        match met {
            Ok(Met::Spoken(handshake)) => {
                if options.era.is_none() {
                    let is_legacy = handshake.era == Era::Legacy;
                    options.eras.found(target, is_legacy.then_some(spoken));
                }
                return Ok(Some(Client::new(wire, *handshake).await));
            }
            Ok(Met::Gone) => {
                if before == Way::OldSse {
                    way = Way::Remembering;
                }
                drop(wire);
                wire = open(target, options)?;
            }
            Ok(Met::OldSse(old)) => (wire, spoken) = (wire.over(Kind::OldSse(old)), Known::OldSse),
            Err(error) if !is_remembered => return Err(error),
            Err(error @ ClientError::TimedOut { .. }) => {
                options.eras.found(target, None);
                return Err(error);
            }
            Err(error) if !tells_otherwise(&error) => {
                if matches!(error, ClientError::ServerExited { .. }) {
                    options.eras.doubt(target);
                }
                return Err(error);
            }
            Err(_) => {
                options.eras.found(target, None);
                (way, is_remembered, spoken) = (Way::Asking, false, Known::Legacy);
                tokio::select! {
                    () = wire.close() => {}
                    // Dropped, it ends at once.
                    () = &mut given_up => return Ok(None),
                }
                wire = open(target, options)?;
            }
        }
    }
}

/// Connects to a server to which somebody else carries messages, and which speaks the modern era;
/// unless it is given up before.
///
/// # Errors
/// A [`ClientError`] if it cannot be reached, or speaks another era.
pub async fn connect_carried(
    carrier: &Arc<dyn Carrier>,
    options: &Options,
    given_up: impl Future<Output = ()>,
) -> Result<Option<Client>, ClientError> {
    let desk = Arc::new(Desk::new(options));
    let carried = Carried::new(carrier, Arc::clone(&desk), options);
    let wire = Wire::new(Kind::Carried(Box::new(carried)), desk, Arc::default(), options);
    let options = Options { era: Some(Era::Modern), ..options.clone() };
    tokio::select! {
        met = Box::pin(meet(&wire, &options, Way::Asking)) => match met? {
            Some(handshake) => Ok(Some(Client::new(wire, handshake).await)),
            None => Err(ClientError::ConnectionClosed),
        },
        () = given_up => Ok(None),
    }
}

/// How it is looked who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Whatever is there is asked what it speaks.
    Asking,
    /// Hands are shaken, as they were before; if that is not answered soon, it is asked as well.
    Remembering,
    /// Hands are shaken.
    Shaking,
    /// They are, over a stream that is opened first.
    OldSse,
}

/// Whether a server that was remembered says that it is not what it was: it refuses the method, or
/// what was there is elsewhere. An outage, a lack of credentials and a crash say nothing of that.
fn tells_otherwise(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { error, status, .. } => {
            let is_of_the_method =
                [Mistake::MethodNotFound, Mistake::InvalidRequest, Mistake::InvalidParams]
                    .iter()
                    .any(|mistake| i64::from(mistake.code()) == error.code);
            is_of_the_method
                || era::is_modern_only(error.code)
                || status.is_some_and(is_of_the_place)
        }
        ClientError::HttpStatus { status, .. } => is_of_the_place(*status),
        ClientError::ForeignEndpoint { .. }
        | ClientError::MalformedResult { .. }
        | ClientError::NoCommonVersion { .. }
        | ClientError::NoEndpoint { .. }
        | ClientError::NotAnEndpoint { .. }
        | ClientError::SessionLost
        | ClientError::UnknownContentType { .. } => true,
        _ => false,
    }
}

/// Whether a status speaks of what was asked for, and not of how whoever answers is.
fn is_of_the_place(status: u16) -> bool {
    matches!(status, 400 | 404..=406 | 410 | 415 | 501)
}

/// What became of looking who is there.
enum Met {
    Spoken(Box<Handshake>),
    /// Nobody is there any more.
    Gone,
    /// Somebody who speaks over another wire.
    OldSse(OldSse),
}

/// Finds out who is there, if need be over the transport of 2024-11-05.
async fn meet_or_look_again(wire: &Wire, options: &Options, way: Way) -> Result<Met, ClientError> {
    if let (Way::OldSse, Some(http)) = (way, wire.http()) {
        let old = OldSse::open(http, wire.timeout()).await?;
        return Ok(old.map_or(Met::Gone, Met::OldSse));
    }
    let error = match meet(wire, options, way).await {
        Ok(Some(handshake)) => return Ok(Met::Spoken(Box::new(handshake))),
        Ok(None) => return Ok(Met::Gone),
        Err(error) => error,
    };
    let is_asked = options.era != Some(Era::Modern) && way == Way::Asking;
    match wire.http().filter(|_| is_asked && may_be_old(&error)) {
        Some(http) => {
            Ok(OldSse::open(http, wire.timeout()).await?.map(Met::OldSse).ok_or(error)?)
        }
        None => Err(error),
    }
}

/// Whether a failure to shake hands may be that of a server that has them shaken elsewhere.
fn may_be_old(error: &ClientError) -> bool {
    match error {
        ClientError::NotAnEndpoint { .. } => true,
        ClientError::Refused { method: "initialize", status: Some(400 | 404 | 405), error } => {
            !era::is_modern_only(error.code)
        }
        _ => false,
    }
}

/// Finds out who is there; nobody any more, if it died of being asked in the modern way.
async fn meet(wire: &Wire, options: &Options, way: Way) -> Result<Option<Handshake>, ClientError> {
    // Each in a box of its own, as one of them runs and none of them is short.
    let patience = options.discover_timeout.min(options.timeout / 2);
    if way == Way::Remembering {
        return match Box::pin(era::initialize_or_discover(wire, patience)).await {
            Verdict::Spoken(handshake) => Ok(Some(handshake)),
            Verdict::Gone(_) => Ok(None),
            Verdict::Legacy(error) | Verdict::Hopeless(error) => Err(error),
        };
    }
    if way != Way::Asking {
        return Box::pin(era::initialize(wire)).await.map(Some);
    }
    let verdict = match options.era {
        Some(Era::Legacy) => return Box::pin(shake_hands_only(wire)).await.map(Some),
        Some(Era::Modern) => Box::pin(era::discover(wire, wire.timeout())).await,
        None => Box::pin(era::discover_or_initialize(wire, patience)).await,
    };
    match (verdict, options.era) {
        (Verdict::Spoken(handshake), _) => Ok(Some(handshake)),
        (Verdict::Hopeless(error), _) | (Verdict::Gone(error), Some(_)) => Err(error),
        (Verdict::Legacy(reason), Some(era)) => Err(match reason {
            // Silence and noise say nothing about the era.
            reason @ (ClientError::TimedOut { .. }
            | ClientError::GarbageOnStdout { .. }
            | ClientError::AnsweredAnotherId { .. }) => reason,
            reason => era::not_spoken(era, &reason),
        }),
        (Verdict::Legacy(_), None) => Box::pin(era::initialize(wire)).await.map(Some),
        (Verdict::Gone(_), None) => Ok(None),
    }
}

async fn shake_hands_only(wire: &Wire) -> Result<Handshake, ClientError> {
    era::initialize(wire).await.map_err(|error| match error {
        ClientError::Refused { .. } => era::not_spoken(Era::Legacy, &error),
        error => error,
    })
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
