//! Tells streams that would never end by themselves that the server stops. One for each listener.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Whether the server stops.
#[derive(Default)]
pub(super) struct Stopping {
    is_stopping: AtomicBool,
    bell: Arc<Notify>,
}

/// Waits for the order to stop; `None` once it has come.
pub(super) struct Stopped(Option<Pin<Box<OwnedNotified>>>);

impl Stopping {
    /// The order to stop.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.bell.notify_waiters();
    }

    pub(super) fn wait(&self) -> Stopped {
        // An order between these two lines is heard, as the ear comes first.
        let ear = Box::pin(Arc::clone(&self.bell).notified_owned());
        Stopped((!self.is_stopping.load(Ordering::SeqCst)).then_some(ear))
    }
}

impl Stopped {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(ear) = &mut self.0 else { return Poll::Ready(()) };
        let heard = ear.as_mut().poll(cx);
        if heard.is_ready() {
            self.0 = None;
        }
        heard
    }
}
