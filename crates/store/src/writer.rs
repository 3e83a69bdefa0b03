//! The thread that makes changes: as many as wait, in one transaction, and only then is anybody
//! told. Started by `store`; it ends when the last store is dropped.

use crate::change::{Change, Changed, Waiting};
use crate::error::StoreError;
use crate::kept::Kept;
use crate::limits::CHANGES_MAX;
use crate::table::Tables;
use redb::Database;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::Receiver;

/// Makes changes until nobody can ask for any.
pub(crate) fn run(kept: &Arc<Kept>, mut changes: Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(CHANGES_MAX);
    while changes.blocking_recv_many(&mut batch, CHANGES_MAX) > 0 {
        let asked = batch.iter().filter_map(|waiting| match waiting {
            Waiting::Change { change, .. } => Some(change),
            Waiting::Care => None,
        });
        let make = || kept.with(|database| write(database, kept.bytes_max(), asked));
        let stopped = || Err(StoreError::failed("it stopped in the middle of a change"));
        let made = mend(kept).and_then(|()| {
            catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| kept.with(|_| stopped()))
        });
        if made.is_err() {
            // The next call finds it well, if the disk is.
            let _ = mend(kept);
        }
        let mut answers = made.map(Vec::into_iter);
        for waiting in batch.drain(..) {
            let Waiting::Change { done, room, .. } = waiting else { continue };
            let closed = Err(StoreError::Closed);
            let answer = match &mut answers {
                Ok(answers) => answers.next().unwrap_or(closed),
                Err(error) => Err(error.clone()),
            };
            drop(room);
            // Who does not wait any more has its change all the same.
            let _ = done.send(answer);
        }
    }
}

/// Opens the database again if it has failed. A panic on the way leaves it failed, for the next
/// call to try: without this thread nothing could be kept any more.
fn mend(kept: &Kept) -> Result<(), StoreError> {
    let stopped = || StoreError::failed("it stopped while its file was opened again");
    catch_unwind(AssertUnwindSafe(|| kept.mend())).unwrap_or_else(|_| Err(stopped()))
}

/// Makes all changes in one transaction: on disk when this returns, or not at all. A change that is
/// refused leaves the others as they are.
fn write<'c>(
    database: &Database,
    bytes_max: u64,
    changes: impl Iterator<Item = &'c Change>,
) -> Result<Vec<Result<Changed, StoreError>>, StoreError> {
    let transaction = database.begin_write().map_err(StoreError::failed)?;
    let mut tables = Tables::open(&transaction, bytes_max, now())?;
    tables.sweep()?;
    let mut answers = Vec::new();
    for change in changes {
        match tables.make(change) {
            Err(failed @ StoreError::Failed { .. }) => return Err(failed),
            made => answers.push(made),
        }
    }
    tables.close()?;
    transaction.commit().map_err(StoreError::failed)?;
    Ok(answers)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
