//! The store as its users see it: reads are answered at once from the newest transaction, changes
//! when they are kept.

use crate::change::{Change, Changed, Waiting};
use crate::error::StoreError;
use crate::limits::{
    CHANGES_MAX, FILE_BYTES, KEY_BYTES_MAX, KEYS_MAX, MEMORY_BYTES, PAGES_BYTES_MAX,
    VALUE_BYTES_MAX,
};
use crate::opened::{self, Place};
use crate::table::{ENTRIES, FOR_EVER};
use crate::writer;
use redb::backends::InMemoryBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase};
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Keys and values. Cheap to clone; the file is closed with the last clone.
#[derive(Clone)]
pub struct Store(Arc<Opened>);

/// A database that is open. Its fields are dropped in their order: the place after the file.
pub(crate) struct Opened {
    changes: Option<mpsc::Sender<Waiting>>,
    writer: Option<JoinHandle<()>>,
    database: Arc<Database>,
    _place: Option<Place>,
}

impl Opened {
    fn start(database: Database, bytes_max: u64, place: Option<Place>) -> Result<Self, StoreError> {
        let database = Arc::new(database);
        let (changes, waiting) = mpsc::channel(CHANGES_MAX);
        let written = Arc::clone(&database);
        let thread = std::thread::Builder::new().name("haft-store".to_owned());
        let writer = thread.spawn(move || writer::run(&written, bytes_max, waiting));
        let writer = Some(writer.map_err(StoreError::failed)?);
        Ok(Self { changes: Some(changes), writer, database, _place: place })
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
        Opened::start(database, bytes_max, None).map(|opened| Self(Arc::new(opened)))
    }

    /// A store in a file, made if it is not there, which only its owner may read. After a crash,
    /// what was acknowledged is there, and what was not acknowledged may be. A process that opens a
    /// file again gets the same store.
    ///
    /// # Errors
    /// [`StoreError::InUse`]: another process has it. [`StoreError::Unusable`]: it cannot be made
    /// or is something else.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_of(path, FILE_BYTES)
    }

    /// The same, of at most so many bytes of keys and values.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_of(path: &Path, bytes_max: u64) -> Result<Self, StoreError> {
        let shown = || path.display().to_string();
        let unusable = |reason: String| StoreError::Unusable { path: shown(), reason };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = |place| {
            let file = options.open(path).map_err(|error| unusable(error.to_string()))?;
            let database = builder().create_file(file).map_err(|error| match error {
                DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: shown() },
                other => unusable(other.to_string()),
            })?;
            Opened::start(database, bytes_max, Some(place))
        };
        opened::join(path, open).map(Self)
    }

    /// The value of a key, if it has one whose time has not ended. Reads memory or the disk: some
    /// microseconds mostly.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the disk cannot be read. [`StoreError::KeyUnfit`].
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check(key)?;
        let transaction = self.0.database.begin_read().map_err(StoreError::failed)?;
        let entries = match transaction.open_table(ENTRIES) {
            Ok(entries) => entries,
            // Nothing was ever kept.
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(StoreError::failed(error)),
        };
        let kept = entries.get(key).map_err(StoreError::failed)?;
        Ok(kept.and_then(|kept| {
            let (until, value) = kept.value();
            (until > writer::now()).then(|| value.to_owned())
        }))
    }

    /// Keys that begin with a text and come after another one, in their order: so many, and at most
    /// [`KEYS_MAX`].
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the disk cannot be read.
    pub fn keys(
        &self,
        prefix: &str,
        after: Option<&str>,
        count: usize,
    ) -> Result<Vec<String>, StoreError> {
        let transaction = self.0.database.begin_read().map_err(StoreError::failed)?;
        let entries = match transaction.open_table(ENTRIES) {
            Ok(entries) => entries,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::failed(error)),
        };
        let (now, from) = (writer::now(), after.unwrap_or(prefix).max(prefix));
        let mut keys = Vec::new();
        for entry in entries.range(from..).map_err(StoreError::failed)? {
            let (key, kept) = entry.map_err(StoreError::failed)?;
            if keys.len() == count.min(KEYS_MAX) || !key.value().starts_with(prefix) {
                break;
            }
            if kept.value().0 > now && Some(key.value()) != after {
                keys.push(key.value().to_owned());
            }
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
        let change = Change::Set { key: checked(key)?, value: value.into(), until: until(ttl) };
        self.make(change).await.map(|_| ())
    }

    /// Removes a key; whether there was one.
    ///
    /// # Errors
    /// [`StoreError::KeyUnfit`], [`StoreError::Failed`].
    pub async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        let changed = self.make(Change::Delete { key: checked(key)? }).await?;
        Ok(changed == Changed::Deleted(true))
    }

    /// Adds to the whole number of a key, and returns the sum. A key without a value counts as zero
    /// and lives for that time; one that has a value keeps its time. Nobody comes in between.
    ///
    /// # Errors
    /// [`StoreError::NotANumber`] besides those of [`Store::set`].
    pub async fn add(&self, key: &str, by: i64, ttl: Option<Duration>) -> Result<i64, StoreError> {
        let change = Change::Add { key: checked(key)?, by, until: until(ttl) };
        match self.make(change).await? {
            Changed::Added(sum) => Ok(sum),
            Changed::Deleted(_) | Changed::Set => Err(StoreError::Closed),
        }
    }

    async fn make(&self, change: Change) -> Result<Changed, StoreError> {
        let (done, made) = oneshot::channel();
        let waiting = Waiting { change, done };
        let changes = self.0.changes.as_ref().ok_or(StoreError::Closed)?;
        changes.send(waiting).await.map_err(|_| StoreError::Closed)?;
        made.await.map_err(|_| StoreError::Closed)?
    }
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
