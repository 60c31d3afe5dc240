//! Damage is reported, unfinished writes are cut off, and a failing disk poisons the log.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_fault_disk::{FaultDisk, Random};
use orrery_log::{
    Durability, Error, Log, LogOptions, Position, Recovery, SegmentFault, TornTail, VerifyReport,
    verify_on,
};

const DIR: &str = "log";
const HEADER_BYTES: usize = 4096;
/// Frame size of a record of 44 bytes.
const FRAME_BYTES: usize = 100 + 4;

fn open(disk: &FaultDisk) -> Result<(Log, Recovery), Error> {
    open_with(disk, Durability::Sync)
}

fn open_with(disk: &FaultDisk, durability: Durability) -> Result<(Log, Recovery), Error> {
    let options = LogOptions {
        segment_bytes: 16 << 10,
        durability,
        known_durable: Position::ZERO,
    };
    Log::open_on(Arc::new(disk.clone()), Path::new(DIR), options)
}

fn check(disk: &FaultDisk) -> VerifyReport {
    verify_on(Arc::new(disk.clone()), Path::new(DIR)).unwrap()
}

fn segment(sequence: u64) -> PathBuf {
    Path::new(DIR).join(format!("{sequence:020}.segment"))
}

fn fill(log: &mut Log, records: usize) {
    for _ in 0..records {
        log.append(&[7; 44]);
        log.commit().unwrap();
    }
}

/// A log of `records` records, one commit for each.
fn filled(records: usize) -> FaultDisk {
    let disk = FaultDisk::default();
    fill(&mut open(&disk).unwrap().0, records);
    disk
}

fn corrupt(disk: &FaultDisk) -> (PathBuf, u64, SegmentFault) {
    let before: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    let report = check(disk);
    assert!(report.is_damaged(), "{report:?}");
    let error = open(disk).map(|_| ()).unwrap_err();
    let after: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    assert!(before == after, "a damaged log is left as it is");
    let Error::Corrupt {
        segment,
        offset,
        what,
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(
        (&report.problems[0].segment, report.problems[0].offset),
        (&segment, offset)
    );
    assert_eq!(report.problems[0].what, what);
    (segment, offset, what)
}

#[test]
fn a_flipped_bit_in_a_durable_record_is_damage() {
    for byte in 0..FRAME_BYTES - 4 {
        let disk = filled(5);
        let offset = HEADER_BYTES + 2 * FRAME_BYTES;
        disk.damage(&segment(1), |bytes| bytes[offset + byte] ^= 4);
        let expected = (
            segment(1),
            offset as u64,
            SegmentFault::Record {
                position: Position(3),
            },
        );
        assert_eq!(corrupt(&disk), expected, "byte {byte}");
    }
}

#[test]
fn a_zeroed_durable_record_is_damage() {
    let disk = filled(5);
    let offset = HEADER_BYTES + FRAME_BYTES;
    disk.damage(&segment(1), |bytes| {
        bytes[offset..offset + FRAME_BYTES].fill(0);
    });
    assert_eq!(
        corrupt(&disk).2,
        SegmentFault::Record {
            position: Position(2)
        }
    );
}

#[test]
fn a_flipped_bit_in_the_last_record_is_a_torn_tail() {
    let disk = filled(5);
    let offset = HEADER_BYTES + 4 * FRAME_BYTES;
    disk.damage(&segment(1), |bytes| bytes[offset + 60] ^= 4);

    let report = check(&disk);
    assert!(!report.is_damaged());
    let bytes = FRAME_BYTES as u64;
    assert_eq!(report.problems[0].what, SegmentFault::TornTail { bytes });

    let (mut log, recovery) = open(&disk).unwrap();
    let torn = TornTail {
        segment: segment(1),
        offset: offset as u64,
        bytes,
    };
    assert_eq!(recovery.torn_tail, Some(torn));
    assert_eq!(recovery.last, Position(4));
    fill(&mut log, 1);
    let (_, recovery) = open(&disk).unwrap();
    assert_eq!((recovery.last, recovery.torn_tail), (Position(5), None));
}

#[test]
fn a_hole_inside_one_unsynced_group_is_a_torn_tail() {
    let disk = filled(1);
    let (mut log, _) = open(&disk).unwrap();
    for _ in 0..3 {
        log.append(&[8; 44]);
    }
    log.commit().unwrap();
    drop(log);
    let offset = HEADER_BYTES + 2 * FRAME_BYTES;
    disk.damage(&segment(1), |bytes| {
        bytes[offset..offset + FRAME_BYTES].fill(0);
    });

    let (mut log, recovery) = open(&disk).unwrap();
    assert_eq!(recovery.last, Position(2));
    assert_eq!(recovery.torn_tail.unwrap().bytes, 2 * FRAME_BYTES as u64);

    // Writing the lost bytes again must not revive their successor.
    log.append(&[8; 44]);
    log.commit().unwrap();
    assert_eq!(open(&disk).unwrap().1.last, Position(3));
}

#[test]
fn damage_in_a_sealed_segment_is_never_a_torn_tail() {
    let disk = filled(300);
    assert!(disk.paths().len() > 2);
    let content = disk.content(&segment(1));
    let end = content.iter().rposition(|&byte| byte != 0).unwrap();
    disk.damage(&segment(1), |bytes| bytes[end] ^= 1);
    let (path, _, what) = corrupt(&disk);
    assert_eq!(path, segment(1));
    assert!(matches!(what, SegmentFault::Record { .. }), "{what:?}");
    let disk = filled(300);
    disk.damage(&segment(1), |bytes| bytes[end + 1 - 44 - 56..].fill(0));
    assert!(matches!(
        corrupt(&disk).2,
        SegmentFault::ShortSegment { .. }
    ));
}

#[test]
fn headers_and_missing_segments_are_damage() {
    let disk = filled(500);
    let last = disk.paths().len() as u64;
    assert!(last >= 4);

    for sequence in [1, 2, last] {
        let disk = filled(500);
        disk.damage(&segment(sequence), |bytes| bytes[30] ^= 1);
        assert_eq!(corrupt(&disk), (segment(sequence), 0, SegmentFault::Header));
    }
    disk.delete(&segment(2));
    assert_eq!(
        corrupt(&disk),
        (segment(2), 0, SegmentFault::MissingSegment)
    );

    let disk = filled(500);
    disk.damage(&segment(1), |bytes| bytes[8] = 9);
    assert_eq!(corrupt(&disk), (segment(1), 0, SegmentFault::Version(9)));

    let disk = filled(500);
    let second = disk.content(&segment(2));
    disk.damage(&segment(3), |bytes| *bytes = second);
    assert_eq!(
        corrupt(&disk).2,
        SegmentFault::Sequence { named: 3, found: 2 }
    );
}

#[test]
fn a_log_whose_segments_are_gone_is_not_a_new_log() {
    let disk = filled(500);
    let (mut log, _) = open(&disk).unwrap();
    log.trim(log.sealed().unwrap()).unwrap();
    drop(log);
    for path in disk
        .paths()
        .iter()
        .filter(|path| path.extension().unwrap() == "segment")
    {
        disk.delete(path);
    }
    assert_eq!(corrupt(&disk).2, SegmentFault::MissingSegment);
}

#[test]
fn a_failed_sync_poisons() {
    let disk = filled(3);
    let (mut log, _) = open(&disk).unwrap();
    disk.fail_syncs(true);
    log.append(b"a");
    let first = log.commit().unwrap_err();
    assert!(
        matches!(first, Error::Io { action: "sync", .. }),
        "{first:?}"
    );

    disk.fail_syncs(false);
    let syncs = disk.syncs();
    log.append(b"b");
    for error in [
        log.commit().unwrap_err(),
        log.sync().unwrap_err(),
        log.trim(Position(1)).unwrap_err(),
    ] {
        let Error::Poisoned { first } = error else {
            panic!("{error:?}")
        };
        assert!(matches!(*first, Error::Io { action: "sync", .. }));
    }
    assert_eq!(disk.syncs(), syncs, "a failed sync is not tried again");
    drop(log);

    // The page cache still returns the record whose sync failed. If recovery accepts the record,
    // recovery has to make it durable.
    let (mut log, recovery) = open(&disk).unwrap();
    log.append(b"c");
    let last = log.commit().unwrap();
    assert_eq!(last.0, recovery.last.0 + 1);
    for seed in 0..50 {
        let (_, after) = open(&disk.crash(&mut Random::new(seed))).unwrap();
        assert_eq!(after.last, last);
    }
}

#[test]
fn a_full_disk_refuses_until_it_has_room_again() {
    for room in (0..40_000).step_by(611) {
        let disk = FaultDisk::default();
        let (mut log, _) = open(&disk).unwrap();
        disk.set_capacity(Some(disk.used() + room));
        for _ in 0..2 {
            let error = loop {
                log.append(&[7; 44]);
                if let Err(error) = log.commit() {
                    break error;
                }
            };
            let Error::NotWritten { source } = &error else {
                panic!("{error:?}")
            };
            let Error::Io { source, .. } = &**source else {
                panic!("{error:?}")
            };
            assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        }
        let kept = log.last();

        disk.set_capacity(None);
        let position = log.append(b"b");
        assert_eq!(position.0, kept.0 + 1, "room {room}");
        fill(&mut log, 300);
        drop(log);
        let (_, recovery) = open(&disk).unwrap();
        assert_eq!(recovery.last.0, kept.0 + 301, "room {room}");
    }
}

#[test]
fn a_commit_is_one_sync() {
    let disk = filled(1);
    let (mut log, _) = open(&disk).unwrap();
    let before = disk.syncs();
    for _ in 0..10 {
        log.append(b"a");
    }
    log.commit().unwrap();
    log.commit().unwrap();
    log.sync().unwrap();
    assert_eq!(disk.syncs(), before + 1);

    drop(log);
    let (mut log, _) = open_with(&disk, Durability::None).unwrap();
    let before = disk.syncs();
    fill(&mut log, 5);
    assert_eq!(disk.syncs(), before);
}
