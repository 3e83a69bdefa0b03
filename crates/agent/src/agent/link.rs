//! One link, at the agent: it greets, says what it has, and takes calls until the link ends.

use super::call::answer;
use super::calls::Calls;
use super::renewal::Renewal;
use super::roster::Roster;
use super::{Dialled, Shared};
use crate::credit::{Allowance, Miscounted, Sums};
use crate::ending::Ending;
use crate::limits::{DRAIN_TIME_MAX, GREETING_TIME_MAX, KEPT_TIME, LAST_WORD_TIME_MAX};
use crate::link::{Link, Receiving, Sending, Streams};
use crate::pulse::Pulse;
use crate::wire::{Broken, Came, Incoming, Outgoing};
use haft_link::limits::{CONTROL_FRAME_MAX, REQUEST_FRAME_MAX};
use haft_link::{Drain, Frame, Hello, Join, Ping, Pong, Register, VERSION, write};
use std::sync::{Arc, Mutex, PoisonError};
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

/// Who has been met at an address last; empty before.
pub(super) type Met = Mutex<String>;

/// Stays for as long as the link does, over which the agent was welcomed.
pub(super) async fn stay(
    shared: &Arc<Shared>,
    (address, met): (&str, &Met),
    link: &Link,
    welcomed: Welcomed,
) -> Stay {
    let Welcomed { mut streams, welcome, first, is_early } = welcomed;
    let Frame::Welcome(said) = welcome.frame() else { unreachable!("it was looked at") };
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
        is_early,
    });
    said.gateway.clone_into(&mut met.lock().unwrap_or_else(PoisonError::into_inner));
    if said.gateway != first.expects {
        // Only now does this link take the place of one before.
        streams.1.put(register(shared));
        if let Err(broken) = streams.1.flush().await {
            return Stay::useless(why(link, &broken).await);
        }
    }
    let calls = &linked.calls;
    let window = Sums { messages: said.messages, bytes: said.bytes };
    let allowance = Allowance::new(window);
    let before = calls.begun();
    let (incoming, outgoing) = (&mut streams.0, &mut streams.1);
    let ended = tokio::select! {
        ended = converse(link, (shared, calls), incoming, outgoing) => ended,
        miscounted = take(shared, (calls, &allowance), link) => miscounted.map_err(Into::into),
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
        Err(Broken::Miscounted) => {
            link.end(Ending::Credit);
            Ending::Credit.to_string()
        }
        _ => over(link).await,
    };
    Stay::Ended { why, was_of_use: calls.begun() > before }
}

/// Why a link is over on which nothing more is said.
async fn over(link: &Link) -> String {
    let said = timeout(LAST_WORD_TIME_MAX, link.ended()).await;
    // Nothing came of it for too long, and nobody else ends it.
    said.unwrap_or_else(|_| {
        link.end(Ending::Quiet);
        Ending::Quiet.to_string()
    })
}

/// What an agent says first, to whoever it expects to meet: who it is; and what it has, if it has
/// no other link to that gateway.
pub(super) struct FirstWords {
    /// That gateway, if any.
    expects: String,
    pub(super) frames: Vec<u8>,
}

impl FirstWords {
    pub(super) fn new(shared: &Shared, met: &str) -> Self {
        let expects = if shared.roster.is_linked(met) { "" } else { met };
        let frames = greeting(shared, expects);
        Self { expects: expects.to_owned(), frames }
    }
}

fn greeting(shared: &Shared, expects: &str) -> Vec<u8> {
    let mut words = Vec::new();
    let identity = shared.identity();
    let hello = Hello {
        version: VERSION,
        agent: identity.name(),
        software: &shared.settings.software,
        session_id: &shared.session_id,
        keeps_ms: KEPT_TIME.as_millis() as u32,
        expects,
    };
    write(&hello.into(), &mut words);
    if !expects.is_empty() {
        write(&register(shared).into(), &mut words);
    }
    words
}

fn register(shared: &Shared) -> Register {
    Register { slots: u32::try_from(shared.settings.slots).unwrap_or(u32::MAX) }
}

/// A link whose gateway has heard who is here, and nothing more than these words.
pub(super) struct Welcomed {
    streams: Streams,
    welcome: Came,
    first: FirstWords,
    is_early: bool,
}

impl Welcomed {
    /// Says who is here, unless that was said early over `control`.
    ///
    /// # Errors
    /// Why the link is of no use, which is ended then.
    pub(super) async fn over(
        link: &Link,
        control: Option<Streams>,
        first: FirstWords,
    ) -> Result<Self, String> {
        let is_early = control.is_some();
        let (streams, welcome) = match greet(link, control, &first).await {
            Ok(greeted) => greeted,
            Err(broken) => return Err(why(link, &broken).await),
        };
        match welcome.frame() {
            Frame::Welcome(said) if said.version == VERSION => {
                Ok(Self { streams, welcome, first, is_early })
            }
            Frame::Welcome(_) => {
                link.end(Ending::Version);
                Err(Ending::Version.to_string())
            }
            _ => {
                link.end(Ending::Breach);
                Err("it did not welcome the agent".to_owned())
            }
        }
    }

    /// Which gateway it is.
    pub(super) fn gateway(&self) -> &str {
        match self.welcome.frame() {
            Frame::Welcome(said) => said.gateway,
            _ => "",
        }
    }
}

/// Says who is here, unless that was said early; what the gateway says to that.
async fn greet(
    link: &Link,
    control: Option<Streams>,
    first: &FirstWords,
) -> Result<(Streams, Came), Broken> {
    let (mut incoming, outgoing) = match control {
        Some(control) => control,
        None => {
            let mut control = link.open(CONTROL_FRAME_MAX).await?;
            control.1.put_written(&first.frames);
            control.1.flush().await?;
            control
        }
    };
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
        Broken::Malformed(_) | Broken::CutShort | Broken::Miscounted | Broken::TooMuch => {
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
            request = renewal.due(shared) => {
                outgoing.send(Join { token: "", agent: "", request: &request }).await?;
            }
            () = shared.stopped(), if !is_draining => {
                is_draining = true;
                outgoing.send(Drain { reason: "the agent stops" }).await?;
            }
            beat = pulse.beat() => {
                beat?;
                outgoing.send(Ping { nonce: 0 }).await?;
            }
        }
    }
}

/// Waits until the agent stops and has no calls any more, or for long enough.
async fn drained(shared: &Shared, calls: &Calls) {
    shared.stopped().await;
    calls.end_listening();
    _ = timeout(DRAIN_TIME_MAX, calls.at_rest()).await;
}

/// Takes calls, until the link ends.
async fn take(
    shared: &Arc<Shared>,
    (calls, allowance): (&Arc<Calls>, &Arc<Allowance>),
    link: &Link,
) -> Result<(), Miscounted> {
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            stream = link.accept(REQUEST_FRAME_MAX) => {
                let Ok(stream) = stream else { return Ok(()) };
                let kept = (Arc::clone(calls), Arc::clone(allowance));
                streams.spawn(answer(Arc::clone(shared), kept, stream));
            }
            Some(answered) = streams.join_next() => answered.unwrap_or(Ok(()))?,
        }
    }
}
