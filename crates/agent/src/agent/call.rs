//! One call, at the agent: it is begun once, works whatever becomes of its link, and is answered
//! over the stream that asked for it last.

use super::Shared;
use super::calls::{Attached, Call, Calls, Taken};
use crate::credit::{Allowance, Miscounted, Share, Sums};
use crate::limits::{HEARD_WITHIN, PLACE_PATIENCE};
use crate::link::{Receiving, Sending, Streams};
use crate::wire::{Broken, Incoming, Outgoing};
use bytes::Bytes;
use haft_link::limits::PART_MAX;
use haft_link::{ExecuteRequest, Frame, Kind, Ping, StreamResponse};
use haft_proto::service::Principal;
use haft_transport::carried::{Carried, Piece};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Answers what the first frame of a stream asks for.
///
/// # Errors
/// [`Miscounted`]: the gateway grants what there is not.
pub(super) async fn answer(
    shared: Arc<Shared>,
    (calls, allowance): (Arc<Calls>, Arc<Allowance>),
    (mut incoming, mut outgoing): Streams,
) -> Result<(), Miscounted> {
    let Ok(Some(came)) = incoming.next().await else { return Ok(()) };
    let share = Share::of(&allowance);
    let (id, taken) = match came.frame() {
        Frame::ExecuteRequest(request) if request.session_id != shared.session_id => {
            (request.stream_id, Taken::NotBegun("the call is for an agent of before"))
        }
        Frame::Resume(resume) if resume.session_id != shared.session_id => {
            (resume.stream_id, Taken::Lost("the agent has started again"))
        }
        Frame::ExecuteRequest(request) => {
            let window = Sums { messages: request.messages, bytes: request.window };
            let is_timed = request.deadline_ms > 0;
            _ = timeout(PLACE_PATIENCE, calls.has_room(is_timed)).await;
            let taken = calls.begin(request.stream_id, window, share, is_timed);
            if let Taken::Yes(call, _) = &taken {
                run(&shared, call, &request);
            }
            (request.stream_id, taken)
        }
        Frame::Resume(resume) => {
            let granted = Sums { messages: resume.messages, bytes: resume.window };
            let taken = calls.resume(resume.stream_id, resume.received, granted, share);
            (resume.stream_id, taken)
        }
        _ => return Ok(()),
    };
    drop(came);
    let (kind, detail) = match taken {
        Taken::Yes(call, attached) => {
            let heard = tokio::select! {
                _ = send(id, &call, (attached, &allowance), &mut outgoing) => Ok(()),
                heard = hear(&call, &mut incoming) => heard,
            };
            outgoing.stream().finish();
            return heard;
        }
        Taken::NotBegun(why) => (Kind::NotBegun, why),
        Taken::Lost(why) => (Kind::Lost, why),
    };
    let refusal = StreamResponse { stream_id: id, kind, detail, ..Default::default() };
    // If the link is lost, it is asked again.
    _ = outgoing.send(refusal).await;
    outgoing.stream().finish();
    Ok(())
}

/// Sends what comes of it, to the last or until another stream does.
async fn send(
    stream_id: u64,
    call: &Call,
    (attached, allowance): (Attached, &Allowance),
    outgoing: &mut Outgoing<Sending>,
) -> Result<(), Broken> {
    // Over TCP a gateway opens only so many streams on which it has heard nothing.
    let mut is_silent = outgoing.stream().is_over_tcp();
    loop {
        let next = call.next(attached, allowance);
        let next = if is_silent { timeout(HEARD_WITHIN, next).await } else { Ok(next.await) };
        is_silent = false;
        let response = match next {
            Ok(Some(response)) => response,
            Ok(None) => return Ok(()),
            Err(_) => {
                outgoing.send(Ping { nonce: 0 }).await?;
                continue;
            }
        };
        outgoing
            .send(StreamResponse {
                stream_id,
                sequence: response.sequence,
                kind: response.kind,
                detail: response.detail,
                payload: &response.payload,
                total: response.total,
            })
            .await?;
    }
}

/// Hears how much more may be sent, until the stream ends.
async fn hear(call: &Call, incoming: &mut Incoming<Receiving>) -> Result<(), Miscounted> {
    while let Ok(Some(came)) = incoming.next().await {
        if let Frame::Credit(credit) = came.frame() {
            call.grant(Sums { messages: credit.messages, bytes: credit.bytes })?;
        }
    }
    Ok(())
}

/// Begins to work on it.
fn run(shared: &Shared, call: &Arc<Call>, request: &ExecuteRequest<'_>) {
    let (service, limits) = (&*shared.service, &shared.settings.limits);
    let carried = Carried::begin(service, request.message, &Principal::Anonymous, limits);
    let deadline = match request.deadline_ms {
        0 => Duration::MAX,
        left => Duration::from_millis(left.into()),
    };
    let working = Working(Arc::clone(call));
    let task = tokio::spawn(async move { work(&working.0, carried, deadline).await });
    call.is_work_of(task.abort_handle());
}

/// A call that is worked on. If that ends without an answer, nobody waits for one in vain.
struct Working(Arc<Call>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.push(Kind::Lost, "the agent gave the call up", Bytes::new());
    }
}

/// Takes what comes of it, as fast as it is read, until it has been waited for that long in all:
/// how long the gateway takes to read it does not count.
async fn work(call: &Call, mut carried: Carried, mut left: Duration) {
    let mut is_first = true;
    loop {
        call.room().await;
        let since = Instant::now();
        let Ok(piece) = timeout(left, carried.next()).await else {
            return call.push(Kind::TooLate, "its time is over", Bytes::new());
        };
        left = left.saturating_sub(since.elapsed());
        match piece {
            Some(Piece::Notice(notice)) => call.push(Kind::Notice, "", notice),
            Some(Piece::Part(part)) => {
                push_parts(call, (part, 0), Kind::Part).await;
                is_first = false;
            }
            Some(Piece::End(part)) => {
                let total = if is_first { part.len() as u64 } else { 0 };
                return push_parts(call, (part, total), Kind::End).await;
            }
            None => return call.push(Kind::Lost, "the answer broke off", Bytes::new()),
        }
    }
}

/// Adds a part in pieces that fit into frames, the last of that kind. It may be all of an answer,
/// of so many bytes.
async fn push_parts(call: &Call, (mut part, mut total): (Bytes, u64), kind: Kind) {
    while part.len() > PART_MAX {
        call.push_first((Kind::Part, ""), part.split_to(PART_MAX), total);
        total = 0;
        call.room().await;
    }
    call.push(kind, "", part);
}
