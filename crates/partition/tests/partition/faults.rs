//! A log on a failing disk: writes end, reads continue, and acknowledged writes survive.

use std::fs;
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_model::{Failure, OperationKind};
use orrery_partition::{Durability, StoreStatus};

use crate::support::{World, item, options, wait_until};
use orrery_fault_disk::{FaultDisk, Random};

/// Number of successful writes before the disk fails.
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

/// Writes items of `item_bytes` until a write fails on the disk that `fail` has damaged.
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

    // Every later write fails with the first cause, even after the disk has recovered.
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

    // The log as the power failure left it is sufficient, with and without the state.
    let mut disk = disk.crash(&mut Random::new(1));
    for state in ["kept", "lost"] {
        if state == "lost" {
            fs::remove_dir_all(directory.path().join("state")).unwrap();
            disk = disk.crash(&mut Random::new(2));
        }
        let world = open(directory.path(), &disk);
        check_items(&world);
        // The failed write may have become durable nevertheless, but only as a whole.
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

/// Writes items of `item_bytes` until the log refuses one, twice, before it has written any byte of
/// that item; continues after `mend` has removed the cause.
fn check_healing(
    item_bytes: usize,
    fail: impl FnOnce(&FaultDisk),
    mend: impl FnOnce(&FaultDisk),
    expected: &[&str],
) {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultDisk::default();
    let world = open(directory.path(), &disk);
    let padding = format!(r#","x":"{}""#, "x".repeat(item_bytes));
    let write = |number: usize| world.upsert(&item(&number.to_string(), &padding));
    for number in 0..BEFORE {
        write(number).unwrap();
    }
    fail(&disk);
    let mut acknowledged = BEFORE;
    for _ in 0..2 {
        let failure = loop {
            match write(acknowledged) {
                Ok(_) => acknowledged += 1,
                Err(failure) => break failure,
            }
            assert!(acknowledged < 30, "the disk does not fail");
        };
        let text = cause(&failure);
        for part in expected
            .iter()
            .chain(&["Reads continue", "Nothing of this one was written"])
        {
            assert!(text.contains(part), "{text}");
        }
        let StoreStatus::Refusing(why) = world.store.status() else {
            panic!("{:?}", world.store.status());
        };
        assert!(text.contains(&why), "{why}");
    }
    assert_eq!(world.read(&acknowledged.to_string()), None);
    assert_eq!(world.lsn(), acknowledged as u64);

    mend(&disk);
    // The store must detect that the log accepts writes again without another write.
    wait_until(|| world.store.status() == StoreStatus::Writable);
    for number in acknowledged..acknowledged + 3 {
        write(number).unwrap();
    }
    assert_eq!(world.lsn(), acknowledged as u64 + 3);
    world.store.close().unwrap();
    let world = open(directory.path(), &disk.crash(&mut Random::new(1)));
    for number in 0..acknowledged + 3 {
        assert!(
            world.read(&number.to_string()).unwrap().contains(&padding),
            "{number}"
        );
    }
    world.store.close().unwrap();
}

#[test]
fn the_disk_is_full_when_a_segment_grows_until_it_has_room() {
    let full = |disk: &FaultDisk| disk.set_capacity(Some(disk.used() + 10));
    let mend = |disk: &FaultDisk| disk.set_capacity(None);
    check_healing(
        1_000_000,
        full,
        mend,
        &["cannot extend", "no storage space"],
    );
}

#[test]
fn the_process_has_no_file_for_the_next_segment_until_it_has() {
    let full = |disk: &FaultDisk| disk.refuse_files(true);
    let mend = |disk: &FaultDisk| disk.refuse_files(false);
    check_healing(
        1_850_000,
        full,
        mend,
        &["cannot open", "too many open files"],
    );
}

#[test]
fn the_reserve_of_the_disk_is_left_to_removals() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let world = World::open(directory.path(), &disk, Durability::Sync, "");
    for id in ["1", "2"] {
        world.upsert(&item(id, "")).unwrap();
    }
    let (free, _) = world.store.disk_space().unwrap();
    world.store.close().unwrap();
    for (id, reserve, takes_removals) in [
        ("1", free * 2, true),
        ("2", free.saturating_mul(1_000), false),
    ] {
        let mut options = options(directory.path());
        options.maintenance.disk_reserve_bytes = Some(reserve);
        let world = World::open_with(&options, &disk, "");
        assert!(matches!(world.store.status(), StoreStatus::Refusing(_)));
        let failure = world.upsert(&item("3", "")).unwrap_err();
        assert!(cause(&failure).contains("the disk of the data directory is full"));
        let removed = world
            .begin(OperationKind::Delete { id: id.to_owned() })
            .recv()
            .unwrap();
        assert_eq!(removed.is_ok(), takes_removals, "{removed:?}");
        assert_eq!(world.read(id).is_some(), !takes_removals);
        world.store.close().unwrap();
    }
}
