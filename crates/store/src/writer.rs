//! The thread that makes changes: as many as wait, in one transaction, and only then is anybody
//! told. Started by `store`; it ends when the last store is dropped.

use crate::change::{Changed, Waiting};
use crate::error::StoreError;
use crate::limits::CHANGES_MAX;
use crate::table::Tables;
use redb::Database;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::Receiver;

/// Makes changes until nobody can ask for any.
pub(crate) fn run(database: &Arc<Database>, bytes_max: u64, mut changes: Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(CHANGES_MAX);
    while changes.blocking_recv_many(&mut batch, CHANGES_MAX) > 0 {
        let made = write(database, bytes_max, &batch);
        for (index, waiting) in batch.drain(..).enumerate() {
            let answer = match &made {
                Ok(answers) => answers[index].clone(),
                Err(error) => Err(error.clone()),
            };
            // Who does not wait any more has its change all the same.
            let _ = waiting.done.send(answer);
        }
    }
}

/// Makes all changes in one transaction: on disk when this returns, or not at all. A change that is
/// refused leaves the others as they are.
fn write(
    database: &Database,
    bytes_max: u64,
    batch: &[Waiting],
) -> Result<Vec<Result<Changed, StoreError>>, StoreError> {
    let transaction = database.begin_write().map_err(StoreError::failed)?;
    let mut tables = Tables::open(&transaction, bytes_max, now())?;
    tables.sweep()?;
    let mut answers = Vec::with_capacity(batch.len());
    for waiting in batch {
        match tables.make(&waiting.change) {
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
