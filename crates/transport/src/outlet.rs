//! What is said about calls before their answers: a bounded queue that a wire reads, and each
//! call's share of it. Handlers use it from any thread; it never waits.

use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Asked, Outlet, Unanswered};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Where what is said about calls goes.
pub(crate) trait Sink: Send + Sync {
    /// Queues a notification; false if there is no room or nobody to read it, and it is dropped.
    fn notify(&self, message: Vec<u8>) -> bool;
}

/// One call's share of a sink. It closes when the call ends: nothing is said about a call after its
/// answer.
pub(crate) struct CallOutlet {
    sink: Arc<dyn Sink>,
    is_open: AtomicBool,
}

impl CallOutlet {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, is_open: AtomicBool::new(true) }
    }

    pub(crate) fn close(&self) {
        self.is_open.store(false, Ordering::Release);
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }
}

impl Outlet for CallOutlet {
    fn send(&self, message: Vec<u8>) -> bool {
        self.is_open() && self.sink.notify(message)
    }

    fn ask(&self, _: Method, _: String) -> Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}

/// Messages that wait for their reader. Takes no memory while it is empty.
pub(crate) struct Backlog {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    messages_max: usize,
    bytes_max: usize,
}

impl Backlog {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            messages_max: limits.queued_notifications,
            bytes_max: limits.queued_bytes,
        }
    }

    /// Adds a notification; false if there is no room.
    pub(crate) fn notify(&mut self, message: Vec<u8>) -> bool {
        let has_room = self.messages.len() < self.messages_max
            && message.len() <= self.bytes_max.saturating_sub(self.bytes);
        if has_room {
            self.bytes += message.len();
            self.messages.push_back(message);
        }
        has_room
    }

    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }
}

/// A backlog with one reader.
pub(crate) struct Queue(Mutex<(Backlog, Option<Waker>)>);

impl Queue {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self(Mutex::new((Backlog::new(limits), None))))
    }

    /// A queue that nobody will read: it takes nothing.
    pub(crate) fn without_reader() -> Arc<Self> {
        let nothing = Limits { queued_notifications: 0, ..Limits::default() };
        Self::new(&nothing)
    }

    /// The next message, if it is there.
    pub(crate) fn pop(&self) -> Option<Vec<u8>> {
        self.lock().0.pop()
    }

    /// The next message, or a call of the waker once there is one.
    pub(crate) fn poll_pop(&self, cx: &Context<'_>) -> Poll<Vec<u8>> {
        let (backlog, reader) = &mut *self.lock();
        match backlog.pop() {
            Some(message) => Poll::Ready(message),
            None => {
                match reader {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *reader = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Backlog, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Queue {
    fn notify(&self, message: Vec<u8>) -> bool {
        let (is_taken, reader) = {
            let (backlog, reader) = &mut *self.lock();
            (backlog.notify(message), reader.take())
        };
        reader.inspect(Waker::wake_by_ref);
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_bounded_in_messages_and_in_bytes() {
        let limits = Limits { queued_notifications: 3, queued_bytes: 100, ..Limits::default() };
        let queue = Queue::new(&limits);
        assert!(queue.notify(vec![1; 60]));
        assert!(!queue.notify(vec![2; 41]), "101 bytes");
        assert!(queue.notify(vec![3; 40]) && queue.notify(Vec::new()));
        assert!(!queue.notify(Vec::new()), "a fourth message");
        assert_eq!(queue.pop(), Some(vec![1; 60]));
        assert!(queue.notify(vec![4; 60]), "there is room again");
        assert!(!queue.notify(vec![5; 1 << 20]));
    }
}
