//! One link, at the agent: it greets, says what it has, and takes calls until the link ends.

use super::call::{Calls, answer};
use super::renewal::Renewal;
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, KEPT_TIME};
use crate::link::{Link, Receiving, Sending, Streams};
use crate::pulse::Pulse;
use crate::wire::{Broken, Came, Incoming, Outgoing};
use haft_link::limits::{CONTROL_FRAME_MAX, REQUEST_FRAME_MAX};
use haft_link::{Frame, Hello, Join, Ping, Pong, Register, VERSION};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How a link ended.
pub(super) enum Stay {
    /// The agent stops.
    Stopped,
    /// There is a link to this gateway already.
    Duplicate,
    /// For this reason.
    Ended(String),
}

/// Stays for as long as the link does.
pub(super) async fn stay(shared: &Arc<Shared>, address: &str, link: &Link) -> Stay {
    let (mut streams, welcome) = match greet(shared, link).await {
        Ok(greeted) => greeted,
        Err(broken) => return Stay::Ended(why(link, &broken).await),
    };
    let Frame::Welcome(said) = welcome.frame() else {
        link.end(Ending::Breach);
        return Stay::Ended("it did not welcome the agent".to_owned());
    };
    if said.version != VERSION {
        link.end(Ending::Version);
        return Stay::Ended(Ending::Version.to_string());
    }
    let Some(_entry) = shared.roster.enter(said.gateway, said.epoch) else {
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
    let calls = Arc::new(Calls::new(shared));
    let (incoming, outgoing) = (&mut streams.0, &mut streams.1);
    let ended = tokio::select! {
        ended = converse(link, (shared, &calls), incoming, outgoing) => ended,
        () = take(&calls, link) => Ok(()),
        () = shared.stopped() => {
            link.end(Ending::Stopped);
            return Stay::Stopped;
        }
    };
    match ended {
        Err(broken @ (Broken::Malformed(_) | Broken::CutShort)) => {
            link.end(Ending::Breach);
            Stay::Ended(broken.to_string())
        }
        _ => Stay::Ended(link.ended().await),
    }
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
    let slots = u32::try_from(settings.slots).unwrap_or(u32::MAX);
    outgoing.put(Register { slots, digest: &[], sequence: 1 });
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
    loop {
        tokio::select! {
            came = incoming.next() => {
                let Some(came) = came? else { return Ok(()) };
                pulse.felt();
                match came.frame() {
                    Frame::Ping(ping) => outgoing.send(Pong { nonce: ping.nonce }).await?,
                    Frame::Joined(joined) => renewal.granted(shared, &joined),
                    Frame::Cancel(cancel) => calls.cancel(cancel.stream_id),
                    Frame::Ack(ack) => ack.stream_ids.iter().for_each(|id| calls.acked(id)),
                    _ => {}
                }
            }
            request = renewal.due() => {
                outgoing.send(Join { token: "", agent: "", request: &request }).await?;
            }
            beat = pulse.beat() => {
                beat?;
                outgoing.send(Ping { nonce: 0 }).await?;
            }
        }
    }
}

/// Takes calls, until the link ends.
async fn take(calls: &Arc<Calls>, link: &Link) {
    let mut streams = JoinSet::new();
    while let Ok(stream) = link.accept(REQUEST_FRAME_MAX).await {
        while streams.try_join_next().is_some() {}
        streams.spawn(answer(Arc::clone(calls), stream));
    }
}
