//! The database that is open now, and how it is opened again once its disk has failed: after that
//! it says no more than that it must be. Used by `store` to read and by `writer` to write; only the
//! thread of `writer` opens it again, so that nobody waits for that.

use crate::error::StoreError;
use redb::Database;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};

/// Opens the database again.
pub(crate) type Opener = Box<dyn Fn() -> Result<Database, StoreError> + Send + Sync>;

/// The database, as far as there is one.
pub(crate) struct Kept {
    database: RwLock<Result<Database, StoreError>>,
    /// What is in memory only is not opened again.
    again: Option<Opener>,
    has_failed: AtomicBool,
    /// The most bytes of all keys and values.
    bytes_max: AtomicU64,
}

impl Kept {
    pub(crate) fn new(database: Database, bytes_max: u64, again: Option<Opener>) -> Self {
        Self {
            database: RwLock::new(Ok(database)),
            again,
            has_failed: AtomicBool::new(false),
            bytes_max: AtomicU64::new(bytes_max),
        }
    }

    pub(crate) fn is_in_file(&self) -> bool {
        self.again.is_some()
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn bound(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Whether it waits for being opened again.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Does something with the database. It is never waited for.
    pub(crate) fn with<T>(
        &self,
        act: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = match self.database.try_read() {
            Ok(database) => database,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::failed("its file is being opened again"));
            }
        };
        let done = database.as_ref().map_err(Clone::clone).and_then(act);
        if let Err(StoreError::Failed { .. }) = done {
            self.has_failed.store(true, Ordering::Release);
        }
        done
    }

    /// Opens it again if it has failed.
    pub(crate) fn mend(&self) -> Result<(), StoreError> {
        let Some(again) = self.again.as_ref().filter(|_| self.has_failed()) else { return Ok(()) };
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // Closed first: a file that is open is not opened twice.
        *database = Err(StoreError::failed("its file is closed"));
        *database = again().map_err(StoreError::failed);
        match &*database {
            Ok(_) => {
                self.has_failed.store(false, Ordering::Release);
                Ok(())
            }
            Err(error) => Err(error.clone()),
        }
    }
}
