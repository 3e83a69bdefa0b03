//! The store as its users see it: reads are answered at once from the newest transaction, changes
//! when they are kept.

use crate::change::{Change, Changed, Waiting};
use crate::error::StoreError;
use crate::kept::{Kept, Opener};
use crate::limits::{
    CHANGES_MAX, FILE_BYTES, KEY_BYTES_MAX, KEYS_MAX, MEMORY_BYTES, PAGES_BYTES_MAX, READS_MAX,
    SWEPT_MAX, VALUE_BYTES_MAX, WAITING_BYTES_MAX,
};
use crate::opened::{self, Place};
use crate::table::{ENTRIES, FOR_EVER};
use crate::writer;
use redb::backends::InMemoryBackend;
use redb::{Builder, Database, DatabaseError, ReadOnlyTable, ReadableDatabase, TableError};
use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::spawn_blocking;

/// Keys and values. Cheap to clone; the file is closed with the last clone.
#[derive(Clone)]
pub struct Store(pub(crate) Arc<Opened>);

/// A database that is open. Its fields are dropped in their order: the place after the file.
pub(crate) struct Opened {
    changes: Option<mpsc::Sender<Waiting>>,
    /// The bytes that may wait besides those that do.
    pub(crate) room: Arc<Semaphore>,
    /// The reads that may run at once on threads of their own.
    pub(crate) reads: Arc<Semaphore>,
    writer: Option<JoinHandle<()>>,
    kept: Arc<Kept>,
    _place: Option<Place>,
}

impl Opened {
    pub(crate) fn start(kept: Kept, place: Option<Place>) -> Result<Self, StoreError> {
        let kept = Arc::new(kept);
        let (changes, waiting) = mpsc::channel(CHANGES_MAX);
        let written = Arc::clone(&kept);
        let thread = std::thread::Builder::new().name("haft-store".to_owned());
        let writer = thread.spawn(move || writer::run(&written, waiting));
        let writer = Some(writer.map_err(StoreError::failed)?);
        let room = Arc::new(Semaphore::new(WAITING_BYTES_MAX));
        let reads = Arc::new(Semaphore::new(READS_MAX));
        Ok(Self { changes: Some(changes), room, reads, writer, kept, _place: place })
    }

    /// Has the writer look after the database. With so much to do that this finds no place, it does
    /// that anyway.
    fn care(&self) {
        if let Some(changes) = &self.changes {
            let _ = changes.try_send(Waiting::Care);
        }
    }

    /// Reads. Who finds that the disk has failed has the file opened again.
    fn read<T>(
        &self,
        act: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let act = |database: &Database| {
            let damaged = |_| StoreError::failed("its file is damaged; stop, and move it away");
            catch_unwind(AssertUnwindSafe(|| act(database))).map_err(damaged)?
        };
        let found = self.kept.with(act);
        if self.kept.has_failed() {
            self.care();
        }
        found
    }
}

impl Drop for Opened {
    /// Waits for the writer, which ends when nobody can ask it for anything; then the file is free.
    fn drop(&mut self) {
        self.changes = None;
        if let Some(writer) = self.writer.take() {
            // A writer that has panicked has nothing more to say.
            let _ = writer.join();
        }
    }
}

impl Store {
    /// A store in memory, gone with its last clone.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the system has no thread for it.
    pub fn memory() -> Result<Self, StoreError> {
        Self::memory_of(MEMORY_BYTES)
    }

    /// The same, of at most so many bytes of keys and values.
    ///
    /// # Errors
    /// Those of [`Store::memory`].
    pub fn memory_of(bytes_max: u64) -> Result<Self, StoreError> {
        let database = builder().create_with_backend(InMemoryBackend::new());
        let database = database.map_err(StoreError::failed)?;
        let kept = Kept::new(database, bytes_max, None);
        Opened::start(kept, None).map(|opened| Self(Arc::new(opened)))
    }

    /// A store in a file, made if it is not there, which only its owner may read. After a crash,
    /// what was acknowledged is there, and what was not acknowledged may be. A process that opens a
    /// file again gets the same store. When the disk fails, calls fail until it is well again.
    ///
    /// # Errors
    /// [`StoreError::InUse`]: another process has it. [`StoreError::Unusable`]: it cannot be made
    /// or is something else.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_of(path, FILE_BYTES)
    }

    /// The same, of at most so many bytes of keys and values. Of those who open the same file, the
    /// last one says how many.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_of(path: &Path, bytes_max: u64) -> Result<Self, StoreError> {
        let make = |place| {
            let database = open(path, true)?;
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            // A file that has gone is not made anew: what was in it would seem to be lost.
            let again: Opener = Box::new(move || open(&path, false));
            Opened::start(Kept::new(database, bytes_max, Some(again)), Some(place))
        };
        let opened = opened::join(path, make)?;
        opened.kept.bound(bytes_max);
        Ok(Self(opened))
    }

    /// The value of a key, if it has one whose time has not ended. Reads memory or the disk: some
    /// microseconds mostly.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the disk cannot be read. [`StoreError::KeyUnfit`].
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check(key)?;
        self.0.read(|database| {
            let Some(entries) = entries(database)? else { return Ok(None) };
            let kept = entries.get(key).map_err(StoreError::failed)?;
            Ok(kept.and_then(|kept| {
                let (until, value) = kept.value();
                (until > writer::now()).then(|| value.to_owned())
            }))
        })
    }

    /// The same on another thread if the store is in a file, so that nobody waits for a disk but
    /// who asks.
    ///
    /// # Errors
    /// Those of [`Store::get`].
    pub async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.is_in_file() {
            return self.get(key);
        }
        let (store, key) = (self.clone(), checked(key)?);
        self.elsewhere(move || store.get(&key)).await
    }

    /// Whether it is in a file, so that a read of it may wait for a disk.
    #[must_use]
    pub fn is_in_file(&self) -> bool {
        self.0.kept.is_in_file()
    }

    /// Does what may wait for a disk, so much at once. It holds its place until it is done, even if
    /// nobody waits for it.
    async fn elsewhere<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.0.reads).acquire_owned().await;
        let place = place.map_err(StoreError::failed)?;
        let acting = move || {
            let done = act();
            drop(place);
            done
        };
        spawn_blocking(acting).await.map_err(StoreError::failed)?
    }

    /// Keys that begin with a text and come after another one, in their order: so many, and at most
    /// [`KEYS_MAX`]. They are looked for on another thread: among them may stand as many that are
    /// past their time.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the disk cannot be read.
    pub async fn keys(
        &self,
        prefix: &str,
        after: Option<&str>,
        count: usize,
    ) -> Result<Vec<String>, StoreError> {
        let (prefix, after, opened) =
            (prefix.to_owned(), after.map(str::to_owned), Arc::clone(&self.0));
        let look = move || opened.read(|database| keys(database, &prefix, after.as_deref(), count));
        let (keys, past) = self.elsewhere(look).await?;
        if past > SWEPT_MAX {
            // Who comes next finds fewer of them.
            self.0.care();
        }
        Ok(keys)
    }

    /// Keeps a value under a key, in place of another, for a time or for ever. When this returns it
    /// is on disk.
    ///
    /// # Errors
    /// [`StoreError::KeyUnfit`], [`StoreError::ValueTooLong`], [`StoreError::Full`],
    /// [`StoreError::Failed`].
    pub async fn set(
        &self,
        key: &str,
        value: &[u8],
        ttl: Option<Duration>,
    ) -> Result<(), StoreError> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(StoreError::ValueTooLong);
        }
        let (key, bytes) = (checked(key)?, key.len() + value.len());
        let set = || Change::Set { key, value: value.into(), until: until(ttl) };
        self.make(bytes, set).await.map(|_| ())
    }

    /// Removes a key; whether there was one.
    ///
    /// # Errors
    /// [`StoreError::KeyUnfit`], [`StoreError::Failed`].
    pub async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        let key = checked(key)?;
        let changed = self.make(key.len(), || Change::Delete { key }).await?;
        Ok(changed == Changed::Deleted(true))
    }

    /// Adds to the whole number of a key, and returns the sum. A key without a value counts as zero
    /// and lives for that time; one that has a value keeps its time. Nobody comes in between.
    ///
    /// # Errors
    /// [`StoreError::NotANumber`] besides those of [`Store::set`].
    pub async fn add(&self, key: &str, by: i64, ttl: Option<Duration>) -> Result<i64, StoreError> {
        let (key, bytes) = (checked(key)?, key.len());
        let add = || Change::Add { key, by, until: until(ttl) };
        match self.make(bytes, add).await? {
            Changed::Added(sum) => Ok(sum),
            Changed::Deleted(_) | Changed::Set => Err(StoreError::Closed),
        }
    }

    /// Has a change made. It is put together once there is room for its bytes.
    async fn make(
        &self,
        bytes: usize,
        change: impl FnOnce() -> Change,
    ) -> Result<Changed, StoreError> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.0.room).acquire_many_owned(bytes).await;
        let room = room.map_err(|_| StoreError::Closed)?;
        let (done, made) = oneshot::channel();
        let changes = self.0.changes.as_ref().ok_or(StoreError::Closed)?;
        let waiting = Waiting::Change { change: change(), done, room };
        changes.send(waiting).await.map_err(|_| StoreError::Closed)?;
        made.await.map_err(|_| StoreError::Closed)?
    }
}

/// Opens the database in a file.
fn open(path: &Path, may_make: bool) -> Result<Database, StoreError> {
    let shown = || path.display().to_string();
    let unusable = |reason: String| StoreError::Unusable { path: shown(), reason };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(may_make).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| unusable(error.to_string()))?;
    // Of a file that was cut short redb panics, where it reads what is not there.
    let opened = catch_unwind(AssertUnwindSafe(|| builder().create_file(file)));
    let damaged = |why: &str| {
        unusable(format!(
            "{why}; move it away to begin with an empty state, or put a copy of it in its place"
        ))
    };
    opened.map_err(|_| damaged("it is damaged, cut short maybe"))?.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: shown() },
        other => damaged(&other.to_string()),
    })
}

type Entries = ReadOnlyTable<&'static str, (u64, &'static [u8])>;

/// The entries as they are now; nothing if nothing was ever kept.
fn entries(database: &Database) -> Result<Option<Entries>, StoreError> {
    let transaction = database.begin_read().map_err(StoreError::failed)?;
    match transaction.open_table(ENTRIES) {
        Ok(entries) => Ok(Some(entries)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(StoreError::failed(error)),
    }
}

/// Some keys, and how many were past their time.
fn keys(
    database: &Database,
    prefix: &str,
    after: Option<&str>,
    count: usize,
) -> Result<(Vec<String>, usize), StoreError> {
    let (mut keys, mut past) = (Vec::new(), 0);
    let Some(entries) = entries(database)? else { return Ok((keys, past)) };
    let (now, from) = (writer::now(), after.unwrap_or(prefix).max(prefix));
    for entry in entries.range(from..).map_err(StoreError::failed)? {
        let (key, kept) = entry.map_err(StoreError::failed)?;
        if keys.len() == count.min(KEYS_MAX) || !key.value().starts_with(prefix) {
            break;
        }
        match (kept.value().0 > now, Some(key.value()) == after) {
            (true, false) => keys.push(key.value().to_owned()),
            (true, true) => {}
            (false, _) => past += 1,
        }
    }
    Ok((keys, past))
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(PAGES_BYTES_MAX);
    builder
}

fn check(key: &str) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(StoreError::KeyUnfit);
    }
    Ok(())
}

fn checked(key: &str) -> Result<Box<str>, StoreError> {
    check(key).map(|()| key.into())
}

/// When a time that begins now ends.
fn until(ttl: Option<Duration>) -> u64 {
    let Some(ttl) = ttl else { return FOR_EVER };
    let ttl = u64::try_from(ttl.as_millis()).unwrap_or(FOR_EVER);
    writer::now().saturating_add(ttl)
}
