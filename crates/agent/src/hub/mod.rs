//! The end of links that is in a gateway: agents come, say who they are, and stay as members, whom
//! calls are made to.

mod answer;
mod call;
mod control;
mod door;
mod gate;
mod greeting;
mod group;
mod member;
mod strangers;
mod told;
mod words;

pub use door::{Door, DoorError, Guests};
pub use group::{Arrivals, Group};
pub use member::{Member, Presence};
pub use told::{State, Told, ToldLink};

use crate::ending::Ending;
use crate::limits::AGENTS_MAX;
use crate::link::Link;
use crate::trust::Authority;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use strangers::Stranger;
use tokio::sync::watch;

/// What a hub is told.
#[derive(Clone)]
pub struct HubSettings {
    /// Which replica this is: no other has the name.
    pub gateway: Box<str>,
    /// Another each time that it starts.
    pub epoch: u64,
    /// Where the replicas are, this one with them: `host:port`.
    pub peers: Vec<String>,
    /// Name and version of the program.
    pub software: Box<str>,
    /// Who lets agents in.
    pub authority: Arc<Authority>,
    /// How many bytes an agent may say before a handshake has ended.
    pub early_bytes: usize,
}

impl fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HubSettings");
        shown.field("gateway", &self.gateway).field("peers", &self.peers).finish_non_exhaustive()
    }
}

/// See above.
#[derive(Debug)]
pub struct Hub {
    settings: HubSettings,
    members: Mutex<HashMap<Box<str>, Arc<Member>>>,
    stopping: watch::Sender<bool>,
}

impl Hub {
    /// One to which nobody has come.
    #[must_use]
    pub fn new(settings: HubSettings) -> Arc<Self> {
        Arc::new(Self { settings, members: Mutex::default(), stopping: watch::Sender::default() })
    }

    /// The agent of that name, whether it is there or not. Only agents that were asked for so may
    /// come.
    ///
    /// # Errors
    /// There are [`AGENTS_MAX`] already.
    pub fn member(&self, name: &str) -> Result<Arc<Member>, Ending> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = members.get(name) {
            return Ok(Arc::clone(member));
        }
        // Whoever is asked for by nobody any more, and is not there, makes room.
        members.retain(|_, member| Arc::strong_count(member) > 1);
        if members.len() >= AGENTS_MAX {
            return Err(Ending::Full);
        }
        let member = Member::new(name);
        members.insert(name.into(), Arc::clone(&member));
        Ok(member)
    }

    /// Serves one link until it ends; why it did. Whose it is, is a stranger until it is let in.
    async fn serve(&self, link: Link, stranger: Stranger) -> String {
        let served = async {
            match self.greet(&link).await {
                Ok(guest) => guest.stay(&link, stranger, &self.settings.authority).await,
                Err(ending) => control::refused(&link, ending).await,
            }
        };
        tokio::select! {
            why = served => why,
            () = self.stopped() => {
                link.end(Ending::Stopped);
                "this gateway stops".to_owned()
            }
        }
    }

    /// Ends all links, which agents are told, and those that come from now on.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    async fn stopped(&self) {
        _ = self.stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
    }

    fn known(&self, name: &str) -> Option<Arc<Member>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.get(name).cloned()
    }
}
