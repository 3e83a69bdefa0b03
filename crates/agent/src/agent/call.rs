//! The calls that one gateway makes to this agent.

use super::Shared;
use crate::link::{Sending, Streams};
use crate::wire::{Broken, Outgoing};
use bytes::Bytes;
use haft_link::limits::PART_MAX;
use haft_link::{Credit, ExecuteRequest, Frame, Kind, StreamResponse};
use haft_proto::service::Principal;
use haft_transport::carried::{Carried, Piece};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// See above.
pub(super) struct Calls {
    shared: Arc<Shared>,
    running: Mutex<HashMap<u64, AbortHandle>>,
}

impl Calls {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), running: Mutex::default() }
    }

    /// Nobody waits for it any more.
    pub(super) fn cancel(&self, stream_id: u64) {
        if let Some(running) = self.lock().remove(&stream_id) {
            running.abort();
        }
    }

    /// What came of it has arrived.
    pub(super) fn acked(&self, stream_id: u64) {
        self.lock().remove(&stream_id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the call of one stream.
pub(super) async fn answer(calls: Arc<Calls>, (mut incoming, mut outgoing): Streams) {
    let Ok(Some(came)) = incoming.next().await else { return };
    match came.frame() {
        Frame::ExecuteRequest(request) => {
            let (granted, credit) = watch::channel(request.window);
            let stream_id = request.stream_id;
            let executed = execute(&calls, &request, &mut outgoing, credit);
            let heard = async {
                while let Ok(Some(came)) = incoming.next().await {
                    if let Frame::Credit(Credit { bytes, .. }) = came.frame() {
                        granted.send_replace(bytes);
                    }
                }
            };
            tokio::select! {
                _ = executed => {}
                () = heard => {}
            }
            calls.lock().remove(&stream_id);
        }
        Frame::Resume(resume) => {
            let response = StreamResponse {
                stream_id: resume.stream_id,
                kind: Kind::Lost,
                ..Default::default()
            };
            _ = outgoing.send(response).await;
        }
        _ => {}
    }
    outgoing.stream().finish();
}

async fn execute(
    calls: &Calls,
    request: &ExecuteRequest<'_>,
    outgoing: &mut Outgoing<Sending>,
    mut credit: watch::Receiver<u64>,
) -> Result<(), Broken> {
    let stream_id = request.stream_id;
    let settings = &calls.shared.settings;
    let mut carried = Carried::begin(
        &*calls.shared.service,
        request.message,
        &Principal::Anonymous,
        &settings.limits,
    );
    let deadline = match request.deadline_ms {
        0 => Duration::MAX,
        left => Duration::from_millis(left.into()),
    };
    let late = tokio::time::sleep(deadline);
    tokio::pin!(late);
    let (mut sequence, mut spent) = (0, 0);
    loop {
        let piece = tokio::select! {
            piece = carried.next() => piece,
            () = &mut late => {
                let (kind, sequence) = (Kind::TooLate, sequence + 1);
                let over = StreamResponse { stream_id, sequence, kind, ..Default::default() };
                return outgoing.send(over).await;
            }
        };
        let (kind, bytes) = match piece {
            Some(Piece::Notice(bytes)) => (Kind::Notice, bytes),
            Some(Piece::Part(bytes)) => (Kind::Part, bytes),
            Some(Piece::End(bytes)) => (Kind::End, bytes),
            None => (Kind::Lost, Bytes::new()),
        };
        let mut rest = &bytes[..];
        loop {
            let (payload, left) = match kind {
                Kind::Notice => (rest, &[][..]),
                _ => rest.split_at(rest.len().min(PART_MAX)),
            };
            let size = payload.len() as u64;
            _ = credit.wait_for(|granted| spent == 0 || spent + size <= *granted).await;
            spent += size;
            sequence += 1;
            let kind = match (kind, left.is_empty()) {
                (Kind::End, false) => Kind::Part,
                (kind, _) => kind,
            };
            let detail = "";
            outgoing.send(StreamResponse { stream_id, sequence, kind, detail, payload }).await?;
            if kind.is_last() {
                return Ok(());
            }
            rest = left;
            if rest.is_empty() {
                break;
            }
        }
    }
}
