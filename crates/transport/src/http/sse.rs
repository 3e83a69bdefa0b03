//! How server-sent events are written, and the comments that keep a quiet stream alive. Knows
//! nothing of what they are about.

use bytes::BytesMut;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// One message; a message never has a line break.
pub(super) fn write_event(out: &mut BytesMut, message: &[u8]) {
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// A comment, which every client skips.
pub(super) const COMMENT: &[u8] = b": still working\n\n";

/// How many bytes of events are handed over together, if so many are there.
pub(super) const AT_ONCE: usize = 8 * 1024;

/// Says when a stream has been quiet for too long.
pub(super) struct Alarm {
    every: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, sleep: Box::pin(sleep(every)) }
    }

    /// Something was said.
    pub(super) fn reset(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.every);
    }

    /// Ready, and running anew, once nothing has been said for too long.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let rang = self.sleep.as_mut().poll(cx);
        if rang.is_ready() {
            self.reset();
            // The new time must be waited for as well.
            let _ = self.sleep.as_mut().poll(cx);
        }
        rang
    }
}
