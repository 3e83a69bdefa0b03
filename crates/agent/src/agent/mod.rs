//! The end of links that is beside tools: it dials gateways, keeps a link to each, and answers
//! their calls with a service.

mod call;
mod calls;
mod delivery;
mod dial;
mod join;
mod link;
mod pause;
mod renewal;
mod roster;
#[cfg(test)]
mod sample;
mod seen;

pub use join::{JoinError, join};

use crate::limits::{CONTROL_QUEUE, DRAIN_TIME_MAX, GREETING_TIME_MAX, NAMED_LIFE, RENEWAL_RETRY};
use crate::trust::{Identity, TrustError};
use haft_link::limits::PEERS_MAX;
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use quinn::TokenMemoryCache;
use roster::Roster;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What an agent is told.
#[derive(Clone)]
pub struct AgentSettings {
    /// Where it keeps who it is: a file that only its owner reads.
    pub identity: PathBuf,
    /// Name and version of the program.
    pub software: Box<str>,
    /// Where gateways are: `host:port`. Those that they name are dialled as well.
    pub gateways: Vec<String>,
    /// How many calls it works on at once.
    pub slots: usize,
    /// How often it looks whether another gateway answers at an address whose gateway it has a
    /// link to, and whether datagrams pass where a link is over TCP; [`REPROBE`] by default.
    ///
    /// [`REPROBE`]: crate::limits::REPROBE
    pub reprobe: Duration,
    /// Of messages.
    pub limits: Limits,
    /// Hears how it goes with each gateway.
    pub hears: Arc<dyn Fn(&Dialled) + Send + Sync>,
}

impl fmt::Debug for AgentSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AgentSettings");
        shown
            .field("identity", &self.identity)
            .field("gateways", &self.gateways)
            .finish_non_exhaustive()
    }
}

/// How it goes with a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialled {
    /// A link is there.
    Linked {
        /// Where it was dialled.
        address: String,
        /// Which replica it is.
        gateway: String,
        /// No datagrams pass: calls may wait for one another.
        is_over_tcp: bool,
        /// The agent was heard before the handshake had ended.
        is_early: bool,
    },
    /// There is none, or no more.
    Failed {
        /// Where it was dialled.
        address: String,
        /// Why.
        why: String,
        /// When it is dialled again.
        again: Duration,
    },
}

/// See above.
pub struct Agent {
    shared: Arc<Shared>,
    /// The gateways that others name.
    finding: mpsc::Receiver<String>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agent").field(&self.shared.settings).finish_non_exhaustive()
    }
}

/// What all links of an agent have in common.
struct Shared {
    settings: AgentSettings,
    service: Arc<dyn Service>,
    /// Who it is.
    identity: Mutex<Arc<Identity>>,
    /// When another certificate was asked for.
    asked: Mutex<Option<Instant>>,
    /// Of this process, and no other.
    session_id: [u8; 16],
    roster: Roster,
    /// What shows its gateways that it was where it is before.
    tokens: Arc<TokenMemoryCache>,
    /// Other gateways, as they are heard of.
    found: mpsc::Sender<String>,
    stopping: watch::Sender<bool>,
}

impl Agent {
    /// One that answers calls with that service, and has joined.
    ///
    /// # Errors
    /// [`TrustError`]: it has not joined, or its certificate is of no use.
    pub fn new(service: Arc<dyn Service>, settings: AgentSettings) -> Result<Self, TrustError> {
        let identity = Identity::load(&settings.identity, SystemTime::now())?;
        let identity = Mutex::new(Arc::new(identity));
        let mut session_id = [0; 16];
        let failed = |error: getrandom::Error| TrustError::NoKey { why: error.to_string() };
        getrandom::fill(&mut session_id).map_err(failed)?;
        let (found, finding) = mpsc::channel(CONTROL_QUEUE);
        let (roster, stopping) = (Roster::default(), watch::Sender::default());
        let (asked, tokens) = (Mutex::default(), Arc::default());
        #[rustfmt::skip]
        let shared = Shared {
            settings, service, identity, asked, session_id, roster, tokens, found, stopping,
        };
        Ok(Self { shared: Arc::new(shared), finding })
    }

    /// Keeps links until it is to stop; then the calls in flight are answered for
    /// [`DRAIN_TIME_MAX`] at most, and those that listen end.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let (mut links, mut known) = (JoinSet::new(), HashSet::new());
        let shared = &self.shared;
        let own: HashSet<_> = shared.settings.gateways.iter().map(String::clone).collect();
        for address in &own {
            links.spawn(dial::keep(Arc::clone(shared), address.clone(), Duration::MAX));
        }
        tokio::pin!(stop);
        loop {
            tokio::select! {
                Some(address) = self.finding.recv() => {
                    let is_new = !own.contains(&address) && known.len() < PEERS_MAX;
                    if is_new && known.insert(address.clone()) {
                        links.spawn(dial::keep(Arc::clone(shared), address, NAMED_LIFE));
                    }
                }
                Some(given_up) = links.join_next() => {
                    // It may be named again, and others in its place.
                    known.remove(&given_up.unwrap_or_default());
                }
                () = &mut stop => break,
            }
        }
        shared.stopping.send_replace(true);
        let ended = async { while links.join_next().await.is_some() {} };
        _ = tokio::time::timeout(DRAIN_TIME_MAX + GREETING_TIME_MAX, ended).await;
    }
}

impl Shared {
    /// Who it is now.
    fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.identity.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether another certificate may be asked for now, over one link: of two that were given at
    /// once, the gateways know one.
    fn may_renew(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let may = asked.is_none_or(|at| at.elapsed() >= RENEWAL_RETRY);
        if may {
            *asked = Some(Instant::now());
        }
        may
    }

    /// It has a new certificate.
    fn renewed(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(identity);
    }

    /// Waits until the agent is to stop.
    async fn stopped(&self) {
        _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}
