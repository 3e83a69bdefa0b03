//! How an agent that has come says who it is, and what it is told.

use super::Hub;
use super::control::Guest;
use super::member::Session;
use crate::ending::Ending;
use crate::limits::{GREETING_TIME_MAX, LINK_CREDIT, LINK_MESSAGES};
use crate::link::{Link, Sending};
use crate::wire::Outgoing;
use haft_link::limits::CONTROL_FRAME_MAX;
use haft_link::{Frame, Hello, Join, Joined, VERSION, Welcome};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

impl Hub {
    /// Hears who has come.
    pub(super) async fn greet(&self, link: &Link) -> Result<Guest, Ending> {
        if self.settings.early_bytes == 0 {
            link.proven().await.map_err(|_| Ending::Silent)?;
        }
        let most = if link.is_proven() { CONTROL_FRAME_MAX } else { self.settings.early_bytes };
        let opened = timeout(GREETING_TIME_MAX, link.accept(most)).await;
        let (mut incoming, mut outgoing) =
            opened.map_err(|_| Ending::Silent)?.map_err(|_| Ending::Silent)?;
        if !link.is_proven() {
            incoming.in_all(most);
        }
        let first = timeout(GREETING_TIME_MAX, incoming.next()).await;
        let first = first.map_err(|_| Ending::Silent)?.map_err(|_| Ending::Breach)?;
        let first = first.ok_or(Ending::Silent)?;
        let hello = match first.frame() {
            Frame::Hello(hello) => hello,
            Frame::Join(join) => {
                link.proven().await.map_err(|_| Ending::Silent)?;
                return Err(self.join(link, &join, &mut outgoing).await);
            }
            _ => return Err(Ending::Breach),
        };
        if hello.version != VERSION {
            return Err(Ending::Version);
        }
        let chain = link.certificates().ok_or(Ending::Uncertified)?;
        let name = self.settings.authority.agent_of(&chain, SystemTime::now());
        let name = name.map_err(|error| Ending::from(&error))?;
        if hello.agent != name {
            return Err(Ending::Name);
        }
        let member = self.known(&name).ok_or(Ending::Unknown)?;
        if member.is_linked() {
            // An echo does not take the place of whoever is there.
            link.proven().await.map_err(|_| Ending::Silent)?;
        }
        let session = session(&hello)?;
        let goes_on = member.may_come(&session).await?;
        let settings = &self.settings;
        let welcome = Welcome {
            version: VERSION,
            gateway: &settings.gateway,
            epoch: settings.epoch,
            peers: settings.peers.iter().map(String::as_str).collect(),
            goes_on: goes_on.is_some(),
            software: &settings.software,
            messages: LINK_MESSAGES,
            bytes: LINK_CREDIT,
        };
        outgoing.send(welcome).await.map_err(|_| Ending::Silent)?;
        let expects_another = !hello.expects.is_empty() && hello.expects != &*settings.gateway;
        Ok(Guest { member, session, goes_on, expects_another, incoming, outgoing })
    }

    /// Lets somebody in who brings a token; how the link ends.
    async fn join(&self, link: &Link, join: &Join<'_>, outgoing: &mut Outgoing<Sending>) -> Ending {
        let authority = Arc::clone(&self.settings.authority);
        let (token, request) = (join.token.to_owned(), join.request.to_owned());
        // It waits for files.
        let issued =
            spawn_blocking(move || authority.join(&token, &request, SystemTime::now())).await;
        let issued = match issued {
            Ok(Ok(issued)) => issued,
            Ok(Err(error)) => return Ending::from(&error),
            Err(_) => return Ending::Unsigned,
        };
        let joined = Joined {
            certificate: &issued.certificate,
            authority: &issued.authority,
            expires: issued.expires,
        };
        if outgoing.send(joined).await.is_ok() {
            // It ends the link when it has heard that.
            _ = timeout(GREETING_TIME_MAX, link.ended()).await;
        }
        Ending::Joined
    }
}

fn session(hello: &Hello<'_>) -> Result<Session, Ending> {
    let id = hello.session_id.try_into().map_err(|_| Ending::Breach)?;
    Ok(Session { id, keeps: Duration::from_millis(hello.keeps_ms.into()) })
}
