//! Rows of the engine that hold the runs which are otherwise only in memory.

use bytes::Bytes;
use fjall::config::FilterPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch};

use super::recent::RecentRuns;
use super::run::SortedRun;
use crate::Error;

const NAME: &str = "pending-runs";
/// Rows that one batch removes. The engine blocks other writers during a batch.
const REMOVED_AT_ONCE: u64 = 1000;
/// More bytes than the run buffer ever gathers. `remove` rotates the memtable after it has deleted
/// the rows, so the engine has little to write.
const MEMTABLE_BYTES_MAX: u64 = 1 << 30;

pub(crate) struct PendingRuns {
    database: Database,
    keyspace: Keyspace,
}

/// The number of a row. A later row has a greater number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct RowNumber(u64);

impl RowNumber {
    pub(crate) fn next(self) -> RowNumber {
        RowNumber(self.0 + 1)
    }
}

impl PendingRuns {
    pub(crate) fn open(database: &Database) -> Result<PendingRuns, Error> {
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE_BYTES_MAX)
                .filter_policy(FilterPolicy::disabled())
        };
        Ok(PendingRuns {
            database: database.clone(),
            keyspace: database.keyspace(NAME, options)?,
        })
    }

    /// The runs that no flush has written to tables, the number of the first row and the number of
    /// the next row to write.
    pub(crate) fn read(&self) -> Result<(RecentRuns, RowNumber, RowNumber), Error> {
        let mut recent = RecentRuns::default();
        let (mut first, mut next) = (None, RowNumber::default());
        for row in self.keyspace.iter() {
            let (key, run) = row.into_inner()?;
            let number = key.as_ref().try_into().map(u64::from_be_bytes);
            let number = RowNumber(number.map_err(|_| Error::Damaged)?);
            let run = SortedRun::decode(&Bytes::from(run)).ok_or(Error::Damaged)?;
            recent.push(run);
            first.get_or_insert(number);
            next = number.next();
        }
        Ok((recent, first.unwrap_or(next), next))
    }

    pub(crate) fn put(&self, batch: &mut OwnedWriteBatch, number: RowNumber, run: Bytes) {
        batch.insert(&self.keyspace, number.0.to_be_bytes(), run);
    }

    pub(crate) fn remove(&self, from: RowNumber, to: RowNumber) -> Result<(), Error> {
        let mut from = from.0;
        while from < to.0 {
            let until = to.0.min(from + REMOVED_AT_ONCE);
            let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), 0);
            for number in from..until {
                batch.remove(&self.keyspace, number.to_be_bytes());
            }
            batch.commit()?;
            from = until;
        }
        // After the removal rows and tombstones cancel out, so the flush of this memtable is almost
        // empty.
        self.keyspace.rotate_memtable()?;
        Ok(())
    }
}
