//! The memory that answers are written into, used again. A request takes a buffer here; a short
//! answer is copied out of it and leaves it here, a long one takes it along until HTTP has written
//! it. Who answers waits for nobody: where another thread is at it, memory is made or freed.

use bytes::Bytes;
use haft_proto::limits::Limits;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The large buffers of a listener that nobody uses, within bounds, and freed when they are not
/// needed. Each thread has a small one beside these, which most answers need alone.
pub(super) struct Buffers {
    spare: Mutex<Spare>,
    /// How many there are, for whoever would find none.
    count: AtomicUsize,
    each_bytes: usize,
    all_bytes: usize,
    idle: Duration,
}

#[derive(Default)]
struct Spare {
    /// The one that came last is taken first.
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// So many were here whenever a long answer was written, since the last sweep.
    unneeded: usize,
}

thread_local! {
    /// The small buffer of a thread.
    static SMALL: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The largest buffer that a thread has of its own, in bytes.
const SMALL_BYTES: usize = 4096;

/// The memory that a buffer begins with.
const FIRST_BYTES: usize = 512;

impl Buffers {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            spare: Mutex::default(),
            count: AtomicUsize::new(0),
            each_bytes: limits.spare_buffer_bytes,
            all_bytes: limits.spare_bytes,
            idle: limits.spare_idle,
        }
    }

    /// An empty buffer. A large one, if there are any: then answers are long at the moment.
    pub(super) fn take(&self) -> Vec<u8> {
        let large = match self.count.load(Ordering::Relaxed) {
            0 => None,
            _ => self.take_large(),
        };
        let buffer = large.unwrap_or_else(|| SMALL.take());
        if buffer.capacity() > 0 { buffer } else { Vec::with_capacity(FIRST_BYTES) }
    }

    /// Takes a buffer back, if nothing was written into it.
    pub(super) fn take_back(&self, buffer: &mut Vec<u8>) {
        if buffer.is_empty() {
            self.give_back(std::mem::take(buffer));
        }
    }

    /// What was written into a buffer, to be sent. If it is short, or fills less than half of the
    /// buffer, that stays here: it may lie unread for long, and is to hold no more than memory that
    /// grew with it would.
    pub(super) fn sent(self: &Arc<Self>, buffer: Vec<u8>) -> Bytes {
        let length = buffer.len();
        if length < SMALL_BYTES || buffer.capacity() > 2 * length {
            let bytes = Bytes::copy_from_slice(&buffer);
            self.give_back(buffer);
            return bytes;
        }
        Bytes::from_owner(Sent { buffer, home: Arc::clone(self) })
    }

    /// Keeps a buffer that a long answer was in for the next one, or frees it.
    fn keep(&self, buffer: Vec<u8>) {
        self.put(buffer, |spare| spare.unneeded = spare.unneeded.min(spare.buffers.len()));
    }

    /// Frees what has not been needed since the last time.
    pub(super) fn sweep(&self) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let unneeded = spare.unneeded.min(spare.buffers.len());
        let freed: Vec<_> = spare.buffers.drain(..unneeded).collect();
        spare.bytes -= freed.iter().map(Vec::capacity).sum::<usize>();
        spare.buffers.shrink_to_fit();
        spare.unneeded = spare.buffers.len();
        self.count.store(spare.buffers.len(), Ordering::Relaxed);
        // Not while others are kept from the rest.
        drop(spare);
        drop(freed);
    }

    /// How often to sweep.
    pub(super) fn sweep_interval(&self) -> Duration {
        self.idle.max(Duration::from_millis(1))
    }

    #[cold]
    fn take_large(&self) -> Option<Vec<u8>> {
        let mut spare = self.spare.try_lock().ok()?;
        let buffer = spare.buffers.pop()?;
        spare.bytes -= buffer.capacity();
        self.count.store(spare.buffers.len(), Ordering::Relaxed);
        Some(buffer)
    }

    /// A buffer was not needed, or not as large as it is.
    fn give_back(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= SMALL_BYTES {
            if buffer.capacity() < FIRST_BYTES {
                return;
            }
            buffer.clear();
            // A thread that ends needs none.
            _ = SMALL.try_with(|small| small.set(buffer));
            return;
        }
        self.put(buffer, |_| {});
    }

    fn put(&self, mut buffer: Vec<u8>, note: impl FnOnce(&mut Spare)) {
        let bytes = buffer.capacity();
        if bytes > self.each_bytes {
            return;
        }
        let Ok(mut spare) = self.spare.try_lock() else { return };
        if spare.bytes + bytes <= self.all_bytes {
            buffer.clear();
            spare.bytes += bytes;
            note(&mut spare);
            spare.buffers.push(buffer);
            self.count.store(spare.buffers.len(), Ordering::Relaxed);
        }
    }
}

/// A long answer.
struct Sent {
    buffer: Vec<u8>,
    home: Arc<Buffers>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.home.keep(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 64 * 1024;

    fn buffers(all_bytes: usize) -> Arc<Buffers> {
        let limits =
            Limits { spare_buffer_bytes: LARGE, spare_bytes: all_bytes, ..Limits::default() };
        Arc::new(Buffers::new(&limits))
    }

    fn kept(buffers: &Buffers) -> usize {
        let spare = buffers.spare.lock().expect("no test panics with it");
        let bytes: usize = spare.buffers.iter().map(Vec::capacity).sum();
        assert_eq!(
            (spare.bytes, spare.buffers.len()),
            (bytes, buffers.count.load(Ordering::Relaxed))
        );
        bytes
    }

    #[test]
    fn a_buffer_is_used_again() {
        let buffers = buffers(LARGE);
        let mut small = buffers.take();
        small.resize(2 * FIRST_BYTES, b'x');
        let (place, written) = (small.as_ptr(), small.clone());
        assert_eq!(buffers.sent(small), written);
        small = buffers.take();
        assert_eq!((small.as_ptr(), small.len()), (place, 0));
        // One that nothing was written into, too, but only then.
        buffers.take_back(&mut small);
        small = buffers.take();
        assert_eq!((small.as_ptr(), small.capacity()), (place, 2 * FIRST_BYTES));
        small.push(b'x');
        buffers.take_back(&mut small);
        assert_eq!(small, b"x");
        // What is too small would only have to grow.
        _ = buffers.sent(vec![b'x'; FIRST_BYTES - 1]);
        assert_eq!(buffers.take().capacity(), FIRST_BYTES);
        buffers.keep(Vec::with_capacity(LARGE));
        assert!(buffers.take().capacity() >= LARGE, "where answers are long");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let buffers = buffers(3 * LARGE + LARGE / 2);
        buffers.keep(Vec::with_capacity(LARGE + 1));
        assert_eq!(kept(&buffers), 0, "too large a one");
        for count in [1, 2, 3, 3, 3] {
            buffers.keep(Vec::with_capacity(LARGE));
            assert_eq!(kept(&buffers), count * LARGE);
        }
        buffers.keep(Vec::with_capacity(LARGE / 2));
        assert_eq!(kept(&buffers), 3 * LARGE + LARGE / 2, "one that fits");
        _ = buffers.sent(Vec::with_capacity(LARGE));
        assert_eq!(kept(&buffers), 3 * LARGE + LARGE / 2);
    }

    #[test]
    fn what_is_not_needed_is_freed() {
        let buffers = buffers(8 * LARGE);
        (0..4).for_each(|_| buffers.keep(Vec::with_capacity(LARGE)));
        buffers.sweep();
        assert_eq!(kept(&buffers), 4 * LARGE, "not before it has been idle for a time");
        // Two long answers at once, again and again.
        for _ in 0..10 {
            let both = [buffers.take(), buffers.take()];
            both.into_iter().for_each(|buffer| buffers.keep(buffer));
        }
        buffers.sweep();
        assert_eq!(kept(&buffers), 2 * LARGE);
        // One, and many short ones, which do not need what they find.
        let short = || {
            let short = buffers.take();
            assert!(short.capacity() >= LARGE);
            _ = buffers.sent(short);
        };
        let long = buffers.take();
        short();
        buffers.keep(long);
        (0..10).for_each(|_| short());
        buffers.sweep();
        assert_eq!(kept(&buffers), LARGE);
        (0..10).for_each(|_| short());
        buffers.sweep();
        assert_eq!(kept(&buffers), 0);
    }

    #[test]
    fn a_long_answer_takes_its_buffer_along_and_a_short_one_does_not() {
        let buffers = buffers(LARGE);
        let sent = |length: usize, capacity: usize| {
            let mut buffer = Vec::with_capacity(capacity);
            buffer.resize(length, b'x');
            let place = buffer.as_ptr();
            let bytes = buffers.sent(buffer);
            assert_eq!(*bytes, *vec![b'x'; length]);
            (bytes.as_ptr() == place, bytes)
        };
        let (is_along, long) = sent(SMALL_BYTES, 2 * SMALL_BYTES);
        assert!(is_along);
        let part = long.slice(1..2);
        drop(long);
        assert_eq!(kept(&buffers), 0, "not all of it is written");
        drop(part);
        assert_eq!(buffers.take().capacity(), 2 * SMALL_BYTES, "the buffer is back");
        for (length, capacity) in
            [(SMALL_BYTES - 1, 2 * SMALL_BYTES), (SMALL_BYTES, 2 * SMALL_BYTES + 1)]
        {
            let (is_along, bytes) = sent(length, capacity);
            assert!(!is_along, "{length} of {capacity}");
            assert_eq!(buffers.take().capacity(), capacity, "it has left its buffer");
            drop(bytes);
        }
    }
}
