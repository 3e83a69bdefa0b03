//! What a gateway has to say to an agent on the control stream: kept until a link is there that
//! takes it. No more waits than there are calls.

use crate::sync::{Mutex, MutexGuard};
use crate::wire::Outgoing;
use haft_link::limits::ACKED_MAX;
use haft_link::{Ack, Cancel, Ping};
use std::sync::PoisonError;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

/// See above.
#[derive(Debug, Default)]
pub(super) struct Words {
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    acked: Vec<u64>,
    cancelled: Vec<u64>,
    pinged: Option<u64>,
}

impl Words {
    /// What came of a call has arrived.
    pub(super) fn ack(&self, stream_id: u64) {
        self.lock().acked.push(stream_id);
        self.bell.notify_one();
    }

    /// Nobody waits for a call any more.
    pub(super) fn cancel(&self, stream_id: u64) {
        self.lock().cancelled.push(stream_id);
        self.bell.notify_one();
    }

    /// Whether somebody is there is wanted to be known.
    pub(super) fn ping(&self, nonce: u64) {
        self.lock().pinged = Some(nonce);
        self.bell.notify_one();
    }

    /// Waits until there is something to say, and puts it there.
    pub(super) async fn put<W: AsyncWrite + Unpin>(&self, out: &mut Outgoing<W>) {
        loop {
            let Waiting { acked, cancelled, pinged } = std::mem::take(&mut *self.lock());
            for ids in acked.chunks(ACKED_MAX) {
                out.put(Ack { stream_ids: ids.into() });
            }
            for stream_id in cancelled {
                out.put(Cancel { stream_id, reason: "nobody waits for it any more" });
            }
            if let Some(nonce) = pinged {
                out.put(Ping { nonce });
            }
            if out.waiting() > 0 {
                return;
            }
            self.bell.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
