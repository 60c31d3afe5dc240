//! A healthy log on the real file system.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a panic is how a test fails"
)]

use std::path::Path;
use std::time::Duration;

use orrery_log::{Durability, Error, Log, LogOptions, Position, Recovery, verify};

fn options(segment_bytes: u64) -> LogOptions {
    LogOptions {
        segment_bytes,
        durability: Durability::Sync,
        known_durable: Position::ZERO,
    }
}

fn open(dir: &Path) -> (Log, Recovery) {
    Log::open(dir, options(64 << 10)).unwrap()
}

fn read(log: &Log, after: u64) -> Vec<(u64, Vec<u8>)> {
    let mut records = Vec::new();
    log.replay(Position(after), &mut |position, payload| {
        records.push((position.0, payload.to_vec()));
        Ok(())
    })
    .unwrap();
    records
}

fn payload(position: u64, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|index| (position as usize * 31 + index) as u8)
        .collect()
}

#[test]
fn a_new_log_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let (log, recovery) = open(&dir.path().join("a/b"));
    let expected = Recovery {
        last: Position(0),
        first: Position(1),
        torn_tail: None,
    };
    assert_eq!(recovery, expected);
    assert_eq!(read(&log, 0), []);
    assert_eq!(log.bytes_since(Position::ZERO), 0);
}

#[test]
fn records_come_back_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _) = open(dir.path());
    assert_eq!(log.append(b"a"), Position(1));
    assert_eq!(log.append(b""), Position(2));
    assert_eq!(
        log.append_with(|buffer| buffer.extend_from_slice(b"cc")),
        Position(3)
    );
    assert_eq!(log.last(), Position(0));
    assert_eq!(read(&log, 0), []);
    assert_eq!(log.commit().unwrap(), Position(3));
    log.append(b"never committed");
    let expected = vec![(1, b"a".to_vec()), (2, vec![]), (3, b"cc".to_vec())];
    assert_eq!(read(&log, 0), expected);
    drop(log);

    let (mut log, recovery) = open(dir.path());
    let clean = Recovery {
        last: Position(3),
        first: Position(1),
        torn_tail: None,
    };
    assert_eq!(recovery, clean);
    assert_eq!(read(&log, 0), expected);
    assert_eq!(read(&log, 2), expected[2..]);
    assert_eq!(read(&log, 3), []);
    assert_eq!(log.append(b"d"), Position(4));
    log.close().unwrap();
    assert_eq!(read(&open(dir.path()).0, 3), [(4, b"d".to_vec())]);
}

#[test]
fn segments_roll_and_are_recycled_with_their_old_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _) = open(dir.path());
    let mut position = 0;
    for round in 0..40 {
        for _ in 0..25 {
            position += 1;
            log.append(&payload(position, 700));
            log.commit().unwrap();
        }
        if let Some(sealed) = log.sealed() {
            assert!(log.bytes_since(sealed) < 64 << 10);
            assert!(log.bytes_since(Position(log.first().0)) > log.bytes_since(sealed));
            log.trim(sealed).unwrap();
            assert_eq!(log.first().0, sealed.0 + 1);
            assert_eq!(log.segment_count(), 1);
        }
        if round % 5 == 0 {
            let recovery;
            drop(log);
            (log, recovery) = open(dir.path());
            assert_eq!(recovery.torn_tail, None, "stale bytes are not a torn write");
            assert_eq!(recovery.last.0, position);
        }
    }
    let first = log.first().0;
    let expected: Vec<_> = (first..=position)
        .map(|each| (each, payload(each, 700)))
        .collect();
    assert_eq!(read(&log, first - 1), expected);
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert!(
        files <= 3,
        "{files} files: segments were made instead of recycled"
    );
}

#[test]
fn replay_starts_in_the_middle_of_many_segments() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _) = open(dir.path());
    for position in 1..=500 {
        log.append(&payload(position, 1200));
        if position % 7 == 0 {
            log.commit().unwrap();
        }
    }
    log.commit().unwrap();
    assert!(log.segment_count() > 8);
    for after in [0, 1, 49, 50, 51, 250, 499, 500] {
        let expected: Vec<_> = (after + 1..=500)
            .map(|each| (each, payload(each, 1200)))
            .collect();
        assert_eq!(read(&log, after), expected, "after {after}");
    }
    let report = verify(dir.path()).unwrap();
    assert_eq!(
        (report.records, report.first.0, report.last.0),
        (500, 1, 500)
    );
    assert_eq!(report.segments, log.segment_count());
    assert_eq!(report.problems, []);
}

#[test]
fn a_record_larger_than_a_segment_fits() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _) = open(dir.path());
    let sizes = [
        10,
        8 << 20,
        10,
        64 << 10,
        (64 << 10) - 4096 - 56,
        100_000,
        0,
    ];
    for (position, bytes) in (1..).zip(sizes) {
        log.append(&payload(position, bytes));
        log.commit().unwrap();
    }
    drop(log);
    let (mut log, recovery) = open(dir.path());
    assert_eq!(recovery.torn_tail, None);
    let records = read(&log, 0);
    assert_eq!(records.len(), sizes.len());
    for ((position, found), bytes) in records.into_iter().zip(sizes) {
        assert!(found == payload(position, bytes), "record {position}");
    }
    log.trim(log.sealed().unwrap()).unwrap();
    for position in 8..30 {
        log.append(&payload(position, 20_000));
        log.commit().unwrap();
    }
    let (log, _) = open(dir.path());
    assert_eq!(read(&log, 7).len(), 22);
}

#[test]
fn replay_refuses_what_the_log_cannot_continue() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _) = open(dir.path());
    for position in 1..=200 {
        log.append(&payload(position, 1200));
        log.commit().unwrap();
    }
    let sealed = log.sealed().unwrap();
    log.trim(sealed).unwrap();
    let mut ignore = |_: Position, _: &[u8]| Ok(());
    let trimmed = log.replay(Position(sealed.0 - 1), &mut ignore).unwrap_err();
    assert!(matches!(trimmed, Error::Trimmed { first, .. } if first.0 == sealed.0 + 1));
    let ahead = log.replay(Position(201), &mut ignore).unwrap_err();
    assert!(matches!(
        ahead,
        Error::Ahead {
            last: Position(200),
            ..
        }
    ));
    let mut stop = |position, _: &[u8]| Err(Error::visit(position, "no"));
    let stopped = log.replay(sealed, &mut stop).unwrap_err();
    assert!(matches!(stopped, Error::Visit { position, .. } if position.0 == sealed.0 + 1));
}

#[test]
fn the_owner_syncs_in_the_lazier_modes() {
    for durability in [
        Durability::Interval(Duration::from_secs(1)),
        Durability::None,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let options = LogOptions {
            segment_bytes: 64 << 10,
            durability,
            known_durable: Position::ZERO,
        };
        let (mut log, _) = Log::open(dir.path(), options.clone()).unwrap();
        log.append(b"a");
        assert_eq!(log.commit().unwrap(), Position(1));
        assert_eq!(log.durable(), Position(0));
        log.sync().unwrap();
        assert_eq!(log.durable(), Position(1));
        log.append(b"b");
        log.commit().unwrap();
        drop(log);
        let (log, _) = Log::open(dir.path(), options).unwrap();
        assert_eq!(read(&log, 1), [(2, b"b".to_vec())]);
        assert_eq!(log.durable(), Position(2));
    }
}
