//! The account stream of a multi-write account, as one region stores it: catalogue changes and
//! members, in a log
//! of their own. The log is short and never trimmed, so its records are also in memory.
//!
//! A log repair does not remove records from the log: a later entry declares the records after a
//! sequence as cut.

use std::path::Path;

use orrery_log::{Durability, Log, LogOptions, Position};
use orrery_partition::Error;
use orrery_regions::{Sequence, StreamRecord};

use crate::codec::{decode_record, encode_record};

const DIRECTORY: &str = "account";
const SEGMENT_BYTES: u64 = 1024 * 1024;
const ENTRY_RECORD: u8 = 0;
const ENTRY_CUT: u8 = 1;

pub(crate) struct AccountLog {
    /// None for an account in memory.
    log: Option<Log>,
    records: Vec<StreamRecord>,
}

impl AccountLog {
    pub(crate) fn open(directory: Option<&Path>) -> Result<AccountLog, Error> {
        let mut records = Vec::new();
        let Some(directory) = directory else {
            return Ok(AccountLog { log: None, records });
        };
        let options = LogOptions {
            segment_bytes: SEGMENT_BYTES,
            durability: Durability::Sync,
            known_durable: Position::ZERO,
        };
        let (log, _) = Log::open(&directory.join(DIRECTORY), options)?;
        log.replay(Position::ZERO, &mut |position, entry| {
            let damaged = || {
                let text = "an entry of the account stream does not decode".to_owned();
                orrery_log::Error::visit(position, Error::Damaged(text))
            };
            match entry.split_first() {
                Some((&ENTRY_RECORD, record)) => {
                    records.push(decode_record(record).ok_or_else(damaged)?);
                }
                Some((&ENTRY_CUT, after)) => {
                    let after = after.try_into().map_err(|_| damaged())?;
                    cut(&mut records, Sequence(u64::from_le_bytes(after)));
                }
                _ => return Err(damaged()),
            }
            Ok(())
        })?;
        Ok(AccountLog {
            log: Some(log),
            records,
        })
    }

    pub(crate) fn records(&self) -> &[StreamRecord] {
        &self.records
    }

    /// The prefix of the stream that ends with `last`.
    pub(crate) fn upto(&self, last: Sequence) -> &[StreamRecord] {
        let count = usize::try_from(last.0).unwrap_or(usize::MAX);
        &self.records[..count.min(self.records.len())]
    }

    /// Appends records, which are durable when this returns.
    pub(crate) fn append(&mut self, records: Vec<StreamRecord>) -> Result<(), Error> {
        if let Some(log) = &mut self.log {
            for record in &records {
                log.append_with(|out| {
                    out.push(ENTRY_RECORD);
                    encode_record(record, out);
                });
            }
            log.commit()?;
        }
        self.records.extend(records);
        Ok(())
    }

    /// Cuts every record after a sequence.
    pub(crate) fn cut(&mut self, after: Sequence) -> Result<(), Error> {
        if let Some(log) = &mut self.log {
            log.append_with(|out| {
                out.push(ENTRY_CUT);
                out.extend_from_slice(&after.0.to_le_bytes());
            });
            log.commit()?;
        }
        cut(&mut self.records, after);
        Ok(())
    }

    /// Records after a sequence: always one if possible, and no further record beyond `bytes_max`
    /// bytes.
    pub(crate) fn after(&self, after: Sequence, bytes_max: u64) -> Vec<StreamRecord> {
        let skipped = usize::try_from(after.0).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut found = Vec::new();
        for record in self.records.iter().skip(skipped) {
            if !found.is_empty() && bytes >= bytes_max {
                break;
            }
            bytes += record.bytes();
            found.push(record.clone());
        }
        found
    }

    pub(crate) fn get(&self, sequence: Sequence) -> Option<&StreamRecord> {
        let index = usize::try_from(sequence.0.checked_sub(1)?).ok()?;
        self.records.get(index)
    }

    pub(crate) fn last(&self) -> Sequence {
        Sequence(self.records.len() as u64)
    }
}

fn cut(records: &mut Vec<StreamRecord>, after: Sequence) {
    records.truncate(usize::try_from(after.0).unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use orrery_regions::{Epoch, RecordBody, RegionId, StreamId, VersionVector};

    use super::*;

    fn record(sequence: u64, text: &'static str) -> StreamRecord {
        StreamRecord {
            stream: StreamId::Account,
            origin: RegionId(0),
            epoch: Epoch(256),
            sequence: Sequence(sequence),
            deps: VersionVector::default(),
            body: RecordBody::Data(text.into()),
        }
    }

    #[test]
    fn what_was_cut_is_not_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = AccountLog::open(Some(directory.path())).unwrap();
        log.append((1..=4).map(|at| record(at, "a")).collect())
            .unwrap();
        log.cut(Sequence(2)).unwrap();
        log.append(vec![record(3, "b")]).unwrap();
        let expected = [record(1, "a"), record(2, "a"), record(3, "b")];
        assert_eq!(log.records(), expected);
        drop(log);
        let log = AccountLog::open(Some(directory.path())).unwrap();
        assert_eq!((log.records(), log.last()), (&expected[..], Sequence(3)));
        assert_eq!(log.after(Sequence(1), 1), [record(2, "a")]);
        assert_eq!(log.get(Sequence(3)), Some(&record(3, "b")));
        assert_eq!((log.get(Sequence(0)), log.get(Sequence(4))), (None, None));
    }
}
