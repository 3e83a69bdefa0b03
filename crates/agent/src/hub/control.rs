//! The control stream of a link, in the gateway: the agent says what it has, and that it is there.

use super::member::{Live, Member, Session};
use super::strangers::Stranger;
use crate::ending::Ending;
use crate::limits::{
    GREETING_TIME_MAX, LAST_WORD_TIME_MAX, QUIET_LOOK, QUIET_LOOKS, RENEWAL_PAUSE, REVOKED_LOOK,
};
use crate::link::{Link, Receiving, Sending};
use crate::pulse::Pulse;
use crate::trust::{Authority, TrustError};
use crate::wire::{Broken, Incoming, Outgoing};
use haft_link::limits::CONTROL_FRAME_MAX;
use haft_link::{Frame, Joined, Ping, Pong};
use std::future::pending;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

/// An agent that has said who it is.
pub(super) struct Guest {
    pub(super) member: Arc<Member>,
    pub(super) session: Session,
    /// What it was told that it goes on with.
    pub(super) goes_on: Option<u64>,
    /// What it says at once is for another replica.
    pub(super) expects_another: bool,
    pub(super) incoming: Incoming<Receiving>,
    pub(super) outgoing: Outgoing<Sending>,
}

impl Guest {
    /// Stays until the link ends; why it did.
    pub(super) async fn stay(
        mut self,
        link: &Link,
        stranger: Stranger,
        authority: &Arc<Authority>,
    ) -> String {
        let slots = match self.register(link).await {
            Ok(slots) => slots,
            Err(why) => return why,
        };
        let Self { member, session, goes_on, mut incoming, mut outgoing, .. } = self;
        let live = match member.comes((session, goes_on), link) {
            Ok(live) => live,
            Err(ending) => return refused(link, ending).await,
        };
        drop(stranger);
        member.registers(&live, slots);
        let why = tokio::select! {
            ended = converse((&member, authority), &live, &mut incoming, &mut outgoing) => {
                match ended {
                    Ok(()) | Err(Broken::Stream(_)) => {
                        let said = timeout(LAST_WORD_TIME_MAX, link.ended()).await;
                        // Calls over it wait for its end.
                        said.unwrap_or_else(|_| {
                            link.end(Ending::Quiet);
                            Ending::Quiet.to_string()
                        })
                    }
                    Err(broken) => format!("{}: {broken}", refused(link, Ending::Breach).await),
                }
            }
            why = link.ended() => why,
            () = quiet(link, &member, &live) => {
                link.end(Ending::Quiet);
                Ending::Quiet.to_string()
            }
            ending = revoked(link, authority) => {
                // Whoever was revoked has no calls to come back for.
                if ending == Ending::Revoked {
                    member.drains(&live);
                }
                link.end(ending);
                ending.to_string()
            }
        };
        if let Some((lost, keeps)) = member.leaves(&live) {
            tokio::spawn(async move {
                sleep(keeps).await;
                member.forget(lost);
            });
        }
        why
    }

    /// Hears how many calls it works on at once; why the link ended, if it says nothing of that.
    async fn register(&mut self, link: &Link) -> Result<u32, String> {
        let mut is_for_another = self.expects_another;
        loop {
            // One that has another link already says no more.
            let register = tokio::select! {
                came = timeout(GREETING_TIME_MAX, self.incoming.next()) => came,
                why = link.ended() => return Err(why),
            };
            let came = match register {
                Ok(Ok(Some(came))) => came,
                // It ends as its link does, which knows why.
                Ok(Ok(None) | Err(Broken::Stream(_))) => return Err(link.ended().await),
                Ok(Err(_)) => return Err(refused(link, Ending::Breach).await),
                Err(_) => return Err(refused(link, Ending::Silent).await),
            };
            match came.frame() {
                Frame::Register(_) if is_for_another => is_for_another = false,
                Frame::Register(said) => return Ok(said.slots),
                _ => return Err(refused(link, Ending::Breach).await),
            }
        }
    }
}

/// Sends an agent away, as soon as it can be told why.
pub(super) async fn refused(link: &Link, ending: Ending) -> String {
    // Before the handshake has ended, QUIC has no words for that.
    _ = timeout(GREETING_TIME_MAX, link.proven()).await;
    link.end(ending);
    ending.to_string()
}

/// Waits until the agent is not let in any more.
async fn revoked(link: &Link, authority: &Authority) -> Ending {
    loop {
        sleep(REVOKED_LOOK).await;
        let chain = link.certificates().unwrap_or_default();
        match authority.stays(&chain, SystemTime::now()) {
            // Nobody can tell now.
            Ok(()) | Err(TrustError::File { .. } | TrustError::Damaged { .. }) => {}
            Err(error) => return Ending::from(&error),
        }
    }
}

/// Waits until nothing comes over a link that calls wait for: QUIC gives it up later, as it says
/// nothing either for as long. Where nobody waits, that is soon enough.
async fn quiet(link: &Link, member: &Member, live: &Live) {
    let (mut heard, mut looks) = (link.heard(), 0);
    // Over TCP the system says that nobody is there.
    while heard.is_some() {
        sleep(QUIET_LOOK).await;
        let now = link.heard();
        if now != heard || member.load() == 0 {
            (heard, looks) = (now, 0);
            continue;
        }
        looks += 1;
        match looks {
            1 => _ = live.ask(),
            QUIET_LOOKS => return,
            _ => {}
        }
    }
    pending::<()>().await;
}

/// Hears and speaks, until the stream ends.
async fn converse(
    (member, authority): (&Member, &Arc<Authority>),
    live: &Arc<Live>,
    incoming: &mut Incoming<Receiving>,
    outgoing: &mut Outgoing<Sending>,
) -> Result<(), Broken> {
    let (mut pulse, mut renewed) = (Pulse::of(&live.link), None::<Instant>);
    loop {
        let came = async {
            // What changes anything is not heard from an echo.
            live.link.proven().await?;
            incoming.at_most(CONTROL_FRAME_MAX);
            incoming.next().await
        };
        tokio::select! {
            came = came => {
                let Some(came) = came? else { return Ok(()) };
                pulse.felt();
                match came.frame() {
                    Frame::Register(said) => member.registers(live, said.slots),
                    Frame::Drain(_) => member.drains(live),
                    Frame::Join(join) => {
                        if renewed.is_some_and(|at| at.elapsed() < RENEWAL_PAUSE) {
                            continue;
                        }
                        renewed = Some(Instant::now());
                        let chain = live.link.certificates().unwrap_or_default();
                        let (authority, request) = (Arc::clone(authority), join.request.to_owned());
                        let renew =
                            move || authority.renew(&chain, &request, SystemTime::now());
                        // It waits for files. One that cannot be renewed holds for a while, and it
                        // asks again.
                        if let Ok(Ok(issued)) = spawn_blocking(renew).await {
                            outgoing.put(Joined {
                                certificate: &issued.certificate,
                                authority: &issued.authority,
                                expires: issued.expires,
                            });
                        }
                    }
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
