//! Cursors that read while the owner of the log writes.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use orrery_log::{Cursor, Durability, Error, Log, LogOptions, Position, SystemDisk};

const SEGMENT_BYTES: u64 = 16 << 10;

fn open(dir: &Path) -> Log {
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        durability: Durability::None,
        known_durable: Position::ZERO,
    };
    Log::open(dir, options).unwrap().0
}

fn cursor(dir: &Path) -> Cursor {
    Cursor::new(Arc::new(SystemDisk), dir)
}

/// A payload that differs from the payload of any other position in length or content.
fn payload(position: u64) -> Vec<u8> {
    let length = usize::try_from(position * 37 % 700).unwrap();
    let mut bytes = position.to_le_bytes().to_vec();
    bytes.resize(8 + length, 7);
    bytes
}

fn append(log: &mut Log, count: u64) {
    for _ in 0..count {
        log.append(&payload(log.last().0 + 1));
        log.commit().unwrap();
    }
}

/// The positions of the records, after a check of their payloads.
fn positions(records: &[(Position, Vec<u8>)]) -> Vec<u64> {
    for (position, bytes) in records {
        assert_eq!(*bytes, payload(position.0), "{position}");
    }
    records.iter().map(|(position, _)| position.0).collect()
}

#[test]
fn pieces_of_any_size_give_every_record_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path());
    append(&mut log, 300);
    assert!(log.segment_count() > 5);
    for bytes_max in [0, 1, 1_000, 100_000, usize::MAX] {
        let mut cursor = cursor(dir.path());
        let (mut after, mut seen) = (Position::ZERO, Vec::new());
        loop {
            let records = cursor.read(after, log.last(), bytes_max).unwrap();
            let Some((last, _)) = records.last() else {
                break;
            };
            after = *last;
            seen.extend(positions(&records));
        }
        assert_eq!(seen, (1..=300).collect::<Vec<_>>(), "{bytes_max}");
        // Reads backwards, and into the middle of a segment.
        let records = cursor.read(Position(77), log.last(), 0).unwrap();
        assert_eq!(positions(&records), [78]);
    }
}

#[test]
fn nothing_beyond_what_is_committed_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path());
    let mut cursor = cursor(dir.path());
    append(&mut log, 20);
    let mut read = |after, upto| {
        let records = cursor.read(Position(after), Position(upto), usize::MAX);
        positions(&records.unwrap())
    };
    assert_eq!(read(0, 0), []);
    assert_eq!(read(0, 5), [1, 2, 3, 4, 5]);
    assert_eq!(read(5, 5), []);
    assert_eq!(read(5, 7), [6, 7]);
    // Bytes read ahead before a write are read again afterwards.
    assert_eq!(read(7, 20).len(), 13);
    append(&mut log, 3);
    assert_eq!(read(20, 23), [21, 22, 23]);
}

#[test]
fn reading_trimmed_records_reports_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path());
    append(&mut log, 200);
    let mut cursor = cursor(dir.path());
    assert_eq!(cursor.read(Position(3), log.last(), 0).unwrap().len(), 1);
    log.trim(log.sealed().unwrap()).unwrap();
    // Spare files become segments again under the open cursor.
    append(&mut log, 300);
    let gone = cursor.read(Position(4), log.last(), usize::MAX);
    assert!(matches!(gone, Err(Error::Trimmed { .. })), "{gone:?}");
    let first = log.first();
    let records = cursor.read(Position(first.0 - 1), log.last(), usize::MAX);
    let wanted: Vec<_> = (first.0..=500).collect();
    assert_eq!(positions(&records.unwrap()), wanted);
}

#[test]
fn a_log_can_begin_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let begin = |after| {
        let options = LogOptions {
            segment_bytes: SEGMENT_BYTES,
            durability: Durability::Sync,
            known_durable: Position::ZERO,
        };
        Log::open_after(Arc::new(SystemDisk), dir.path(), options, Position(after)).unwrap()
    };
    let (mut log, recovery) = begin(41);
    assert_eq!(
        (recovery.first, recovery.last),
        (Position(42), Position(41))
    );
    append(&mut log, 3);
    drop(log);
    let (log, recovery) = begin(7);
    assert_eq!(
        (recovery.first, recovery.last),
        (Position(42), Position(44))
    );
    assert!(matches!(
        log.replay(Position::ZERO, &mut |_, _| Ok(())),
        Err(Error::Trimmed { .. })
    ));
    let records = cursor(dir.path()).read(Position(41), log.last(), usize::MAX);
    assert_eq!(positions(&records.unwrap()), [42, 43, 44]);
}

/// The writer seals, trims and recycles at full speed. The cursor returns records without gaps, or
/// reports that they have been trimmed.
#[test]
fn recycling_under_a_reader_never_gives_wrong_records() {
    const RECORDS: u64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let committed = Arc::new(AtomicU64::new(0));
    let (path, told) = (dir.path().to_owned(), Arc::clone(&committed));
    let mut log = open(&path);
    let writer = std::thread::spawn(move || {
        while log.last().0 < RECORDS {
            append(&mut log, 1);
            told.store(log.last().0, Ordering::Release);
            if let Some(sealed) = log.sealed()
                && log.segment_count() > 3
            {
                log.trim(sealed).unwrap();
            }
        }
    });
    let mut cursor = cursor(dir.path());
    let (mut after, mut read) = (0, 0);
    while after < RECORDS {
        let upto = committed.load(Ordering::Acquire);
        match cursor.read(Position(after), Position(upto), 3_000) {
            Ok(records) => {
                let found = positions(&records);
                let wanted = (after + 1..).take(found.len());
                assert!(found.iter().copied().eq(wanted), "{found:?} after {after}");
                after += found.len() as u64;
                read += found.len();
            }
            // Continues at the first retained record.
            Err(Error::Trimmed { .. }) => after = committed.load(Ordering::Acquire).max(after),
            Err(error) => panic!("{error}"),
        }
    }
    writer.join().unwrap();
    assert!(read > 0);
}
