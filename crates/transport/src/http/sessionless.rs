//! What the endpoint does for clients of the legacy era where the listener keeps no sessions: each
//! request is answered for itself, in the revision that its header names, and `initialize` agrees
//! on one that nobody remembers. Its client cancels it by going away, as in the modern era.

use super::answer::{self, Answer};
use super::endpoint::{Asking, Endpoint};
use super::heads::Heads;
use super::refusals::refused_to;
use haft_proto::admit::{self, Admitted};
use haft_proto::envelope::{Envelope, Kind};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::version::{Era, Revision};
use http::{Response, StatusCode};

impl Endpoint {
    /// Takes one message.
    pub(super) async fn sessionless(
        &self,
        asking: &Asking<'_>,
        message: &Envelope<'_>,
    ) -> Response<Answer> {
        match (message.kind, message.id) {
            (Kind::Request, Some(id)) => self.alone(asking, message, id, Era::Legacy).await,
            // Nothing here is asked of a client, or goes on once its client has left.
            _ => answer::empty(StatusCode::ACCEPTED),
        }
    }

    /// What a batch is answered with.
    pub(super) fn sessionless_batch(&self) -> Response<Answer> {
        let refusal = Refusal::new(
            Mistake::InvalidRequest,
            "Invalid request: without sessions there are no batches; send one message at a time",
        );
        refused_to(None, Era::Legacy, &refusal)
    }
}

/// Checks a request whose revision nobody has agreed on.
pub(super) fn admit(message: &Envelope<'_>, heads: &Heads<'_>) -> Result<Admitted, Refusal> {
    let said = heads.version().and_then(Revision::parse);
    admit::legacy_request(message, Some(said.unwrap_or(Revision::UNSAID)))
}

/// Why there is no GET.
pub(super) const NO_GET: &str = "Method not allowed: this server keeps no sessions and tells \
    nothing unasked; send messages by POST";
/// Why there is no DELETE.
pub(super) const NO_DELETE: &str =
    "Method not allowed: this server keeps no sessions; send messages by POST";
