//! One link, at the agent: it greets, says what it has, and takes calls until the link ends.

use super::call::answer;
use super::calls::Calls;
use super::renewal::Renewal;
use super::roster::Roster;
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, KEPT_TIME};
use crate::link::{Link, Receiving, Sending, Streams};
use crate::pulse::Pulse;
use crate::wire::{Broken, Came, Incoming, Outgoing};
use haft_link::limits::{CONTROL_FRAME_MAX, REQUEST_FRAME_MAX};
use haft_link::{Drain, Frame, Hello, Join, Ping, Pong, Register, VERSION};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How a link ended.
pub(super) enum Stay {
    /// The agent stops.
    Stopped,
    /// There is a link to this gateway already.
    Duplicate,
    /// For this reason; calls came over it, if it was of use.
    Ended { why: String, was_of_use: bool },
}

impl Stay {
    fn useless(why: String) -> Self {
        Self::Ended { why, was_of_use: false }
    }
}

/// Stays for as long as the link does.
pub(super) async fn stay(shared: &Arc<Shared>, address: &str, link: &Link) -> Stay {
    let (mut streams, welcome) = match greet(shared, link).await {
        Ok(greeted) => greeted,
        Err(broken) => return Stay::useless(why(link, &broken).await),
    };
    let Frame::Welcome(said) = welcome.frame() else {
        link.end(Ending::Breach);
        return Stay::useless("it did not welcome the agent".to_owned());
    };
    if said.version != VERSION {
        link.end(Ending::Version);
        return Stay::useless(Ending::Version.to_string());
    }
    let Some(linked) = Roster::enter(shared, said.gateway, said.goes_on) else {
        link.end(Ending::Duplicate);
        return Stay::Duplicate;
    };
    for peer in &said.peers {
        // Those that find no room are named again by the next link.
        _ = shared.found.try_send((*peer).to_owned());
    }
    (shared.settings.hears)(&Dialled::Linked {
        address: address.to_owned(),
        gateway: said.gateway.to_owned(),
        is_over_tcp: link.is_over_tcp(),
    });
    // Only now does this link take the place of one before.
    let slots = u32::try_from(shared.settings.slots).unwrap_or(u32::MAX);
    streams.1.put(Register { slots, digest: &[], sequence: 1 });
    if let Err(broken) = streams.1.flush().await {
        return Stay::useless(why(link, &broken).await);
    }
    let calls = &linked.calls;
    let before = calls.begun();
    let (incoming, outgoing) = (&mut streams.0, &mut streams.1);
    let ended = tokio::select! {
        ended = converse(link, (shared, calls), incoming, outgoing) => ended,
        () = take(calls, link) => Ok(()),
        () = drained(shared, calls) => {
            link.end(Ending::Stopped);
            return Stay::Stopped;
        }
    };
    let why = match ended {
        Err(broken @ (Broken::Malformed(_) | Broken::CutShort)) => {
            link.end(Ending::Breach);
            broken.to_string()
        }
        _ => link.ended().await,
    };
    Stay::Ended { why, was_of_use: calls.begun() > before }
}

/// Says who is here; what the gateway says to that.
async fn greet(shared: &Shared, link: &Link) -> Result<(Streams, Came), Broken> {
    let (mut incoming, mut outgoing) = link.open(CONTROL_FRAME_MAX).await?;
    let (settings, identity) = (&shared.settings, shared.identity());
    outgoing.put(Hello {
        version: VERSION,
        agent: identity.name(),
        software: &settings.software,
        session_id: &shared.session_id,
        attempt: 0,
        keeps_ms: KEPT_TIME.as_millis() as u32,
    });
    outgoing.flush().await?;
    let welcome = timeout(GREETING_TIME_MAX, incoming.next()).await;
    let late = |_| Broken::Stream(std::io::ErrorKind::TimedOut.into());
    let ended = || Broken::Stream(std::io::ErrorKind::UnexpectedEof.into());
    let welcome = welcome.map_err(late)??.ok_or_else(ended)?;
    Ok(((incoming, outgoing), welcome))
}

/// Why a link is of no use: as the other end says it, if it does.
async fn why(link: &Link, broken: &Broken) -> String {
    match broken {
        Broken::Stream(_) => {
            let said = timeout(GREETING_TIME_MAX, link.ended()).await;
            said.unwrap_or_else(|_| broken.to_string())
        }
        Broken::Malformed(_) | Broken::CutShort => {
            link.end(Ending::Breach);
            broken.to_string()
        }
    }
}

/// Hears what is said on the control stream, until it ends.
async fn converse(
    link: &Link,
    (shared, calls): (&Shared, &Calls),
    incoming: &mut Incoming<Receiving>,
    outgoing: &mut Outgoing<Sending>,
) -> Result<(), Broken> {
    let (mut pulse, mut renewal) = (Pulse::of(link), Renewal::new(shared));
    let mut is_draining = false;
    loop {
        tokio::select! {
            came = incoming.next() => {
                let Some(came) = came? else { return Ok(()) };
                pulse.felt();
                match came.frame() {
                    Frame::Ping(ping) => outgoing.send(Pong { nonce: ping.nonce }).await?,
                    Frame::Joined(joined) => renewal.granted(shared, &joined),
                    Frame::Cancel(cancel) => calls.forget(cancel.stream_id),
                    Frame::Ack(ack) => ack.stream_ids.iter().for_each(|id| calls.forget(id)),
                    _ => {}
                }
            }
            request = renewal.due() => {
                outgoing.send(Join { token: "", agent: "", request: &request }).await?;
            }
            () = shared.stopped(), if !is_draining => {
                is_draining = true;
                outgoing.send(Drain { reason: "the agent stops", ..Default::default() }).await?;
            }
            beat = pulse.beat() => {
                beat?;
                outgoing.send(Ping { nonce: 0 }).await?;
            }
        }
    }
}

/// Waits until the agent stops and has no calls any more.
async fn drained(shared: &Shared, calls: &Calls) {
    shared.stopped().await;
    let grace = shared.settings.limits.shutdown_grace;
    _ = timeout(grace, calls.at_rest()).await;
}

/// Takes calls, until the link ends.
async fn take(calls: &Arc<Calls>, link: &Link) {
    let mut streams = JoinSet::new();
    while let Ok(stream) = link.accept(REQUEST_FRAME_MAX).await {
        while streams.try_join_next().is_some() {}
        streams.spawn(answer(Arc::clone(calls), stream));
    }
}
