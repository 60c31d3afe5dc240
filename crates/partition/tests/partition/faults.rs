//! A log on a disk that fails: writes end, reads go on, and what was acknowledged stays.

use std::fs;
use std::sync::Arc;

use orrery_log::Disk;
use orrery_model::Failure;
use orrery_partition::Durability;

use crate::disk::{FaultDisk, Random};
use crate::support::{World, item};

const SEGMENT_BYTES: usize = 16 << 20;
/// So many writes are taken before the disk begins to fail.
const BEFORE: usize = 3;

fn open(directory: &std::path::Path, disk: &FaultDisk) -> World {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    World::open(directory, &disk, Durability::Sync, "")
}

fn cause(failure: &Failure) -> &str {
    match failure {
        Failure::Unavailable(text) => text,
        other => panic!("{other:?}"),
    }
}

/// Writes items of `item_bytes` until one is refused by the disk that `fail` has spoilt.
fn check(item_bytes: usize, fail: impl FnOnce(&FaultDisk), expected: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultDisk::default();
    let world = open(directory.path(), &disk);
    let padding = format!(r#","x":"{}""#, "x".repeat(item_bytes));
    let write = |world: &World, number: usize| world.upsert(&item(&number.to_string(), &padding));
    for number in 0..BEFORE {
        write(&world, number).unwrap();
    }
    fail(&disk);
    let mut acknowledged = BEFORE;
    let failure = loop {
        match write(&world, acknowledged) {
            Ok(_) => acknowledged += 1,
            Err(failure) => break failure,
        }
        assert!(acknowledged < 30, "the disk does not fail");
    };
    let text = cause(&failure);
    let advice = [
        "Reads continue",
        "full or failing",
        "start the server again",
    ];
    for part in expected.iter().chain(&advice) {
        assert!(text.contains(part), "{text}");
    }

    // Whatever comes later, even when the disk has recovered, is refused for the first cause.
    disk.fail_syncs(false);
    disk.set_capacity(None);
    for later in [
        world.upsert(&item("0", "")).map(|_| ()),
        world.write_catalogue("d1"),
        world.purge().map(|_| ()),
    ] {
        assert_eq!(cause(&later.unwrap_err()), text);
    }
    let check_items = |world: &World| {
        for number in 0..acknowledged {
            let text = world.read(&number.to_string()).unwrap();
            assert!(text.contains(&padding), "{number}");
        }
    };
    check_items(&world);
    assert_eq!(world.read(&acknowledged.to_string()), None);
    assert_eq!(world.lsn(), acknowledged as u64);
    assert!(world.store.close().is_err());

    // What the power left of the log is enough, with the state and without it.
    let mut disk = disk.crash(&mut Random(1));
    for state in ["kept", "lost"] {
        if state == "lost" {
            fs::remove_dir_all(directory.path().join("state")).unwrap();
            disk = disk.crash(&mut Random(2));
        }
        let world = open(directory.path(), &disk);
        check_items(&world);
        // The refused write may have become durable all the same, then as a whole.
        assert!(world.lsn() - (acknowledged as u64) <= 2, "state {state}");
        world.upsert(&item("after", "")).unwrap();
        world.store.close().unwrap();
    }
}

#[test]
fn a_sync_fails() {
    let failing = |disk: &FaultDisk| disk.fail_syncs(true);
    check(10, failing, &["cannot sync", "the device failed to flush"]);
}

#[test]
fn the_disk_is_gone() {
    let gone = |disk: &FaultDisk| disk.stop_after(0);
    check(10, gone, &["cannot write", "the machine has stopped"]);
}

#[test]
fn the_disk_is_full_when_a_segment_grows() {
    let full = |disk: &FaultDisk| disk.set_capacity(Some(disk.used() + 10));
    check(1_000_000, full, &["cannot extend", "no storage space"]);
}

#[test]
fn the_disk_is_full_when_the_next_segment_is_made() {
    let full = |disk: &FaultDisk| disk.set_capacity(Some(SEGMENT_BYTES + 10));
    check(1_850_000, full, &["spare", "no storage space"]);
}
