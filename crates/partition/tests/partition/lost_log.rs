//! A log that has lost durable records is not mistaken for a log that never had these records.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Durability, Error, MaintenanceOptions, Store, StoreOptions, check};

use crate::support::{World, item, options};

const SEGMENT: &str = "log/00000000000000000001.segment";
const HEADER_BYTES: usize = 4096;

/// Damages a log of ten items, given an earlier copy of the directory with five items.
type Damage = fn(&Path, &Path);

const DAMAGES: [(&str, Damage); 5] = [
    ("missing", |directory, _| {
        fs::remove_dir_all(directory.join("log")).unwrap();
    }),
    ("an old copy", |directory, old| {
        fs::copy(old.join(SEGMENT), directory.join(SEGMENT)).unwrap();
    }),
    ("cut off", |directory, _| {
        let file = File::options()
            .write(true)
            .open(directory.join(SEGMENT))
            .unwrap();
        file.set_len(tail(directory, 8) as u64).unwrap();
    }),
    ("a zeroed tail", |directory, _| {
        let mut bytes = fs::read(directory.join(SEGMENT)).unwrap();
        let end = tail(directory, 8);
        bytes[end..].fill(0);
        fs::write(directory.join(SEGMENT), bytes).unwrap();
    }),
    ("a new file", |directory, _| {
        fs::write(directory.join(SEGMENT), "").unwrap();
    }),
];

/// The offset of a record's frame.
fn tail(directory: &Path, record: usize) -> usize {
    let bytes = fs::read(directory.join(SEGMENT)).unwrap();
    let mut offset = HEADER_BYTES;
    for _ in 1..record {
        let length = u32::from_le_bytes(*bytes[offset + 20..].first_chunk().unwrap());
        offset = (offset + 56 + length as usize).next_multiple_of(8);
    }
    offset
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(SystemDisk)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// A directory with ten items, and a copy of it with five.
fn made(root: &Path, durability: Durability) -> (PathBuf, PathBuf) {
    let (directory, old) = (root.join("data"), root.join("old"));
    let world = World::open(&directory, &disk(), durability, "");
    for number in 0..10 {
        if number == 5 {
            copy(&directory, &old);
        }
        world.upsert(&item(&number.to_string(), "")).unwrap();
    }
    world.store.close().unwrap();
    (directory, old)
}

fn open(directory: &Path, durability: Durability, accept_loss: bool) -> Result<Store, Error> {
    let upkeep = MaintenanceOptions {
        accept_loss,
        ..MaintenanceOptions::default()
    };
    let options = StoreOptions {
        durability,
        maintenance: upkeep,
        ..options(directory)
    };
    Store::open_on(&options, &disk())
}

fn is_refused(directory: &Path) {
    let message = match open(directory, Durability::Sync, false) {
        Ok(_) => panic!("the store was opened"),
        Err(error) => error.to_string(),
    };
    let is_told = message.contains("--accept-loss") || message.contains("damaged");
    assert!(is_told, "{message}");
    let report = check(directory).unwrap();
    assert!(!report.problems.is_empty(), "the check finds nothing");
}

#[test]
fn a_log_behind_its_state_is_refused_and_left_as_it_is() {
    for (name, damage) in DAMAGES {
        let root = tempfile::tempdir().unwrap();
        let (directory, old) = made(root.path(), Durability::Sync);
        damage(&directory, &old);
        let before = fs::read(directory.join(SEGMENT)).ok();
        // In the second round the watermark is missing as well, and the state alone proves the
        // loss.
        for _ in 0..2 {
            is_refused(&directory);
            assert_eq!(fs::read(directory.join(SEGMENT)).ok(), before, "{name}");
            let _ = fs::remove_file(directory.join("log.durable"));
        }
    }
}

#[test]
fn a_loss_is_accepted_once_and_only_where_somebody_says_so() {
    for (name, damage) in DAMAGES {
        if name == "a new file" {
            // The header of a new file is damage and not a lost tail.
            continue;
        }
        let root = tempfile::tempdir().unwrap();
        let (directory, old) = made(root.path(), Durability::Sync);
        damage(&directory, &old);
        is_refused(&directory);
        let store = open(&directory, Durability::Sync, true).unwrap();
        store.close().unwrap();
        let world = World::open(&directory, &disk(), Durability::Sync, "");
        for number in 0..10 {
            assert!(
                world.read(&number.to_string()).is_some(),
                "{name}: {number}"
            );
        }
        world.upsert(&item("11", "")).unwrap();
        world.store.close().unwrap();
        assert_eq!(check(&directory).unwrap().problems, [""; 0]);
    }
}

#[test]
fn records_that_only_the_log_had_are_missed_by_the_mark() {
    let root = tempfile::tempdir().unwrap();
    let (directory, old) = made(root.path(), Durability::Sync);
    // The state is as old as the end of the log, so only the watermark proves the loss.
    fs::remove_dir_all(directory.join("state")).unwrap();
    copy(&old.join("state"), &directory.join("state"));
    let end = tail(&directory, 8);
    let file = File::options()
        .write(true)
        .open(directory.join(SEGMENT))
        .unwrap();
    file.set_len(end as u64).unwrap();
    is_refused(&directory);
    // The watermark names synced records, which every durability setting guarantees.
    assert!(open(&directory, Durability::None, false).is_err());
    open(&directory, Durability::Sync, true)
        .unwrap()
        .close()
        .unwrap();
    let world = World::open(&directory, &disk(), Durability::Sync, "");
    assert!(world.read("5").is_some() && world.read("9").is_none());
}

#[test]
fn without_a_sync_for_every_write_the_state_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let (directory, old) = made(root.path(), Durability::None);
    fs::copy(old.join(SEGMENT), directory.join(SEGMENT)).unwrap();
    // A power failure leaves no watermark for records that were not synced.
    fs::remove_file(directory.join("log.durable")).unwrap();
    open(&directory, Durability::None, false)
        .unwrap()
        .close()
        .unwrap();
    assert!(directory.join("log.aside.1").is_dir());
    assert_eq!(check(&directory).unwrap().problems, [""; 0]);
}
