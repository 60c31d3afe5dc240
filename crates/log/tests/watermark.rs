//! The watermark beside a log survives a crash at any change and reports damage.

use std::path::Path;
use std::sync::Arc;

use orrery_fault_disk::{FaultDisk, Random};
use orrery_log::{Disk, DurableWatermark, Error, Log, LogOptions, Position, WatermarkReading};

fn path() -> &'static Path {
    Path::new("dir/mark")
}

fn shared(disk: &FaultDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

#[test]
fn a_crash_keeps_the_last_or_the_previous_watermark() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let disk = FaultDisk::default();
        let mut mark = DurableWatermark::open(&shared(&disk), path(), Position(1)).unwrap();
        disk.stop_after(random.below(12));
        let mut raised = 1;
        while mark.raise(Position(raised + 1)).is_ok() {
            raised += 1;
        }
        let after = disk.crash(&mut random);
        let found = DurableWatermark::read(&after, path()).unwrap();
        let expected =
            [raised, raised + 1].map(|position| WatermarkReading::Durable(Position(position)));
        assert!(
            expected.contains(&found),
            "seed {seed}: {raised}, {found:?}"
        );
    }
}

#[test]
fn one_damaged_slot_is_tolerated_and_two_are_reported() {
    let disk = FaultDisk::default();
    assert_eq!(
        DurableWatermark::read(&disk, path()).unwrap(),
        WatermarkReading::Absent
    );
    let mut mark = DurableWatermark::open(&shared(&disk), path(), Position(1)).unwrap();
    mark.raise(Position(7)).unwrap();
    mark.raise(Position(5)).unwrap();
    assert_eq!(
        DurableWatermark::read(&disk, path()).unwrap(),
        WatermarkReading::Durable(Position(7))
    );
    drop(mark);
    for offset in [10, 4096 + 10] {
        disk.damage(path(), |bytes| bytes[offset] ^= 1);
        let found = DurableWatermark::read(&disk, path()).unwrap();
        let is_both = offset > 4096;
        assert_eq!(found == WatermarkReading::Damaged, is_both, "{found:?}");
    }
    // After accepting a loss, the owner may write a lower position.
    DurableWatermark::open(&shared(&disk), path(), Position(3)).unwrap();
    assert_eq!(
        DurableWatermark::read(&disk, path()).unwrap(),
        WatermarkReading::Durable(Position(3))
    );
}

#[test]
fn a_log_shorter_than_the_known_durable_position_is_refused_unchanged() {
    let disk = FaultDisk::default();
    let open = |known| {
        let options = LogOptions {
            known_durable: Position(known),
            ..LogOptions::default()
        };
        Log::open_on(shared(&disk), Path::new("log"), options).map(|(log, _)| log)
    };
    let is_refused = |known| matches!(open(known), Err(Error::Ahead { .. }));
    assert!(is_refused(1));
    assert_eq!(disk.paths().len(), 0);
    let mut log = open(0).unwrap();
    for _ in 0..3 {
        log.append(b"record");
        log.commit().unwrap();
    }
    drop(log);
    assert!(open(3).is_ok());
    let segment = disk.paths().remove(0);
    // The last record is torn, and only the owner knows that the record was durable.
    disk.damage(&segment, |bytes| bytes[4096 + 2 * 64 + 20] ^= 1);
    let before = disk.content(&segment);
    assert!(is_refused(3));
    assert_eq!(disk.content(&segment), before);
    assert_eq!(open(2).unwrap().last(), Position(2));
}
