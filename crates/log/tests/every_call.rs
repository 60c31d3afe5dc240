//! One call of the disk fails during the life of a log: the first call, the second, and so on until
//! the life has fewer calls, for every kind of failure.
//!
//! Whichever call fails, the log reports an error, keeps every acknowledged record, and has no
//! record of a commit that it refused with `NotWritten`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::Path;
use std::sync::Arc;

use orrery_fault_disk::{Fault, FaultDisk, Random};
use orrery_log::{Durability, Error, Log, LogOptions, Position, verify_on};

const COMMITS: usize = 60;
/// An upper bound for the number of calls in one life.
const CALLS_MAX: usize = 5_000;

/// The acknowledged records, and the records whose fate the caller does not know.
#[derive(Default)]
struct Known {
    /// The acknowledged records. The record at position `n` has index `n - 1`.
    acknowledged: Vec<Vec<u8>>,
    /// The records of the failed commit after these; their presence in the log is uncertain.
    uncertain: Vec<Vec<u8>>,
    trimmed: usize,
    /// Number of commits that were refused and retried.
    refused: usize,
}

fn open(disk: &FaultDisk) -> Result<Log, Error> {
    let options = LogOptions {
        segment_bytes: 12 << 10,
        durability: Durability::Sync,
        known_durable: Position::ZERO,
    };
    Log::open_on(Arc::new(disk.clone()), Path::new("log"), options).map(|(log, _)| log)
}

/// Opens the log, writes, switches segments and trims, repeatedly, until a commit is uncertain.
fn live(disk: &FaultDisk, known: &mut Known) -> Result<(), Error> {
    for _ in 0..2 {
        let mut log = open(disk)?;
        check(&log, known)?;
        for number in 0..COMMITS {
            let records: Vec<Vec<u8>> = (0..=number % 3)
                .map(|index| vec![u8::try_from(number).unwrap(); 200 + 900 * index])
                .collect();
            commit(&mut log, records, known)?;
            if number % 20 == 19 {
                let upto = known.acknowledged.len() - 5;
                known.trimmed = upto;
                match log.trim(Position(upto as u64)) {
                    Err(Error::NotWritten { .. }) => log.trim(Position(upto as u64))?,
                    result => result?,
                }
            }
        }
        log.close()?;
    }
    Ok(())
}

/// Commits records, and retries if the commit was refused before any byte was written.
fn commit(log: &mut Log, records: Vec<Vec<u8>>, known: &mut Known) -> Result<(), Error> {
    for record in &records {
        log.append(record);
    }
    match log.commit() {
        Ok(_) => {
            known.acknowledged.extend(records);
            Ok(())
        }
        Err(Error::NotWritten { .. }) => {
            assert_eq!(log.last().0, known.acknowledged.len() as u64);
            known.refused += 1;
            commit(log, records, known)
        }
        Err(error) => {
            known.uncertain = records;
            Err(error)
        }
    }
}

/// Asserts that the log has every acknowledged record, and otherwise only records of the uncertain
/// commit.
fn check(log: &Log, known: &mut Known) -> Result<(), Error> {
    let mut found = Vec::new();
    let first = usize::try_from(log.first().0).unwrap();
    assert!(first <= known.trimmed + 1);
    log.replay(Position(first as u64 - 1), &mut |_, payload| {
        found.push(payload.to_vec());
        Ok(())
    })?;
    let mut expected = known.acknowledged.split_off(first - 1);
    assert!(
        found.starts_with(&expected),
        "an acknowledged record is gone"
    );
    let beyond = &found[expected.len()..];
    assert!(known.uncertain.starts_with(beyond), "a record was invented");
    expected.extend_from_slice(beyond);
    known.acknowledged.extend(expected);
    Ok(())
}

#[test]
fn whichever_call_fails_no_acknowledged_record_is_lost() {
    for fault in [Fault::Device, Fault::Full, Fault::NoFiles, Fault::Half] {
        let (mut refused, mut stopped) = (0, 0);
        let mut number = 1;
        loop {
            assert!(number < CALLS_MAX, "a life does not end");
            let disk = FaultDisk::default();
            let mut known = Known::default();
            disk.fail_call(number, fault);
            let end = live(&disk, &mut known);
            if !disk.has_failed() {
                end.unwrap();
                break;
            }
            disk.repair();
            match end {
                Ok(()) => refused += 1,
                Err(Error::Io { .. } | Error::NotWritten { .. } | Error::Poisoned { .. }) => {
                    stopped += 1;
                }
                Err(error) => panic!("call {number}, {fault:?}: {error:?}"),
            }
            // The process ends, sometimes together with a power failure.
            let power_fails = number % 2 == 0;
            let disk = if power_fails {
                disk.crash(&mut Random::new(number as u64))
            } else {
                disk
            };
            let report = verify_on(Arc::new(disk.clone()), Path::new("log")).unwrap();
            assert!(!report.is_damaged(), "call {number}, {fault:?}: {report:?}");
            check(&open(&disk).unwrap(), &mut known).unwrap();
            number += 1;
        }
        assert!(
            refused > 10 && stopped > 10,
            "{fault:?}: {refused} refused, {stopped} stopped"
        );
    }
}
