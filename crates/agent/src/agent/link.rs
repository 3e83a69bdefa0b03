//! One link, at the agent: it greets, says what it has, and takes calls until the link ends.

use super::call::{Calls, answer};
use super::{Dialled, Shared};
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, KEPT_TIME};
use crate::quic::{Streams, accept_call, open_control};
use crate::wire::{Broken, Came, Incoming, Outgoing};
use haft_link::{Frame, Hello, Pong, Register, VERSION};
use quinn::{Connection, RecvStream, SendStream};
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
pub(super) async fn stay(shared: &Arc<Shared>, address: &str, link: &Connection) -> Stay {
    let (mut streams, welcome) = match greet(shared, link).await {
        Ok(greeted) => greeted,
        Err(broken) => return Stay::Ended(why(link, &broken).await),
    };
    let Frame::Welcome(said) = welcome.frame() else {
        Ending::Breach.close(link);
        return Stay::Ended("it did not welcome the agent".to_owned());
    };
    if said.version != VERSION {
        Ending::Version.close(link);
        return Stay::Ended(Ending::Version.to_string());
    }
    let Some(_entry) = shared.roster.enter(said.gateway, said.epoch) else {
        Ending::Duplicate.close(link);
        return Stay::Duplicate;
    };
    for peer in &said.peers {
        // Those that find no room are named again by the next link.
        _ = shared.found.try_send((*peer).to_owned());
    }
    let gateway = said.gateway.to_owned();
    (shared.settings.hears)(&Dialled::Linked { address: address.to_owned(), gateway });
    let calls = Arc::new(Calls::new(shared));
    let (incoming, outgoing) = (&mut streams.0, &mut streams.1);
    let ended = tokio::select! {
        ended = converse(&calls, incoming, outgoing) => ended,
        () = take(&calls, link) => Ok(()),
        () = shared.stopped() => {
            Ending::Stopped.close(link);
            return Stay::Stopped;
        }
    };
    match ended {
        Err(broken @ (Broken::Malformed(_) | Broken::CutShort)) => {
            Ending::Breach.close(link);
            Stay::Ended(broken.to_string())
        }
        _ => Stay::Ended(Ending::why(&link.closed().await)),
    }
}

/// Says who is here; what the gateway says to that.
async fn greet(shared: &Shared, link: &Connection) -> Result<(Streams, Came), Broken> {
    let opened = open_control(link).await.map_err(std::io::Error::from)?;
    let (mut incoming, mut outgoing) = opened;
    let settings = &shared.settings;
    outgoing.put(Hello {
        version: VERSION,
        agent: &settings.name,
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
    let welcome = welcome.map_err(late)??.ok_or(Broken::CutShort)?;
    Ok(((incoming, outgoing), welcome))
}

/// Why a link is of no use: as the other end says it, if it does.
async fn why(link: &Connection, broken: &Broken) -> String {
    match broken {
        Broken::Stream(_) => match timeout(GREETING_TIME_MAX, link.closed()).await {
            Ok(error) => Ending::why(&error),
            Err(_) => broken.to_string(),
        },
        Broken::Malformed(_) | Broken::CutShort => {
            Ending::Breach.close(link);
            broken.to_string()
        }
    }
}

/// Hears what is said on the control stream, until it ends.
async fn converse(
    calls: &Calls,
    incoming: &mut Incoming<RecvStream>,
    outgoing: &mut Outgoing<SendStream>,
) -> Result<(), Broken> {
    while let Some(came) = incoming.next().await? {
        match came.frame() {
            Frame::Ping(ping) => outgoing.send(Pong { nonce: ping.nonce }).await?,
            Frame::Cancel(cancel) => calls.cancel(cancel.stream_id),
            Frame::Ack(ack) => ack.stream_ids.iter().for_each(|id| calls.acked(id)),
            _ => {}
        }
    }
    Ok(())
}

/// Takes calls, until the link ends.
async fn take(calls: &Arc<Calls>, link: &Connection) {
    let mut streams = JoinSet::new();
    while let Ok(stream) = accept_call(link).await {
        while streams.try_join_next().is_some() {}
        streams.spawn(answer(Arc::clone(calls), stream));
    }
}
