//! The control stream of a link, in the gateway: the agent says what it has, and that it is there.

use super::member::{Live, Member, Session};
use crate::ending::Ending;
use crate::link::{Link, Receiving, Sending};
use crate::pulse::Pulse;
use crate::wire::{Broken, Incoming, Outgoing};
use haft_link::{Frame, Ping, Pong};
use std::sync::Arc;
use tokio::time::sleep;

/// An agent that has said who it is.
pub(super) struct Guest {
    pub(super) member: Arc<Member>,
    pub(super) session: Session,
    pub(super) incoming: Incoming<Receiving>,
    pub(super) outgoing: Outgoing<Sending>,
}

impl Guest {
    /// Stays until the link ends; why it did.
    pub(super) async fn stay(self, link: &Link) -> String {
        let Self { member, session, mut incoming, mut outgoing } = self;
        let live = match member.comes(session, link) {
            Ok(live) => live,
            Err(ending) => {
                link.end(ending);
                return ending.to_string();
            }
        };
        let why = tokio::select! {
            ended = converse(&member, &live, &mut incoming, &mut outgoing) => {
                if matches!(ended, Err(Broken::Malformed(_) | Broken::CutShort)) {
                    link.end(Ending::Breach);
                }
                let why = ended.err().map(|why| why.to_string());
                why.unwrap_or_else(|| "it ended its control stream".to_owned())
            }
            why = link.ended() => why,
        };
        if let Some((session, keeps)) = member.leaves(&live) {
            tokio::spawn(async move {
                sleep(keeps).await;
                member.forget(session);
            });
        }
        why
    }
}

/// Hears and speaks, until the stream ends.
async fn converse(
    member: &Member,
    live: &Arc<Live>,
    incoming: &mut Incoming<Receiving>,
    outgoing: &mut Outgoing<Sending>,
) -> Result<(), Broken> {
    let mut pulse = Pulse::of(&live.link);
    loop {
        tokio::select! {
            came = incoming.next() => {
                let Some(came) = came? else { return Ok(()) };
                pulse.felt();
                match came.frame() {
                    Frame::Register(said) => member.registers(live, said.slots),
                    Frame::Ping(ping) => outgoing.put(Pong { nonce: ping.nonce }),
                    Frame::Pong(pong) => _ = live.ponged.send_replace(pong.nonce),
                    _ => {}
                }
            }
            () = live.words.put(outgoing) => {}
            beat = pulse.beat() => {
                beat?;
                outgoing.put(Ping { nonce: 0 });
            }
        }
        outgoing.flush().await?;
    }
}
