//! The control stream of a link, in the gateway: the agent says what it has, and that it is there.

use super::member::{Live, Member, Session};
use crate::ending::Ending;
use crate::wire::{Broken, Incoming, Outgoing};
use haft_link::{Frame, Pong};
use quinn::{Connection, RecvStream, SendStream};
use std::sync::Arc;
use tokio::time::sleep;

/// An agent that has said who it is.
pub(super) struct Guest {
    pub(super) member: Arc<Member>,
    pub(super) session: Session,
    pub(super) incoming: Incoming<RecvStream>,
    pub(super) outgoing: Outgoing<SendStream>,
}

impl Guest {
    /// Stays until the link ends; why it did.
    pub(super) async fn stay(self, link: &Connection) -> String {
        let Self { member, session, mut incoming, mut outgoing } = self;
        let live = match member.comes(session, link) {
            Ok(live) => live,
            Err(ending) => {
                ending.close(link);
                return ending.to_string();
            }
        };
        let why = tokio::select! {
            ended = converse(&member, &live, &mut incoming, &mut outgoing) => {
                if matches!(ended, Err(Broken::Malformed(_) | Broken::CutShort)) {
                    Ending::Breach.close(link);
                }
                let why = ended.err().map(|why| why.to_string());
                why.unwrap_or_else(|| "it ended its control stream".to_owned())
            }
            error = link.closed() => Ending::why(&error),
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
    incoming: &mut Incoming<RecvStream>,
    outgoing: &mut Outgoing<SendStream>,
) -> Result<(), Broken> {
    loop {
        tokio::select! {
            came = incoming.next() => {
                let Some(came) = came? else { return Ok(()) };
                match came.frame() {
                    Frame::Register(said) => member.registers(live, said.slots),
                    Frame::Ping(ping) => outgoing.put(Pong { nonce: ping.nonce }),
                    Frame::Pong(pong) => _ = live.ponged.send_replace(pong.nonce),
                    _ => {}
                }
            }
            () = live.words.put(outgoing) => {}
        }
        outgoing.flush().await?;
    }
}
