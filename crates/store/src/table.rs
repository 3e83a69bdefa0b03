//! How entries lie in the file: values by their keys, and keys by the ends of their times. Read by
//! `store`, changed by `writer` within its transactions.

use crate::change::{Change, Changed};
use crate::error::StoreError;
use crate::limits::{ENTRIES_MAX, SWEPT_MAX};
use redb::{ReadableTable, ReadableTableMetadata, Table, TableDefinition, WriteTransaction};

/// The end of a time without end, in milliseconds since 1970.
pub(crate) const FOR_EVER: u64 = u64::MAX;

/// The end of its time, and the value.
pub(crate) const ENTRIES: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("entries");
/// Keys whose time ends.
const ENDS: TableDefinition<'_, (u64, &str), ()> = TableDefinition::new("ends");
/// The bytes of all keys and values, under an empty key.
const SIZES: TableDefinition<'_, &str, u64> = TableDefinition::new("sizes");

/// All tables of a transaction.
pub(crate) struct Tables<'t> {
    entries: Table<'t, &'static str, (u64, &'static [u8])>,
    ends: Table<'t, (u64, &'static str), ()>,
    sizes: Table<'t, &'static str, u64>,
    bytes: u64,
    bytes_max: u64,
    now: u64,
}

impl<'t> Tables<'t> {
    /// `bytes_max` bounds all keys and values together.
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        bytes_max: u64,
        now: u64,
    ) -> Result<Self, StoreError> {
        let failed = |error: redb::TableError| StoreError::failed(error);
        let sizes = transaction.open_table(SIZES).map_err(failed)?;
        let bytes = sizes.get("").map_err(StoreError::failed)?.map_or(0, |size| size.value());
        Ok(Self {
            entries: transaction.open_table(ENTRIES).map_err(failed)?,
            ends: transaction.open_table(ENDS).map_err(failed)?,
            sizes,
            bytes,
            bytes_max,
            now,
        })
    }

    /// Makes a change.
    pub(crate) fn make(&mut self, change: &Change) -> Result<Changed, StoreError> {
        match change {
            Change::Set { key, value, until } => {
                self.put(key, value, *until)?;
                Ok(Changed::Set)
            }
            Change::Delete { key } => Ok(Changed::Deleted(self.remove(key)?)),
            Change::Add { key, by, until } => {
                let kept = self.entries.get(&**key).map_err(StoreError::failed)?;
                let kept = kept.map(|kept| {
                    let (until, value) = kept.value();
                    (until, std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()))
                });
                let not_a_number = || StoreError::NotANumber { key: (**key).to_owned() };
                // A number keeps the time that it has.
                let (until, before): (u64, i64) = match kept.filter(|(until, _)| *until > self.now)
                {
                    Some((until, number)) => (until, number.ok_or_else(not_a_number)?),
                    None => (*until, 0),
                };
                let sum = before.checked_add(*by).ok_or_else(not_a_number)?;
                self.put(key, sum.to_string().as_bytes(), until)?;
                Ok(Changed::Added(sum))
            }
        }
    }

    fn put(&mut self, key: &str, value: &[u8], until: u64) -> Result<(), StoreError> {
        let size = (key.len() + value.len()) as u64;
        let before = self.entries.get(key).map_err(StoreError::failed)?;
        let before = before.map(|kept| (key.len() + kept.value().1.len()) as u64);
        let entries = self.entries.len().map_err(StoreError::failed)?;
        let has_no_place = before.is_none() && entries >= ENTRIES_MAX;
        // Before anything is touched: who is refused keeps what is there.
        if has_no_place || self.bytes - before.unwrap_or(0).min(self.bytes) + size > self.bytes_max
        {
            return Err(StoreError::Full);
        }
        self.remove(key)?;
        self.entries.insert(key, (until, value)).map_err(StoreError::failed)?;
        if until != FOR_EVER {
            self.ends.insert((until, key), ()).map_err(StoreError::failed)?;
        }
        self.bytes += size;
        Ok(())
    }

    /// Whether there was something whose time had not ended.
    fn remove(&mut self, key: &str) -> Result<bool, StoreError> {
        let removed = self.entries.remove(key).map_err(StoreError::failed)?;
        let Some((until, length)) = removed.map(|removed| {
            let (until, value) = removed.value();
            (until, value.len())
        }) else {
            return Ok(false);
        };
        if until != FOR_EVER {
            self.ends.remove((until, key)).map_err(StoreError::failed)?;
        }
        self.bytes = self.bytes.saturating_sub((key.len() + length) as u64);
        Ok(until > self.now)
    }

    /// Removes some of what is past its time.
    pub(crate) fn sweep(&mut self) -> Result<(), StoreError> {
        let mut past = Vec::new();
        let range = self.ends.range(..=(self.now, "\u{10ffff}")).map_err(StoreError::failed)?;
        for end in range.take(SWEPT_MAX) {
            let (end, ()) =
                end.map(|(end, _)| (end.value().1.to_owned(), ())).map_err(StoreError::failed)?;
            past.push(end);
        }
        for key in past {
            self.remove(&key)?;
        }
        Ok(())
    }

    /// Notes how much there is, before the transaction is committed.
    pub(crate) fn close(mut self) -> Result<(), StoreError> {
        self.sizes.insert("", self.bytes).map_err(StoreError::failed)?;
        Ok(())
    }
}
