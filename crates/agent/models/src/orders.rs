//! How a model is run: in every order of its threads with a few changes between them, each future
//! on a thread of its own.

use loom::model::Builder;
use loom::thread::{self, JoinHandle, Thread};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// How often a thread may be stopped where it could go on. Nearly all mistakes need two.
const PREEMPTIONS_MAX: usize = 3;

/// In how many orders the model held; it panics in one where it does not.
pub fn try_all(model: fn()) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    count.load(Ordering::Relaxed)
}

/// Runs a future on a thread of its own.
pub fn spawn<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    thread::spawn(move || block_on(future))
}

/// Runs a future. Its waker is no object of loom's: tokio copies wakers while it holds a lock that
/// loom does not know, where no other thread must have its turn.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::park();
    }
}

/// Looks at a future once.
pub fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
