//! What all requests of a server share and none changes.

use crate::rounds::Rounds;
use crate::sealed::Sealer;
use haft_proto::encode;
use haft_proto::encode::fields::Caching;
use haft_proto::error::Refusal;
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use haft_proto::spec::implementation::Implementation;
use haft_proto::version::Revision;
use std::sync::Arc;

/// See above.
pub(crate) struct Core {
    pub(crate) info: Implementation,
    pub(crate) caching: Caching,
    pub(crate) limits: Limits,
    pub(crate) sealer: Arc<Sealer>,
    /// What every result of a revision ends with.
    fields: [Arc<[u8]>; Revision::ALL.len()],
}

impl Core {
    pub(crate) fn new(
        info: Implementation,
        caching: Caching,
        limits: Limits,
        sealer: Sealer,
    ) -> Self {
        let fields = Revision::ALL.map(|revision| {
            let mut fields = Vec::new();
            encode::fields::result_fields(&mut fields, revision, &info);
            fields.into()
        });
        Self { info, caching, limits, sealer: Arc::new(sealer), fields }
    }

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

    /// What every result of that revision ends with.
    pub(crate) fn fields(&self, revision: Revision) -> &Arc<[u8]> {
        &self.fields[revision.index()]
    }
}
