//! Many messages in one, as 2025-03-26 has them: taken one by one, answered together. Called by
//! both wires; moves no bytes.

use crate::asking::{Asked, Call, refuse, take};
use crate::conversation::{Kept, Ticket};
use crate::outlet::Sink;
use futures_util::future::join_all;
use haft_proto::envelope::{Envelope, Kind, Rejected};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::method::Method;
use haft_proto::mirror::Headers;
use haft_proto::service::Service;
use std::sync::Arc;

/// A batch whose calls may still go on.
pub(crate) struct Batch {
    answers: Vec<u8>,
    calls: Vec<Call>,
}

impl Batch {
    /// Takes every message of a batch, with the headers that it came with.
    pub(crate) fn take(
        conversation: &impl Kept,
        service: &dyn Service,
        messages: &[Result<Envelope<'_>, Rejected<'_>>],
        headers: Option<&dyn Headers>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
    ) -> Self {
        let mut batch = Self { answers: Vec::new(), calls: Vec::new() };
        for message in messages {
            let mut answer = Vec::new();
            let asked = match message {
                Ok(message) if stands_alone(message) => {
                    let refusal = Refusal::new(
                        Mistake::InvalidRequest,
                        "Invalid request: `initialize` and messages of 2026-07-28 may not be part \
                         of a batch; send them alone",
                    );
                    refuse(&mut answer, message.id, &refusal)
                }
                Ok(message) => take(conversation, service, message, headers, sink, &mut answer),
                Err(rejected) => refuse(&mut answer, rejected.id, &rejected.reason.into()),
            };
            match asked {
                Asked::Answered { .. } => batch.add(&answer),
                Asked::Later(call) => batch.calls.push(call),
                // Only messages of the modern era are answered with streams, and those stand alone.
                Asked::Silent | Asked::Stream(_) => {}
            }
        }
        batch
    }

    /// Whether some of it is answered already.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Which of its calls go on.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.calls.iter().map(|call| call.ticket.clone()).collect()
    }

    /// Waits for all its calls; `None` if nothing in it wants an answer.
    pub(crate) async fn finish(mut self) -> Option<Vec<u8>> {
        for (_, reply) in join_all(std::mem::take(&mut self.calls)).await {
            if let Some(reply) = reply {
                self.add(&reply.message);
            }
        }
        if self.answers.is_empty() {
            return None;
        }
        self.answers.push(b']');
        Some(self.answers)
    }

    fn add(&mut self, answer: &[u8]) {
        self.answers.push(if self.answers.is_empty() { b'[' } else { b',' });
        self.answers.extend_from_slice(answer);
    }
}

/// How many messages of a batch are to be answered.
pub(crate) fn answers_wanted(messages: &[Result<Envelope<'_>, Rejected<'_>>]) -> usize {
    let wants_answer = |message: &&Result<Envelope<'_>, _>| match message {
        Ok(message) => message.kind == Kind::Request,
        Err(_) => true,
    };
    messages.iter().filter(wants_answer).count()
}

/// Why a batch is not taken.
pub(crate) fn batches_refused() -> Refusal {
    Refusal::new(
        Mistake::InvalidRequest,
        "Invalid request: only protocol version 2025-03-26 has batches; send one message at a time",
    )
}

fn stands_alone(message: &Envelope<'_>) -> bool {
    let is_initialize = |method: JsonStr<'_>| method.decode() == Method::Initialize.name();
    message.params.meta.protocol_version.is_some() || message.method.is_some_and(is_initialize)
}
