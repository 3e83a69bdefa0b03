//! What a store does when its disk fails, or stands still: the disk is memory that does so when a
//! test says it.

use crate::error::StoreError;
use crate::kept::{Kept, Opener};
use crate::limits::{MEMORY_BYTES, READS_MAX, SWEPT_MAX, VALUE_BYTES_MAX, WAITING_BYTES_MAX};
use crate::store::{Opened, Store};
use redb::{Database, StorageBackend};
use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How long something is waited for.
const DEADLINE: Duration = Duration::from_secs(20);

/// Clones are the same disk.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    bytes: Mutex<Vec<u8>>,
    has_failed: AtomicBool,
    stands_still: Mutex<bool>,
    goes_on: Condvar,
    readers: Mutex<HashSet<ThreadId>>,
}

impl Disk {
    fn bytes(&self) -> io::Result<MutexGuard<'_, Vec<u8>>> {
        if self.0.has_failed.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is unwell"));
        }
        Ok(self.0.bytes.lock().expect("no panic"))
    }

    fn fail(&self, fails: bool) {
        self.0.has_failed.store(fails, Ordering::SeqCst);
    }

    fn stand_still(&self, stands: bool) {
        *self.0.stands_still.lock().expect("no panic") = stands;
        self.0.goes_on.notify_all();
    }

    /// Whether this thread has read from it since it was asked last.
    fn was_read_here(&self) -> bool {
        self.0.readers.lock().expect("no panic").remove(&thread::current().id())
    }

    fn database(&self) -> Result<Database, StoreError> {
        let mut builder = Database::builder();
        // Nothing is remembered, so that reads go to the disk.
        builder.set_cache_size(0);
        builder.create_with_backend(self.clone()).map_err(StoreError::failed)
    }

    fn store(&self) -> Store {
        let again = self.clone();
        self.store_opened_by(Box::new(move || again.database()))
    }

    /// A store that is opened again in that way.
    fn store_opened_by(&self, again: Opener) -> Store {
        let kept = Kept::new(self.database().expect("it is well"), MEMORY_BYTES, Some(again));
        Store(Arc::new(Opened::start(kept, None).expect("there are threads")))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes()?.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.readers.lock().expect("no panic").insert(thread::current().id());
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        out.copy_from_slice(&self.bytes()?[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes()?.resize(usize::try_from(len).map_err(io::Error::other)?, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let stands = self.0.stands_still.lock().expect("no panic");
        drop(self.0.goes_on.wait_while(stands, |stands| *stands).expect("no panic"));
        self.bytes().map(drop)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        self.bytes()?[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}

fn is_failure<T>(found: &Result<T, StoreError>) -> bool {
    matches!(found, Err(StoreError::Failed { reason }) if !reason.is_empty())
}

#[tokio::test]
async fn a_store_works_again_when_its_disk_does() {
    let disk = Disk::default();
    let store = disk.store();
    assert_eq!(store.set("a", b"1", None).await, Ok(()));
    for round in 0..3 {
        disk.fail(true);
        for _ in 0..3 {
            assert!(is_failure(&store.set("b", b"2", None).await));
            assert!(is_failure(&store.get("a")));
            assert!(is_failure(&store.keys("", None, 9).await));
        }
        disk.fail(false);
        assert_eq!(store.add("n", 1, None).await, Ok(round + 1), "the first call finds it well");
        assert_eq!(store.get("a"), Ok(Some(b"1".to_vec())), "what was kept is there");
        assert_eq!(store.delete("b").await, Ok(false), "what was refused is not");
    }
}

#[tokio::test]
async fn who_only_reads_has_a_store_opened_again_too() {
    let disk = Disk::default();
    let store = disk.store();
    assert_eq!(store.set("a", b"1", None).await, Ok(()));
    disk.fail(true);
    assert!(is_failure(&store.get("a")));
    disk.fail(false);
    let began = Instant::now();
    while is_failure(&store.get("a")) {
        assert!(began.elapsed() < DEADLINE, "it is not opened again");
        tokio::task::yield_now().await;
    }
    assert_eq!(store.get("a"), Ok(Some(b"1".to_vec())));
}

#[tokio::test]
async fn a_panic_while_it_is_opened_again_does_not_end_the_store() {
    let disk = Disk::default();
    let (again, has_panicked) = (disk.clone(), AtomicBool::new(false));
    let store = disk.store_opened_by(Box::new(move || {
        assert!(has_panicked.swap(true, Ordering::SeqCst), "the first time it panics");
        again.database()
    }));
    assert_eq!(store.set("a", b"1", None).await, Ok(()));
    disk.fail(true);
    assert!(is_failure(&store.set("b", b"2", None).await));
    disk.fail(false);
    let began = Instant::now();
    while let Err(error) = store.set("c", b"3", None).await {
        assert!(matches!(error, StoreError::Failed { .. }), "{error}");
        assert!(began.elapsed() < DEADLINE, "it is not opened again");
    }
    assert_eq!(store.get("a"), Ok(Some(b"1".to_vec())));
}

#[tokio::test]
async fn what_waits_for_a_disk_that_stands_still_is_bounded_in_bytes() {
    let disk = Disk::default();
    let store = disk.store();
    assert_eq!(store.set("a", b"1", None).await, Ok(()));
    disk.stand_still(true);
    let value = vec![7; VALUE_BYTES_MAX];
    let changing = |number: usize| {
        let (store, value) = (store.clone(), value.clone());
        tokio::spawn(async move { store.set(&format!("k{number:02}"), &value, None).await })
    };
    let changes: Vec<_> = (0..2 * WAITING_BYTES_MAX / VALUE_BYTES_MAX).map(changing).collect();
    while store.0.room.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    // Nobody overtakes those who wait for room.
    let mut small = pin!(store.set("s", b"", None));
    assert_eq!(small.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    assert_eq!(store.get("a"), Ok(Some(b"1".to_vec())), "reading goes on");
    disk.stand_still(false);
    for change in changes {
        assert_eq!(change.await.expect("no panic"), Ok(()));
    }
    assert_eq!(small.await, Ok(()));
    assert_eq!(store.0.room.available_permits(), WAITING_BYTES_MAX);
}

#[tokio::test]
async fn keys_that_are_past_their_time_are_looked_at_elsewhere_and_removed() {
    let disk = Disk::default();
    let store = disk.store();
    // What is past its time when it comes is swept with the next change.
    let past = |number: usize| {
        let store = store.clone();
        tokio::spawn(
            async move { store.set(&format!("{number}"), b"", Some(Duration::ZERO)).await },
        )
    };
    let all: Vec<_> = (0..4 * SWEPT_MAX).map(past).collect();
    for one in all {
        assert_eq!(one.await.expect("no panic"), Ok(()));
    }
    assert_eq!(store.get("0"), Ok(None));
    assert!(disk.was_read_here(), "one key is looked for on this thread");
    assert_eq!(store.keys("", None, 9).await, Ok(Vec::new()));
    assert!(!disk.was_read_here(), "many are not");
    assert_eq!(store.find("0").await, Ok(None));
    assert!(!disk.was_read_here(), "nor is one by somebody who must not wait");
}

#[tokio::test]
async fn so_many_wait_for_a_disk_on_threads_at_once() {
    let store = Disk::default().store();
    let most = u32::try_from(READS_MAX).expect("it is small");
    let held = Arc::clone(&store.0.reads).try_acquire_many_owned(most).expect("nobody reads");
    let mut next = pin!(store.find("a"));
    let mut list = pin!(store.keys("", None, 9));
    let mut context = Context::from_waker(Waker::noop());
    assert!(next.as_mut().poll(&mut context).is_pending());
    assert!(list.as_mut().poll(&mut context).is_pending());
    drop(held);
    assert_eq!(next.await, Ok(None));
    assert_eq!(list.await, Ok(Vec::new()));
    let memory = Store::memory().expect("there are threads");
    let read = pin!(memory.find("a")).poll(&mut context);
    assert_eq!(read, Poll::Ready(Ok(None)), "memory is never waited for");
}
