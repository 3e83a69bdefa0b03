//! A service whose only news is a number that rises, so that a test sees what each subscriber was
//! told and what became of its feed.

use crate::hook::Hook;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Feed, Turn};
use haft_proto::session::Session;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<State>);

#[derive(Default)]
struct State {
    number: AtomicU64,
    /// Each number is told, instead of the newest.
    tells_each: AtomicBool,
    is_over: AtomicBool,
    open: AtomicUsize,
    opened: AtomicUsize,
    listeners: Mutex<Vec<Waker>>,
    dropped: Notify,
}

impl Changes {
    /// Every number is told, so a feed never runs out while they rise.
    pub(crate) fn telling_each(self) -> Self {
        self.0.tells_each.store(true, SeqCst);
        self
    }

    /// The number rises by so much.
    pub(crate) fn rise(&self, by: u64) {
        self.0.number.fetch_add(by, SeqCst);
        self.wake();
    }

    /// There will be no more.
    pub(crate) fn end(&self) {
        self.0.is_over.store(true, SeqCst);
        self.wake();
    }

    /// How many feeds there are now.
    pub(crate) fn open(&self) -> usize {
        self.0.open.load(SeqCst)
    }

    /// How many feeds there have been.
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(SeqCst)
    }

    /// Waits until there are so many feeds.
    pub(crate) async fn are_open(&self, count: usize) {
        while self.open() != count {
            tokio::task::yield_now().await;
        }
    }

    fn wake(&self) {
        let listeners = std::mem::take(&mut *self.0.listeners.lock().expect("no panic"));
        listeners.into_iter().for_each(Waker::wake);
    }

    /// A feed; `id` is that of its request.
    fn feed(&self, id: Option<String>) -> Box<dyn Feed> {
        self.0.open.fetch_add(1, SeqCst);
        self.0.opened.fetch_add(1, SeqCst);
        let is_acknowledged = id.is_none();
        let seen = if id.is_some() { self.0.number.load(SeqCst) } else { 0 };
        Box::new(Numbers { changes: self.clone(), id, is_acknowledged, seen })
    }
}

impl Hook for Changes {
    fn ask(&self, ask: &Ask<'_>, _: &mut Vec<u8>) -> Option<Turn> {
        (ask.method == Method::SubscriptionsListen)
            .then(|| Turn::Stream(self.feed(Some(ask.id.raw().to_owned()))))
    }

    fn news(&self, _: &Arc<Session>) -> Option<Box<dyn Feed>> {
        Some(self.feed(None))
    }
}

struct Numbers {
    changes: Changes,
    id: Option<String>,
    is_acknowledged: bool,
    seen: u64,
}

impl Feed for Numbers {
    fn poll_next(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        let state = &self.changes.0;
        if !std::mem::replace(&mut self.is_acknowledged, true) {
            let method = Method::ListenAcknowledged.name();
            out.extend(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).into_bytes());
            return Poll::Ready(true);
        }
        state.listeners.lock().expect("no panic").push(cx.waker().clone());
        let now = state.number.load(SeqCst);
        if now > self.seen {
            self.seen = if state.tells_each.load(SeqCst) { self.seen + 1 } else { now };
            let (id, seen) = (self.id.as_deref().unwrap_or("null"), self.seen);
            let params = format!(r#"{{"number":{seen},"of":{id}}}"#);
            out.extend(
                format!(r#"{{"jsonrpc":"2.0","method":"n","params":{params}}}"#).into_bytes(),
            );
            return Poll::Ready(true);
        }
        if state.is_over.load(SeqCst) { Poll::Ready(false) } else { Poll::Pending }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(id) = &self.id else { return false };
        out.extend(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes());
        true
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.changes.0.open.fetch_sub(1, SeqCst);
        self.changes.0.dropped.notify_waiters();
    }
}
