//! What is said about calls before their answers: a bounded queue that a wire reads, and each
//! call's share of it. Handlers use it from any thread; it never waits.

use crate::bounds::{Bound, Share};
use crate::questions::{Questions, Unsent};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Asked, Outlet, Unanswered};
use std::collections::VecDeque;
use std::future::ready;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Where what is said about calls goes.
pub(crate) trait Sink: Send + Sync {
    /// Queues a notification; false if there is no room or nobody to read it, and it is dropped.
    fn notify(&self, message: Vec<u8>) -> bool;

    /// The same for how far a call has come, in place of the last such that waits if there is no
    /// room.
    fn progress(&self, call: CallNumber, message: Vec<u8>) -> bool;

    /// Queues a question, whether or not there is room for notifications.
    fn ask(&self, message: Vec<u8>, question: Unsent);

    /// Nobody waits for a question any more: if it has been sent, `cancellation` follows it.
    fn take_back(&self, question: u64, cancellation: Vec<u8>);

    /// Lets the client go and come back; false if it cannot.
    fn disconnect(&self, retry: Duration) -> bool {
        let _ = retry;
        false
    }
}

/// Tells the calls of this process apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallNumber(u64);

impl CallNumber {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// One call's share of a sink. It closes when the call ends: nothing is said about a call after its
/// answer.
pub(crate) struct CallOutlet {
    number: CallNumber,
    sink: Arc<dyn Sink>,
    /// `None` where the client cannot be asked.
    questions: Option<Arc<Questions>>,
    is_open: AtomicBool,
}

impl CallOutlet {
    pub(crate) fn new(sink: Arc<dyn Sink>, questions: Option<Arc<Questions>>) -> Self {
        Self { number: CallNumber::next(), sink, questions, is_open: AtomicBool::new(true) }
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

    fn progress(&self, message: Vec<u8>) -> bool {
        self.is_open() && self.sink.progress(self.number, message)
    }

    fn ask(&self, method: Method, params: String) -> Asked {
        match &self.questions {
            Some(questions) if self.is_open() => questions.ask(&self.sink, method, params),
            _ => Box::pin(ready(Err(Unanswered::Gone))),
        }
    }

    fn disconnect(&self, retry: Duration) -> bool {
        self.is_open() && self.sink.disconnect(retry)
    }
}

/// Messages that wait for their reader. Takes little memory while it is empty.
pub(crate) struct Backlog {
    said: VecDeque<Said>,
    notifications: usize,
    bytes: usize,
    notifications_max: usize,
    bytes_max: usize,
}

struct Said {
    message: Vec<u8>,
    kind: Kind,
}

enum Kind {
    /// Counts as unread while it waits.
    Answer {
        _held: Share,
    },
    Cancellation,
    Notification,
    Progress(CallNumber),
    Question(Unsent),
}

/// For how many messages an empty backlog keeps room.
const MESSAGES_KEPT: usize = 16;

impl Backlog {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            said: VecDeque::new(),
            notifications: 0,
            bytes: 0,
            notifications_max: limits.queued_notifications,
            bytes_max: limits.queued_bytes,
        }
    }

    /// Adds a notification; false if there is no room.
    pub(crate) fn notify(&mut self, message: Vec<u8>) -> bool {
        self.add(Said { message, kind: Kind::Notification })
    }

    /// Adds how far a call has come. If there is no room, that takes the place of what was said
    /// last of it and waits; false if nothing does, or that makes no room either.
    pub(crate) fn progress(&mut self, call: CallNumber, message: Vec<u8>) -> bool {
        if !self.has_room(&message) {
            let is_last = |said: &Said| matches!(said.kind, Kind::Progress(of) if of == call);
            let Some(at) = self.said.iter().rposition(is_last) else { return false };
            let freed = self.said[at].message.len();
            if message.len() > self.bytes_max.saturating_sub(self.bytes - freed) {
                return false;
            }
            self.said.remove(at);
            self.notifications -= 1;
            self.bytes -= freed;
        }
        self.add(Said { message, kind: Kind::Progress(call) })
    }

    fn add(&mut self, said: Said) -> bool {
        let has_room = self.has_room(&said.message);
        if has_room {
            self.notifications += 1;
            self.bytes += said.message.len();
            self.said.push_back(said);
        }
        has_room
    }

    fn has_room(&self, message: &[u8]) -> bool {
        self.notifications < self.notifications_max
            && message.len() <= self.bytes_max.saturating_sub(self.bytes)
    }

    /// Adds an answer, whether or not there is room for notifications.
    fn answer(&mut self, message: Vec<u8>, held: Share) {
        self.said.push_back(Said { message, kind: Kind::Answer { _held: held } });
    }

    /// Adds a question. Questions have a bound of their own, see [`Questions`].
    pub(crate) fn ask(&mut self, message: Vec<u8>, question: Unsent) {
        self.said.push_back(Said { message, kind: Kind::Question(question) });
    }

    /// Removes a question, or adds its cancellation if it has gone out. There are never more
    /// cancellations than questions that have gone out.
    pub(crate) fn take_back(&mut self, question: u64, cancellation: Vec<u8>) {
        let is_it = |said: &Said| matches!(&said.kind, Kind::Question(q) if q.number() == question);
        match self.said.iter().position(is_it) {
            Some(at) => drop(self.said.remove(at)),
            None => self.said.push_back(Said { message: cancellation, kind: Kind::Cancellation }),
        }
    }

    /// All messages that wait, to be sent now.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self {
            said: VecDeque::new(),
            notifications: 0,
            bytes: 0,
            notifications_max: self.notifications_max,
            bytes_max: self.bytes_max,
        };
        std::mem::replace(self, empty)
    }

    /// The next message, which is sent now.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let Said { message, kind } = self.said.pop_front()?;
        if self.said.is_empty() && self.said.capacity() > MESSAGES_KEPT {
            self.said = VecDeque::new();
        }
        match kind {
            Kind::Answer { .. } | Kind::Cancellation => {}
            Kind::Notification | Kind::Progress(_) => {
                self.notifications -= 1;
                self.bytes -= message.len();
            }
            Kind::Question(question) => question.sent(),
        }
        Some(message)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Whether the next message is a question.
    pub(crate) fn has_question_first(&self) -> bool {
        self.said.front().is_some_and(|said| matches!(said.kind, Kind::Question(_)))
    }
}

/// A backlog with one reader, who may go.
pub(crate) struct Queue(Mutex<Waiting>);

struct Waiting {
    /// `None` once nobody will read it.
    backlog: Option<Backlog>,
    reader: Option<Waker>,
}

impl Queue {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let backlog = Some(Backlog::new(limits));
        Arc::new(Self(Mutex::new(Waiting { backlog, reader: None })))
    }

    /// A queue that nobody will read: it takes nothing.
    pub(crate) fn without_reader() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting { backlog: None, reader: None })))
    }

    /// Nobody will read it any more, but for what is returned. Whoever has asked something of it is
    /// told as that is dropped.
    pub(crate) fn close(&self) -> Option<Backlog> {
        self.lock().backlog.take()
    }

    /// All that has been said so far, and nothing that is said meanwhile: whoever talks without end
    /// must not keep its reader for ever.
    pub(crate) fn take(&self) -> Option<Backlog> {
        self.lock().backlog.as_mut().map(Backlog::take)
    }

    /// The next message, or a call of the waker once there is one.
    pub(crate) fn poll_pop(&self, cx: &Context<'_>) -> Poll<Vec<u8>> {
        let Waiting { backlog, reader } = &mut *self.lock();
        match backlog.as_mut().and_then(Backlog::pop) {
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

    /// Queues an answer, behind all that has been said so far; it counts as unread until it is
    /// fetched.
    pub(crate) fn answer(&self, message: Vec<u8>, unread: &Arc<Bound>) {
        let held = unread.share_of(message.len());
        self.add(|backlog| backlog.answer(message, held));
    }

    /// There is something new to read, elsewhere.
    pub(crate) fn wake(&self) {
        self.add(|_| ());
    }

    /// Adds something and wakes the reader; `None` if there is none.
    fn add<T>(&self, add: impl FnOnce(&mut Backlog) -> T) -> Option<T> {
        let (added, reader) = {
            let mut waiting = self.lock();
            (waiting.backlog.as_mut().map(add), waiting.reader.take())
        };
        reader.inspect(Waker::wake_by_ref);
        added
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one who reads a queue, if there is one; dropped, nobody does.
pub(crate) struct Reader(Option<Arc<Queue>>);

impl Reader {
    pub(crate) fn new(queue: Option<Arc<Queue>>) -> Self {
        Self(queue)
    }

    /// Whether nobody ever wanted to say something.
    pub(crate) fn is_of_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// What is left to read; nothing is said from now on.
    pub(crate) fn rest(&self) -> Option<Backlog> {
        self.0.as_ref()?.close()
    }

    /// The next message, or a call of the waker once there is one.
    pub(crate) fn poll_pop(&self, cx: &Context<'_>) -> Poll<Vec<u8>> {
        self.0.as_ref().map_or(Poll::Pending, |queue| queue.poll_pop(cx))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.rest());
    }
}

impl Sink for Queue {
    fn notify(&self, message: Vec<u8>) -> bool {
        self.add(|backlog| backlog.notify(message)).unwrap_or(false)
    }

    fn progress(&self, call: CallNumber, message: Vec<u8>) -> bool {
        self.add(|backlog| backlog.progress(call, message)).unwrap_or(false)
    }

    fn ask(&self, message: Vec<u8>, question: Unsent) {
        self.add(|backlog| backlog.ask(message, question));
    }

    fn take_back(&self, question: u64, cancellation: Vec<u8>) {
        self.add(|backlog| backlog.take_back(question, cancellation));
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
        assert_eq!(pop(&queue), Some(vec![1; 60]));
        assert!(queue.notify(vec![4; 60]), "there is room again");
        assert!(!queue.notify(vec![5; 1 << 20]));
        drop(queue.close());
        assert!(!queue.notify(Vec::new()) && pop(&queue).is_none());
    }

    #[test]
    fn without_room_how_far_a_call_has_come_takes_the_place_of_what_was_said_of_it_last() {
        let limits = Limits { queued_notifications: 4, queued_bytes: 100, ..Limits::default() };
        let queue = Queue::new(&limits);
        let (one, other) = (CallNumber::next(), CallNumber::next());
        assert!(queue.progress(one, vec![1]) && queue.progress(one, vec![2; 20]));
        assert!(queue.notify(vec![3]) && queue.progress(other, vec![4; 60]));
        assert!(queue.progress(one, vec![5; 30]) && queue.progress(one, vec![6; 38]));
        assert!(!queue.progress(one, vec![7; 39]), "101 bytes");
        assert!(!queue.progress(CallNumber::next(), Vec::new()), "nothing of it waits");
        assert!(!queue.notify(Vec::new()));
        let said = std::iter::from_fn(|| pop(&queue)).collect::<Vec<_>>();
        assert_eq!(said, [vec![1], vec![3], vec![4; 60], vec![6; 38]]);
        assert!(queue.notify(vec![8; 100]), "all is given back");
    }

    #[test]
    fn what_is_taken_makes_room_and_an_empty_queue_holds_little() {
        let queue = Queue::new(&Limits { queued_notifications: 2, ..Limits::default() });
        assert!(queue.notify(vec![1]) && queue.notify(vec![2]) && !queue.notify(vec![3]));
        let mut taken = queue.take().expect("it is read");
        assert!(queue.notify(vec![4]), "there is room again");
        assert_eq!((taken.pop(), taken.pop(), taken.pop()), (Some(vec![1]), Some(vec![2]), None));
        let unread = Bound::new(0);
        for _ in 0..1000 {
            queue.answer(Vec::new(), &unread);
        }
        while pop(&queue).is_some() {}
        assert_eq!(queue.lock().backlog.as_ref().map(|kept| kept.said.capacity()), Some(0));
    }

    fn pop(queue: &Queue) -> Option<Vec<u8>> {
        match queue.poll_pop(&Context::from_waker(Waker::noop())) {
            Poll::Ready(message) => Some(message),
            Poll::Pending => None,
        }
    }
}
