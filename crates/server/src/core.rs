//! What all requests of a server share.

use crate::builder::Growth;
use crate::changes::Changes;
use crate::face::Face;
use crate::middleware::Middleware;
use crate::registry::Snapshot;
use crate::rounds::Rounds;
use crate::sealed::Sealer;
use crate::state::States;
use crate::tasks::Tasks;
use arc_swap::ArcSwap;
use haft_proto::error::Refusal;
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// See above.
pub(crate) struct Core {
    pub(crate) limits: Limits,
    /// What may be added while it runs.
    pub(crate) growth: Growth,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) tasks: Tasks,
    pub(crate) states: States,
    /// How many values of arguments were mended.
    pub(crate) repairs: AtomicU64,
    /// Around every handler, outermost first.
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Held while the snapshot is changed.
    pub(crate) changing: Mutex<()>,
}

impl Core {
    /// What a request brings of earlier rounds, where its revision asks in rounds; few bring
    /// something. `define` appends what is asked for.
    ///
    /// # Errors
    /// It brings what is not ours.
    pub(crate) fn rounds(
        &self,
        snapshot: &Snapshot,
        ask: &Ask<'_>,
        define: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Option<Box<Rounds>>, Refusal> {
        let params = &ask.message.params;
        let brings_some = params.request_state.is_some() || params.input_responses.is_some();
        if !brings_some || !ask.revision.asks_in_rounds() {
            return Ok(None);
        }
        let rounds = Rounds::open(ask, snapshot, define, (&self.sealer, &self.limits))?;
        Ok(Some(Box::new(rounds)))
    }

    /// What the server says of itself now.
    pub(crate) fn face(&self) -> Arc<Face> {
        Arc::clone(&self.snapshot.load().face)
    }
}
