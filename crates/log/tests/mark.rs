//! The mark beside a log survives a crash at any change and says when it is damaged.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, Error, Log, LogOptions, Mark, Marked, Position};
use support::{FaultDisk, Random};

fn path() -> &'static Path {
    Path::new("dir/mark")
}

fn shared(disk: &FaultDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

#[test]
fn a_crash_leaves_what_was_raised_last_or_before() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let disk = FaultDisk::default();
        let mut mark = Mark::open(&shared(&disk), path(), Position(1)).unwrap();
        disk.stop_after(random.below(12));
        let mut raised = 1;
        while mark.raise(Position(raised + 1)).is_ok() {
            raised += 1;
        }
        let after = disk.crash(&mut random);
        let found = Mark::read(&after, path()).unwrap();
        let expected = [raised, raised + 1].map(|position| Marked::Durable(Position(position)));
        assert!(
            expected.contains(&found),
            "seed {seed}: {raised}, {found:?}"
        );
    }
}

#[test]
fn one_damaged_place_is_made_up_for_and_two_are_told() {
    let disk = FaultDisk::default();
    assert_eq!(Mark::read(&disk, path()).unwrap(), Marked::Nothing);
    let mut mark = Mark::open(&shared(&disk), path(), Position(1)).unwrap();
    mark.raise(Position(7)).unwrap();
    mark.raise(Position(5)).unwrap();
    assert_eq!(
        Mark::read(&disk, path()).unwrap(),
        Marked::Durable(Position(7))
    );
    drop(mark);
    for offset in [10, 4096 + 10] {
        disk.damage(path(), |bytes| bytes[offset] ^= 1);
        let found = Mark::read(&disk, path()).unwrap();
        let is_both = offset > 4096;
        assert_eq!(found == Marked::Damaged, is_both, "{found:?}");
    }
    // The owner may say something lower when it has accepted a loss.
    Mark::open(&shared(&disk), path(), Position(3)).unwrap();
    assert_eq!(
        Mark::read(&disk, path()).unwrap(),
        Marked::Durable(Position(3))
    );
}

#[test]
fn a_log_that_ends_before_what_is_known_is_left_as_it_is() {
    let disk = FaultDisk::default();
    let open = |known| {
        let options = LogOptions {
            known: Position(known),
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
    // The last record is torn: that it was durable is what only the owner knows.
    disk.damage(&segment, |bytes| bytes[4096 + 2 * 64 + 20] ^= 1);
    let before = disk.content(&segment);
    assert!(is_refused(3));
    assert_eq!(disk.content(&segment), before);
    assert_eq!(open(2).unwrap().last(), Position(2));
}
