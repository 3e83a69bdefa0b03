//! What all requests of a server share.

use crate::changes::Changes;
use crate::list_cache::Listing;
use crate::middleware::Middleware;
use crate::registry::Snapshot;
use crate::rounds::Rounds;
use crate::sealed::Sealer;
use crate::state::States;
use crate::tasks::Tasks;
use arc_swap::ArcSwap;
use haft_proto::encode::fields::Caching;
use haft_proto::error::Refusal;
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use haft_proto::spec::implementation::{Capabilities, Implementation};
use haft_proto::version::Revision;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// See above.
pub(crate) struct Core {
    pub(crate) info: Implementation,
    pub(crate) caching: Caching,
    pub(crate) limits: Limits,
    pub(crate) offers: Capabilities,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) tasks: Tasks,
    pub(crate) states: States,
    /// Arguments are refused unless they fit as they are.
    pub(crate) is_strict: bool,
    /// How many values of arguments were mended.
    pub(crate) repairs: AtomicU64,
    /// Around every handler, outermost first.
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Held while the snapshot is changed.
    pub(crate) changing: Mutex<()>,
    /// By revision: the result of `initialize` or `server/discover`.
    pub(crate) hellos: [Vec<u8>; Revision::ALL.len()],
    /// By revision: what every result ends with.
    pub(crate) fields: [Arc<[u8]>; Revision::ALL.len()],
}

impl Core {
    /// What a request brings of earlier rounds, where its revision asks in rounds.
    ///
    /// # Errors
    /// It brings what is not ours.
    pub(crate) fn rounds(&self, ask: &Ask<'_>) -> Result<Option<Rounds>, Refusal> {
        if !ask.revision.asks_in_rounds() {
            return Ok(None);
        }
        Rounds::open(ask, &self.sealer, &self.limits).map(Some)
    }

    /// What its lists are written with.
    pub(crate) fn listing(&self) -> Listing<'_> {
        let page_entries = self.limits.page_entries;
        Listing { server: &self.info, caching: self.caching, page_entries }
    }

    /// What every result of that revision ends with.
    pub(crate) fn fields(&self, revision: Revision) -> &Arc<[u8]> {
        &self.fields[revision.index()]
    }
}
