//! Runs as rows of the engine, for as long as they are only in memory beside that.

use bytes::Bytes;
use fjall::config::FilterPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch};

use super::recent::Recent;
use super::run::Run;
use crate::Error;

const NAME: &str = "pending-runs";
/// Rows removed with one batch, which keeps writers waiting.
const REMOVED_AT_ONCE: u64 = 1000;
/// More than is ever gathered: it is rotated when its rows were removed, and then has little to write.
const MEMTABLE_BYTES_MAX: u64 = 1 << 30;

pub(crate) struct Pending {
    database: Database,
    keyspace: Keyspace,
}

/// The number of a row; later rows have greater ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct RowNumber(u64);

impl RowNumber {
    pub(crate) fn next(self) -> RowNumber {
        RowNumber(self.0 + 1)
    }
}

impl Pending {
    pub(crate) fn open(database: &Database) -> Result<Pending, Error> {
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE_BYTES_MAX)
                .filter_policy(FilterPolicy::disabled())
        };
        Ok(Pending {
            database: database.clone(),
            keyspace: database.keyspace(NAME, options)?,
        })
    }

    /// The runs that were not written out, and the numbers of the first row and of the next one.
    pub(crate) fn read(&self) -> Result<(Recent, RowNumber, RowNumber), Error> {
        let mut recent = Recent::default();
        let (mut first, mut next) = (None, RowNumber::default());
        for row in self.keyspace.iter() {
            let (key, run) = row.into_inner()?;
            let number = key.as_ref().try_into().map(u64::from_be_bytes);
            let number = RowNumber(number.map_err(|_| Error::Damaged)?);
            let run = Run::decode(&Bytes::from(run)).ok_or(Error::Damaged)?;
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
        self.keyspace.rotate_memtable()?;
        Ok(())
    }
}
